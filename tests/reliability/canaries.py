"""A store with a past: memories of all lengths come, change and go, and a third of them hold words that must go."""

import random
import string
from dataclasses import dataclass, field, replace

import numpy as np
from tests.contract.memories import memory
from tests.support.one_memory import store_one

from mcp_memory_service.models import Edge, EmbeddedMemory, Feedback, MemoryPatch, Vector, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .traces import Wanted

MODEL, DIMENSION = "random-384", 384
MEMORIES = 90
STEM_LETTERS, TAIL_LETTERS = 10, 10
WORDS = "tunnel key note server backup release cache index token budget meeting invoice garden letter".split()


@dataclass
class Churn:
    """What is done to one store, by chance."""

    seed: int
    wanted: Wanted = field(default_factory=Wanted)
    planted: int = 0
    secret: list[str] = field(default_factory=list[str])
    """The hashes of the memories that are to be purged."""

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._numbers = np.random.default_rng(self.seed)
        # The text index keeps only the end of a word that begins like the one before it: so they all begin alike, and
        # beginning and end are looked for one by one.
        self._stem = self._letters(STEM_LETTERS)
        self.wanted.texts.add(self._stem.encode())
        self._others: list[str] = []

    async def fill(self, store: SqliteVecStorage) -> None:
        for number in range(MEMORIES):
            if number % 3 == 0:
                await self._plant(store, number)
            else:
                await self._store_other(store, number)
            if self._others and self._chance.random() < 0.25:
                gone = self._others.pop(self._chance.randrange(len(self._others)))
                assert await store.delete("default", gone)
            if self.secret and self._chance.random() < 0.3:
                await self._change_a_secret(store, number)

    def canary(self) -> str:
        self.planted += 1
        tail = self._letters(TAIL_LETTERS)
        self.wanted.texts.add(tail.encode())
        return self._stem + tail

    async def _plant(self, store: SqliteVecStorage, number: int) -> None:
        content = self._text(number, self.canary())
        note = memory(
            content, "note", self.canary(), at=number,
            metadata={"secret": self.canary(), self.canary(): [1]},
            session=self.canary(), sequence=number, source=self.canary(),
            kind="memory" if number % 2 else "note", anchor=self.canary(),
            names=(f"note:{self.canary()}", self.canary()),
        )  # fmt: skip
        vectors = tuple(self._vector() for _ in range(self._chance.randrange(1, 4)))
        await store_one(store, EmbeddedMemory(note, vectors))
        await store.add_feedback("default", Feedback(self.canary(), note.content_hash, useful=True, created_at=number))
        edges = [Edge(note.content_hash, self.canary(), "link", by_name=True)]
        edges += [
            Edge(other, note.content_hash, "mentions", by_name=False) for other in (*self._others, *self.secret)[-4:]
        ]
        assert await store.add_edges("default", edges) == []
        self.secret.append(note.content_hash)
        self.wanted.texts |= {note.content_hash.encode(), bytes.fromhex(note.content_hash)}
        self.wanted.vectors += [vector.tobytes() for vector in vectors]

    async def store_one(self, store: SqliteVecStorage) -> None:
        await store_one(store, EmbeddedMemory(memory("one more"), (self._vector(),)))

    async def _store_other(self, store: SqliteVecStorage, number: int) -> None:
        """Some of these have a canary for a tag as well, which is then taken from them: they stay, it must not."""
        content = self._text(number, "plain")
        note = memory(content, "note", f"topic{number % 9}", at=number, metadata={"n": number})
        was_marked = self._chance.random() < 0.2
        stored = replace(note, tags=("note", self.canary())) if was_marked else note
        await store_one(store, EmbeddedMemory(stored, (self._vector(),)))
        if was_marked:
            await store.update("default", note.content_hash, MemoryPatch(tags=note.tags), now=number)
        self._others.append(content_hash(content))

    async def _change_a_secret(self, store: SqliteVecStorage, number: int) -> None:
        patch = MemoryPatch(tags=("changed", self.canary()), metadata={"secret": self.canary(), "n": number})
        assert await store.update("default", self._chance.choice(self.secret), patch, now=number)

    def _text(self, number: int, word: str) -> str:
        """From five to two thousand words, most of them short; the word stands in every part of it."""
        length = int(5 * 400 ** self._chance.random() ** 2)
        words = [self._chance.choice(WORDS) if position % 20 else word for position in range(length)]
        return f"{number} {' '.join(words)}"

    def _vector(self) -> Vector:
        vector = self._numbers.standard_normal(DIMENSION, dtype=np.float32)
        return (vector / np.linalg.norm(vector)).astype(np.float32)

    def _letters(self, count: int) -> str:
        return "".join(self._chance.choices(string.ascii_lowercase, k=count))
