"""The symbols that a query names, found by their names and places: they come first among look-alikes."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from ...errors import Unavailable
from ...hybrid_search.explain import failed_filters
from ...hybrid_search.text.symbol_names import NamedPlace, named_places, named_symbols
from ...models import Candidate, Memory, MemoryFilter
from ...storage.ports import Store
from ..code.place import lines_of
from .query import note
from .signals import NOTHING, SignalResult

MAX_BEARERS = 200
"""A name that more symbols have, such as `__init__`, says too little to read them all."""
MAX_IN_FILE = 2_000


async def ask_names(query: str, where: MemoryFilter, storage: Store) -> SignalResult:
    """Symbols of a namespace of code that pass the filter: those named in full or by the last parts of their names, and
    those at the places that are named."""
    symbols, places = named_symbols(query), named_places(query)
    if not symbols and not places:
        return NOTHING
    try:
        called = await _called(_last_parts(symbols, places), where.namespace, storage)
        found = {memory.content_hash: memory for memory in _so_named(symbols, called)}
        for place in places:
            found |= {memory.content_hash: memory for memory in await _at(place, called, where.namespace, storage)}
    except Unavailable as error:
        return SignalResult(degraded=(note("names_unavailable", error),))
    return SignalResult([_candidate(found[each]) for each in sorted(found) if not failed_filters(found[each], where)])


def _last_parts(symbols: Iterable[Sequence[str]], places: Iterable[NamedPlace]) -> list[str]:
    """Of the names that are looked up. A file is found by its module, which may be called as its folder is."""
    names = [parts[-1] for parts in symbols]
    return list(dict.fromkeys([*names, *(name for place in places for name in (place.stem, place.folder) if name)]))


async def _called(names: Sequence[str], namespace: str, storage: Store) -> Mapping[str, Sequence[Memory]]:
    """By the last parts of their names."""
    ids = await storage.resolve(namespace, [f"symbol:{name}" for name in names])
    few = {name.removeprefix("symbol:"): having for name, having in ids.items() if len(having) <= MAX_BEARERS}
    memories = await storage.get_many(
        namespace, list(dict.fromkeys(each for having in few.values() for each in having))
    )
    by_id = {memory.content_hash: memory for memory in memories}
    return {name: [by_id[each] for each in having if each in by_id] for name, having in few.items()}


def _so_named(symbols: Iterable[tuple[str, ...]], called: Mapping[str, Sequence[Memory]]) -> Iterator[Memory]:
    """Those whose qualified names end in the parts."""
    for parts in symbols:
        for memory in called.get(parts[-1], ()):
            if tuple((memory.anchor or "").split(".")[-len(parts) :]) == parts:
                yield memory


async def _at(
    place: NamedPlace, called: Mapping[str, Sequence[Memory]], namespace: str, storage: Store
) -> Sequence[Memory]:
    """The module of a file, or the innermost symbol at its line."""
    modules = {
        memory.source: memory
        for name in (place.stem, place.folder)
        for memory in called.get(name, ())
        if memory.metadata.get("symbol_kind") == "module" and _ends_with(memory.source, place.path)
    }
    if place.line is None:
        return list(modules.values())
    found: list[Memory] = []
    for source in modules:
        page = await storage.list_memories(MemoryFilter(namespace, source=source), 0, MAX_IN_FILE)
        around = [memory for memory in page.memories if _has_line(memory, place.line)]
        found += [memory for memory in around if _size(memory) == min(map(_size, around))]
    return found


def _ends_with(source: str | None, path: str) -> bool:
    return f"/{source}".endswith(f"/{path.removeprefix('./').lstrip('/')}")


def _has_line(memory: Memory, line: int) -> bool:
    first, last = lines_of(memory)
    return first <= line <= last


def _size(memory: Memory) -> int:
    first, last = lines_of(memory)
    return last - first


def _candidate(memory: Memory) -> Candidate:
    return Candidate(memory.content_hash, memory.created_at, 1.0, memory.session, memory.sequence)
