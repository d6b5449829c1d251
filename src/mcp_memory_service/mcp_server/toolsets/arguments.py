"""Arguments that several tools have. What their name and type say is not described again."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from ...models import UNSET, Confidence, MetadataIs
from ...models.memory import Unset
from ...schemas import After, AsOf, Before, ExpiresAt, Page, PageSize, TagFilter, TagList, TypeFilter
from ...timestamps import When

_UNSAID = Field(description="")


def _absolute(scope: str | None) -> str | None:
    """A model that takes a path as hits show it, within its folder, would be told that nothing matches."""
    if scope and not Path(scope).is_absolute():
        raise ValueError("must be absolute: get_memory shows the source of a note")
    return scope


Id: TypeAlias = Annotated[str, Field(description="As shown, 8 digits or more")]
Query: TypeAlias = Annotated[str, Field(description="Name the project, tool or error")]
Tags: TypeAlias = Annotated[TagList | None, _UNSAID]
SearchedTags: TypeAlias = Annotated[
    TagList | None, Field(description="Only with these; else tags named in query count")
]
TagRule: TypeAlias = Annotated[TagFilter, _UNSAID]
Type: TypeAlias = Annotated[TypeFilter, _UNSAID]
Types: TypeAlias = Annotated[TagList | None, Field(description="Any of these")]
After_: TypeAlias = Annotated[After, Field(description="2026-05, 7d, last week")]
Before_: TypeAlias = Annotated[Before, _UNSAID]
AsOf_: TypeAlias = Annotated[AsOf, Field(description="Date to answer as of")]
Page_: TypeAlias = Annotated[Page, _UNSAID]
PageSize_: TypeAlias = Annotated[PageSize, Field(description="Up to 100")]
Similarity: TypeAlias = Annotated[
    float | None, Field(ge=-1, le=1, description="Leave out what is less near in meaning")
]
MinConfidence: TypeAlias = Annotated[Confidence | None, Field(description="Nothing, if less sure than this")]
MetadataFilter: TypeAlias = Annotated[
    dict[str, str | int | float | bool | None] | None, Field(description="Keys with values; null: any")
]
Kinds: TypeAlias = Annotated[list[Literal["memory", "note"]] | None, _UNSAID]
Scope_: TypeAlias = Annotated[
    str | None, AfterValidator(_absolute), Field(description="Folder or file of notes, absolute")
]
Expiry: TypeAlias = Annotated[ExpiresAt, Field(description="Date or 30d")]
NewExpiry: TypeAlias = Annotated[ExpiresAt | Literal[""], Field(description="Date or 30d; empty: never")]


def named(tags: list[str] | None) -> tuple[str, ...] | None:
    return None if tags is None else tuple(tags)


def required_metadata(asked: Mapping[str, str | int | float | bool | None] | None) -> tuple[MetadataIs, ...]:
    return tuple(MetadataIs(key, value) for key, value in (asked or {}).items())


def new_expiry(asked: str | None) -> When | Literal[Unset.UNSET] | None:
    """Left out, it stays as it is; empty, there is none any more."""
    return UNSET if asked is None else asked or None
