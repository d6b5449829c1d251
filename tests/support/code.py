"""Symbols and edges as an index run of code stores them, made by hand."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.fakes import WordEmbedder

from mcp_memory_service.models import (
    Certainty,
    Edge,
    EdgeKind,
    EmbeddedMemory,
    Memory,
    SourceRecord,
    code_of,
    identity_hash,
)
from mcp_memory_service.services import SearchResult
from mcp_memory_service.services.code.stored_symbols import WEIGHTS, symbol_name
from mcp_memory_service.services.sources.names import span_of
from mcp_memory_service.storage.ports import Store

PROJECT = "0123456789ab"
_LEVELS = {"module": 0, "method": 2}
"""Of names below the module."""
ROOT = Path("/projects/shop")
Edges = Mapping[str, Sequence[str]]
"""The symbols that each symbol refers to, by their qualified names."""


def symbol(
    qualified_name: str,
    body: str = "",
    *,
    path: str | None = None,
    lines: tuple[int, int] = (1, 1),
    kind: str = "function",
    namespace: str = "default",
    root: Path = ROOT,
    modified: int = 0,
    span: str | None = None,
) -> Memory:
    """In the file that its module would have, unless another is given."""
    parts, name = qualified_name.split("."), qualified_name.rpartition(".")[2]
    inside = path or f"{'/'.join(parts[: len(parts) - _LEVELS.get(kind, 1)])}.py"
    signature = inside if kind == "module" else f"{'class' if kind == 'class' else 'def'} {name}()"
    content = "\n".join(filter(None, [signature, body]))
    source = (root / inside).as_posix()
    return Memory(
        content,
        identity_hash("code", source, qualified_name, content),
        modified,
        modified,
        memory_type=kind,
        metadata={
            "path": inside,
            "root": root.as_posix(),
            "project": PROJECT,
            "language": "python",
            "symbol": qualified_name,
            "symbol_kind": kind,
            "signature": signature,
            "lines": list(lines),
            "span": span or span_of(content),
            "since": modified,
        },
        namespace=code_of(namespace),
        source=source,
        sequence=lines[0],
        kind="code",
        anchor=qualified_name,
        names=(symbol_name(PROJECT, qualified_name), f"symbol:{name}"),
    )


def symbol_of(file: Path, qualified_name: str, first_line: int, last_line: int, namespace: str = "default") -> Memory:
    """Of a file that is there, as it is read now; of one that is not, as if it had been."""
    lines = file.read_text().split("\n")[first_line - 1 : last_line] if file.exists() else [qualified_name]
    return symbol(
        qualified_name,
        "\n".join(lines),
        path=file.name,
        lines=(first_line, last_line),
        namespace=namespace,
        root=file.parent,
        modified=file.stat().st_mtime_ns // 1_000 if file.exists() else 0,
        span=span_of("\n".join(lines)),
    )


async def store_code(
    store: Store,
    symbols: Sequence[Memory],
    calls: Edges | None = None,
    kind: EdgeKind = "calls",
    certainty: Certainty = "certain",
    embedder: WordEmbedder | None = None,
) -> None:
    """File by file, with edges by name."""
    by_source = defaultdict[str, list[Memory]](list)
    for each in symbols:
        by_source[each.source or ""].append(each)
    for source, members in by_source.items():
        vectors = await (embedder or WordEmbedder()).embed([f"{each.anchor}\n{each.content}" for each in members])
        items = [EmbeddedMemory(each, (vector,)) for each, vector in zip(members, vectors, strict=True)]
        edges = [
            Edge(
                each.content_hash, symbol_name(PROJECT, to), kind, WEIGHTS[certainty], by_name=True, certainty=certainty
            )
            for each in members
            for to in (calls or {}).get(each.anchor or "", ())
        ]
        await store.replace_source(members[0].namespace, source, items, edges, SourceRecord(source, "read"))


def names(found: SearchResult) -> list[str]:
    """The qualified names of symbols, the contents of what is none."""
    return [hit.memory.anchor or hit.memory.content for hit in found.results]


def look_alikes(count: int) -> list[Memory]:
    """Functions that share words with each other, and call each other by name."""
    verbs, nouns = (
        ("load", "parse", "check", "store", "merge"),
        ("user", "token", "order", "session", "basket", "price"),
    )
    made: list[Memory] = []
    for number in range(count):
        verb, noun, other = verbs[number % 5], nouns[number % 6], nouns[number // 6 % 6]
        name = f"shop.part{number // 50}.{verb}_{noun}_{other}_{number}"
        body = f"{verb} the {noun} of the {other}\nauthenticate_user({noun}, {other})\nreturn {noun}"
        made.append(symbol(name, body, lines=(number % 50 * 4 + 1, number % 50 * 4 + 3)))
    return made
