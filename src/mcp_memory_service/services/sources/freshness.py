"""Whether a file still has the text of a chunk that was found."""

from pathlib import Path

from ...models import Freshness, Memory
from .names import KIND, span_of


def freshness_of(memory: Memory) -> Freshness | None:
    """By the date of the file, and by its text where that is another one; None for what comes from no file."""
    if memory.kind != KIND or memory.source is None:
        return None
    try:
        modified = Path(memory.source).stat().st_mtime_ns // 1_000
        return "fresh" if modified == memory.updated_at or _is_in(Path(memory.source), memory) else "stale"
    except OSError:
        return "missing"


def _is_in(file: Path, memory: Memory) -> bool:
    from .reading import Unreadable, text_in  # noqa: PLC0415 - with the parsers, which few searches need

    try:
        return _has(text_in(file), memory)
    except Unreadable:
        return False


def _has(text: str, memory: Memory) -> bool:
    """Where it was or, if lines came before it, elsewhere."""
    lines = memory.metadata.get("lines")
    if isinstance(lines, list) and len(lines) == 2 and isinstance(lines[0], int) and isinstance(lines[1], int):
        there = "\n".join(text.split("\n")[lines[0] - 1 : lines[1]])
        if span_of(there) == memory.metadata.get("span"):
            return True
    return memory.content in text
