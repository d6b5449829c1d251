"""Qdrant behind a network that fails: what is acknowledged is stored, what cannot be answered says so."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from tests.contract.memories import EAST, EVERYTHING, embedded, memory, note, vector
from tests.integration.conftest import server_process
from tests.support.fault_proxy import FAULTS, Fault, FaultProxy, always, fault_proxy, in_turn
from tests.support.one_memory import get_one, store_one
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_target import collection_of

from mcp_memory_service.errors import BackendUnavailable, BatchIncomplete, StorageUnavailable
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import (
    Feedback,
    IdempotencyKey,
    MemoryPatch,
    SourceRecord,
    TunedWeights,
    Tuning,
    content_hash,
)
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage
from mcp_memory_service.storage.qdrant import connection as qdrant_connection
from mcp_memory_service.storage.qdrant.writes import writer as qdrant_writes

NOTE = memory("tunnel", "lab", session="s", sequence=1)
CHUNK, RECORD = note("chunk"), SourceRecord("docs/a.md", "f")
PASSING_FAULTS = [fault for fault in FAULTS if fault is not Fault.DELAY]


@pytest.fixture
async def proxy(qdrant_url: str) -> AsyncGenerator[FaultProxy, None]:
    async with fault_proxy(qdrant_url) as running:
        yield running


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_connection, "FIRST_PAUSE_SECONDS", 0.01)


async def opened(url: str, folder: Path, timeout_seconds: float = HANG_SECONDS, retries: int = 2) -> QdrantStorage:
    options = QdrantOptions(url, collection_of(folder), timeout_seconds=timeout_seconds, retries=retries)
    return await QdrantStorage.open(options, "m", 4, indexed_text)


@pytest.fixture
async def store(proxy: FaultProxy, tmp_path: Path) -> AsyncGenerator[QdrantStorage, None]:
    opened_store = await opened(proxy.url, tmp_path)
    yield opened_store
    await opened_store.close()


@pytest.mark.parametrize("fault", PASSING_FAULTS, ids=lambda fault: fault.name)
@pytest.mark.parametrize("request_number", [0, 1, 2])
async def test_a_fault_that_passes_is_not_noticed(
    store: QdrantStorage, proxy: FaultProxy, fault: Fault, request_number: int
):
    """Whichever request of a store it hits, the memory is stored once, and known to be new."""
    proxy.plan = in_turn([Fault.NONE] * request_number + [fault])
    outcome = await store_one(store, embedded(NOTE))
    assert (outcome.memory, outcome.created) == (NOTE, True)
    assert proxy.seen[fault] == 1
    assert await store.count_all_memories("default") == 1


@pytest.mark.parametrize("fault", PASSING_FAULTS, ids=lambda fault: fault.name)
async def test_changes_survive_a_fault_too(store: QdrantStorage, proxy: FaultProxy, fault: Fault):
    await store_one(store, embedded(NOTE))
    proxy.plan = in_turn([fault, Fault.NONE, fault, Fault.NONE, fault])
    patched = await store.update("default", NOTE.content_hash, MemoryPatch(tags=("garage",)), now=5)
    assert patched is not None
    assert patched.tags == ("garage",)
    proxy.plan = in_turn([fault, Fault.NONE, fault])
    assert await store.delete("default", NOTE.content_hash) is True
    assert await get_one(store, "default", NOTE.content_hash) is None


READS: dict[str, Callable[[QdrantStorage], Awaitable[Any]]] = {
    "retrieve": lambda store: store.retrieve(vector(*EAST), 5, EVERYTHING),
    "search_by_tag": lambda store: store.search_by_tag({"lab": 1.0}, 5, EVERYTHING),
    "search_by_text": lambda store: store.search_by_text(query_terms("tunnel"), 5, EVERYTHING),
    "corpus_statistics": lambda store: store.corpus_statistics(EVERYTHING, ["tunnel"], ["lab"]),
    "adjacent": lambda store: store.adjacent([NOTE.content_hash], 5, EVERYTHING),
    "chunk_similarities": lambda store: store.chunk_similarities(vector(*EAST), "default", [NOTE.content_hash]),
    "sample_vectors": lambda store: store.sample_vectors(EVERYTHING, 5),
    "get_all_tags": lambda store: store.get_all_tags("default"),
    "tags_version": lambda store: store.tags_version("default"),
    "count_all_memories": lambda store: store.count_all_memories("default"),
    "get_many": lambda store: store.get_many("default", [NOTE.content_hash]),
    "list_memories": lambda store: store.list_memories(EVERYTHING, 0, 5),
    "stats": lambda store: store.stats("default"),
    "list_feedback": lambda store: store.list_feedback("default"),
    "current_tuning": lambda store: store.current_tuning("default"),
    "find_ids": lambda store: store.find_ids("default", NOTE.content_hash[:8], 5),
    "scan": lambda store: store.scan(None, 5),
    "namespaces": lambda store: store.namespaces(),
    "list_sources": lambda store: store.list_sources("default"),
    "awaiting_vectors": lambda store: store.awaiting_vectors(5),
    "check_search": lambda store: store.check_search(),
    "check_write": lambda store: store.check_write(),
}
WRITES: dict[str, Callable[[QdrantStorage], Awaitable[Any]]] = {
    "store": lambda store: store_one(store, embedded(memory("another"))),
    "update": lambda store: store.update("default", NOTE.content_hash, MemoryPatch(tags=("x",)), now=5),
    "delete": lambda store: store.delete("default", NOTE.content_hash),
    "trash": lambda store: store.delete("default", NOTE.content_hash, trashed_at=5),
    "restore": lambda store: store.restore("default", NOTE.content_hash, 5),
    "edit": lambda store: store.update(
        "default", NOTE.content_hash, MemoryPatch(content="bridge"), 5, None, [vector(*EAST)]
    ),
    "purge": lambda store: store.purge("default", [NOTE.content_hash]),
    "replace_source": lambda store: store.replace_source("default", "docs/a.md", [embedded(CHUNK)], [], RECORD),
    "relink_source": lambda store: store.relink_source("default", "docs/a.md", [], RECORD),
    "add_vectors": lambda store: store.add_vectors([embedded(CHUNK)]),
    "add_feedback": lambda store: store.add_feedback("default", Feedback("q", NOTE.content_hash, True, 1)),
    "save_tuning": lambda store: store.save_tuning("default", Tuning(TunedWeights(1, 1, 0.5), 1, 1, 0.1, 0.2)),
    "roll_back_tuning": lambda store: store.roll_back_tuning("default"),
}


@pytest.mark.parametrize("name", [*READS, *WRITES])
async def test_a_server_that_keeps_failing_is_said_and_never_looks_empty(
    store: QdrantStorage, proxy: FaultProxy, name: str
):
    await store_one(store, embedded(NOTE))
    call = (READS | WRITES)[name]
    for fault in (Fault.CUT_BEFORE, Fault.ERROR_BEFORE, Fault.HALF_SAID):
        proxy.plan = always(fault)
        with pytest.raises(BackendUnavailable, match=r"Qdrant at 127\.0\.0\.1:\d+ cannot be used now"):
            await call(store)
    proxy.plan = always(Fault.NONE)
    await call(store)  # without opening it again


async def test_a_slow_server_is_given_up_before_it_answers(proxy: FaultProxy, tmp_path: Path):
    impatient = await opened(proxy.url, tmp_path, timeout_seconds=2.0, retries=1)
    proxy.plan, proxy.delay_seconds = always(Fault.DELAY), 10 * HANG_SECONDS
    with pytest.raises(BackendUnavailable, match="does not answer in time"):
        await impatient.get_all_tags("default")
    assert proxy.seen[Fault.DELAY] == 2
    await impatient.close()


async def test_half_a_batch_is_told_item_by_item_and_may_be_sent_again(
    store: QdrantStorage, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(qdrant_writes, "CHUNK_MEMORIES", 2)
    batch = [embedded(memory(f"note {i}", "t")) for i in range(5)]
    # One look, then a write and a look for each chunk: the second chunk meets a server that is gone.
    faults = [Fault.NONE] * 3 + [Fault.CUT_BEFORE] * 100
    proxy.plan = in_turn(faults)
    with pytest.raises(BatchIncomplete, match="2 of 5 memories are stored") as caught:
        await store.store_batch(batch)
    assert caught.value.stored == (True, True, False, False, False)
    proxy.plan = always(Fault.NONE)
    outcomes = await store.store_batch(batch)
    assert [outcome.created for outcome in outcomes] == [False, False, True, True, True]
    assert await store.count_all_memories("default") == 5


async def test_a_write_whose_answer_is_lost_for_good_can_be_repeated(store: QdrantStorage, proxy: FaultProxy):
    proxy.plan = in_turn([Fault.NONE] + [Fault.CUT_AFTER] * 3)
    with pytest.raises(StorageUnavailable):
        await store_one(store, embedded(NOTE))
    again = await store_one(store, embedded(NOTE))
    assert again.memory == NOTE
    assert await store.count_all_memories("default") == 1


async def test_writers_through_a_bad_network_lose_no_tag(store: QdrantStorage, proxy: FaultProxy, tmp_path: Path):
    others = [await opened(proxy.url, tmp_path, retries=8) for _ in range(4)]
    proxy.plan = in_turn([fault for _ in range(10) for fault in (*PASSING_FAULTS, Fault.NONE, Fault.NONE)])
    await asyncio.gather(*(store_one(others[i % 4], embedded(memory("fact", f"tag{i}"), EAST)) for i in range(12)))
    found = await get_one(store, "default", content_hash("fact"))
    assert found is not None
    assert set(found.tags) == {f"tag{i}" for i in range(12)}
    for other in others:
        await other.close()


async def test_rest_says_503_with_retry_after_and_recovers(proxy: FaultProxy, tmp_path: Path):
    settings = {
        "MCP_MEMORY_STORAGE_BACKEND": "qdrant",
        "MCP_MEMORY_QDRANT_URL": proxy.url,
        "MCP_MEMORY_QDRANT_COLLECTION": collection_of(tmp_path),
        "MCP_MEMORY_QDRANT_TIMEOUT_SECONDS": str(HANG_SECONDS),
        "MCP_MEMORY_QDRANT_RETRIES": "1",
    }
    async with httpx.AsyncClient(timeout=HANG_SECONDS) as client:
        with await asyncio.to_thread(_entered, server_process(tmp_path, **settings)) as server:
            stored = await client.post(f"{server.url}/memories", json={"content": "tunnel on port 2333"})
            assert stored.status_code == 201
            proxy.plan = always(Fault.CUT_BEFORE)
            down = [
                await client.post(f"{server.url}/memories", json={"content": "another"}),
                await client.post(f"{server.url}/memories/retrieve", json={"query": "tunnel"}),
                await client.get(f"{server.url}/memories"),
                await client.get(f"{server.url}/stats"),
            ]
            assert [answer.status_code for answer in down] == [503] * 4
            assert all(answer.headers["retry-after"] == "5" for answer in down)
            assert {answer.json()["code"] for answer in down} == {"backend_unavailable", "search_unavailable"}
            ready = await client.get(f"{server.url}/ready")
            assert (ready.status_code, "backend_unavailable" in ready.text) == (503, True)
            assert (await client.get(f"{server.url}/health")).status_code == 200
            proxy.plan = always(Fault.NONE)
            found = await client.post(f"{server.url}/memories/retrieve", json={"query": "tunnel"})
            assert found.json()["results"][0]["memory"]["content"] == "tunnel on port 2333"
            assert (await client.get(f"{server.url}/ready")).status_code == 200


class _Running:
    """A server that was started in another thread, because this one serves the proxy."""

    def __init__(self, context: Any) -> None:
        self._context = context
        self._server = context.__enter__()

    def __enter__(self) -> Any:
        return self._server

    def __exit__(self, *_: object) -> None:
        self._context.__exit__(None, None, None)


def _entered(context: Any) -> _Running:
    return _Running(context)


async def test_vectors_come_back_as_they_were_after_changes(store: QdrantStorage):
    """A patch writes the vectors that it read: many patches must not wear them out."""
    await store_one(store, embedded(NOTE, (0.1, 0.2, 0.3, 0.4)))
    before = (await store.scan(None, 5)).items[0].vectors[0]
    for number in range(20):
        await store.update("default", NOTE.content_hash, MemoryPatch(metadata={"n": number}), now=number)
    assert np.allclose((await store.scan(None, 5)).items[0].vectors[0], before, atol=1e-7)


@pytest.mark.parametrize("content", ["ü" * 99, "a" + "ü" * 99, "部署" * 50, "x部" * 50])
async def test_an_answer_cut_within_a_character_is_incomplete_too(
    store: QdrantStorage, proxy: FaultProxy, content: str
):
    for extra in range(4):  # wherever the middle falls
        await store_one(store, embedded(memory(content + "y" * extra, "größe")))
        proxy.plan = always(Fault.HALF_SAID)
        with pytest.raises(BackendUnavailable, match="its answer is incomplete"):
            await get_one(store, "default", content_hash(content + "y" * extra))
        proxy.plan = always(Fault.NONE)


async def test_a_store_is_not_repeated_over_what_came_after_it(
    store: QdrantStorage, qdrant_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Somebody patches the memory between our write and our look at it: their patch stays, and ours was a creation."""
    other = await opened(qdrant_url, tmp_path)
    look = qdrant_writes.Writer.not_taken

    async def look_after_a_patch(writer: Any, changes: Any, revision: str) -> set[str]:
        monkeypatch.setattr(qdrant_writes.Writer, "not_taken", look)
        await other.update("default", NOTE.content_hash, MemoryPatch(tags=()), now=5)
        return await look(writer, changes, revision)

    monkeypatch.setattr(qdrant_writes.Writer, "not_taken", look_after_a_patch)
    outcome = await store_one(store, embedded(NOTE))
    assert outcome.created
    found = await get_one(store, "default", NOTE.content_hash)
    assert found is not None
    assert found.tags == ()
    await other.close()


async def test_a_delete_that_is_sent_again_leaves_a_newer_memory_alone(
    store: QdrantStorage, qdrant_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    other = await opened(qdrant_url, tmp_path)
    await store_one(store, embedded(NOTE))
    send = qdrant_writes.Writer.send

    async def send_twice(writer: Any, operations: Any) -> None:
        monkeypatch.setattr(qdrant_writes.Writer, "send", send)
        await send(writer, operations)
        await store_one(other, embedded(NOTE))
        await send(writer, operations)

    monkeypatch.setattr(qdrant_writes.Writer, "send", send_twice)
    assert await store.delete("default", NOTE.content_hash) is True
    assert await get_one(store, "default", NOTE.content_hash) == NOTE
    await other.close()


@pytest.mark.parametrize("request_number", range(6))
@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER], ids=lambda fault: fault.name)
async def test_an_update_with_a_key_is_applied_once_wherever_it_was_interrupted(
    store: QdrantStorage, proxy: FaultProxy, fault: Fault, request_number: int
):
    await store_one(store, embedded(NOTE))
    key = IdempotencyKey("k", "ours", 1)
    proxy.plan = in_turn([Fault.NONE] * request_number + [fault] * 3)
    with pytest.raises(StorageUnavailable):
        await store.update("default", NOTE.content_hash, MemoryPatch(tags=("ours",)), 5, key)
    was_applied = (await get_one(store, "default", NOTE.content_hash)) != NOTE
    assert was_applied == (request_number + (fault is Fault.CUT_AFTER) > 4)
    await store.update("default", NOTE.content_hash, MemoryPatch(tags=("theirs",)), 6)
    again = await store.update("default", NOTE.content_hash, MemoryPatch(tags=("ours",)), 7, key)
    assert again is not None
    assert again.tags == (("theirs",) if was_applied else ("ours",))
    assert await get_one(store, "default", NOTE.content_hash) == again


@pytest.mark.parametrize("request_number", range(4))
@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER], ids=lambda fault: fault.name)
async def test_a_delete_with_a_key_is_done_once_wherever_it_was_interrupted(
    store: QdrantStorage, proxy: FaultProxy, fault: Fault, request_number: int
):
    await store_one(store, embedded(NOTE))
    key = IdempotencyKey("k", "delete", 1)
    proxy.plan = in_turn([Fault.NONE] * request_number + [fault] * 3)
    with pytest.raises(StorageUnavailable):
        await store.delete("default", NOTE.content_hash, key)
    assert await store.delete("default", NOTE.content_hash, key)
    assert await get_one(store, "default", NOTE.content_hash) is None
    await store_one(store, embedded(NOTE))
    assert await store.delete("default", NOTE.content_hash, key)
    assert await get_one(store, "default", NOTE.content_hash) == NOTE


async def test_closing_finishes_what_was_accepted(qdrant_url: str, tmp_path: Path):
    closing = await opened(qdrant_url, tmp_path)
    storing = asyncio.create_task(closing.store_batch([embedded(memory(f"note {i}")) for i in range(250)]))
    await asyncio.sleep(0)
    await closing.close()
    assert len(await storing) == 250
    with pytest.raises(StorageUnavailable, match="closed"):
        await store_one(closing, embedded(NOTE))


async def test_long_memories_are_sampled_and_scanned_in_parts(store: QdrantStorage):
    chunks = [(float(i % 7 + 1), 1.0, float(i), 0.0) for i in range(155)]
    await store.store_batch([embedded(memory(f"long {i}"), *chunks) for i in range(40)])
    assert len((await store.sample_vectors(EVERYTHING, 1000)).vectors) == 1000
    part = await store.scan(None, 250)
    assert part.cursor is not None
    assert all(len(item.vectors) == 155 for item in part.items)


async def test_the_list_is_never_empty_while_others_store(store: QdrantStorage):
    await store.store_batch([embedded(memory(f"old {i}", at=i)) for i in range(20)])

    async def storing() -> None:
        for i in range(15):
            await store_one(store, embedded(memory(f"new {i}", at=1_000 + i)))

    async def listing() -> None:
        for _ in range(15):
            page = await store.list_memories(EVERYTHING, 0, 10)
            assert len(page.memories) == 10

    await asyncio.gather(storing(), listing())
