"""Sources on a Qdrant behind a network that fails, and of an older collection: interrupted anywhere, a source is never
taken for one that was read, and the same call completes it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import httpx
import pytest
from tests.contract.memories import EAST, EVERYTHING, NORTH, by_name, embedded, note, vector, waiting
from tests.support.fault_proxy import Fault, FaultProxy, always, fault_proxy, in_turn
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_target import collection_of

from mcp_memory_service.errors import Unavailable
from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import SourceOutcome, SourceRecord
from mcp_memory_service.storage.qdrant import CollectionLayout, QdrantOptions, QdrantStorage
from mcp_memory_service.storage.qdrant import collection as qdrant_collection
from mcp_memory_service.storage.qdrant import connection as qdrant_connection
from mcp_memory_service.storage.qdrant.points import SOURCE as SOURCE_POINT
from mcp_memory_service.storage.qdrant.points import other_id

SOURCE = "docs/a.md"
OLD, NEW = SourceRecord(SOURCE, "old", {"n": 1}), SourceRecord(SOURCE, "new", {"n": 2})
KEPT, GONE, COME = note("kept", anchor="1"), note("gone", anchor="2"), note("come", anchor="3")
OLD_EDGES, NEW_EDGES = [by_name(KEPT, "note:old")], [by_name(KEPT, "note:new")]
MAX_REQUESTS = 30


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(qdrant_connection, "FIRST_PAUSE_SECONDS", 0.01)


@pytest.fixture
async def proxy(qdrant_url: str) -> AsyncGenerator[FaultProxy, None]:
    async with fault_proxy(qdrant_url) as running:
        yield running


async def opened(url: str, folder: Path) -> QdrantStorage:
    options = QdrantOptions(url, collection_of(folder), timeout_seconds=HANG_SECONDS, retries=0)
    return await QdrantStorage.open(options, "m", 4, indexed_text)


@pytest.fixture
async def store(proxy: FaultProxy, tmp_path: Path) -> AsyncGenerator[QdrantStorage, None]:
    opened_store = await opened(proxy.url, tmp_path)
    yield opened_store
    await opened_store.close()


async def fill_old(store: QdrantStorage) -> None:
    await store.replace_source("default", SOURCE, [embedded(KEPT), waiting(GONE)], OLD_EDGES, OLD)


async def replace_all(store: QdrantStorage) -> object:
    return await store.replace_source("default", SOURCE, [embedded(KEPT), waiting(COME)], NEW_EDGES, NEW)


async def relink(store: QdrantStorage) -> object:
    return await store.relink_source("default", SOURCE, NEW_EDGES, NEW)


async def add_vectors(store: QdrantStorage) -> object:
    return await store.add_vectors([embedded(GONE, NORTH), embedded(KEPT, NORTH)])


async def state_of(store: QdrantStorage) -> tuple[str, set[str], object]:
    (record,) = await store.list_sources("default")
    memories = {each.content for each in (await store.list_memories(EVERYTHING, 0, 10)).memories}
    return record.fingerprint, memories, await store.edges_from("default", [KEPT.content_hash])


BEFORE = ("old", {"kept", "gone"}, {KEPT.content_hash: OLD_EDGES})
CALLS: dict[str, tuple[Callable[[QdrantStorage], Awaitable[object]], tuple[str, set[str], object]]] = {
    "replace": (replace_all, ("new", {"kept", "come"}, {KEPT.content_hash: NEW_EDGES})),
    "relink": (relink, ("new", {"kept", "gone"}, {KEPT.content_hash: NEW_EDGES})),
    "add vectors": (add_vectors, BEFORE),
}


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.parametrize("fault", [Fault.CUT_BEFORE, Fault.CUT_AFTER], ids=lambda fault: fault.name)
async def test_after_an_interruption_at_any_request_a_source_is_whole_or_open(
    store: QdrantStorage, proxy: FaultProxy, name: str, fault: Fault
):
    call, after = CALLS[name]
    for number in range(MAX_REQUESTS):
        await store.replace_source("default", SOURCE, [], [])
        await fill_old(store)
        proxy.plan = in_turn([Fault.NONE] * number + [fault] * 100)
        try:
            await call(store)
        except Unavailable:
            interrupted = True
        else:
            interrupted = False
        proxy.plan = always(Fault.NONE)
        found = await state_of(store)
        assert found[0] == "" or found in (BEFORE, after), number
        await replace_all(store) if name == "relink" else await call(store)
        assert await state_of(store) == (CALLS["replace"][1] if name == "relink" else after)
        if not interrupted:
            return
    pytest.fail(f"{name} makes more than {MAX_REQUESTS} requests")


async def test_what_waits_does_not_disturb_a_graph_of_vectors(qdrant_url: str, tmp_path: Path):
    """Also where they have smaller copies, and after the server has tidied its segments up."""
    options = QdrantOptions(qdrant_url, collection_of(tmp_path), layout=CollectionLayout(quantization="scalar"))
    store = await QdrantStorage.open(options, "m", 4, indexed_text)
    chunks = [note(f"the kestrel number {i}", anchor=str(i)) for i in range(300)]
    items = [embedded(each, EAST) if i % 3 == 0 else waiting(each) for i, each in enumerate(chunks)]
    await store.replace_source("default", SOURCE, items, [], OLD)
    address = f"{qdrant_url}/collections/{options.collection}/optimize"
    httpx.post(address, json=None, timeout=HANG_SECONDS)  # of the stand-in; a server does it by itself
    assert len(await store.retrieve(vector(*EAST), 250, EVERYTHING)) == 100
    assert len((await store.search_by_text(query_terms("kestrel"), 300, EVERYTHING)).candidates) == 300
    for _ in range(4):
        await store.add_vectors([embedded(each, NORTH) for each in await store.awaiting_vectors(64)])
    stats = await store.stats("default")
    assert (stats.memories, stats.vectors, stats.awaiting_vectors) == (300, 300, 0)
    assert len(await store.retrieve(vector(*NORTH), 250, EVERYTHING)) == 250
    await store.close()


async def test_sources_of_an_older_collection_go_on(qdrant_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Before version 4, the point of a source had a number and a token alone."""
    monkeypatch.setattr(qdrant_collection, "SCHEMA_VERSION", 3)
    store = await opened(qdrant_url, tmp_path)
    await store.replace_source("default", SOURCE, [embedded(KEPT), embedded(GONE)], OLD_EDGES)
    await store.close()
    monkeypatch.undo()
    address = f"{qdrant_url}/collections/{collection_of(tmp_path)}/points/payload/delete?wait=true"
    fields = ["source", "source_prefixes", "fingerprint", "details", "half_replaced"]
    body = {"keys": fields, "points": [other_id(SOURCE_POINT, "default", SOURCE)]}
    httpx.post(address, json=body, timeout=HANG_SECONDS).raise_for_status()
    store = await opened(qdrant_url, tmp_path)
    assert (await store.stats("default")).schema_version == 4
    assert await store.list_sources("default") == []
    await relink(store)
    assert await store.list_sources("default") == [NEW]
    done = await store.replace_source("default", SOURCE, [embedded(KEPT), waiting(COME)], OLD_EDGES, OLD)
    assert done == SourceOutcome(created=1, updated=0, unchanged=1, deleted=1)
    assert await store.list_sources("default") == [OLD]
    await store.close()
