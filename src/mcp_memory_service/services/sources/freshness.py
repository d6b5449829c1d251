"""Whether files still have the text of what was found: chunks of notes and symbols of code on one scale."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from ...models import Freshness, Memory
from ...timestamps import MICROSECONDS_PER_DAY
from ..code.freshness import code_freshness
from .names import KIND, span_of

FRESH_DAYS, ACCEPTABLE_DAYS = 7, 30
"""Of a plain memory, which has no file: as the tiers of recency are."""

# A file that was only touched would be read, and a PDF be parsed, by every search that finds a part of it.
KEPT_TEXTS, KEPT_ANSWERS = 8, 1_024


def freshness_of(memory: Memory) -> Freshness | None:
    """By the date of the file, and by its text where that is another one; None for what comes from no file. It may be
    asked by several threads."""
    if memory.kind != KIND or memory.source is None:
        return code_freshness(memory)
    try:
        status = Path(memory.source).stat()
        if status.st_mtime_ns // 1_000 == memory.updated_at:
            return "fresh"
        is_there = _has(
            (memory.source, status.st_mtime_ns, status.st_size),
            _lines_of(memory),
            str(memory.metadata.get("span")),
            memory.content,
        )
    except OSError:
        return "stale_with_risk"
    return "acceptable" if is_there else "stale"


def freshness_by_age(created_at: int, now: int) -> Freshness:
    """Of a plain memory: it may have been overtaken, and that it is gone no age can tell."""
    days = (now - created_at) / MICROSECONDS_PER_DAY
    return "fresh" if days <= FRESH_DAYS else "acceptable" if days <= ACCEPTABLE_DAYS else "stale"


def freshness_or_age(memories: Sequence[Memory], now: int) -> list[Freshness]:
    """Of each, by its file or else by its age. Reads files: not for the event loop."""
    return [freshness_of(memory) or freshness_by_age(memory.created_at, now) for memory in memories]


def _lines_of(memory: Memory) -> tuple[int, int] | None:
    lines = memory.metadata.get("lines")
    if isinstance(lines, list) and len(lines) == 2 and isinstance(lines[0], int) and isinstance(lines[1], int):
        return lines[0], lines[1]
    return None


@lru_cache(KEPT_ANSWERS)
def _has(file: tuple[str, int, int], lines: tuple[int, int] | None, span: str, content: str) -> bool:
    """Where it was or, if lines came before it, elsewhere."""
    text = _text_of(*file)
    if text is None:
        return False
    if lines and span_of("\n".join(text.split("\n")[lines[0] - 1 : lines[1]])) == span:
        return True
    return content in text


@lru_cache(KEPT_TEXTS)
def _text_of(source: str, _modified_ns: int, _size: int) -> str | None:
    from .reading import Unreadable, text_in  # noqa: PLC0415 - with the parsers, which few searches need

    try:
        return text_in(Path(source))
    except Unreadable:
        return None
