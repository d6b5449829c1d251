"""The front matter of a note, as JSON values whatever somebody wrote there."""

import base64
import json
import math
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, time
from importlib import import_module
from typing import Any, cast

import yaml

from ..models import JsonValue
from ..timestamps import EARLIEST_MICROSECONDS, to_microseconds
from .names import distinct, one_line

MAX_CHARS = 65_536
MAX_DEPTH = 20
# Each can stand for all that comes before it, so that a few lines could stand for gigabytes.
MAX_YAML_ALIASES = 4
# The reader of TOML calls itself for each bracket that is open.
MAX_TOML_BRACKETS = 200
# Of a dotted key, each part of which it compares with all before.
MAX_TOML_KEY_PARTS = 100
MAX_INTEGER = 2**63 - 1
DATE_KEYS = (
    *("updated", "updated_at", "modified", "modified_at", "date_modified", "last_modified", "lastmod"),
    *("date", "created", "created_at", "date_created"),
)
"""The first of them that holds a date is the date of the note: when it was changed says more than when it was begun."""

_YAML = re.compile(r"---[ \t]*\n((?:.*\n)*?)(?:---|\.\.\.)[ \t]*(?:\n|\Z)")
_TOML = re.compile(r"\+\+\+[ \t]*\n((?:.*\n)*?)\+\+\+[ \t]*(?:\n|\Z)")
# What begins otherwise is a text between two rules.
_FIRST_KEY = re.compile(
    r"\s*+\Z|(?:[ \t]*+(?:#.*)?\n)*+(?:\{|\?[ ]|\"[^\"\n]*\"[ ]*:|[^\s#\-:\[\]>|*&!%@`\"][^\n:]*:(?:\s|\Z))"
)
_LONG_KEY = re.compile(rf"(?<![\w\-])(?:(?:[\w\-]++|\"[^\"\n]*+\"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{MAX_TOML_KEY_PARTS}}}")
_KEY_GAP = re.compile(r"[\s\-]+")
_TAG_GAP = re.compile(r"[\s,]+")
_NO_TEXT = re.compile("[\x00\ud800-\udfff]")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
_events: Any = import_module("yaml").parse  # by name: it has no types


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """What stands before the text of a note."""

    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    end: int = 0
    """Where the text begins."""
    problems: tuple[str, ...] = ()

    @property
    def title(self) -> str:
        return one_line("".join(_words(self.values.get("title"))))

    @property
    def aliases(self) -> tuple[str, ...]:
        """A string is one alias with all its spaces, or several between commas."""
        return self._names(("aliases", "alias"), re.compile(","))

    @property
    def tags(self) -> tuple[str, ...]:
        """A string is cut at commas and spaces; what stands in a list stays as it is."""
        return distinct(tag for tag in (name.lstrip("#") for name in self._names(("tags", "tag"), _TAG_GAP)) if tag)

    @property
    def dated(self) -> int | None:
        """In microseconds UTC; a date without an offset is taken as UTC."""
        values = {_KEY_GAP.sub("_", key.strip().lower()): value for key, value in self.values.items()}
        moments = (_moment(values.get(key)) for key in DATE_KEYS)
        return next((moment for moment in moments if moment is not None), None)

    def _names(self, keys: tuple[str, ...], gap: re.Pattern[str]) -> tuple[str, ...]:
        names: list[str] = []
        for value in (self.values.get(key) for key in keys):
            if isinstance(value, str):
                names += gap.split(value)
            elif isinstance(value, list):
                names += [word for item in value for word in _words(item)]
        return distinct(name for name in map(one_line, names) if name)


class _Refused(ValueError):
    """It goes beyond what we are ready to read."""


def read_front_matter(text: str) -> FrontMatter:
    """YAML between `---` or TOML between `+++`. What cannot be read leaves no values and a problem."""
    is_yaml = text.startswith("---")
    found = _YAML.match(text) if is_yaml else _TOML.match(text)
    if found is None or (is_yaml and not _FIRST_KEY.match(found[1])):
        return FrontMatter()
    try:
        if len(found[1]) > MAX_CHARS:
            raise _Refused(f"it has {len(found[1])} characters, at most {MAX_CHARS} are read")
        values = _yaml(found[1]) if is_yaml else _toml(found[1])
        if not isinstance(values, dict | None):
            return FrontMatter()
        return FrontMatter(_json_object(cast("dict[object, object]", values or {}), 1), found.end())
    except (yaml.YAMLError, ValueError) as error:  # of a date or number that is none, too
        return FrontMatter(end=found.end(), problems=(f"its front matter cannot be read: {_why(error)}",))


def _why(error: Exception) -> str:
    """In one line, which is that of the file: YAML counts from the line after the rule, and from 0."""
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark:
        return f"line {error.problem_mark.line + 2}: {one_line(error.problem or '')}"
    return one_line(str(error))


def _yaml(text: str) -> object:
    depth = aliases = 0
    for event in _events(text, Loader=_LOADER):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        aliases += isinstance(event, yaml.AliasEvent)
        if depth > MAX_DEPTH:
            raise _Refused(f"it is nested more than {MAX_DEPTH} levels deep")
        if aliases > MAX_YAML_ALIASES:
            raise _Refused(f"it has more than {MAX_YAML_ALIASES} YAML aliases")
    try:
        return yaml.load(text, Loader=_LOADER)  # noqa: S506 - a safe loader
    except (LookupError, AttributeError) as error:  # it has no error of its own for `!!bool maybe` or `!!int ""`
        raise _Refused("a value is not what its tag says") from error


def _toml(text: str) -> object:
    if text.count("[") + text.count("{") > MAX_TOML_BRACKETS:
        raise _Refused(f"it has more than {MAX_TOML_BRACKETS} brackets")
    if _LONG_KEY.search(text):
        raise _Refused(f"it has a key of more than {MAX_TOML_KEY_PARTS} parts")
    return tomllib.loads(text)


def _json_object(values: Mapping[object, object], depth: int) -> dict[str, JsonValue]:
    return {_key(key): _json_value(value, depth + 1) for key, value in values.items()}


def _key(key: object) -> str:
    value = _json_value(key, 1)
    return value if isinstance(value, str) else json.dumps(value)


def _json_value(value: object, depth: int) -> JsonValue:
    if depth > MAX_DEPTH + 1:
        raise _Refused(f"it is nested more than {MAX_DEPTH} levels deep")
    match value:
        case dict():
            return _json_object(cast("dict[object, object]", value), depth)
        case list() | tuple():
            return [_json_value(item, depth + 1) for item in cast("list[object]", value)]
        case set():  # in an order of its own, whatever it was loaded in
            return sorted(map(str, cast("set[object]", value)))
        case bytes():
            return base64.b64encode(value).decode()
        case _:
            return _json_scalar(value)


def _json_scalar(value: object) -> JsonValue:
    match value:
        case str():
            return _NO_TEXT.sub("\ufffd", value)
        case bool() | None:
            return value
        case int() if abs(value) <= MAX_INTEGER:
            return value
        case float() if math.isfinite(value):
            return value
        case date() | time():
            return value.isoformat()
        case _:
            return str(value)


def _words(value: JsonValue) -> list[str]:
    """A name that YAML may have read as a number; what it read as true or false is lost."""
    return [str(value)] if isinstance(value, str | int | float) and not isinstance(value, bool) else []


def _moment(value: JsonValue) -> int | None:
    if not isinstance(value, str):
        return None
    try:
        moment = to_microseconds(datetime.fromisoformat(value.strip()))
    except ValueError:
        return None
    return moment if moment >= EARLIEST_MICROSECONDS else None
