"""What a model is told of a tool: every word of it is paid for in every conversation."""

from collections.abc import Mapping
from typing import Any, cast

# Bounds and lengths are checked and named when they are broken; a title repeats the name of its field.
_LEFT_OUT = frozenset({"title", "minimum", "maximum", "maxItems", "additionalProperties", "format"})
_OBVIOUS_DEFAULTS: tuple[object, ...] = (None, False, 0, 1)


def one_line(text: str) -> str:
    """A docstring without its indentation and line breaks."""
    return " ".join(text.split())


def lean_schema(schema: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a tool's input, without what a model does not need in order to call it."""
    lean = {key: value for key, value in schema.items() if key not in _LEFT_OUT and key != "properties"}
    properties: Mapping[str, Any] = schema.get("properties", {})
    return {**lean, "properties": {name: _argument(field) for name, field in properties.items()}}


def _argument(field: Mapping[str, Any]) -> dict[str, Any]:
    lean = {key: value for key, value in field.items() if key not in _LEFT_OUT and key != "anyOf" and value != ""}
    if lean.get("default") in _OBVIOUS_DEFAULTS:
        lean.pop("default", None)
    if "enum" in lean:
        lean.pop("type", None)
    alternatives = cast("list[Mapping[str, Any]]", field.get("anyOf", []))
    given = [_argument(each) for each in alternatives if each.get("type") != "null"]
    # Of several alternatives of one type the first says enough; an argument may be left out: null is none of them.
    return {**(given[0] if given else {}), **lean}
