"""Where a symbol stands in its file."""

from typing import cast

from ...models import Memory

NOWHERE = (0, -1)


def lines_of(memory: Memory) -> tuple[int, int]:
    """Its first and its last line, from 1; no line at all if that is not known."""
    lines = memory.metadata.get("lines")
    if not (isinstance(lines, list | tuple) and len(lines) == 2 and all(isinstance(each, int) for each in lines)):
        return NOWHERE
    first, last = cast("list[int]", lines)
    return first, last


def place_in_code(memory: Memory) -> str:
    """`path:line name`, as people and models read it; empty for what is no symbol."""
    if memory.kind != "code":
        return ""
    return f"{memory.metadata.get('path')}:{lines_of(memory)[0]} {memory.anchor}"
