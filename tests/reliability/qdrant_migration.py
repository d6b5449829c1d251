"""A copy from SQLite to Qdrant and back that is interrupted again and again: is it equal at the end?

`make reliability`, or `python -m tests.reliability.qdrant_migration --memories 20000`. The real command is killed or
interrupted at random moments and started again; then every memory of both files is compared, with its vector.
"""

import argparse
import asyncio
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_target import collection_of, qdrant_server
from tests.support.whole_stores import Contents, assert_equal, contents, notes

from mcp_memory_service.bootstrap import open_backends, open_existing
from mcp_memory_service.cli.commands.migrate import settings_at
from mcp_memory_service.models import EmbeddedMemory

COMMAND = str(Path(sys.executable).with_name("mcp-memory"))


@dataclass
class Figures:
    memories: int
    interruptions: int
    seconds_there: float
    seconds_back: float
    copied_by_last_run_there: int
    copied_by_last_run_back: int
    equal: bool


async def run(memories: int, interruptions: int, seed: int, qdrant_url: str, folder: Path) -> Figures:
    first, second = folder / "first.db", folder / "second.db"
    qdrant = f"qdrant:{qdrant_url}/{collection_of(folder)}"
    await _fill(first, memories)
    chance = random.Random(seed)
    there = await asyncio.to_thread(_copy, f"sqlite:{first}", qdrant, interruptions, memories, chance)
    back = await asyncio.to_thread(_copy, qdrant, f"sqlite:{second}", interruptions, memories, chance)
    assert_equal(await _read(first), await _read(second))
    return Figures(memories, 2 * interruptions, there[0], back[0], there[1], back[1], equal=True)


def _copy(source: str, target: str, interruptions: int, memories: int, chance: random.Random) -> tuple[float, int]:
    """How long it took in all, and how many memories were left for the last run."""
    command = [COMMAND, "migrate", "--from", source, "--to", target, "--json"]
    started = time.monotonic()
    for _ in range(interruptions):
        # A second to start, and some time to copy at about a thousand memories a second.
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0.8, 1.5 + memories / 1000 / interruptions))
        process.send_signal(chance.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM]))
        process.wait(HANG_SECONDS)
    done = subprocess.run(command, check=True, capture_output=True)
    report = json.loads(done.stdout)
    assert report["memories"] == memories
    return round(time.monotonic() - started, 1), report["copied"]


async def _fill(path: Path, memories: int) -> None:
    """With vectors as long as those of the local model, whose store this pretends to be."""
    async with open_backends(settings_at(f"sqlite:{path}", None)) as (store, embedder):
        assert embedder.dimension is not None
        chance = np.random.default_rng(1)
        items = notes(memories)
        for start in range(0, memories, 500):
            part = items[start : start + 500]
            vectors = chance.normal(size=(len(part), embedder.dimension)).astype(np.float32)
            vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
            await store.store_batch(
                [EmbeddedMemory(item.memory, (vector,)) for item, vector in zip(part, vectors, strict=True)]
            )


async def _read(path: Path) -> Contents:
    async with open_existing(settings_at(f"sqlite:{path}", None)) as store:
        return await contents(store)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument("--interruptions", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-migration-") as name:
        folder = Path(name)
        with qdrant_server(folder / "qdrant") as target:
            work = run(options.memories, options.interruptions, options.seed, target.url, folder)
            figures = asyncio.run(work)
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201


if __name__ == "__main__":
    main()
