"""What writers do to a store while it is strained, and what must be in it afterwards."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, TypeAlias, get_args

from tests.contract.memories import memory
from tests.support.fakes import WordEmbedder

from mcp_memory_service.models import EmbeddedMemory, MemoryPatch, content_hash, history_of, trash_of
from mcp_memory_service.storage.ports import Store

Kind: TypeAlias = Literal["store", "tag", "update", "delete", "batch", "edit", "supersede", "trash", "restore"]
Place: TypeAlias = tuple[str, str]
"""A namespace and a content: where a memory may be."""

KINDS: tuple[Kind, ...] = get_args(Kind)
LIVE, HISTORY, TRASH = SECTIONS = ("default", history_of("default"), trash_of("default"))
BATCH = 5
MAX_SUPERSEDED = 3
WORDS = "tunnel key note server backup release cache index token budget meeting invoice garden letter".split()

# Together they stay below the hundred tags that a memory may have.
WRITERS_OF_ONE_SHARED = 8
TAGS_OF_ONE_WRITER = 8


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a writer, with all that it takes to know what the store must hold after it."""

    kind: Kind
    contents: tuple[str, ...]
    """Of an edit the old and the new one; of what supersedes others its own and theirs."""
    tags: tuple[str, ...] = ()
    revision: int = 0
    """Written as metadata by an update, so that half of one would show."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is compared of a memory that has one writer."""

    tags: frozenset[str]
    revision: int
    supersedes: frozenset[str] = frozenset()
    """Ids."""


@dataclass
class Mix:
    """The operations of one writer, by chance: on memories of its own, and tags for those that all share."""

    writer: int
    chance: random.Random
    _own: list[str] = field(default_factory=list[str])
    """Memories that are there for certain."""
    _trashed: list[str] = field(default_factory=list[str])
    """Those that are in the trash for certain."""
    _count: int = 0

    def next(self) -> Operation:
        kind = self.chance.choice(KINDS)
        self._count += 1
        if kind == "tag":
            return self._tag()
        if kind == "restore" and self._trashed:
            return Operation("restore", (self._one_of(self._trashed),))
        if kind in {"update", "delete", "trash", "edit", "supersede"} and self._own:
            return self._change(kind, self._one_of(self._own))
        size = BATCH if kind == "batch" else 1
        return Operation("batch" if kind == "batch" else "store", self._new_contents(size), ("new", self._name))

    def _change(self, kind: Kind, content: str) -> Operation:
        tags = (kind, f"u{self._count}")
        if kind == "update":
            return Operation("update", (content,), tags, self._count)
        if kind == "edit":
            return Operation("edit", (content, *self._new_contents(1)), tags, self._count)
        if kind == "supersede":
            more = min(len(self._own), self.chance.randrange(MAX_SUPERSEDED))
            others = [self._one_of(self._own) for _ in range(more)]
            return Operation("supersede", (*self._new_contents(1), content, *others), tags)
        return Operation(kind, (content,))

    def acknowledged(self, operation: Operation) -> None:
        if operation.kind in {"store", "batch", "update", "restore"}:
            self._own.extend(operation.contents)
        elif operation.kind == "edit":
            self._own.append(operation.contents[1])
        elif operation.kind == "supersede":
            self._own.append(operation.contents[0])
        elif operation.kind == "trash":
            self._trashed.append(operation.contents[0])

    def _one_of(self, contents: list[str]) -> str:
        """Taken out until the outcome is known: of a memory with an unknown fate nothing could be expected."""
        return contents.pop(self.chance.randrange(len(contents)))

    @property
    def _name(self) -> str:
        return f"writer{self.writer}"

    def _tag(self) -> Operation:
        group = self.writer // WRITERS_OF_ONE_SHARED
        number = self._count // (TAGS_OF_ONE_WRITER * len(KINDS))
        return Operation("tag", (shared_content(group, number),), (f"w{self.writer}-{self._count}",))

    def _new_contents(self, size: int) -> tuple[str, ...]:
        return tuple(
            f"note {self._count} part {part} of {self._name} {' '.join(self.chance.choices(WORDS, k=8))}"
            for part in range(size)
        )


def shared_content(group: int, number: int) -> str:
    return f"shared {number} of group{group}"


async def carry_out(store: Store, operation: Operation) -> None:
    first, *others = operation.contents
    first_id, revision = content_hash(first), operation.revision
    match operation.kind:
        case "delete":
            assert await store.delete(LIVE, first_id), "it was there"
        case "trash":
            assert await store.delete(LIVE, first_id, trashed_at=1), "it was there"
        case "restore":
            assert await store.restore(LIVE, first_id, now=1), "it was there"
        case "update":
            patch = MemoryPatch(tags=operation.tags, metadata={"revision": revision})
            assert await store.update(LIVE, first_id, patch, now=revision), "it was there"
        case "edit":
            patch = MemoryPatch(tags=operation.tags, metadata={"revision": revision}, content=others[0])
            vectors = (WordEmbedder.vector(others[0]),)
            assert await store.update(LIVE, first_id, patch, revision, None, vectors), "it was there"
        case "supersede":
            item = _embedded(first, operation.tags)
            await store.store_batch([replace(item, supersedes=tuple(map(content_hash, others)))])
        case _:
            await store.store_batch([_embedded(content, operation.tags) for content in operation.contents])


def _embedded(content: str, tags: tuple[str, ...]) -> EmbeddedMemory:
    return EmbeddedMemory(memory(content, *tags), (WordEmbedder.vector(content),))


@dataclass
class Expected:
    """What a store must hold after the operations of some writers."""

    own: dict[Place, Kept | None] = field(default_factory=dict[Place, Kept | None])
    """None where a memory was and is no more."""
    shared: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    in_doubt: list[Operation] = field(default_factory=list[Operation])
    """Those that nobody heard the end of: each was done as a whole or not at all."""

    def add(self, acknowledged: Iterable[Operation]) -> None:
        for operation in acknowledged:
            if operation.kind == "tag":
                self.shared.setdefault(operation.contents[0], set()).update(operation.tags)
            else:
                self.own |= outcome(operation, self.own)


def outcome(operation: Operation, before: Mapping[Place, Kept | None]) -> dict[Place, Kept | None]:
    """What an operation on own memories leaves of them, in every place that it touches."""
    first, *others = operation.contents
    known, written = before.get((LIVE, first)), Kept(frozenset(operation.tags), operation.revision)
    match operation.kind:
        case "delete" | "trash":
            return {(LIVE, first): None} | ({(TRASH, first): known} if operation.kind == "trash" else {})
        case "restore":
            return {(TRASH, first): None, (LIVE, first): before.get((TRASH, first))}
        case "update":
            return {(LIVE, first): replace(written, supersedes=known.supersedes if known else frozenset())}
        case "edit":
            assert known is not None
            inherited = known.supersedes | {content_hash(first)}
            past = replace(known, supersedes=frozenset())
            return {
                (LIVE, first): None,
                (HISTORY, first): past,
                (LIVE, others[0]): replace(written, supersedes=inherited),
            }
        case "supersede":
            new = replace(written, supersedes=frozenset(map(content_hash, others)))
            gone: dict[Place, Kept | None] = {(LIVE, old): None for old in others}
            return {(LIVE, first): new, **gone, **{(HISTORY, old): before.get((LIVE, old)) for old in others}}
        case _:
            return dict.fromkeys([(LIVE, content) for content in operation.contents], written)
