"""Whether a file still has a symbol as it was read, by its span hash: one scale for graph answers and search hits."""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal, cast

from ...models import Freshness, Memory

MAX_READ_BYTES = 2 * 1024 * 1024
"""Of a file that has grown beyond what an index run reads."""


@dataclass(frozen=True, slots=True)
class Span:
    """Where a symbol stood, and what all its lines hashed to."""

    first_line: int
    last_line: int
    digest: str


@dataclass(frozen=True, slots=True)
class Definition:
    """What a file defines now."""

    name: str
    """The last part."""
    digest: str


def span_hash(lines: Sequence[str]) -> str:
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def span_freshness(
    span: Span, name: str, text: str, definitions: Callable[[], Iterable[Definition]]
) -> Literal["acceptable", "stale", "stale_with_risk"]:
    """Of a symbol in the text that its file has by now; definitions are asked for only if it is no longer where it
    was."""
    if span_hash(text.split("\n")[span.first_line - 1 : span.last_line]) == span.digest:
        return "acceptable"
    called = [each for each in definitions() if each.name == name]
    if any(each.digest == span.digest for each in called):
        return "acceptable"
    return "stale" if called else "stale_with_risk"


def span_of(memory: Memory) -> Span | None:
    lines, digest = memory.metadata.get("lines"), memory.metadata.get("span")
    if not (isinstance(lines, list | tuple) and len(lines) == 2 and isinstance(digest, str)):
        return None
    first, last = cast("Sequence[int]", lines)
    return Span(first, last, digest)


def code_freshness(memory: Memory) -> Freshness | None:
    """Of a stored symbol, by the date of its file, and by its text where that is another one; None for what is no
    symbol. It reads files: not for the event loop."""
    span = span_of(memory)
    if memory.kind != "code" or memory.source is None or span is None:
        return None
    file, path = Path(memory.source), str(memory.metadata.get("path", memory.source))
    try:
        stat = file.stat()
        if stat.st_mtime_ns // 1_000 == memory.updated_at:
            return "fresh"
        text = _text_of(file, stat.st_mtime_ns, stat.st_size)
    except OSError:
        text = None
    if text is None:
        return "stale_with_risk"
    name = (memory.anchor or "").rpartition(".")[2]
    is_module = memory.memory_type == "module"  # which may be called like one of its functions
    return span_freshness(span, name, text, lambda: _definitions(path, text, modules=is_module))


@lru_cache(maxsize=64)  # the symbols of an answer often stand in the same files
def _text_of(file: Path, _modified_ns: int, size: int) -> str | None:
    """None if it cannot be read as code."""
    from ...indexing import Unreadable, decoded  # noqa: PLC0415 - with the parsers, which only changed files need

    try:
        return None if size > MAX_READ_BYTES else decoded(file.read_bytes())
    except Unreadable:
        return None


@lru_cache(maxsize=64)
def _definitions(path: str, text: str, *, modules: bool) -> tuple[Definition, ...]:
    from ...indexing.code import read_code  # noqa: PLC0415

    found = read_code(path, text).symbols
    return tuple(Definition(each.name, each.span_hash) for each in found if (each.kind == "module") == modules)
