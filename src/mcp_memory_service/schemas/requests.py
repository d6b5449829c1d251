"""What comes in."""

from dataclasses import fields, replace
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, model_validator

from ..errors import InvalidInput
from ..models import UNSET, ListRequest, MemoryDraft, MemoryPatch, MetadataIs, SearchMode, SearchRequest, content_hash
from ..services.write.checks import MAX_BATCH
from ..timestamps import to_microseconds
from .fields import (
    KINDS_MEANT,
    MAX_ERRORS,
    After,
    AsOf,
    Before,
    ExpiresAt,
    HashList,
    IdList,
    KindList,
    MetadataFilter,
    Moment,
    Page,
    PageSize,
    TagFilter,
    TagList,
    TypeFilter,
    TypeList,
)

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


ExpectedCount: TypeAlias = Annotated[
    int | None,
    Field(
        ge=0,
        strict=True,
        description="How many memories match: they are changed only if it is so many; left out, nothing is changed and"
        " the answer says how many there are",
    ),
]


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
    pinned: bool = Field(default=False, strict=True, description="Whether it is given with every recall of context")
    expires_at: ExpiresAt = None
    supersedes: IdList = Field(
        default_factory=list, description="The memories that this one takes the place of; they go to the history"
    )

    def draft(self) -> MemoryDraft:
        return self._as(MemoryDraft)


class ImportIn(MemoryIn):
    """A line of a file to import: a memory to store, or one as it was exported."""

    content_hash: str | None = Field(default=None, description="If given, the content must have it")
    updated_at: Moment | None = Field(default=None, description="When it was last changed, if it was a memory before")
    edited_at: Moment | None = Field(default=None, description="When its text came in the place of an earlier one")
    ended_at: None = Field(default=None, description="What does not hold any more cannot be imported")
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
    """What to change of a memory."""

    model_config = _example(tags=["rathole", "vps"], metadata={"port": 2333})

    content: str | None = Field(
        default=None, description="The new text: a new version under an id of its own, to which the old id leads"
    )
    tags: TagList | None = Field(default=None, description="The new tags, in place of the old ones")
    memory_type: str | None = Field(default=None, description="The new type; null removes it")
    metadata: dict[str, Any] | None = Field(
        default=None, description="Keys to set; null removes a key (JSON merge patch, RFC 7396)"
    )
    pinned: bool | None = Field(
        default=None, strict=True, description="Whether it is given with every recall of context"
    )
    expires_at: ExpiresAt = None

    def patch(self) -> MemoryPatch:
        given = self.model_fields_set
        return MemoryPatch(
            tags=None if self.tags is None else tuple(self.tags),
            memory_type=self.memory_type if "memory_type" in given else UNSET,
            metadata=self.metadata,
            content=self.content,
            pinned=self.pinned,
            expires_at=self.expires_at if "expires_at" in given else UNSET,
        )


class FilterIn(_In):
    """Which memories may be considered."""

    tag_match: TagFilter = "any"
    memory_type: TypeFilter = None
    types: TypeList = Field(default_factory=list, description="Only memories of any of these types")
    after: After = None
    before: Before = None
    session: str | None = Field(default=None, description="Only memories of this conversation")
    source: str | None = Field(default=None, description="Only memories that this one wrote, or of this file")
    scope: str | None = Field(default=None, description="Only what comes from this folder or file, as a path")
    kinds: KindList = Field(default_factory=list, description=KINDS_MEANT)
    metadata: MetadataFilter = Field(default_factory=dict)

    def _as(self, kind: type[V]) -> V:
        asked = tuple(MetadataIs(key, value) for key, value in self.metadata.items())
        return replace(super()._as(kind), metadata=asked)


class PagedIn(FilterIn):
    """Which page of them."""

    page: Page = 1
    page_size: PageSize = 10
    include_superseded: bool = Field(default=False, description="Also what another memory has taken the place of")


class MatchIn(FilterIn):
    """Which memories to change."""

    tags: TagList = Field(default_factory=list, description="Only memories with these tags; may be repeated")
    pinned: bool | None = Field(default=None, description="Only those that are pinned, or that are not")
    expired: bool = Field(default=False, description="Only those that have expired, in place of all others")

    def request(self) -> ListRequest:
        return self._as(ListRequest)


class ListIn(MatchIn, PagedIn):
    """A listing."""

    full: bool = Field(default=False, description="Long contents whole, not only their beginning")


class SearchIn(PagedIn):
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
    as_of: AsOf = None
    rerank: bool | None = Field(
        default=None,
        description="Whether a cross-encoder puts the first results in a new order, in any mode; null = in hybrid"
        " searches if MCP_MEMORY_RERANK_BACKEND is set",
    )

    def request(self) -> SearchRequest:
        request = self._as(SearchRequest)
        return replace(request, min_similarity=self.vector_threshold) if self.min_similarity is None else request


class RetrieveIn(SearchIn):
    """A search."""

    model_config = _example(query="rathole project codebase architecture", page_size=5, debug=True)

    min_confidence: Literal["high", "low"] | None = Field(
        default=None, description="No results at all, if the search is less sure that one of them answers the query"
    )
    debug: bool = Field(default=False, description="Add the arithmetic of each score")
    full: bool = Field(default=False, description="Long contents whole, not only the passages that match")


class ExplainIn(SearchIn):
    """A search, and the memory to follow through it."""

    model_config = _example(query="rathole project codebase architecture", content_hash="9f86d081884c7d65...")

    content_hash: str = Field(description="The memory to explain, returned by the search or not")


class DeleteMatchingIn(MatchIn):
    """Which memories to delete, and how many there are."""

    model_config = _example(tags=["scratch"], expected_count=12)

    expected_count: ExpectedCount = None


class RetagIn(MatchIn):
    """Which memories to give tags or to take them from."""

    model_config = _example(tags=["k8s"], add_tags=["kubernetes"], remove_tags=["k8s"], expected_count=12)

    add_tags: TagList = Field(default_factory=list, description="Tags to add")
    remove_tags: TagList = Field(default_factory=list, description="Tags to remove")
    expected_count: ExpectedCount = None


class ContextIn(_In):
    """What an agent is about to do."""

    model_config = _example(query="rathole project codebase architecture")

    query: str | None = Field(default=None, description="What it is about; left out, the newest memories are given")


class PurgeIn(_In):
    """Memories whose every trace shall go."""

    content_hashes: HashList = Field(
        description="The memories to delete; none finishes what earlier purges left pending"
    )


class IndexIn(_In):
    """What to index."""

    model_config = _example(path="/home/me/notes")

    path: str = Field(
        description="A folder or a file on the machine of the service, as an absolute path within one of the folders of"
        " MCP_MEMORY_INDEX_ROOTS"
    )
    dry_run: bool = Field(default=False, description="Only say what would be done")


class FeedbackIn(_In):
    """What a result was worth."""

    query: str = Field(description="The query that was asked")
    content_hash: str = Field(description="The memory that was found, or should have been")
    useful: bool = Field(description="Whether it answered the query")
