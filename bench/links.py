"""What it costs a search to ask what its ten best are linked with, in CPU time of the whole process.

    python bench/links.py --size 10000

Documents of twenty memories, on SQLite; first without an edge, then with more and more of them.
"""

import argparse
import asyncio
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from mcp_memory_service.hybrid_search import LEADERS, indexed_text
from mcp_memory_service.models import Edge, EmbeddedMemory, Memory, MemoryFilter, identity_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

T = TypeVar("T")

TIMED = 200
IN_A_DOCUMENT = 20
LINKS = 3
HUB_LINKS = 5_000
DIMENSION = 8
LIMIT = 1_000


def notes(size: int) -> list[EmbeddedMemory]:
    random = np.random.default_rng(7)
    made: list[EmbeddedMemory] = []
    for number in range(size):
        document, place = divmod(number, IN_A_DOCUMENT)
        source, text = f"notes/{document}.md", f"paragraph {number}"
        memory = Memory(
            text,
            identity_hash("note", source, str(place), text),
            number,
            number,
            source=source,
            sequence=place,
            kind="note",
            anchor=str(place),
            names=(f"note:{source}",),
        )
        made.append(EmbeddedMemory(memory, (random.normal(size=DIMENSION).astype(np.float32),)))
    return made


def drawn(chance: np.random.Generator, items: Sequence[T], number: int) -> list[T]:
    places: list[int] = chance.choice(len(items), number, replace=False).tolist()
    return [items[place] for place in places]


async def milliseconds(storage: SqliteVecStorage, asked: Sequence[str]) -> tuple[float, int]:
    """Of one read, and how many it found."""
    found = await storage.linked(asked, LIMIT, MemoryFilter())
    before = time.process_time()
    for _ in range(TIMED):
        await storage.linked(asked, LIMIT, MemoryFilter())
    return 1000 * (time.process_time() - before) / TIMED, len(found)


async def main(size: int) -> None:
    items = notes(size)
    ids = [item.memory.content_hash for item in items]
    chance = np.random.default_rng(11)
    leaders = drawn(chance, ids, LEADERS)
    others = [drawn(chance, ids, HUB_LINKS) for _ in leaders]
    steps: dict[str, list[Edge]] = {
        "no links": [],
        f"{LINKS} links of each to a memory": [
            Edge(leader, to, "link", by_name=False)
            for leader, far in zip(leaders, others, strict=True)
            for to in far[:3]
        ],
        f"and {LINKS} to a document": [
            Edge(leader, f"note:notes/{number}.md", "link", by_name=True)
            for leader in leaders
            for number in drawn(chance, range(size // IN_A_DOCUMENT), LINKS)
        ],
        f"{HUB_LINKS:,} links to each": [
            Edge(far, leader, "link", by_name=False) for leader, its in zip(leaders, others, strict=True) for far in its
        ],
    }
    with tempfile.TemporaryDirectory() as folder:
        storage = await SqliteVecStorage.open(Path(folder) / "links.db", "drawn", DIMENSION, indexed_text)
        for start in range(0, size, 500):
            await storage.store_batch(items[start : start + 500])
        for name, edges in steps.items():
            await storage.add_edges("default", edges)
            spent, found = await milliseconds(storage, leaders)
            print(f"{size:,} memories, {name}: {spent:.2f} ms of CPU, {found} found")
        await storage.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    asyncio.run(main(parser.parse_args().size))
