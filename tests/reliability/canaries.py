"""A store with a past: memories of all lengths come, change and go, and a third of them hold words that must go."""

import random
import string
from dataclasses import dataclass, field, replace

import numpy as np
from tests.contract.memories import memory
from tests.support.one_memory import store_one

from mcp_memory_service.models import Edge, EmbeddedMemory, Feedback, MemoryPatch, Vector, content_hash, trash_of
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .traces import Wanted

MODEL, DIMENSION = "random-384", 384
MEMORIES, LIVES = 90, 9
STEM_LETTERS, TAIL_LETTERS = 10, 10
WORDS = "tunnel key note server backup release cache index token budget meeting invoice garden letter".split()


@dataclass
class Churn:
    """What is done to one store, by chance."""

    seed: int
    wanted: Wanted = field(default_factory=Wanted)
    planted: int = 0
    secret: list[str] = field(default_factory=list[str])
    """The hashes of the live memories that are to be purged."""
    past: list[str] = field(default_factory=list[str])
    """Those of their earlier versions, and of what is in the trash; to be purged as well."""

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
        for number in range(LIVES):
            await self._edit_a_secret(store, MEMORIES + number)
            await self._trash_a_secret(store, MEMORIES + number)

    @property
    def all_secrets(self) -> list[str]:
        return [*self.secret, *self.past]

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
        self._want(note.content_hash, vectors)

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

    async def _edit_a_secret(self, store: SqliteVecStorage, number: int) -> None:
        """Of those that belong to no source; every third is one that was edited before."""
        live = {memory.content_hash: memory for memory in await store.get_many("default", self.secret)}
        plain = [each for each in self.secret if live[each].kind == "memory"]
        old = plain[-1] if number % 3 == 0 else self._chance.choice(plain)
        vectors = tuple(self._vector() for _ in range(2))
        patch = MemoryPatch(content=self._text(number, self.canary()), tags=("edited", self.canary()))
        edited = await store.update("default", old, patch, number, None, vectors)
        assert edited
        self.secret.remove(old)
        self.past.append(old)
        self._want(edited.content_hash, vectors)

    async def _trash_a_secret(self, store: SqliteVecStorage, number: int) -> None:
        """Some come back, and of some the days are over: their text must go with the purge of others. What points at
        them keeps their ids."""
        trashed = self.secret.pop(self._chance.randrange(len(self.secret)))
        assert await store.delete("default", trashed, trashed_at=number)
        if number % 3 == 0:
            assert await store.restore("default", trashed, number)
            self.secret.append(trashed)
        elif number % 3 == 1:
            self.past.append(trashed)
        else:
            assert await store.delete(trash_of("default"), trashed)
            self.wanted.texts -= {trashed.encode(), bytes.fromhex(trashed)}

    def _want(self, new_id: str, vectors: tuple[Vector, ...]) -> None:
        self.secret.append(new_id)
        self.wanted.texts |= {new_id.encode(), bytes.fromhex(new_id)}
        self.wanted.vectors += [vector.tobytes() for vector in vectors]

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
