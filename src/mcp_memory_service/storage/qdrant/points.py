"""Between memories and points: ids, payloads and sparse vectors.

A memory is one point, so that its parts change together: text, tags, the vectors of its chunks and its words.
"""

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID, uuid5

from qdrant_client import models

from ...hybrid_search.bm25 import length_norm, term_weight
from ...models import (
    MIN_PREFIX_DIGITS,
    Candidate,
    Edge,
    IndexedText,
    JsonValue,
    Memory,
    Metadata,
    Vector,
    fold_tag,
    scope_roots,
)

Payload: TypeAlias = Mapping[str, Any]

DENSE, TERMS, TAGS = "dense", "terms", "tags"
"""The vectors of a point: one for each chunk of the text, the words with BM25 weights, the tags."""

MEMORY, FEEDBACK, TUNING, TAG_LIST = "memory", "feedback", "tuning", "tag_list"
REQUEST, SOURCE, PROBE = "request", "source", "probe"
"""The kinds of points; all but memories have a payload only, and a `scope` in place of a namespace."""

CANDIDATE_FIELDS = ["content_hash", "created_at", "session", "sequence"]

# Between the words of labels and those of the text, so that no phrase spans both. No word is made of it.
BOUNDARY = "|"
# Before a name, so that it is never taken for a word: words do not begin with it.
NAME_MARK = "="

# The length that stored weights are made for; the order among what they find is computed anew with the true mean.
# LoCoMo turns have 35 words, notes of our own corpus 38, CoSQA functions 47, Debian's package descriptions 76.
REFERENCE_LENGTH = 64.0

PINNED = "pinned"
# What is longer is looked up by a digest: a value of metadata may have 65,536 characters, and the index keeps each.
MAX_ITEM_CHARS = 64

_ID_SPACE = UUID("5d5a4f0e-6c3b-5e0a-9d55-4d4d53000001")


@dataclass(frozen=True, slots=True)
class Attached:
    """What a point has beside its memory, and keeps when the memory changes."""

    requests: tuple[str, ...] = ()
    """The requests with a key that changed it, newest first, see `idempotency.py`."""
    edges: tuple[Edge, ...] = ()
    generation: int = 0
    """Which replacement of its source had it last, see `sources.py`; 0 if none had."""


def memory_id(namespace: str, content_hash: str) -> str:
    """The same memory always is the same point, whoever writes it."""
    return other_id(MEMORY, namespace, content_hash)


def other_id(kind: str, *parts: str) -> str:
    return str(uuid5(_ID_SPACE, "\0".join((kind, *parts))))


def memory_point(
    memory: Memory,
    vectors: Sequence[Vector],
    text: IndexedText,
    revisions: Sequence[str],
    birth: str,
    attached: Attached,
) -> models.PointStruct:
    """`revisions` name this state of the memory and the ones before it, `birth` the write that made it."""
    terms = _terms(text)
    counts = Counter(term for term in terms if term != BOUNDARY)
    tag_keys = [fold_tag(tag) for tag in memory.tags]
    sparse = {TERMS: _term_vector(counts), TAGS: sparse_vector(dict.fromkeys(tag_keys, 1.0))}
    optional = {
        "memory_type": memory.memory_type,
        "source": memory.source,
        "session": memory.session,
        "sequence": memory.sequence,
        "anchor": memory.anchor,
        "names": list(memory.names) or None,
        "source_prefixes": None if memory.source is None else scope_roots(memory.source),
        "pinned": memory.pinned or None,
        "expires_at": memory.expires_at,
        "edited_at": memory.edited_at,
        "ended_at": memory.ended_at,
        **{name: value or None for name, value in attached_payload(attached).items()},
    }
    payload = {
        "kind": MEMORY,  # of points; the kind of memory has a name of its own
        "memory_kind": memory.kind,
        "namespace": memory.namespace,
        "content_hash": memory.content_hash,
        "found_by": found_by(memory.content_hash, memory.metadata, pinned=memory.pinned),
        "content": memory.content,
        "created_at": memory.created_at,
        "updated_at": memory.updated_at,
        "tags": list(memory.tags),
        "tag_keys": tag_keys,
        # As text: numbers come back as they went in, and keys of users are never fields of ours.
        "metadata": json.dumps(memory.metadata, ensure_ascii=False, separators=(",", ":"), allow_nan=False),
        "terms": " ".join(terms),
        "length": counts.total(),
        "windows": len(vectors),
        **revision_payload(revisions),
        "birth": birth,
        **{name: value for name, value in optional.items() if value is not None},
    }
    named: dict[str, models.Vector] = {DENSE: [vector.tolist() for vector in vectors]} if vectors else {}
    named |= {name: vector for name, vector in sparse.items() if vector.indices}
    return models.PointStruct(id=memory_id(memory.namespace, memory.content_hash), vector=named, payload=payload)


def found_by(content_hash: str, metadata: Metadata, *, pinned: bool = False) -> list[str]:
    """What memories are looked up by, all in one index: the first digits of the id, whether it is pinned, each key of
    the metadata, and each key with its value where that is one."""
    with_value = [metadata_item(key, value) for key, value in metadata.items() if isinstance(value, str | int | float)]
    items = [*(metadata_item(key) for key in metadata), *with_value]
    return [short_id(content_hash), *([PINNED] if pinned else []), *items]


def short_id(content_hash: str) -> str:
    return f"id:{content_hash[:MIN_PREFIX_DIGITS]}"


def metadata_item(key: str, *value: JsonValue) -> str:
    """As JSON, in which numbers that are equal are written alike."""
    plain = [int(each) if isinstance(each, float) and each.is_integer() else each for each in value]
    text = json.dumps([key, *plain], separators=(",", ":"), allow_nan=False)
    return text if len(text) <= MAX_ITEM_CHARS else hashlib.blake2b(text.encode(), digest_size=16).hexdigest()


def revision_payload(revisions: Sequence[str]) -> dict[str, Any]:
    """Newest first."""
    return {"revision": revisions[0], "revisions": list(revisions)}


def attached_payload(attached: Attached) -> dict[str, Any]:
    edges = attached.edges
    return {
        "requests": list(attached.requests),
        # As text, as metadata is: a server rounds some numbers.
        "edges": json.dumps([(e.to, e.kind, e.weight, e.by_name) for e in edges], ensure_ascii=False) if edges else "",
        "edge_targets": [edge_target(edge.to, by_name=edge.by_name) for edge in edges],
        "generation": attached.generation,
    }


def attached_from(payload: Payload) -> Attached:
    return Attached(tuple(payload.get("requests", ())), edges_from(payload), payload.get("generation", 0))


def edges_from(payload: Payload) -> tuple[Edge, ...]:
    found = json.loads(payload.get("edges") or "[]")
    return tuple(
        Edge(payload["content_hash"], to, kind, weight, by_name=by_name) for to, kind, weight, by_name in found
    )


def edge_target(to: str, *, by_name: bool) -> str:
    """What an edge leads to as edges are looked up by it."""
    return f"{'name' if by_name else 'id'}:{to}"


def memory_from(payload: Payload) -> Memory:
    return Memory(
        content=payload["content"],
        content_hash=payload["content_hash"],
        created_at=payload["created_at"],
        updated_at=payload["updated_at"],
        tags=tuple(payload["tags"]),
        memory_type=payload.get("memory_type"),
        metadata=json.loads(payload["metadata"]),
        namespace=payload["namespace"],
        source=payload.get("source"),
        session=payload.get("session"),
        sequence=payload.get("sequence"),
        kind=payload.get("memory_kind", "memory"),
        anchor=payload.get("anchor"),
        names=tuple(payload.get("names", ())),
        pinned=payload.get("pinned", False),
        expires_at=payload.get("expires_at"),
        edited_at=payload.get("edited_at"),
        ended_at=payload.get("ended_at"),
    )


def candidate_from(payload: Payload, score: float) -> Candidate:
    return Candidate(
        payload["content_hash"], payload["created_at"], score, payload.get("session"), payload.get("sequence")
    )


def payload_of(point: models.ScoredPoint | models.Record) -> Payload:
    assert point.payload is not None, "every request of ours asks for payload"
    return point.payload


def _terms(text: IndexedText) -> list[str]:
    """The words of a memory in order: those of labels, those of the text, and its names, marked."""
    names = (NAME_MARK + name for name in text.names.split())
    return [*text.labels.split(), BOUNDARY, *text.words.split(), BOUNDARY, *names]


def _term_vector(counts: Counter[str]) -> models.SparseVector:
    """The server multiplies by the idf of each word, which changes; what is stored here does not."""
    norm = length_norm(counts.total(), REFERENCE_LENGTH)
    return sparse_vector({term: term_weight(count, norm) for term, count in counts.items()})


def sparse_vector(values: Mapping[str, float]) -> models.SparseVector:
    """Texts as numbers of 32 bits. Two may fall on one: results are checked against the words themselves."""
    by_index: dict[int, float] = {}
    for text, value in values.items():
        index = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest())
        by_index[index] = by_index.get(index, 0.0) + value
    return models.SparseVector(indices=list(by_index), values=list(by_index.values()))
