"""What writers do to a store while it is strained, and what must be in it afterwards."""

import random
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from tests.contract.memories import memory
from tests.support.fakes import WordEmbedder

from mcp_memory_service.models import EmbeddedMemory, MemoryPatch, content_hash
from mcp_memory_service.storage.ports import Store

Kind: TypeAlias = Literal["store", "tag", "update", "delete", "batch"]

KINDS: tuple[Kind, ...] = ("store", "tag", "update", "delete", "batch")
BATCH = 5
WORDS = "tunnel key note server backup release cache index token budget meeting invoice garden letter".split()

# Together they stay below the hundred tags that a memory may have.
WRITERS_OF_ONE_SHARED = 8
TAGS_OF_ONE_WRITER = 8


@dataclass(frozen=True, slots=True)
class Operation:
    """One call of a writer, with all that it takes to know what the store must hold after it."""

    kind: Kind
    contents: tuple[str, ...]
    tags: tuple[str, ...] = ()
    revision: int = 0
    """Written as metadata by an update, so that half of one would show."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What is compared of a memory that has one writer."""

    tags: frozenset[str]
    revision: int


@dataclass
class Mix:
    """The operations of one writer, by chance: on memories of its own, and tags for those that all share."""

    writer: int
    chance: random.Random
    _own: list[str] = field(default_factory=list[str])
    """Memories that are there for certain."""
    _count: int = 0

    def next(self) -> Operation:
        kind = self.chance.choice(KINDS)
        self._count += 1
        if kind == "tag":
            return self._tag()
        if kind in {"update", "delete"} and self._own:
            # Taken out until the outcome is known: of a memory with an unknown fate nothing could be expected.
            content = self._own.pop(self.chance.randrange(len(self._own)))
            if kind == "delete":
                return Operation("delete", (content,))
            return Operation("update", (content,), ("updated", f"u{self._count}"), self._count)
        size = BATCH if kind == "batch" else 1
        return Operation("batch" if kind == "batch" else "store", self._new_contents(size), ("new", self._name))

    def acknowledged(self, operation: Operation) -> None:
        if operation.kind in {"store", "batch", "update"}:
            self._own.extend(operation.contents)

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
    first = operation.contents[0]
    if operation.kind == "delete":
        assert await store.delete("default", content_hash(first)), "it was there"
    elif operation.kind == "update":
        patch = MemoryPatch(tags=operation.tags, metadata={"revision": operation.revision})
        assert await store.update("default", content_hash(first), patch, now=operation.revision), "it was there"
    else:
        await store.store_batch([_embedded(content, operation.tags) for content in operation.contents])


def _embedded(content: str, tags: tuple[str, ...]) -> EmbeddedMemory:
    return EmbeddedMemory(memory(content, *tags), (WordEmbedder.vector(content),))


@dataclass
class Expected:
    """What a store must hold after the operations of some writers."""

    own: dict[str, Kept | None] = field(default_factory=dict[str, Kept | None])
    """None for a memory that was deleted."""
    shared: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    in_doubt: list[Operation] = field(default_factory=list[Operation])
    """Those that nobody heard the end of: each was done as a whole or not at all."""

    def add(self, acknowledged: Iterable[Operation]) -> None:
        for operation in acknowledged:
            if operation.kind == "tag":
                self.shared.setdefault(operation.contents[0], set()).update(operation.tags)
            else:
                self.own |= outcome(operation)


def outcome(operation: Operation) -> dict[str, Kept | None]:
    """What an operation on own memories leaves of them."""
    left = None if operation.kind == "delete" else Kept(frozenset(operation.tags), operation.revision)
    return dict.fromkeys(operation.contents, left)
