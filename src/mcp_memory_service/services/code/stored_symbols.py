"""From a file of code that was read to the memories of its symbols, and from its edges to those of the store."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import NamedTuple

from ...code_reader_process import ReadCode
from ...indexing.code import CodeEdge, FileEdges, OpenCall, Symbol
from ...models import Certainty, Edge, EdgeKind, JsonValue, Memory, MemoryKind, identity_hash
from ..sources.files import FoundFile
from .names import open_name, symbol_name

KIND: MemoryKind = "code"
MAX_SIGNATURE_CHARS = 2_000
WEIGHTS: Mapping[Certainty, float] = {"certain": 1.0, "likely": 0.8, "guess": 0.3}
"""How far an edge is trusted in a ranking (docs/adr/0027)."""
_SURENESS: Sequence[Certainty] = ("certain", "likely", "guess")

# Tabs and line breaks are text; old files have page breaks between their parts.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class StoredSymbol(NamedTuple):
    """A symbol as the record of its file knows it."""

    id: str
    qualified_name: str
    first_line: int
    last_line: int
    span: str
    since: int
    """When this span was first seen."""


class Place(NamedTuple):
    """Where a file belongs."""

    root: str
    project: str
    namespace: str


def stored_symbols(
    file: ReadCode, found: FoundFile, place: Place, before: Sequence[StoredSymbol]
) -> tuple[list[Memory], list[StoredSymbol]]:
    """The memories of its symbols in their order. `before` are those that it had, or that the file had which it was:
    what did not change since keeps the moment when it was first seen."""
    since = _Since(before, found.modified_ns // 1_000)
    memories: list[Memory] = []
    known: list[StoredSymbol] = []
    for number, symbol in enumerate(file.symbols):
        memory = _memory(file, symbol, number, found, place, since.of(symbol))
        memories.append(memory)
        span = (symbol.first_line, symbol.last_line, symbol.span_hash)
        known.append(StoredSymbol(memory.content_hash, symbol.qualified_name, *span, memory.created_at))
    return memories, known


class _Since:
    def __init__(self, before: Sequence[StoredSymbol], modified: int) -> None:
        self._by_name = {(each.qualified_name, each.span): each.since for each in before}
        # A file that moved has another module in front of its names.
        self._by_last_part = {(_last_part(each.qualified_name), each.span): each.since for each in before}
        # A file that is put back may have an older date than what was read of it.
        self._now = max([modified, *(each.since for each in before)])

    def of(self, symbol: Symbol) -> int:
        by_name = self._by_name.get((symbol.qualified_name, symbol.span_hash))
        if by_name is not None:
            return by_name
        return self._by_last_part.get((symbol.name, symbol.span_hash), self._now)


def _last_part(qualified_name: str) -> str:
    return qualified_name.rpartition(".")[2]


def _memory(file: ReadCode, symbol: Symbol, number: int, found: FoundFile, place: Place, since: int) -> Memory:
    content = _CONTROLS.sub(" ", content_of(symbol))
    metadata: dict[str, JsonValue] = {
        "path": file.path,
        "root": place.root,
        "project": place.project,
        "language": file.language,
        "symbol": symbol.qualified_name,
        "symbol_kind": symbol.kind,
        "signature": _CONTROLS.sub(" ", symbol.signature[:MAX_SIGNATURE_CHARS]),
        "lines": [symbol.first_line, symbol.last_line],
        "span": symbol.span_hash,
        "since": since,
    }
    return Memory(
        content=content,
        content_hash=identity_hash(KIND, found.source, symbol.qualified_name, content),
        created_at=since,
        updated_at=found.modified_ns // 1_000,
        memory_type=symbol.kind,
        metadata=metadata,
        namespace=place.namespace,
        source=found.source,
        sequence=number,
        kind=KIND,
        anchor=symbol.qualified_name,
        names=(symbol_name(place.project, symbol.qualified_name), f"symbol:{symbol.name}"),
    )


def content_of(symbol: Symbol) -> str:
    """Its signature, its docstring and its text, each unless it stands in the text anyway."""
    text = symbol.text.strip("\n")
    squeezed = "".join(text.split())
    ahead = [part for part in (symbol.signature, symbol.docstring) if "".join(part.split()) not in squeezed]
    return "\n".join([*ahead, text] if text else ahead) or symbol.qualified_name


def source_of(place: Place, path: str) -> str:
    return (PurePosixPath(place.root) / path).as_posix()


def stored_edges(found: FileEdges, symbols: Sequence[StoredSymbol], project: str) -> list[Edge]:
    """The edges that start in one file. Of two that lead to one name, as of files with equal names, one is kept with
    the lines of both."""
    by_name: defaultdict[str, list[StoredSymbol]] = defaultdict(list)
    for symbol in symbols:
        by_name[symbol.qualified_name].append(symbol)
    merged: dict[tuple[str, EdgeKind, bool, str], Edge] = {}
    for edge in _edges(found, by_name, project):
        merged[edge.key] = _united(merged[edge.key], edge) if edge.key in merged else edge
    return list(merged.values())


def _edges(found: FileEdges, by_name: Mapping[str, Sequence[StoredSymbol]], project: str) -> Iterator[Edge]:
    for edge in found.edges:
        to = symbol_name(project, edge.to_symbol)
        for origin, lines in _origins(edge, by_name):
            yield Edge(
                origin, to, edge.kind, WEIGHTS[edge.certainty], by_name=True, lines=lines, certainty=edge.certainty
            )
    for call in found.open_calls:
        for origin, lines in _origins(call, by_name):
            yield Edge(origin, open_name(project, call.name), "calls", 0.0, by_name=False, lines=lines)


def _origins(
    said: CodeEdge | OpenCall, by_name: Mapping[str, Sequence[StoredSymbol]]
) -> Iterable[tuple[str, tuple[int, ...]]]:
    """Which symbols of the name say it, and on which lines: a name may be defined twice."""
    named = by_name.get(said.from_symbol, ())
    if len(named) < 2:
        return [(named[0].id, said.lines)] if named else []
    lines: defaultdict[str, list[int]] = defaultdict(list)
    for line in said.lines:
        around = [each for each in named if each.first_line <= line <= each.last_line] or named
        lines[around[0].id].append(line)
    return [(origin, tuple(its)) for origin, its in lines.items()] or [(named[0].id, ())]


def _united(one: Edge, other: Edge) -> Edge:
    surest = min(one, other, key=lambda edge: _SURENESS.index(edge.certainty) if edge.certainty else len(_SURENESS))
    return Edge(
        one.from_id,
        one.to,
        one.kind,
        surest.weight,
        by_name=one.by_name,
        lines=tuple(sorted({*one.lines, *other.lines})),
        certainty=surest.certainty,
    )
