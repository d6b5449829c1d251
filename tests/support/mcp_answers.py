"""Reads an answer of the MCP server as a model that keeps to the rules of its fence does."""

import re
from dataclasses import dataclass

from mcp.types import CallToolResult, TextContent

_HEAD = re.compile("¶ (?:id )?([0-9a-f]{12})\\b.*")


@dataclass(frozen=True)
class ShownMemory:
    id: str
    head: str
    """The line that introduces it."""
    notes: tuple[str, ...]
    """Further lines of the service, such as where a text goes on."""
    content: str


def text_of(result: CallToolResult) -> str:
    """Its only part: whichever a client shows, it is this one."""
    assert result.structured_content is None
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def good_text(result: CallToolResult) -> str:
    assert not result.is_error, result.content
    return text_of(result)


def shown_memories(text: str) -> list[ShownMemory]:
    """Those that the service says it shows, with what it says is their text."""
    found: list[ShownMemory] = []
    for block in re.split("(?m)^(?=¶ (?:id )?[0-9a-f]{12}\\b)", f"{text}\n"):
        lines = block.removesuffix("\n").split("\n")
        head = _HEAD.fullmatch(lines[0])
        if head is None:
            continue
        notes = tuple(line for line in lines[1:] if line.startswith("¶"))
        content = [line for line in lines[1:] if not line.startswith("¶")]
        assert all(line.startswith("> ") for line in content if line), block
        found.append(ShownMemory(head[1], lines[0], notes, "\n".join(line[2:] for line in content)))
    return found


def contents_of(result: CallToolResult) -> list[str]:
    return [memory.content for memory in shown_memories(good_text(result))]


def ids_of(result: CallToolResult) -> list[str]:
    return [memory.id for memory in shown_memories(good_text(result))]


def stored_id(result: CallToolResult) -> str:
    (found,) = re.findall(r"\bid ([0-9a-f]{12})\.", good_text(result))
    return found
