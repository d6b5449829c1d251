"""Fields that several shapes have."""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationError

from ..hybrid_search import read_period
from ..hybrid_search.text.dates import EXAMPLES, EXAMPLES_AHEAD
from ..models import MAX_TAGS, MemoryKind, TagMatch
from ..services.write.checks import MAX_BATCH, MAX_METADATA_CONDITIONS, MAX_PAGE, MAX_PAGE_SIZE, MAX_SUPERSEDED
from ..timestamps import from_microseconds, to_microseconds

MAX_ERRORS = 20
"""Listed in one answer; a body can break the rules a million times."""
MAX_PATH_CHARS = 64
"""Of the path to a field as an error repeats it: unknown fields have names of any length."""

_NUMBER = re.compile(r"[+-]?[0-9]*[.]?[0-9]*([eE][+-]?[0-9]+)?")


def _only_iso_text(value: object) -> object:
    """A bare number could be seconds or milliseconds: better to ask than to guess."""
    if isinstance(value, datetime | None) or (isinstance(value, str) and not _NUMBER.fullmatch(value.strip())):
        return value
    raise ValueError("must be an ISO 8601 date and time, such as 2026-03-01T09:30:00Z")


# The service reads the words, by its own clock. Whether they can be read does not depend on the moment.
_ANY_MOMENT = datetime(2000, 1, 1, tzinfo=UTC)
_YEAR = re.compile(r"\s*[12][0-9]{3}\s*")


def _only_time(value: object, *, ahead: bool = False) -> object:
    """A bare number could be seconds or milliseconds; a year is the one that is clear."""
    if isinstance(value, datetime | None):
        return value and value.isoformat()
    if (
        isinstance(value, str)
        and (_YEAR.fullmatch(value) or not _NUMBER.fullmatch(value.strip()))
        and read_period(value, _ANY_MOMENT, ahead=ahead)
    ):
        return value
    raise ValueError(f"must be a time, such as {EXAMPLES_AHEAD if ahead else EXAMPLES}")


def _no_truth_value(value: object) -> object:
    """Which pydantic would take for 0 or 1."""
    if isinstance(value, bool):
        raise ValueError("must be a number")  # noqa: TRY004 - pydantic wants this one
    return value


def _parsed_object(value: object) -> object:
    """In the query of an address it is JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ValueError('must be a JSON object, such as {"project": "rathole"}') from error


def _isoformat(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _from_inside(value: object) -> object:
    return from_microseconds(value) if isinstance(value, int) else value


Moment: TypeAlias = Annotated[datetime, BeforeValidator(_only_iso_text), PlainSerializer(_isoformat, when_used="json")]
StoredMoment: TypeAlias = Annotated[Moment, BeforeValidator(_from_inside)]
"""Of an answer: made from the microseconds that are kept."""
Page: TypeAlias = Annotated[int, Field(ge=1, le=MAX_PAGE, description="Page, from 1"), BeforeValidator(_no_truth_value)]
PageSize: TypeAlias = Annotated[
    int, Field(ge=1, le=MAX_PAGE_SIZE, description="Results on a page"), BeforeValidator(_no_truth_value)
]
TagFilter: TypeAlias = Annotated[TagMatch, Field(description="Whether a memory must carry any or all of the tags")]
PastTime: TypeAlias = Annotated[str, BeforeValidator(_only_time)]
"""ISO 8601 or words such as `last week`, as they were sent; the service reads them, and of a period takes the start."""
ComingTime: TypeAlias = Annotated[str, BeforeValidator(partial(_only_time, ahead=True))]
"""The same, but `30d` and `friday` lie ahead."""
After: TypeAlias = Annotated[
    PastTime | None,
    Field(description="Only memories created at or after this time: ISO 8601, or such as 7d, last week, 2026-05"),
]
Before: TypeAlias = Annotated[
    PastTime | None,
    Field(description="Only memories created before this time began: ISO 8601, or such as 7d, last month, 2026-05"),
]
AsOf: TypeAlias = Annotated[
    PastTime | None, Field(description="Answer as at this time: ISO 8601, or such as 7d, yesterday, 2026-05")
]
ExpiresAt: TypeAlias = Annotated[
    ComingTime | None, Field(description="Out of results from then on: ISO 8601, or such as 30d, in 2 weeks, tomorrow")
]
TypeFilter: TypeAlias = Annotated[str | None, Field(description="Only memories of this type")]
# The service counts them and names the rule; the first wrong item ends a list, so that a list is one error.
TagList: TypeAlias = Annotated[list[str], Field(fail_fast=True, json_schema_extra={"maxItems": MAX_TAGS})]
HashList: TypeAlias = Annotated[list[str], Field(fail_fast=True, json_schema_extra={"maxItems": MAX_BATCH})]
IdList: TypeAlias = Annotated[list[str], Field(fail_fast=True, json_schema_extra={"maxItems": MAX_SUPERSEDED})]
TypeList: TypeAlias = Annotated[list[str], Field(fail_fast=True, json_schema_extra={"maxItems": MAX_TAGS})]
KINDS_MEANT = (
    "Only these: memory (plain ones), note (chunks of documents), code, decision, error. Left out, a search takes all,"
    " and a list all but what comes from files"
)
KindList: TypeAlias = Annotated[list[MemoryKind], Field(fail_fast=True, json_schema_extra={"maxItems": 10})]
MetadataFilter: TypeAlias = Annotated[
    dict[str, str | int | float | bool | None],
    BeforeValidator(_parsed_object),
    Field(
        description="Only memories whose metadata has these values at its top level; null asks only for the key",
        json_schema_extra={"maxProperties": MAX_METADATA_CONDITIONS},
    ),
]


def microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else to_microseconds(moment)


def explained(error: ValidationError) -> str:
    """What is wrong with which field, without repeating what was sent."""
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join([f"{path_of(each['loc'])}: {each['msg']}" for each in found[:MAX_ERRORS]] + unlisted(len(found)))


def unlisted(errors: int) -> list[str]:
    """Says how many errors an answer leaves out, if any."""
    return [f"and {errors - MAX_ERRORS} more errors"] if errors > MAX_ERRORS else []


def path_of(location: Sequence[str | int]) -> str:
    """`("memories", 0, "content")` → `memories.0.content`; names only as far as they can be written."""
    return shortened(".".join(shortened(str(part)) for part in location))


def shortened(name: str) -> str:
    """A name that somebody sent, fit to be repeated in an error."""
    cut = name if len(name) <= MAX_PATH_CHARS else f"{name[: MAX_PATH_CHARS - 1]}…"
    return cut.encode("utf-8", "replace").decode()
