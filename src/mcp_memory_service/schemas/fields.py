"""Fields that several shapes have."""

import re
from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field, PlainSerializer, ValidationError

from ..models import TagMatch
from ..services.write.checks import MAX_PAGE, MAX_PAGE_SIZE
from ..timestamps import from_microseconds, to_microseconds

_NUMBER = re.compile(r"[+-]?[0-9]+([.][0-9]*)?")


def _only_iso_text(value: object) -> object:
    """A bare number could be seconds or milliseconds: better to ask than to guess."""
    if isinstance(value, datetime | None) or (isinstance(value, str) and not _NUMBER.fullmatch(value.strip())):
        return value
    raise ValueError("must be an ISO 8601 date and time, such as 2026-03-01T09:30:00Z")


def _isoformat(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


def _from_inside(value: object) -> object:
    return from_microseconds(value) if isinstance(value, int) else value


Moment: TypeAlias = Annotated[datetime, BeforeValidator(_only_iso_text), PlainSerializer(_isoformat, when_used="json")]
StoredMoment: TypeAlias = Annotated[Moment, BeforeValidator(_from_inside)]
"""Of an answer: made from the microseconds that are kept."""
Page: TypeAlias = Annotated[int, Field(ge=1, le=MAX_PAGE, description="Page, from 1")]
PageSize: TypeAlias = Annotated[int, Field(ge=1, le=MAX_PAGE_SIZE, description="Results on a page")]
TagFilter: TypeAlias = Annotated[TagMatch, Field(description="Whether a memory must carry any or all of the tags")]
After: TypeAlias = Annotated[Moment | None, Field(description="Only memories created at or after this moment")]
Before: TypeAlias = Annotated[Moment | None, Field(description="Only memories created before this moment")]
TypeFilter: TypeAlias = Annotated[str | None, Field(description="Only memories of this type")]


def microseconds(moment: datetime | None) -> int | None:
    return None if moment is None else to_microseconds(moment)


def explained(error: ValidationError) -> str:
    """What is wrong with which field, without repeating what was sent."""
    problems = error.errors(include_url=False, include_input=False)
    return "; ".join(f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}" for problem in problems)
