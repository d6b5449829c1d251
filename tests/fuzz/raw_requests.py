"""HTTP requests as bytes, sound ones and what is made of them: lines, headers, framing, order."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .target import KEY

Header: TypeAlias = tuple[bytes, bytes]


@dataclass(frozen=True, slots=True)
class Request:
    method: bytes
    target: bytes
    headers: tuple[Header, ...]
    body: bytes = b""
    version: bytes = b"HTTP/1.1"

    def with_headers(self, *more: Header) -> "Request":
        return Request(self.method, self.target, (*self.headers, *more), self.body, self.version)

    def without(self, name: bytes) -> "Request":
        kept = tuple(header for header in self.headers if header[0] != name)
        return Request(self.method, self.target, kept, self.body, self.version)

    def written(self) -> bytes:
        lines = [b" ".join((self.method, self.target, self.version)), *(b": ".join(header) for header in self.headers)]
        return b"\r\n".join((*lines, b"", self.body))


@dataclass(frozen=True, slots=True)
class Attack:
    sent: bytes
    must_refuse: bool = False
    """No server may take it for a sound request: 4xx or closed, never a success."""


def common(authority: bytes) -> tuple[Header, ...]:
    """Closed by the server when it has answered, so that nobody waits for the end of a connection that is kept."""
    return (b"host", authority), (b"authorization", b"Bearer " + KEY.encode()), (b"connection", b"close")


def requests(authority: bytes) -> tuple[Request, ...]:
    """One of each kind, all sound."""
    json = (b"content-type", b"application/json")
    accept = (b"accept", b"application/json, text/event-stream")
    stored, asked, called = b'{"content": "raw"}', b'{"query": "raw"}', b'{"jsonrpc":"2.0","id":1,"method":"ping"}'

    def with_body(target: bytes, body: bytes, *more: Header) -> Request:
        length = (b"content-length", str(len(body)).encode())
        return Request(b"POST", target, (*common(authority), json, *more, length), body)

    return (
        Request(b"GET", b"/health", common(authority)),
        Request(b"GET", b"/memories?tags=a&page=1", common(authority)),
        Request(b"DELETE", b"/memories/" + b"0" * 64, common(authority)),
        with_body(b"/memories", stored),
        with_body(b"/memories/retrieve", asked),
        with_body(b"/mcp", called, accept),
    )


def chunked(request: Request, *chunks: bytes) -> Request:
    """The same with these chunks, sound or not, in place of its body."""
    plain = request.without(b"content-length").with_headers((b"transfer-encoding", b"chunked"))
    return Request(plain.method, plain.target, plain.headers, b"".join(chunks), plain.version)


def attack(authority: bytes, chance: random.Random) -> Attack:
    base = chance.choice(requests(authority))
    return chance.choice(_ATTACKS)(base, chance)


def _request_line(base: Request, chance: random.Random) -> Attack:
    line = chance.choice(
        (b"", b" ", b"GET", b"G\x00T /health HTTP/1.1", b"GET /\x00 HTTP/1.1",
         b"GET /health HTTP/9.9", b"GET /health HTTP/1.1 x", b"GET /health FTP/1.1", b"PRI * HTTP/2.0", b"\x16\x03\x01",
         b"GET /health\tHTTP/1.1", b"get /health HTTP/1.1", b"x" * 70_000 + b" / HTTP/1.1", b"\xff\xfe / HTTP/1.1"),
    )  # fmt: skip
    return Attack(line + b"\r\n" + b"\r\n".join(b": ".join(header) for header in base.headers) + b"\r\n\r\n", True)


def _target(base: Request, chance: random.Random) -> Attack:
    """Odd, but sound as HTTP: the router answers."""
    target = chance.choice(
        (b"*", b"/%00", b"/%", b"/%zz", b"//", b"/../../etc/passwd", b"/memories/%ff%fe", b"/memories/..%2f..",
         b"/\xe9", b"http://evil.example/health", b"/memories?" + b"a=1&" * 5_000,
         b"/memories?page=%00&tags=%ed%a0%80", b"/memories?page=" + b"9" * 5_000,
         b"/" + b"a" * 30_000, b"/mcp/", b"/memories/" + b"%41" * 2_000),
    )  # fmt: skip
    return Attack(Request(chance.choice((base.method, b"OPTIONS", b"HEAD", b"PUT")), target, base.headers).written())


def _header_line(base: Request, chance: random.Random) -> Attack:
    line = chance.choice(
        (b"no colon", b": empty name", b"a\x00b: c", b"a: b\x00c", b"a b: c", b"host : x", b"a: b\rc: d", b"\xff: a",
         b"content-length: 5\r\n 6", b" folded: first"),
    )  # fmt: skip
    return Attack(base.written().replace(b"\r\n", b"\r\n" + line + b"\r\n", 1), True)


def _odd_header(base: Request, chance: random.Random) -> Attack:
    """Sound as HTTP, wrong for us, or only strange."""
    header = chance.choice(
        ((b"content-type", b"text/\xff"), (b"content-type", b""), (b"idempotency-key", b"\xff" * 300),
         (b"origin", b"http://evil.example"), (b"origin", b"\xff"), (b"expect", b"100-continue"), (b"x", b"y" * 60_000),
         (b"upgrade", b"websocket"), (b"upgrade", b"h2c"), (b"connection", b"upgrade"), (b"range", b"bytes=0-"),
         (b"content-encoding", b"gzip"), (b"authorization", b"Bearer \xff"), (b"accept", b"\xff" * 100),
         (b"expect", b"x"), (b"te", b"x"),
         (b"cookie", b"a=" + b"b" * 10_000), (b"mcp-session-id", b"\xff"), (b"mcp-protocol-version", b"\xff")),
    )  # fmt: skip
    copies = chance.choice((1, 1, 1, 2, 200))
    return Attack(base.with_headers(*[header] * copies).written())


def _host(base: Request, chance: random.Random) -> Attack:
    hosts = chance.choice(((), (b"evil.example",), (b"a", b"b"), (b"\xff",), (b"127.0.0.1:99999999",), (b"[",)))
    return Attack(base.without(b"host").with_headers(*((b"host", host) for host in hosts)).written(), True)


def _length(base: Request, chance: random.Random) -> Attack:
    lengths = chance.choice(
        ((b"-1",), (b"+5",), (b"5 5",), (b"0x5",), (b"5,6",), (b"5", b"6"), (b"\xb2",), (b"9" * 40,), (b"",),
         (b"18446744073709551616",), (b"5_0",), (b"1e3",), (str(2**63 - 1).encode(),), (b"4194305",), (b"5\x00",)),
    )  # fmt: skip
    wrong = base.without(b"content-length").with_headers(*((b"content-length", each) for each in lengths))
    return Attack(wrong.written(), True)


def _both_framings(base: Request, chance: random.Random) -> Attack:
    """What two servers in a row would read as two different requests."""
    encoding = chance.choice(
        (b"chunked", b"Chunked", b"identity", b"chunked, identity", b"\x0bchunked", b"xchunked", b"")
    )
    framed = base.without(b"content-length").with_headers((b"content-length", b"4"), (b"transfer-encoding", encoding))
    smuggled = b"0\r\n\r\nGET /memories HTTP/1.1\r\nhost: x\r\n\r\n"
    return Attack(Request(base.method, base.target, framed.headers, smuggled).written(), True)


def _chunks(base: Request, chance: random.Random) -> Attack:
    chunks = chance.choice(
        ((b"-1\r\n",), (b"g\r\n",), (b"\r\n",), (b"f" * 20 + b"\r\n",), (b"0x5\r\nhello\r\n",), (b"5\r\nhelloXX",),
         (b"5\rhello\r\n",), (b"5 \x00\r\nhello\r\n",), (b"1\r\na\r\n0\r\nno colon\r\n\r\n",), (b"\xff\r\n",)),
    )  # fmt: skip
    return Attack(chunked(base, *chunks).written(), True)


def _long_chunks(base: Request, chance: random.Random) -> Attack:
    """Framing that is sound and many times as long as what it frames."""
    chunks = chance.choice(
        ((b"1;" + b"x" * 20_000 + b"\r\na\r\n", b"0\r\n\r\n"), (b"1\r\na\r\n" * 3_000, b"0\r\n\r\n"),
         (b"0\r\n", b"trailer: x\r\n" * 3_000, b"\r\n"), (b"0" * 10_000 + b"1\r\na\r\n0\r\n\r\n",)),
    )  # fmt: skip
    return Attack(chunked(base, *chunks).written())


def _truncated(base: Request, chance: random.Random) -> Attack:
    written = base.written()
    return Attack(written[: chance.randrange(1, len(written))])


def _pipelined(base: Request, chance: random.Random) -> Attack:
    kept = base.without(b"connection").written()
    return Attack(kept * chance.randint(2, 30) + chance.choice((b"", b"\x00", b"GARBAGE\r\n\r\n")))


def _random_bytes(base: Request, chance: random.Random) -> Attack:
    changed = bytearray(base.written())
    for _ in range(chance.randint(1, 20)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return Attack(bytes(changed))


_ATTACKS: tuple[Callable[[Request, random.Random], Attack], ...] = (
    _request_line, _target, _header_line, _odd_header, _host, _length, _both_framings, _chunks, _long_chunks,
    _truncated, _pipelined, _random_bytes,
)  # fmt: skip
