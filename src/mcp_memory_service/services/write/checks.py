"""The rules for what comes in, the same for every door; what breaks one is refused, never silently changed."""

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TypedDict

from ...errors import InvalidInput
from ...hybrid_search import read_period
from ...hybrid_search.text.dates import EXAMPLES, EXAMPLES_AHEAD
from ...models import (
    KINDS_OF_FILES,
    LISTED_KINDS,
    MAX_METADATA_CHARS,
    MAX_TAGS,
    MIN_PREFIX_DIGITS,
    UNSET,
    JsonValue,
    ListRequest,
    MemoryFilter,
    MemoryPatch,
    Metadata,
    MetadataIs,
    SearchRequest,
    fold_tag,
    json_chars,
)
from ...timestamps import EARLIEST_MICROSECONDS, MICROSECONDS_PER_DAY, When, to_microseconds

MAX_TAG_CHARS = 200
MAX_NAME_CHARS = 200
"""Of memory_type, source, session and namespace."""
MAX_PATH_CHARS = 4_096
MAX_METADATA_DEPTH = 20
MAX_QUERY_CHARS = 10_000
MAX_KEY_CHARS = 200
MAX_METADATA_CONDITIONS = 20
MAX_SUPERSEDED = 100
MAX_PAGE = 1_000_000
MAX_PAGE_SIZE = 100
MAX_BATCH = 500
DEFAULT_FTS_WEIGHT = 0.4
DEFAULT_VECTOR_WEIGHT = 0.6
# A signal of weight 0 still finds memories, which then come last: alpha 0 would mean "tags only".
MIN_SHARE = 1e-6
# Clocks of machines differ; what is further ahead than this is a mistake.
MAX_CLOCK_SKEW = MICROSECONDS_PER_DAY // 24 // 12
MAX_INTEGER = 2**63 - 1
# One character can stand for up to 18 in the form in which words are compared (NFKC): so many times as many make a text
# take longer to cut than any of its length. Short ones may have such characters only.
MAX_GROWTH = 4
MAX_SHORT_CHARS = 4_000

NAMESPACE_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*$"
_NAMESPACE = re.compile(NAMESPACE_PATTERN)
_CONTENT_HASH = re.compile("[0-9a-f]{64}")
_ID = re.compile(f"[0-9a-f]{{{MIN_PREFIX_DIGITS},64}}")
_IDEMPOTENCY_KEY = re.compile(f"[ -~]{{1,{MAX_KEY_CHARS}}}")
# Control characters and halves of surrogate pairs, the former with and without tab and line breaks.
_NO_LINE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]")


class _LifeFilter(TypedDict, total=False):
    """The fields of a filter that say when a memory must have been there."""

    pinned: bool | None
    alive_at: int
    expired_by: int
    as_of: int


def check_content(content: str, max_chars: int) -> None:
    check_text(content, "content", max_chars)
    _check_growth(content, "content", MAX_SHORT_CHARS)
    if not _has_something_visible(content):
        raise InvalidInput("content is empty.", reason="content_empty", field="content")


def check_query(query: str) -> None:
    check_text(query, "query", MAX_QUERY_CHARS)
    _check_growth(query, "query", MAX_SHORT_CHARS)
    if not _has_something_visible(query):
        raise InvalidInput("query is empty.", reason="query_empty", field="query")


def check_name(name: str | None, field: str) -> None:
    """For memory_type, source and session: short, visible text."""
    if name is None:
        return
    check_text(name, field, MAX_NAME_CHARS, line_breaks=False)
    if not name.strip():
        raise InvalidInput(f"{field} is empty; leave it out instead.", reason=f"{field}_empty", field=field)


def check_path(path: str, field: str) -> None:
    """For what may name a file."""
    check_text(path, field, MAX_PATH_CHARS, line_breaks=False)
    if not path.strip():
        raise InvalidInput(f"{field} is empty; leave it out instead.", reason=f"{field}_empty", field=field)


def check_namespace(namespace: str) -> None:
    if len(namespace) > MAX_NAME_CHARS or not _NAMESPACE.fullmatch(namespace):
        raise InvalidInput(
            "A namespace is made of letters, digits, '.', '_' and '-', in parts with '/' between them, such as"
            f" team/alice, and has at most {MAX_NAME_CHARS} characters.",
            reason="namespace_invalid",
            field="namespace",
        )


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """The tags in NFC and trimmed, which is how they are stored."""
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"{len(tags)} tags are too many: at most {MAX_TAGS}.", reason="too_many_tags", field="tags")
    for tag in tags:
        check_text(tag, "tags", MAX_TAG_CHARS, line_breaks=False)
        _check_growth(tag, "tags", MAX_TAG_CHARS)
        if not tag.strip():
            raise InvalidInput("A tag is empty.", reason="tag_empty", field="tags")
    return tuple(unicodedata.normalize("NFC", tag).strip() for tag in tags)


def check_sequence(sequence: int | None) -> None:
    if sequence is not None and not 0 <= sequence <= MAX_INTEGER:
        raise InvalidInput("sequence must be 0 to 2^63 - 1.", reason="sequence_out_of_range", field="sequence")


def check_moment(moment: int | None, field: str, now: int | None) -> None:
    """For created_at and updated_at; without `now`, they may lie ahead."""
    if moment is not None and moment < EARLIEST_MICROSECONDS:
        raise InvalidInput(f"{field} lies before year 1.", reason="timestamp_out_of_range", field=field)
    if moment is not None and now is not None and moment > now + MAX_CLOCK_SKEW:
        raise InvalidInput(f"{field} lies in the future.", reason="timestamp_in_future", field=field)


def checked_expiry(expires_at: When | None, now: datetime, *, may_be_past: bool) -> int | None:
    moment = moment_of(expires_at, "expires_at", now, ahead=True)
    check_moment(moment, "expires_at", None)
    if moment is not None and moment <= to_microseconds(now) and not may_be_past:
        raise InvalidInput("expires_at lies in the past.", reason="already_expired", field="expires_at")
    return moment


def checked_patch(patch: MemoryPatch, max_content_chars: int, now: datetime) -> MemoryPatch:
    if patch.content is not None:
        check_content(patch.content, max_content_chars)
    if patch.memory_type is not UNSET:
        check_name(patch.memory_type, "memory_type")
    if patch.metadata is not None:
        check_metadata(patch.metadata)
    if patch.expires_at is not UNSET:
        patch = replace(patch, expires_at=checked_expiry(patch.expires_at, now, may_be_past=True))
    return patch if patch.tags is None else replace(patch, tags=checked_tags(patch.tags))


def moment_of(when: When | None, field: str, now: datetime, *, ahead: bool = False) -> int | None:
    """What was asked for, in microseconds; of a period its start. Words are read in the zone of `now`, those that leave
    it open as a time that has passed, or with `ahead` as one to come."""
    if not isinstance(when, str):
        return when
    period = read_period(when, now, ahead=ahead)
    if period is None:
        examples = EXAMPLES_AHEAD if ahead else EXAMPLES
        raise InvalidInput(f"{field} must be a time, such as {examples}.", reason="time_not_understood", field=field)
    return to_microseconds(period.start)


def check_metadata(metadata: Metadata) -> None:
    _check_json(metadata, depth=1)
    if json_chars(metadata) > MAX_METADATA_CHARS:
        raise InvalidInput(
            f"metadata is larger than {MAX_METADATA_CHARS} characters.", reason="metadata_too_large", field="metadata"
        )


def check_idempotency_key(key: str) -> None:
    """What every client can send as a header."""
    if _IDEMPOTENCY_KEY.fullmatch(key) is None:
        raise InvalidInput(
            f"An idempotency key has 1 to {MAX_KEY_CHARS} printable ASCII characters.",
            reason="idempotency_key_invalid",
            field="idempotency_key",
        )


def checked_search(request: SearchRequest) -> SearchRequest:
    """The search with its weights as alpha."""
    check_query(request.query)
    check_page(request.page, request.page_size)
    check_fraction(request.min_similarity, "min_similarity", low=-1.0)
    check_fraction(request.alpha, "alpha")
    alpha = alpha_from_weights(request.alpha, request.fts_weight, request.vector_weight)
    return replace(request, alpha=alpha, fts_weight=None, vector_weight=None)


def checked_filter(namespace: str, request: SearchRequest | ListRequest, now: datetime) -> MemoryFilter:
    """With tags as the store compares them, each once; without what has expired."""
    types = tuple(dict.fromkeys((*request.types, *((request.memory_type,) if request.memory_type else ()))))
    if len(types) > MAX_TAGS:
        raise InvalidInput(
            f"{len(types)} types are too many: at most {MAX_TAGS}.", reason="too_many_types", field="types"
        )
    for memory_type in types:
        check_name(memory_type, "memory_type")
    check_name(request.session, "session")
    for path, field in ((request.source, "source"), (request.scope, "scope")):
        if path is not None:
            check_path(path, field)
    kinds = request.kinds
    if isinstance(request, ListRequest) and not kinds:
        kinds = LISTED_KINDS
    return MemoryFilter(
        namespace,
        tuple(dict.fromkeys(fold_tag(tag) for tag in checked_tags(request.tags or ()))),
        request.tag_match,
        types,
        moment_of(request.after, "after", now),
        moment_of(request.before, "before", now),
        request.scope,
        kinds,
        session=request.session,
        source=request.source,
        metadata=_checked_metadata_filter(request.metadata),
        **_life_of(request, now),
    )


def _life_of(request: SearchRequest | ListRequest, now: datetime) -> _LifeFilter:
    moment = to_microseconds(now)
    if isinstance(request, ListRequest):
        if request.expired:
            return {"pinned": request.pinned, "expired_by": moment}
        return {"pinned": request.pinned, "alive_at": moment}
    as_of = moment_of(request.as_of, "as_of", now)
    return {"alive_at": moment} if as_of is None else {"as_of": as_of}


def require_filter(request: ListRequest) -> None:
    """Of what changes many memories: all of them at once is a mistake more often than not."""
    if replace(request, page=1, page_size=ListRequest().page_size, tag_match="any") == ListRequest():
        raise InvalidInput("Name at least one filter.", reason="filter_required")
    if set(request.kinds) & set(KINDS_OF_FILES):
        raise InvalidInput("What comes from files is changed there.", reason="content_of_a_source", field="kinds")


def _checked_metadata_filter(asked: Sequence[MetadataIs]) -> tuple[MetadataIs, ...]:
    if len(asked) > MAX_METADATA_CONDITIONS:
        raise InvalidInput(
            f"At most {MAX_METADATA_CONDITIONS} metadata keys can be asked for.",
            reason="too_many_conditions",
            field="metadata",
        )
    for each in asked:
        check_text(each.key, "metadata", MAX_METADATA_CHARS)
        _check_json(each.value, depth=1)
    return tuple(asked)


def check_page(page: int, page_size: int) -> None:
    if not 1 <= page <= MAX_PAGE:
        raise InvalidInput(f"page must be 1 to {MAX_PAGE}.", reason="page_out_of_range", field="page")
    if not 1 <= page_size <= MAX_PAGE_SIZE:
        raise InvalidInput(
            f"page_size must be 1 to {MAX_PAGE_SIZE}.", reason="page_size_out_of_range", field="page_size"
        )


def check_fraction(value: float | None, field: str, low: float = 0.0) -> None:
    if value is not None and not low <= value <= 1.0:
        raise InvalidInput(f"{field} must be {low:g} to 1.", reason=f"{field}_out_of_range", field=field)


def alpha_from_weights(alpha: float | None, fts_weight: float | None, vector_weight: float | None) -> float | None:
    """Alpha, given as itself or as two weights; an end of alpha means one signal alone, so weights stay inside."""
    if fts_weight is None and vector_weight is None:
        return alpha
    if alpha is not None:
        raise InvalidInput("Give alpha or weights, not both.", reason="alpha_and_weights", field="alpha")
    lexical = DEFAULT_FTS_WEIGHT if fts_weight is None else fts_weight
    semantic = DEFAULT_VECTOR_WEIGHT if vector_weight is None else vector_weight
    for weight, field in ((lexical, "fts_weight"), (semantic, "vector_weight")):
        check_fraction(weight, field)
    if lexical + semantic == 0:
        raise InvalidInput("One of the weights must be above 0.", reason="weights_all_zero", field="fts_weight")
    return min(max(semantic / (lexical + semantic), MIN_SHARE), 1 - MIN_SHARE)


def _has_something_visible(text: str) -> bool:
    """Anything but spaces, line breaks and characters without a shape of their own."""
    return any(unicodedata.category(character)[0] not in "ZC" for character in text)


def check_purged(content_hashes: Sequence[str]) -> None:
    if len(content_hashes) > MAX_BATCH:
        raise InvalidInput(
            f"At most {MAX_BATCH} memories at once.", reason="batch_size_out_of_range", field="content_hashes"
        )
    if not all(is_id(each.lower()) for each in content_hashes):
        raise InvalidInput(
            f"An id has 64 digits from 0 to 9 and a to f, of which the first {MIN_PREFIX_DIGITS} or more are given.",
            reason="content_hash_invalid",
            field="content_hashes",
        )


def is_id(text: str) -> bool:
    """Whether it can be an id, or the first digits of one."""
    return _ID.fullmatch(text) is not None


def is_content_hash(text: str) -> bool:
    return _CONTENT_HASH.fullmatch(text) is not None


def check_text(text: str, field: str, max_chars: int, *, line_breaks: bool = True) -> None:
    """Text that can be stored, searched and printed as it is."""
    if len(text) > max_chars:
        raise InvalidInput(
            f"{field} is too long: {len(text)} characters, at most {max_chars}.",
            reason=f"{field}_too_long",
            field=field,
        )
    found = (_NO_TEXT if line_breaks else _NO_LINE).search(text)
    if found is None:
        return
    character = found.group()
    if unicodedata.category(character) == "Cs":
        raise InvalidInput(
            f"{field} has half a surrogate pair, which is not text.", reason="lone_surrogate", field=field
        )
    allowed = "only tab and line breaks are allowed" if line_breaks else "none is allowed here"
    raise InvalidInput(
        f"{field} has the control character U+{ord(character):04X}; {allowed}.", reason="control_character", field=field
    )


def _check_growth(text: str, field: str, max_short: int) -> None:
    if text.isascii():
        return
    grown = len(unicodedata.normalize("NFKC", text))
    if grown > max(MAX_GROWTH * len(text), max_short):
        raise InvalidInput(
            f"{field} has {len(text)} characters that stand for {grown} (in Unicode's form NFKC, in which words are"
            f" compared), more than {MAX_GROWTH} times as many: write them out.",
            reason=f"{field}_grows",
            field=field,
        )


def _check_json(value: JsonValue, depth: int) -> None:
    """Check a JSON value to its leaves."""
    if depth > MAX_METADATA_DEPTH:
        raise InvalidInput(
            f"metadata is nested deeper than {MAX_METADATA_DEPTH} levels.", reason="metadata_too_deep", field="metadata"
        )
    if isinstance(value, str):
        check_text(value, "metadata", MAX_METADATA_CHARS)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            check_text(key, "metadata", MAX_METADATA_CHARS)
            _check_json(item, depth + 1)
    elif isinstance(value, Sequence):
        for item in value:
            _check_json(item, depth + 1)
    else:
        _check_number(value)


def _check_number(value: int | float | bool | None) -> None:
    if isinstance(value, float) and not math.isfinite(value):
        raise InvalidInput(
            "metadata has a number that is NaN or infinite.", reason="number_not_finite", field="metadata"
        )
    if isinstance(value, int) and not -MAX_INTEGER - 1 <= value <= MAX_INTEGER:
        raise InvalidInput(
            "metadata has an integer beyond 64 bits; write it as a string.",
            reason="integer_out_of_range",
            field="metadata",
        )
