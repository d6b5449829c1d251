"""What JavaScript brings: names that are there without an import, and methods of its own types."""

BUILTIN_NAMES = frozenset(
    """
    AbortController AbortSignal Array ArrayBuffer Atomics BigInt Blob Boolean Buffer CustomEvent DOMException
    DataView Date Element Error EvalError Event EventTarget File FileReader FinalizationRegistry Float32Array
    Float64Array FormData Function HTMLElement Headers Image Infinity Int16Array Int32Array Int8Array Intl JSON
    Map Math MessageChannel MutationObserver NaN Node Number Object Path2D Promise Proxy RangeError
    ReadableStream ReferenceError Reflect RegExp Request Response Set SharedArrayBuffer String Symbol
    SyntaxError TextDecoder TextEncoder TypeError URIError URL URLSearchParams Uint16Array Uint32Array
    Uint8Array WeakMap WeakRef WeakSet WebAssembly WebSocket Worker XMLHttpRequest __dirname __filename
    addEventListener after afterAll afterEach alert arguments atob before beforeAll beforeEach btoa
    cancelAnimationFrame clearImmediate clearInterval clearTimeout confirm console crypto decodeURI
    decodeURIComponent describe document encodeURI encodeURIComponent escape eval expect exports fetch global
    globalThis history isFinite isNaN it jest localStorage location module navigator parseFloat parseInt
    performance process prompt queueMicrotask removeEventListener requestAnimationFrame requestIdleCallback
    require screen self sessionStorage setImmediate setInterval setTimeout structuredClone suite test undefined
    unescape vi window
    """.split()
)

BUILTIN_MEMBERS = frozenset(
    """
    abort add addEventListener addListener all allSettled any append appendChild apply arrayBuffer assert assign
    at bind blob blur call catch ceil charAt charCodeAt clear click clone close closest codePointAt concat
    contains copyWithin count create createElement cwd debug decode defineProperty delete destroy dir
    dispatchEvent emit encode end endsWith entries error every exec exit fill filter finally find findIndex
    findLast flat flatMap floor flush focus forEach format freeze from fromEntries get getAttribute
    getElementById getItem getOwnPropertyNames getTime group has hasOwnProperty includes indexOf info
    insertBefore isArray isInteger isPrototypeOf join json keys lastIndexOf listen localeCompare log map match
    matchAll max min next nextTick normalize now observe off on once open padEnd padStart parse pause pipe pop
    postMessage preventDefault push query querySelector querySelectorAll race random read readFile readFileSync
    reduce reduceRight reject remove removeAttribute removeChild removeEventListener removeItem removeListener
    repeat replace replaceAll reset resolve resume return reverse round run search send set setAttribute setItem
    shift slice some sort splice split start startsWith stat stop stopPropagation stringify substr substring
    test text then throw toFixed toISOString toJSON toLocaleString toLowerCase toString toUpperCase trace trim
    trimEnd trimStart type unref unshift update valueOf values warn write writeFile writeFileSync
    """.split()
)
