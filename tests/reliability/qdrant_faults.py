"""Writers on a Qdrant that is killed, cut off and lied about: is everything that was acknowledged still there?

`make reliability`, or `python -m tests.reliability.qdrant_faults --seconds 60`. Runs on the stand-in (Qdrant as an
engine in a server of ours), which it kills with SIGKILL and starts again; a true server at QDRANT_URL is only cut off.
"""

import argparse
import asyncio
import json
import os
import random
import tempfile
import time
from collections.abc import AsyncGenerator, Awaitable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tests.contract.memories import EVERYTHING, embedded, memory
from tests.support.fault_proxy import FaultProxy, at_random, fault_proxy
from tests.support.one_memory import store_one
from tests.support.qdrant_stand_in.process import StandInProcess, stand_in
from tests.support.qdrant_target import collection_of

from mcp_memory_service.errors import BatchIncomplete, Unavailable
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import IdempotencyKey, Memory, MemoryPatch, content_hash, history_of, trash_of
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage

WRITERS = 6
FAULT_SHARE = 0.15
UP_SECONDS = 3.0
SHARED = "shared "


@dataclass
class Acknowledged:
    """What the store said yes to, and what it said nothing about."""

    tags: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Of each memory that must be there, the tags that it must have."""
    deleted: set[str] = field(default_factory=set[str])
    unknown: set[str] = field(default_factory=set[str])
    """Memories with a write whose outcome was not told: they may be one way or the other."""
    moved: dict[str, str] = field(default_factory=dict[str, str])
    """Of each memory that went to the trash or the history, where it must be, and nowhere else."""
    moving: set[str] = field(default_factory=set[str])
    """Memories with a move whose outcome was not told: they must be somewhere."""


@dataclass
class Figures:
    seconds: float
    acknowledged_writes: int = 0
    refused_writes: int = 0
    kills: int = 0
    faults: int = 0
    requests: int = 0
    lost_memories: int = 0
    lost_tags: int = 0
    undead_memories: int = 0
    not_searchable: int = 0
    lost_moves: int = 0
    unfinished_moves: int = 0

    @property
    def clean(self) -> bool:
        lost = self.lost_memories or self.lost_tags or self.lost_moves
        return not (lost or self.undead_memories or self.not_searchable or self.unfinished_moves)


class Writer:
    """Stores, moves and deletes memories of its own, and tags some that all writers share."""

    def __init__(self, number: int, store: QdrantStorage, figures: Figures, seed: int) -> None:
        self._number = number
        self._store = store
        self._figures = figures
        self._chance = random.Random(seed + number)
        self._count = 0
        self.acknowledged = Acknowledged()

    async def work(self, until: float) -> None:
        while time.monotonic() < until:
            storing = [self._store_new, self._store_new, self._batch, self._tag]
            action = self._chance.choice([*storing, self._delete, self._trash, self._restore, self._edit])
            try:
                await action()
                self._figures.acknowledged_writes += 1
            except Unavailable:
                self._figures.refused_writes += 1

    async def _store_new(self) -> None:
        content = self._new_content()
        await self._attempt(content, store_one(self._store, embedded(memory(content, "new"))))
        self.acknowledged.tags[content] = {"new"}

    async def _batch(self) -> None:
        contents = [self._new_content() for _ in range(5)]
        try:
            await self._store.store_batch([embedded(memory(content, "batch")) for content in contents])
            stored = (True,) * len(contents)
        except BatchIncomplete as error:
            stored = error.stored
        except Unavailable:
            self.acknowledged.unknown.update(contents)
            raise
        for content, is_stored in zip(contents, stored, strict=True):
            if is_stored:
                self.acknowledged.tags[content] = {"batch"}
            else:
                self.acknowledged.unknown.add(content)

    async def _tag(self) -> None:
        """All writers add tags to the same memories; none may be lost."""
        content = f"{SHARED}{self._figures.acknowledged_writes // 60}"
        self._count += 1
        tag = f"w{self._number}-{self._count}"
        await store_one(self._store, embedded(memory(content, tag)))
        self.acknowledged.tags.setdefault(content, set()).add(tag)

    async def _delete(self) -> None:
        content = self._taken()
        if content is None:
            return
        await self._attempt(content, self._store.delete("default", content_hash(content)))
        self.acknowledged.deleted.add(content)

    async def _trash(self) -> None:
        content = self._taken()
        if content is not None:
            await self._move(content, self._store.delete("default", content_hash(content), trashed_at=1))
            self.acknowledged.moved[content] = trash_of("default")

    async def _restore(self) -> None:
        trashed = sorted(each for each, place in self.acknowledged.moved.items() if place == trash_of("default"))
        if trashed:
            content = self._chance.choice(trashed)
            del self.acknowledged.moved[content]
            await self._move(content, self._store.restore("default", content_hash(content), 1))
            self.acknowledged.tags[content] = set()

    async def _edit(self) -> None:
        """Half of them with a key, and these again until it is told what became of them."""
        content = self._taken()
        if content is None:
            return
        new = self._new_content()
        key = IdempotencyKey(new, new, 1) if self._chance.random() < 0.5 else None
        patch, vectors = MemoryPatch(content=new), embedded(memory(new)).vectors
        edited: Memory | None = None
        for is_last in (False, False, True):
            try:
                edited = await self._store.update("default", content_hash(content), patch, 1, key, vectors)
                break
            except Unavailable:
                if key is None or is_last:
                    self.acknowledged.moving.add(content)
                    self.acknowledged.unknown.add(new)
                    raise
        self.acknowledged.moved[content] = history_of("default")
        if edited:
            self.acknowledged.tags[new] = set()

    def _taken(self) -> str | None:
        """A memory of its own that is there, of which nothing is expected any more."""
        own = sorted(content for content in self.acknowledged.tags if not content.startswith(SHARED))
        if not own:
            return None
        content = self._chance.choice(own)
        del self.acknowledged.tags[content]
        return content

    async def _move(self, content: str, move: Awaitable[object]) -> None:
        try:
            await move
        except Unavailable:
            self.acknowledged.moving.add(content)
            raise

    async def _attempt(self, content: str, write: Awaitable[object]) -> None:
        try:
            await write
        except Unavailable:
            self.acknowledged.unknown.add(content)
            raise

    def _new_content(self) -> str:
        self._count += 1
        return f"note {self._count} of writer{self._number}"


async def run(seconds: float, seed: int, folder: Path) -> Figures:
    figures = Figures(seconds)
    async with _server(folder) as server, fault_proxy(server if isinstance(server, str) else server.url) as proxy:
        collection = collection_of(folder)
        direct = QdrantOptions(proxy.target, collection, retries=10)
        await (await QdrantStorage.open(direct, "m", 4, indexed_text)).close()
        proxied = QdrantOptions(proxy.url, collection, timeout_seconds=2.0, retries=4)
        stores = [await QdrantStorage.open(proxied, "m", 4, indexed_text) for _ in range(WRITERS)]
        proxy.plan = at_random(FAULT_SHARE, seed)
        writers = [Writer(number, store, figures, seed) for number, store in enumerate(stores)]
        until = time.monotonic() + seconds
        killing = asyncio.create_task(_kill_again_and_again(server, figures, seed))
        await asyncio.gather(*(writer.work(until) for writer in writers))
        killing.cancel()
        with suppress(asyncio.CancelledError):
            await killing
        if isinstance(server, StandInProcess) and server.process.poll() is not None:
            server.restart()
        for store in stores:
            await store.close()
        _count_faults(proxy, figures)
        await _judge(direct, [writer.acknowledged for writer in writers], figures)
    return figures


@asynccontextmanager
async def _server(folder: Path) -> AsyncGenerator[StandInProcess | str, None]:
    true_server = os.environ.get("QDRANT_URL")
    if true_server:
        yield true_server
        return
    with stand_in(folder / "qdrant") as running:
        yield running


async def _kill_again_and_again(server: StandInProcess | str, figures: Figures, seed: int) -> None:
    chance = random.Random(seed)
    while isinstance(server, StandInProcess):
        await asyncio.sleep(chance.uniform(0.5, 1.5) * UP_SECONDS)
        server.kill()
        figures.kills += 1
        await asyncio.sleep(chance.uniform(0.0, 0.5))
        await asyncio.to_thread(server.restart)


def _count_faults(proxy: FaultProxy, figures: Figures) -> None:
    figures.requests = proxy.seen.total()
    figures.faults = sum(times for fault, times in proxy.seen.items() if fault.value != "none")


async def _judge(direct: QdrantOptions, acknowledged: list[Acknowledged], figures: Figures) -> None:
    """Look at the store itself, without the bad network."""
    store = await QdrantStorage.open(direct, "m", 4, indexed_text)
    expected: dict[str, set[str]] = {}
    for told in acknowledged:
        for content, tags in told.tags.items():
            expected.setdefault(content, set()).update(tags)
    hashes = {content_hash(content): content for content in expected}
    found = {memory.content: set(memory.tags) for memory in await store.get_many("default", list(hashes))}
    figures.lost_memories = len(expected.keys() - found.keys())
    figures.lost_tags += sum(len(expected[content] - tags) for content, tags in found.items())
    gone = [content_hash(content) for told in acknowledged for content in told.deleted - told.unknown]
    figures.undead_memories = len(await store.get_many("default", gone))
    await _judge_moves(store, acknowledged, figures)
    for content in list(expected)[::25]:
        hits = (await store.search_by_text(query_terms(f'"{content}"'), 1, EVERYTHING)).candidates
        figures.not_searchable += not hits or hits[0].content_hash != content_hash(content)
    await store.close()


async def _judge_moves(store: QdrantStorage, acknowledged: list[Acknowledged], figures: Figures) -> None:
    hashes = [content_hash(content) for told in acknowledged for content in (*told.moved, *told.moving)]
    places: dict[str, set[str]] = {}
    for namespace in ("default", history_of("default"), trash_of("default")):
        for found in await store.get_many(namespace, hashes):
            places.setdefault(found.content, set()).add(namespace)
    for told in acknowledged:
        figures.lost_moves += len((told.moved.keys() | told.moving) - places.keys())
        figures.unfinished_moves += sum(places.get(content) != {place} for content, place in told.moved.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-faults-") as folder:
        figures = asyncio.run(run(options.seconds, options.seed, Path(folder)))
    print(json.dumps(asdict(figures), indent=2))  # noqa: T201
    raise SystemExit(0 if figures.clean else 1)


if __name__ == "__main__":
    main()
