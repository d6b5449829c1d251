"""Whether a file still has the text of a chunk that was found."""

from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TypeAlias

from ...lru import LruCache
from ...models import Freshness, Memory
from .names import KIND, span_of

MAX_KEPT = 4_096
"""So many answers are kept: a file that was only touched would be read, and a PDF be parsed, by every search."""

TextOf: TypeAlias = Callable[[str], str | None]


class FreshnessCheck:
    """By the date of the file, and by its text where that is another one; kept until the file is touched again. May be
    asked by several threads."""

    def __init__(self) -> None:
        self._kept: LruCache[tuple[str, int, int], bool] = LruCache(MAX_KEPT)
        self._lock = Lock()

    def of(self, memories: Sequence[Memory]) -> list[Freshness | None]:
        """None for what comes from no file; each file is read at most once."""
        text_of: TextOf = cache(_text_of)
        return [self._of(memory, text_of) for memory in memories]

    def _of(self, memory: Memory, text_of: TextOf) -> Freshness | None:
        if memory.kind != KIND or memory.source is None:
            return None
        try:
            status = Path(memory.source).stat()
            if status.st_mtime_ns // 1_000 == memory.updated_at:
                return "fresh"
            asked = (memory.content_hash, status.st_mtime_ns, status.st_size)
            with self._lock:
                is_there = self._kept.get(asked)
            if is_there is None:
                is_there = _has(text_of(memory.source), memory)
                with self._lock:
                    self._kept.put(asked, is_there)
        except OSError:
            return "missing"
        return "fresh" if is_there else "stale"


def _text_of(source: str) -> str | None:
    from .reading import Unreadable, text_in  # noqa: PLC0415 - with the parsers, which few searches need

    try:
        return text_in(Path(source))
    except Unreadable:
        return None


def _has(text: str | None, memory: Memory) -> bool:
    """Where it was or, if lines came before it, elsewhere."""
    if text is None:
        return False
    lines = memory.metadata.get("lines")
    if isinstance(lines, list) and len(lines) == 2 and isinstance(lines[0], int) and isinstance(lines[1], int):
        there = "\n".join(text.split("\n")[lines[0] - 1 : lines[1]])
        if span_of(there) == memory.metadata.get("span"):
            return True
    return memory.content in text
