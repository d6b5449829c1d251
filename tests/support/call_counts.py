"""How many calls of Python and of C functions one search makes: a figure that no busy machine changes.

    python -m tests.support.call_counts             # at 1,000 and 10,000 memories
    python -m tests.support.call_counts 100000

Memories are made of random words and vectors, queries of three to eight words that some of them have. The calls of the
event loop itself are left out: `serve` has one that is written in C.
"""

import asyncio
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory, Memory, SearchRequest, Vector, content_hash
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.sqlite_vec import IndexOptions, SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.index import LiveIndex

DIMENSION = 384
MODEL_ID = "random-384"
WORDS = 20_000
LETTERS = str.maketrans("0123456789", "bdfgkmnprt")
SEARCHES = 20
BATCH = 1_000
LOOP = ("/asyncio/", "/concurrent/", "/selectors.py", "/threading.py")


@dataclass
class Calls:
    """While it is on."""

    on: bool = False
    python: Counter[str] = field(default_factory=Counter[str])
    """By file and function."""
    c: Counter[str] = field(default_factory=Counter[str])

    def __call__(self, frame: FrameType, event: str, argument: Any) -> None:
        if not self.on or any(part in frame.f_code.co_filename for part in LOOP):
            return
        if event == "call":
            self.python[f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}"] += 1
        elif event == "c_call":
            self.c[getattr(argument, "__qualname__", str(argument))] += 1


@contextmanager
def profiled(calls: Calls) -> Generator[None, None, None]:
    """In this thread, and in those that are started meanwhile."""
    threading.setprofile(calls)
    sys.setprofile(calls)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # pyright: ignore[reportArgumentType] -- which is how it is switched off


class RandomEmbedder:
    model_id = MODEL_ID
    dimension = DIMENSION
    max_tokens = None

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return [_vector(sum(text.encode())) for text in texts]

    async def embed_query(self, query: str) -> Vector:
        return _vector(sum(query.encode()))

    async def warm_up(self) -> None:
        pass

    async def close(self) -> None:
        pass


def _vector(seed: int) -> Vector:
    return np.random.default_rng(seed).normal(size=DIMENSION).astype(np.float32)


def _items(first: int) -> list[EmbeddedMemory]:
    chance = np.random.default_rng(first)
    vectors = chance.normal(size=(BATCH, DIMENSION)).astype(np.float32)
    items: list[EmbeddedMemory] = []
    for number, vector in enumerate(vectors, start=first):
        words = (WORDS * chance.random(25) ** 4).astype(int)  # some are in many memories, most in few
        content = f"{_text(words.tolist())} number {number}"
        memory = Memory(content, content_hash(content), number, number, tags=(f"tag{number % 50}", f"tag{number % 7}"))
        items.append(EmbeddedMemory(memory, (vector,)))
    return items


def _query(number: int) -> str:
    chance = np.random.default_rng(1_000_000 + number)
    words = (WORDS * chance.random(3 + number % 6) ** 4).astype(int)
    return _text(words.tolist()) + (f" tag{number % 50}" if number % 2 else "")


def _text(words: Sequence[int]) -> str:
    return " ".join(str(word).translate(LETTERS) for word in words)


async def _fill(path: Path, memories: int) -> None:
    """Without an index: one that was built meanwhile would have a delta segment, or none, as it happens."""
    store = await SqliteVecStorage.open(path, MODEL_ID, DIMENSION, indexed_text)
    for first in range(0, memories, BATCH):
        await store.store_batch(_items(first))
    await store.close()


async def calls_of_searches(memories: int, folder: Path) -> Calls:
    """Of some searches together, each of which asks something new, after others have warmed up."""
    calls = Calls()
    await _fill(folder / "memory.db", memories)
    with profiled(calls):
        index = partial(LiveIndex, options=IndexOptions())
        store = await SqliteVecStorage.open(folder / "memory.db", MODEL_ID, DIMENSION, indexed_text, index=index)
        try:
            await store.wait_ready()
            service = MemoryService(store, RandomEmbedder())
            for number in range(SEARCHES):
                await service.search(SearchRequest(_query(number)))
            calls.on = True
            for number in range(SEARCHES, 2 * SEARCHES):
                found = await service.search(SearchRequest(_query(number)))
                assert len(found.results) == 10
                assert not found.degraded
            calls.on = False
        finally:
            await store.close()
    return calls


def main() -> None:
    for memories in [int(argument) for argument in sys.argv[1:]] or [1_000, 10_000]:
        with tempfile.TemporaryDirectory() as folder:
            calls = asyncio.run(calls_of_searches(memories, Path(folder)))
        per_search = f"{calls.python.total() / SEARCHES:.0f} Python and {calls.c.total() / SEARCHES:.0f} C calls"
        print(f"{memories:,} memories: {per_search} in a hybrid search; most of them:")
        for name, count in calls.python.most_common(12):
            print(f"  {count / SEARCHES:6.1f}  {name.rpartition('mcp_memory_service/')[2]}")


if __name__ == "__main__":
    main()
