"""What naming the similar memories costs a store, in CPU time of the whole process, and how long duplicates take.

    python bench/similar.py --sizes 1000,10000

Stores are filled with sentences and drawn vectors; the notes that are timed are embedded by the real model.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.eval.own_corpus import memory_drafts

from mcp_memory_service.bootstrap import open_backends, open_existing
from mcp_memory_service.cli.progress import ProgressLine
from mcp_memory_service.config import load_settings
from mcp_memory_service.hybrid_search.text.words import split_words
from mcp_memory_service.models import EmbeddedMemory, Memory, content_hash
from mcp_memory_service.services import DEFAULT_THRESHOLD, MemoryService, ServiceLimits, find_duplicates
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.timestamps import now_microseconds

TIMED = 100
FILLED_AT_ONCE = 500
WORDS_IN_A_TEXT = 25


async def fill(storage: Store, size: int, dimension: int) -> None:
    """With words as often as the notes of our own corpus have them."""
    random = np.random.default_rng(7)
    words = np.array([word for draft in memory_drafts() for word in split_words(draft.content)])
    for start in range(0, size, FILLED_AT_ONCE):
        texts = [" ".join(random.choice(words, WORDS_IN_A_TEXT)) for _ in range(FILLED_AT_ONCE)]
        vectors = random.normal(size=(FILLED_AT_ONCE, dimension)).astype(np.float32)
        await storage.store_batch(
            [
                EmbeddedMemory(Memory(text, content_hash(text), start + number, start + number), (vectors[number],))
                for number, text in enumerate(texts)
            ]
        )


async def milliseconds_of_stores(folder: Path, size: int, *, with_index: bool) -> dict[bool, tuple[float, float]]:
    """CPU and clock of a store, without and with what is similar: in turns, each on notes of its own."""
    settings = load_settings({"sqlite_path": folder / f"{size}-{with_index}.db"})
    async with open_backends(settings, with_index=with_index) as (storage, embedder):
        await fill(storage, size, embedder.dimension or 0)
        await storage.wait_ready()
        services = {
            find: MemoryService(storage, embedder, limits=ServiceLimits(find_similar=find)) for find in (False, True)
        }
        drafts = memory_drafts()
        for service in services.values():
            await service.store_memory(drafts.pop())
        spent = {find: np.zeros(2) for find in services}
        for _ in range(TIMED):
            for find, service in services.items():
                draft, before = drafts.pop(), np.array([time.process_time(), time.perf_counter()])
                await service.store_memory(draft)
                spent[find] += np.array([time.process_time(), time.perf_counter()]) - before
        return {find: tuple(1000 * seconds / TIMED) for find, seconds in spent.items()}


async def seconds_of_duplicates(folder: Path, size: int) -> tuple[float, float]:
    """CPU and clock of the search for duplicates in the store that was filled for the figures without an index."""
    settings = load_settings({"sqlite_path": folder / f"{size}-False.db"})
    async with open_existing(settings) as storage:
        before = time.process_time(), time.perf_counter()
        await find_duplicates(storage, "default", now_microseconds(), ProgressLine(), DEFAULT_THRESHOLD)
        return time.process_time() - before[0], time.perf_counter() - before[1]


async def main(sizes: list[int]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for size in sizes:
            for with_index in (True, False):
                spent = await milliseconds_of_stores(Path(folder), size, with_index=with_index)
                (cpu, clock), (cpu_similar, clock_similar) = spent[False], spent[True]
                print(
                    f"{size:>7,} memories, {'index' if with_index else 'rows '}: CPU {cpu:.1f} ms a store,"
                    f" {cpu_similar:.1f} with similar (x {cpu_similar / cpu:.2f});"
                    f" clock {clock:.1f}, {clock_similar:.1f}"
                )
            cpu, clock = await seconds_of_duplicates(Path(folder), size)
            print(f"{size:>7,} memories: duplicates in {cpu:.1f} s of CPU, {clock:.1f} s")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", default="1000,10000", help="comma-separated")
    asyncio.run(main([int(size) for size in parser.parse_args().sizes.split(",")]))
