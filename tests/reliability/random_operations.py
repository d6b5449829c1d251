"""Operations on a store, made from a seed: memories come, are stored again, patched, edited, superseded, deleted and
brought back."""

import random
from dataclasses import replace

import numpy as np
from tests.contract.memories import memory
from tests.reliability.expectations import LIVE, TRASH, Delete, History, Operation, Restore, State, Store, Update, live

from mcp_memory_service.models import EmbeddedMemory, JsonValue, MemoryPatch, Vector

COMMON_WORD = "note"
DIMENSION = 4
_FILLER = "river copper lantern violet harbour meadow engine winter marble signal orchard thunder".split()
_TAGS = ["red", "green", "blue", "work", "home", "idea", "later"]


def own_word(content: str) -> str:
    """The word that this memory has and no other."""
    return content.split()[1]


class RandomOperations:
    def __init__(self, chance: random.Random, prefix: str = "w") -> None:
        self._chance = chance
        self._prefix = prefix
        self._count = 0

    def next(self, history: History) -> Operation:
        state = history.state()
        kinds = [self._store_new, self._store_new, self._batch]
        if live(state):
            kinds += [self._store_again, self._patch, self._delete, self._edit, self._supersede, self._trash]
        if _restorable(state):
            kinds += [self._restore]
        return self._chance.choice(kinds)(state)

    def new_item(self) -> EmbeddedMemory:
        self._count += 1
        # A few are longer than a page of the file.
        words = self._chance.choice([3, 3, 3, 30, 300, 3000])
        content = " ".join([COMMON_WORD, f"{self._prefix}{self._count}x", *self._chance.choices(_FILLER, k=words)])
        stored = memory(content, *self._some_tags(), at=1_000 + self._count, metadata=self._some_metadata())
        windows = self._chance.choice([1, 1, 3])
        return EmbeddedMemory(stored, tuple(self._vector() for _ in range(windows)))

    def _store_new(self, _: State) -> Operation:
        return Store((self.new_item(),))

    def _batch(self, _: State) -> Operation:
        return Store(tuple(self.new_item() for _ in range(self._chance.randint(2, 6))))

    def _store_again(self, state: State) -> Operation:
        known = state[LIVE, self._any_of(state)].memory
        again = memory(known.content, *self._some_tags(), at=5_000 + self._count, metadata=self._some_metadata())
        return Store((EmbeddedMemory(again, (self._vector(),)),))

    def _patch(self, state: State) -> Operation:
        patch = MemoryPatch(tags=self._some_tags(), memory_type="patched", metadata=self._some_metadata())
        return Update(self._any_of(state), patch, now=9_000 + self._count)

    def _delete(self, state: State) -> Operation:
        return Delete(self._any_of(state))

    def _edit(self, state: State) -> Operation:
        new = self.new_item()
        patch = MemoryPatch(tags=self._some_tags(), content=new.memory.content, pinned=True, expires_at=10**9)
        return Update(self._any_of(state), patch, now=9_000 + self._count, vectors=new.vectors)

    def _supersede(self, state: State) -> Operation:
        old = {self._any_of(state) for _ in range(2)}
        return Store((replace(self.new_item(), supersedes=tuple(sorted(old))),))

    def _trash(self, state: State) -> Operation:
        return Delete(self._any_of(state), trashed_at=9_000 + self._count)

    def _restore(self, state: State) -> Operation:
        return Restore(self._chance.choice(_restorable(state)))

    def _any_of(self, state: State) -> str:
        return self._chance.choice(live(state))

    def _some_tags(self) -> tuple[str, ...]:
        return tuple(self._chance.sample(_TAGS, self._chance.randint(0, 3)))

    def _some_metadata(self) -> dict[str, JsonValue]:
        return {self._chance.choice(["a", "b", "c"]): self._chance.randint(0, 99)}

    def _vector(self) -> Vector:
        return np.array([self._chance.uniform(0.1, 1.0) for _ in range(DIMENSION)], dtype=np.float32)


def _restorable(state: State) -> list[str]:
    return sorted(content_hash for section, content_hash in state if section == TRASH)


def one_more(name: str) -> Store:
    """A memory that no seed makes, to see whether a store still takes something."""
    stored = memory(f"{COMMON_WORD} {name}", "extra")
    return Store((EmbeddedMemory(stored, (np.ones(DIMENSION, dtype=np.float32),)),))
