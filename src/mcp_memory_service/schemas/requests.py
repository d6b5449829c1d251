"""What comes in."""

from dataclasses import fields, replace
from datetime import datetime
from typing import Any, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..errors import InvalidInput
from ..models import UNSET, ListRequest, MemoryDraft, MemoryPatch, SearchMode, SearchRequest, content_hash
from ..services.write.checks import MAX_BATCH
from ..timestamps import to_microseconds
from .fields import MAX_ERRORS, After, Before, HashList, Moment, Page, PageSize, TagFilter, TagList, TypeFilter

V = TypeVar("V", MemoryDraft, ListRequest, SearchRequest)


class _In(BaseModel):
    """A misspelt field is an error, not a wish that is silently ignored."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few_fields(cls, sent: object) -> object:
        """Each unknown field is an error of its own; a thousand of them are no typing mistake, and one error."""
        if isinstance(sent, dict) and len(cast("dict[str, object]", sent)) > len(cls.model_fields) + MAX_ERRORS:
            raise ValueError(f"has fields that are not known here; it may have {', '.join(cls.model_fields)}")
        return cast("object", sent)

    def _as(self, kind: type[V]) -> V:
        """The value inside the service; its fields have the names that they have on the wire."""
        shared = [field.name for field in fields(kind) if field.name in type(self).model_fields]
        return kind(**{name: _frozen(getattr(self, name)) for name in shared})


def _example(**fields: Any) -> ConfigDict:
    return ConfigDict(json_schema_extra={"examples": [fields]})


def _frozen(value: object) -> Any:
    if isinstance(value, datetime):
        return to_microseconds(value)
    return tuple(cast("list[object]", value)) if isinstance(value, list) else value


class MemoryIn(_In):
    """A memory to store."""

    model_config = _example(
        content="Rathole forwards port 2333 of the VPS to the home lab.",
        tags=["rathole", "homelab"],
        memory_type="fact",
    )

    content: str = Field(description="The text to remember; its hash is the id of the memory")
    tags: TagList = Field(default_factory=list, description="Names to find it by; compared without case")
    memory_type: str | None = Field(default=None, description="What kind of memory it is, such as decision or fix")
    metadata: dict[str, Any] = Field(default_factory=dict, description="Any JSON object, returned as it is")
    created_at: Moment | None = Field(default=None, description="When it came about, if not now; UTC if without offset")
    source: str | None = Field(default=None, description="Who or what wrote it")
    session: str | None = Field(default=None, description="The conversation it belongs to")
    sequence: int | None = Field(default=None, strict=True, description="Its place within that conversation")

    def draft(self) -> MemoryDraft:
        return self._as(MemoryDraft)


class ImportIn(MemoryIn):
    """A line of a file to import: a memory to store, or one as it was exported."""

    content_hash: str | None = Field(default=None, description="If given, the content must have it")
    updated_at: Moment | None = Field(default=None, description="When it was last changed, if it was a memory before")
    namespace: str | None = Field(default=None, description="Where it belongs, if not where it is imported to")

    def draft(self) -> MemoryDraft:
        if self.content_hash is not None and self.content_hash != content_hash(self.content):
            raise InvalidInput(
                "content_hash is not that of the content: one of them was changed.",
                reason="content_hash_mismatch",
                field="content_hash",
            )
        return super().draft()


class BatchIn(_In):
    """Memories to store together: if one is refused, none is stored."""

    # The first wrong memory ends it, as it ends the checks of the service: 500 could have 14,000 errors.
    memories: list[MemoryIn] = Field(min_length=1, max_length=MAX_BATCH, fail_fast=True)


class PatchIn(_In):
    """What to change of a memory. Its content is its identity: to change that, store the new and delete the old."""

    model_config = _example(tags=["rathole", "vps"], metadata={"port": 2333})

    tags: TagList | None = Field(default=None, description="The new tags, in place of the old ones")
    memory_type: str | None = Field(default=None, description="The new type; null removes it")
    metadata: dict[str, Any] | None = Field(
        default=None, description="Keys to set; null removes a key (JSON merge patch, RFC 7396)"
    )

    @model_validator(mode="before")
    @classmethod
    def _content_stays(cls, sent: object) -> object:
        if isinstance(sent, dict) and "content" in sent:
            raise ValueError("content is the identity of a memory: store the new text and delete the old memory")
        return cast("object", sent)

    def patch(self) -> MemoryPatch:
        return MemoryPatch(
            tags=None if self.tags is None else tuple(self.tags),
            memory_type=self.memory_type if "memory_type" in self.model_fields_set else UNSET,
            metadata=self.metadata,
        )


class FilterIn(_In):
    """Which memories may be returned, and which page of them."""

    page: Page = 1
    page_size: PageSize = 10
    tag_match: TagFilter = "any"
    memory_type: TypeFilter = None
    after: After = None
    before: Before = None


class ListIn(FilterIn):
    """A listing."""

    tags: TagList = Field(default_factory=list, description="Only memories with these tags; may be repeated")
    full: bool = Field(default=False, description="Long contents whole, not only their beginning")

    def request(self) -> ListRequest:
        return self._as(ListRequest)


class SearchIn(FilterIn):
    """What a search and its explanation are asked."""

    query: str = Field(description='What to look for, in any words; "quoted words" must stand together')
    mode: SearchMode = Field(
        default="hybrid", description="hybrid = all signals, semantic = by meaning only, keyword = by words only"
    )
    tags: TagList | None = Field(
        default=None,
        description="Only memories with these tags, which then also rank them; [] ignores tags; left out, the tags"
        " that the query names are found by themselves",
    )
    min_similarity: float | None = Field(
        default=None, ge=-1, le=1, description="Least cosine similarity of vector hits; other hits stay"
    )
    vector_threshold: float | None = Field(default=None, ge=-1, le=1, description="Another name of min_similarity")
    alpha: float | None = Field(
        default=None, ge=0, le=1, description="Weight of the vector signal for this search, in place of the setting"
    )
    fts_weight: float | None = Field(
        default=None, ge=0, le=1, description="Weight of words and tags; with vector_weight another way to give alpha"
    )
    vector_weight: float | None = Field(default=None, ge=0, le=1, description="Weight of meaning; see fts_weight")

    def request(self) -> SearchRequest:
        request = self._as(SearchRequest)
        return replace(request, min_similarity=self.vector_threshold) if self.min_similarity is None else request


class RetrieveIn(SearchIn):
    """A search."""

    model_config = _example(query="rathole project codebase architecture", page_size=5, debug=True)

    debug: bool = Field(default=False, description="Add the arithmetic of each score")
    full: bool = Field(default=False, description="Long contents whole, not only the passages that match")


class ExplainIn(SearchIn):
    """A search, and the memory to follow through it."""

    model_config = _example(query="rathole project codebase architecture", content_hash="9f86d081884c7d65...")

    content_hash: str = Field(description="The memory to explain, returned by the search or not")


class PurgeIn(_In):
    """Memories whose every trace shall go."""

    content_hashes: HashList = Field(
        description="The memories to delete; none finishes what earlier purges left pending"
    )


class FeedbackIn(_In):
    """What a result was worth."""

    query: str = Field(description="The query that was asked")
    content_hash: str = Field(description="The memory that was found, or should have been")
    useful: bool = Field(description="Whether it answered the query")
