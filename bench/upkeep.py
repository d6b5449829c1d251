"""How long doctor, backup, restore and purge take on a SQLite store, and how fast it writes meanwhile.

    python bench/upkeep.py --data FOLDER --memories 100000

Fills a new store through its port with real texts (an evaluation set, as for `mcp-memory eval`, or our own corpus) and
random vectors. Copying the file with `shutil` in the same run gives the scale.
"""

import argparse
import asyncio
import json
import shutil
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from corpora import DIMENSION, memories
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.one_memory import store_one

BATCH = 500
SINGLE_WRITES = 500


async def measure(items: list[EmbeddedMemory], folder: Path) -> dict[str, float]:
    path, backup = folder / "memories.db", folder / "a.backup"
    store = await SqliteVecStorage.open(path, "bench", DIMENSION, indexed_text)
    figures: dict[str, float] = {"memories": len(items)}

    async def timed(name: str, work: Callable[[], Awaitable[object]]) -> None:
        started = time.perf_counter()
        await work()
        figures[f"{name}_seconds"] = round(time.perf_counter() - started, 3)
        print(f"{name}: {figures[f'{name}_seconds']} s", file=sys.stderr)

    upkeep = StoreUpkeep(path, indexed_text, lambda _doing, _done, _total: None)
    await timed("fill", lambda: _fill(store, items[:-SINGLE_WRITES]))
    await timed("single_writes", lambda: _one_by_one(store, items[-SINGLE_WRITES:]))
    figures["megabytes"] = round(path.stat().st_size / 1e6, 1)
    await timed("plain_copy", lambda: asyncio.to_thread(shutil.copyfile, path, folder / "copy"))
    await timed("doctor", lambda: asyncio.to_thread(upkeep.inspect))
    await timed("backup", lambda: asyncio.to_thread(upkeep.back_up, backup))
    await timed("restore", lambda: asyncio.to_thread(upkeep.restore, backup))
    await timed("purge", lambda: store.purge("default", [items[0].memory.content_hash]))
    await store.close()
    figures["single_writes_per_second"] = round(SINGLE_WRITES / figures["single_writes_seconds"])
    return figures


async def _fill(store: SqliteVecStorage, items: list[EmbeddedMemory]) -> None:
    for start in range(0, len(items), BATCH):
        await store.store_batch(items[start : start + BATCH])


async def _one_by_one(store: SqliteVecStorage, items: list[EmbeddedMemory]) -> None:
    for item in items:
        await store_one(store, item)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--data", type=Path, help="an evaluation set")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-upkeep-") as folder:
        print(json.dumps(asyncio.run(measure(memories(options.memories, options.data), Path(folder))), indent=2))


if __name__ == "__main__":
    main()
