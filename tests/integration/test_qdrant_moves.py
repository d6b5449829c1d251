"""A memory that moves on a Qdrant behind a network that fails: interrupted anywhere it is not lost, and the same call
completes it."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from tests.contract.memories import EVERYTHING, NORTH, embedded, memory, vector
from tests.support.fault_proxy import Fault, FaultProxy, always, fault_proxy, in_turn
from tests.support.one_memory import get_one, store_one
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_target import collection_of

from mcp_memory_service.errors import BatchIncomplete, Unavailable
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import (
    Edge,
    Feedback,
    IdempotencyKey,
    Memory,
    MemoryFilter,
    MemoryPatch,
    content_hash,
    history_of,
    trash_of,
)
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage
from mcp_memory_service.storage.qdrant import connection as qdrant_connection
from mcp_memory_service.storage.qdrant.writes import writer as qdrant_writes

HISTORY, TRASH = MemoryFilter(history_of("default")), MemoryFilter(trash_of("default"))
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


@pytest.fixture
async def other(qdrant_url: str, tmp_path: Path, store: QdrantStorage) -> AsyncGenerator[QdrantStorage, None]:
    """The same collection, on a good network."""
    opened_store = await opened(qdrant_url, tmp_path)
    yield opened_store
    await opened_store.close()


@dataclass(frozen=True)
class Move:
    """What moves a memory, and where it and what belongs to it are to be found after it."""

    act: Callable[[QdrantStorage, str], Awaitable[Any]]
    """With the content of the memory."""
    place: MemoryFilter
    """Of the memory."""
    heir: Callable[[str], tuple[str, str]] = lambda content: (trash_of("default"), content)
    """Namespace and content of what has its feedback and its link."""
    from_trash: bool = False
    requests: int = 0
    """How many are sent if nothing fails, for a memory with feedback."""


def new_text(content: str) -> str:
    return content + ", corrected"


def keyed(content: str) -> IdempotencyKey:
    return IdempotencyKey(content, "f", 5)


async def edit(store: QdrantStorage, content: str, key: IdempotencyKey | None = None) -> Memory | None:
    patch = MemoryPatch(content=new_text(content))
    return await store.update("default", content_hash(content), patch, 5, key, [vector(*NORTH)])


async def supersede(store: QdrantStorage, content: str) -> None:
    item = replace(embedded(memory(new_text(content), at=5)), supersedes=(content_hash(content),))
    await store.store_batch([item])


MOVES = {
    "trash": Move(
        lambda store, content: store.delete("default", content_hash(content), trashed_at=5), TRASH, requests=8
    ),
    "trash with a key": Move(
        lambda store, content: store.delete("default", content_hash(content), keyed(content), trashed_at=5),
        TRASH,
        requests=11,
    ),
    "restore": Move(
        lambda store, content: store.restore("default", content_hash(content), 9),
        EVERYTHING,
        lambda content: ("default", content),
        from_trash=True,
        requests=8,
    ),
    "edit": Move(edit, HISTORY, lambda content: ("default", new_text(content)), requests=11),
    "edit with a key": Move(
        lambda store, content: edit(store, content, keyed(content)),
        HISTORY,
        lambda content: ("default", new_text(content)),
        requests=14,
    ),
    "supersede": Move(supersede, HISTORY, lambda content: (history_of("default"), content), requests=15),
}


async def stored(store: QdrantStorage, content: str, *, trashed: bool) -> None:
    await store_one(store, embedded(memory(content, "lab")))
    found = content_hash(content)
    await store.add_edges("default", [Edge(found, "port", "mentions", by_name=True)])
    await store.add_feedback("default", Feedback(content, found, useful=True, created_at=1))
    if trashed:
        await store.delete("default", found, trashed_at=2)


async def places(store: QdrantStorage, content: str) -> list[str]:
    namespaces = ("default", history_of("default"), trash_of("default"))
    return [each for each in namespaces if await get_one(store, each, content_hash(content))]


@pytest.mark.parametrize("name", MOVES)
async def test_a_move_that_was_interrupted_anywhere_is_completed_by_a_repeat(
    store: QdrantStorage, other: QdrantStorage, proxy: FaultProxy, name: str
):
    move = MOVES[name]
    for fault in (Fault.CUT_BEFORE, Fault.CUT_AFTER):
        for requests in range(MAX_REQUESTS):
            content = f"{name}: {fault.name} after {requests} requests"
            await stored(other, content, trashed=move.from_trash)
            proxy.plan = in_turn([Fault.NONE] * requests + [fault])
            before = proxy.seen[fault]
            try:
                await move.act(store, content)
            except Unavailable:
                assert await places(other, content), content
            proxy.plan = always(Fault.NONE)
            if proxy.seen[fault] == before:
                break
            await move.act(store, content)
            assert await places(other, content) == [move.place.namespace], content
            await _assert_handed_on(other, move, content)
        else:
            pytest.fail(f"it takes more than {MAX_REQUESTS} requests")


async def _assert_handed_on(store: QdrantStorage, move: Move, content: str) -> None:
    namespace, heir = move.heir(content)
    said = [
        (each, feedback.content_hash)
        for each in ("default", history_of("default"), trash_of("default"))
        for feedback in await store.list_feedback(each)
        if feedback.query == content
    ]
    assert said == [(namespace, content_hash(heir))], content
    edges = (await store.edges_from(namespace, [content_hash(heir)], ["mentions"])).get(content_hash(heir), [])
    assert [edge.to for edge in edges] == ["port"], content
    if move.place is HISTORY:
        successor = content_hash(new_text(content))
        led = await store.edges_to("default", [content_hash(content)], ["supersedes"])
        assert [edge.from_id for edge in led[content_hash(content)]] == [successor]


async def test_an_edit_whose_answer_was_lost_is_answered_with_the_new_version(store: QdrantStorage, proxy: FaultProxy):
    """Wherever it was interrupted, what others changed of the new version since then stays."""
    for requests in range(MAX_REQUESTS):
        content = f"after {requests} requests"
        await store_one(store, embedded(memory(content, "lab")))
        proxy.plan = in_turn([Fault.NONE] * requests + [Fault.CUT_AFTER])
        before = proxy.seen[Fault.CUT_AFTER]
        try:
            await edit(store, content, keyed(content))
        except Unavailable:
            theirs = MemoryPatch(tags=("theirs",))
            written = await store.update("default", content_hash(new_text(content)), theirs, 7)
            again = await edit(store, content, keyed(content))
            assert again is not None
            assert (again.content, again.tags) == (new_text(content), ("theirs",) if written else ("lab",))
            assert await get_one(store, "default", content_hash(content)) is None
        if proxy.seen[Fault.CUT_AFTER] == before:
            return
    pytest.fail(f"it takes more than {MAX_REQUESTS} requests")


@pytest.mark.parametrize("name", ["trash", "edit with a key", "supersede"])
async def test_what_others_add_while_a_memory_moves_goes_with_it(
    store: QdrantStorage, other: QdrantStorage, monkeypatch: pytest.MonkeyPatch, name: str
):
    """After the memory was written where it goes, and before it is deleted where it was."""
    await stored(other, "tunnel", trashed=False)
    write = qdrant_writes.Writer.write

    async def write_and_be_overtaken(writer: Any, changes: Any, birth: str) -> set[str]:
        not_taken = await write(writer, changes, birth)
        if changes[0].memory.ended_at is not None:
            monkeypatch.setattr(qdrant_writes.Writer, "write", write)
            await store_one(other, embedded(memory("tunnel", "added")))
        return not_taken

    monkeypatch.setattr(qdrant_writes.Writer, "write", write_and_be_overtaken)
    move = MOVES[name]
    await move.act(store, "tunnel")
    assert await places(other, "tunnel") == [move.place.namespace]
    moved = await get_one(other, move.place.namespace, content_hash("tunnel"))
    assert moved is not None
    assert set(moved.tags) == {"lab", "added"}


async def test_of_two_that_move_a_memory_neither_loses_what_was_said_of_it(
    store: QdrantStorage, other: QdrantStorage, proxy: FaultProxy, monkeypatch: pytest.MonkeyPatch
):
    """A move that stopped before the memory was deleted where it was is completed by one while another looks."""
    trash = MOVES["trash"]
    await stored(other, "tunnel", trashed=False)
    proxy.plan = in_turn([Fault.NONE] * 5 + [Fault.CUT_BEFORE])
    with pytest.raises(Unavailable):
        await trash.act(store, "tunnel")
    assert await places(other, "tunnel") == ["default", trash_of("default")]
    look = qdrant_writes.Writer.look_at

    async def look_and_be_overtaken(writer: Any, *asked: Any) -> Any:
        seen = await look(writer, *asked)
        monkeypatch.setattr(qdrant_writes.Writer, "look_at", look)
        await trash.act(other, "tunnel")
        return seen

    monkeypatch.setattr(qdrant_writes.Writer, "look_at", look_and_be_overtaken)
    await trash.act(store, "tunnel")
    await _assert_handed_on(other, trash, "tunnel")


async def test_a_move_takes_few_requests(store: QdrantStorage, other: QdrantStorage, proxy: FaultProxy):
    """As docs/scaling.md says."""
    found: dict[str, int] = {}
    for name, move in MOVES.items():
        await stored(other, name, trashed=move.from_trash)
        before = proxy.seen.total()
        await move.act(store, name)
        found[name] = proxy.seen.total() - before
    assert found == {name: move.requests for name, move in MOVES.items()}


async def test_what_could_not_be_superseded_is_told(store: QdrantStorage, other: QdrantStorage, proxy: FaultProxy):
    """A look, a write and a look store both; what the second one supersedes is out of reach."""
    await stored(other, "old", trashed=False)
    items = [embedded(memory("one")), replace(embedded(memory("two")), supersedes=(content_hash("old"),))]
    proxy.plan = in_turn([Fault.NONE] * 3 + [Fault.CUT_BEFORE])
    with pytest.raises(BatchIncomplete, match="1 of 2 memories are stored") as caught:
        await store.store_batch(items)
    assert caught.value.stored == (True, False)
    proxy.plan = always(Fault.NONE)
    await store.store_batch(items)
    assert await places(other, "old") == [history_of("default")]
