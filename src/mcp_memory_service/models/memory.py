"""A memory and what can be done with it; times are microseconds UTC."""

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..timestamps import When

Vector: TypeAlias = NDArray[np.float32]
JsonValue: TypeAlias = "str | int | float | bool | Sequence[JsonValue] | Mapping[str, JsonValue] | None"
Metadata: TypeAlias = Mapping[str, JsonValue]
Progress: TypeAlias = Callable[[str, int, int], None]
"""Told what is being done, how much of it is done, and how much there is to do."""

DEFAULT_NAMESPACE = "default"

_HISTORY, _TRASH = "#history", "#trash"
# No caller can name such a namespace: "#" is not allowed in one (services/write/checks.py).


def history_of(namespace: str) -> str:
    """Where the superseded memories of a namespace are kept: a namespace of its own, so that they count for nothing in
    the other one."""
    return namespace + _HISTORY


def trash_of(namespace: str) -> str:
    """Where the deleted memories of a namespace are kept until they are gone for good."""
    return namespace + _TRASH


def is_main(namespace: str) -> bool:
    """Whether it is neither a history nor a trash."""
    return "#" not in namespace


def main_namespace(namespace: str) -> str:
    """The namespace whose history or trash this is; itself if it is neither."""
    return namespace.removesuffix(_HISTORY).removesuffix(_TRASH)


MemoryKind: TypeAlias = Literal["memory", "note", "code", "decision", "error"]
"""A plain memory is its text, wherever it came from; all others belong to the place they were taken from."""
LISTED_KINDS: tuple[MemoryKind, ...] = ("memory", "decision", "error")
KINDS_OF_FILES: tuple[MemoryKind, ...] = ("note", "code")
"""What comes from files is changed and deleted there; listings leave it out unless it is asked for."""

MIN_PREFIX_DIGITS = 8
"""Of an id that is given shortened: among a million memories one in four thousand shares so many with another."""
SHOWN_DIGITS = 12
"""Of an id: among a million memories the chance is one in five hundred that two share so many."""
MAX_TAGS = 100
MAX_NAMES = 100
MAX_METADATA_CHARS = 65_536
MAX_HEADING_CHARS = 200
"""A heading takes room in every chunk: so much is about 50 of the 256 tokens that the local model reads."""
ANCHOR_DIVIDER = " > "
"""Between the headings that a part of a note stands under."""

_HEADING_LINE = re.compile(r"^#{1,6}[ \t]+(.+)$", re.MULTILINE)


class Unset(Enum):
    """Says that a field of a patch is left as it is, where None means something else."""

    UNSET = "unset"


UNSET = Unset.UNSET


def json_chars(value: JsonValue) -> int:
    """How long a value is as JSON."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def content_hash(content: str) -> str:
    """The public id of a plain memory: SHA-256 of its NFC-normalised, stripped text."""
    return hashlib.sha256(_normalised(content).encode()).hexdigest()


def identity_hash(kind: MemoryKind, source: str | None, anchor: str | None, content: str) -> str:
    """The public id of a memory of any kind: the same text in two files is two notes, but one plain memory.

    Every door calls it `content_hash`, which it was before there were kinds, and which clients keep.
    """
    if kind == "memory":
        return content_hash(content)
    # JSON keeps the parts apart whatever is in them, and a part that is missing from an empty one.
    parts = json.dumps([kind, source, anchor, _normalised(content)], ensure_ascii=False, separators=(",", ":"))
    return hashlib.sha256(parts.encode()).hexdigest()


def _normalised(content: str) -> str:
    return unicodedata.normalize("NFC", content).strip()


def fold_tag(tag: str) -> str:
    """The form in which two tags are compared; the form in which one is shown is kept beside it."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", tag).strip().casefold())


@dataclass(frozen=True, slots=True)
class MemoryDraft:
    """What a caller asks to remember."""

    content: str
    tags: tuple[str, ...] = ()
    memory_type: str | None = None
    metadata: Metadata = field(default_factory=dict[str, JsonValue])
    created_at: int | None = None
    source: str | None = None
    session: str | None = None
    sequence: int | None = None
    updated_at: int | None = None
    edited_at: int | None = None
    """The two are given only for what was a memory before, and comes from an export."""
    kind: MemoryKind = "memory"
    anchor: str | None = None
    names: tuple[str, ...] = ()
    pinned: bool = False
    expires_at: When | None = None
    supersedes: tuple[str, ...] = ()
    """The ids of memories of the namespace that this one takes the place of."""


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory; times are microseconds UTC."""

    content: str
    content_hash: str
    created_at: int
    updated_at: int
    tags: tuple[str, ...] = ()
    memory_type: str | None = None
    metadata: Metadata = field(default_factory=dict[str, JsonValue])
    namespace: str = DEFAULT_NAMESPACE
    source: str | None = None
    session: str | None = None
    sequence: int | None = None
    kind: MemoryKind = "memory"
    anchor: str | None = None
    """The place within the source, such as a heading or a symbol."""
    names: tuple[str, ...] = ()
    """What it can be addressed by, such as `note:Zeta register`, `path:docs/a.md` or `symbol:pkg.mod.func`. Several
    memories may share a name."""
    pinned: bool = False
    """Given with every recall of context, whatever it is about."""
    expires_at: int | None = None
    """From then on no search and no listing has it; it is deleted by nobody but its owner."""
    edited_at: int | None = None
    """When its text came in the place of an earlier one; None if it is the first."""
    ended_at: int | None = None
    """When it was superseded or deleted; None as long as it is neither."""

    @property
    def short_id(self) -> str:
        """As people and models are shown it."""
        return self.content_hash[:SHOWN_DIGITS]

    @property
    def labels(self) -> tuple[str, ...]:
        """What it is indexed under beside its text: its tags, and of a note the headings above it. Those that stand in
        the text itself are found there."""
        if self.kind != "note" or not self.anchor:
            return self.tags
        lines: list[str] = _HEADING_LINE.findall(self.content)
        inside = {form for line in lines for form in (line.strip(), line.rstrip("# \t\r"))}
        return (*self.tags, *(part for part in self.anchor.split(ANCHOR_DIVIDER) if part not in inside))

    @property
    def heading(self) -> str:
        """What each chunk of it is embedded under, so that it says what it is about; a plain memory says so itself."""
        return "" if self.kind == "memory" else (self.anchor or "")[:MAX_HEADING_CHARS]


@dataclass(frozen=True, slots=True)
class EmbeddedMemory:
    """A memory with the vectors of its text, one for each chunk of a long text."""

    memory: Memory
    vectors: tuple[Vector, ...]
    """None, if they are to come later: only what comes from a source may wait for them."""
    supersedes: tuple[str, ...] = ()
    """What goes to the history when it is stored."""


@dataclass(frozen=True, slots=True)
class SimilarMemory:
    """A memory that says nearly the same as one that was just stored, or the contrary."""

    memory: Memory
    similarity: float


@dataclass(frozen=True, slots=True)
class StoreOutcome:
    """What became of a memory that was sent to be stored."""

    memory: Memory
    created: bool
    """False when the same content was there already and only tags and metadata were united."""
    similar: tuple[SimilarMemory, ...] = ()
    """Other memories that it may repeat, correct or contradict, most similar first."""

    @property
    def verb(self) -> str:
        return "Stored" if self.created else "Already known, tags and metadata united"

    @property
    def summary(self) -> str:
        return f"{self.verb}: {self.memory.short_id}"


@dataclass(frozen=True, slots=True)
class MemoryPatch:
    """What to change of a memory. Another content makes a new version, under an id of its own."""

    tags: tuple[str, ...] | None = None
    """The new tags in place of the old ones; None leaves them."""
    memory_type: str | Literal[Unset.UNSET] | None = UNSET
    metadata: Metadata | None = None
    """A JSON merge patch (RFC 7396): given keys are set, keys given as null are removed."""
    content: str | None = None
    """The new text in place of the old one; None leaves it."""
    pinned: bool | None = None
    """None leaves it."""
    expires_at: When | Literal[Unset.UNSET] | None = UNSET
    add_tags: tuple[str, ...] = ()
    remove_tags: tuple[str, ...] = ()
    """What comes and goes of the tags as they are when the patch is applied."""


@dataclass(frozen=True, slots=True)
class IdempotencyKey:
    """Tells a request that is sent again from a new one. Stores keep digests only: a key or a patch may be private."""

    key: str
    """SHA-256 of the key that the caller made up."""
    fingerprint: str
    """SHA-256 of what is asked for; with the same key it must be the same."""
    received_at: int


@dataclass(frozen=True, slots=True)
class Purged:
    """What came of a purge."""

    not_found: tuple[str, ...]
    """Those that were not there, or not any more."""
    erased: bool
    """Whether their bytes are gone from the store's files; if not, something else still has to let go of them."""
    memories: int = 0
    """How many there were, with those that they took the place of."""


@dataclass(frozen=True, slots=True)
class TagCount:
    """A tag as it is shown and how many memories carry it."""

    tag: str
    memories: int


@dataclass(frozen=True, slots=True)
class MemoryPage:
    """One page of a listing, newest first."""

    memories: tuple[Memory, ...]
    total: int


@dataclass(frozen=True, slots=True)
class MemoryScan:
    """A part of a whole store, in an order of the store's own."""

    items: tuple[EmbeddedMemory, ...]
    cursor: str | None
    """Where the next part begins; None after the last."""
