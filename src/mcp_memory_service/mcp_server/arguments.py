"""The forms in which models really send arguments, turned into those that the tools take before a tool runs.

Numbers and truth values that come as text are read by pydantic, JSON objects by the SDK.
"""

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

from mcp.server.mcpserver.exceptions import ToolError

from ..models import MAX_METADATA_CHARS
from ..schemas import MAX_ERRORS, shortened, unlisted

OTHER_NAMES: Mapping[str, str] = {
    "limit": "page_size",
    "page_size": "limit",
    "content_hash": "id",
    "id": "content_hash",
}
"""What else an argument is called: a tool has one name of each pair, and takes both."""
CLEANED = frozenset({"content", "query"})
"""Where terminal output is pasted; in a name or tag a control character is a mistake, and refused."""

# Colours, titles and moves of the cursor as ESC begins them, then all that a memory cannot hold. The 8-bit forms begin
# no sequence: in text they are letters that were decoded wrongly, and what follows them is text. A sequence that does
# not end in its line was cut off, and what follows it is text too.
_CONTROL = re.compile(
    r"\x1b[\]PX^_][^\x07\x1b\r\n]*(?:\x07|\x1b\\)"
    r"|\x1b\[[0-?]*[ -/]*[@-~]"
    r"|\x1b[ -/]*[0-~]"
    r"|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]"
)


@dataclass(frozen=True, slots=True)
class TakenArguments:
    values: dict[str, Any]
    """By the names that the tool has."""
    note: str | None = None
    """What was changed in them, in a sentence for the model."""


def taken_arguments(tool: str, sent: Mapping[str, Any], known: Mapping[str, Any]) -> TakenArguments:
    """What a tool is called with; `known` are the schemas of its arguments. ToolError for an argument that it has not,
    and for two values under two names of one."""
    names = {name: name if name in known else OTHER_NAMES.get(name, name) for name in sent}
    require_known(tool, {name for name, own in names.items() if own not in known}, known)
    values: dict[str, Any] = {}
    removed = 0
    for name, own in names.items():
        value = _listed(name, sent[name]) if _takes_list(known[own]) else sent[name]
        _require_short(name, value, known[own])
        if own in CLEANED and isinstance(value, str):
            value, count = without_controls(value)
            removed += count
        if own in values and values[own] != value:
            raise ToolError(
                f"{OTHER_NAMES[own]} is another name of {own}: send one of them, or the same value. [argument_twice]"
            )
        values[own] = value
    characters = "control character" if removed == 1 else "control characters"
    return TakenArguments(values, f"Removed {removed} {characters}." if removed else None)


def without_controls(text: str) -> tuple[str, int]:
    """The text without what a terminal would obey, and how often there was such a thing."""
    return _CONTROL.subn("", text)


def require_known(tool: str, unknown: set[str], known: Iterable[str]) -> None:
    if unknown:
        named = [repr(shortened(each)) for each in sorted(unknown)[:MAX_ERRORS]]
        raise ToolError(
            f"{tool} has no argument {', '.join(named + unlisted(len(unknown)))}; it takes: {', '.join(known)}."
            " [unknown_argument]"
        )


def _require_short(name: str, value: object, schema: Mapping[str, Any]) -> None:
    """The SDK reads a text as JSON where no text is expected; longer than all metadata with escapes it may not be."""
    if isinstance(value, str) and len(value) > 2 * MAX_METADATA_CHARS and schema.get("type") != "string":
        raise ToolError(f"{name}: this text is too long [validation_failed]")


def _takes_list(schema: Mapping[str, Any]) -> bool:
    types = {each.get("type") for each in schema.get("anyOf", [schema])}
    return "array" in types and "string" not in types


def _listed(name: str, value: object) -> object:
    """`["a", "b"]`, or `a, b`, as the list of both."""
    if not isinstance(value, str) or len(value) > 2 * MAX_METADATA_CHARS:
        return value
    try:
        read: object = json.loads(value)
    except (ValueError, RecursionError):
        read = value
    if read is None or isinstance(read, list):
        return cast("object", read)
    if value.lstrip()[:1] in {"[", "{"}:
        raise ToolError(f"{name}: this is neither a list nor names with commas between them [validation_failed]")
    text = read if isinstance(read, str) else value
    return [part.strip() for part in text.split(",") if part.strip()]
