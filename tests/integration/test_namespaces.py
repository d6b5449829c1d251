"""Callers of two namespaces share one service and see nothing of each other."""

import gc
from collections.abc import Sequence
from weakref import ref

import pytest
from mcp import Client
from tests.support.fakes import WordEmbedder
from tests.support.mcp_answers import ids_of

from mcp_memory_service.access.caller import OWNER, Caller, Scope
from mcp_memory_service.errors import InvalidInput, MemoryNotFound
from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.models import (
    MemoryDraft,
    MemoryPatch,
    SearchRequest,
    TunedWeights,
    Tuning,
    Vector,
    content_hash,
)
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.search.cached_inputs import MAX_NAMESPACES
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

TEAM = Caller(Scope.WRITE, ("team",))
OURS, THEIRS = content_hash("the tunnel is ours"), content_hash("the tunnel is theirs")


class CountingEmbedder(WordEmbedder):
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return await super().embed(texts)


async def two_callers(storage: SqliteVecStorage, embedder: WordEmbedder) -> tuple[MemoryService, MemoryService]:
    service = MemoryService(storage, embedder)
    ours, theirs = service.within(OWNER.namespace(None)), service.within(TEAM.namespace(None))
    await ours.store_memory(MemoryDraft("the tunnel is ours", tags=("ours",)))
    await theirs.store_memory(MemoryDraft("the tunnel is theirs", tags=("theirs",)))
    return ours, theirs


async def test_nothing_of_one_namespace_is_seen_in_another(storage: SqliteVecStorage):
    ours, theirs = await two_callers(storage, WordEmbedder())
    for service, own, tag in ((ours, OURS, "ours"), (theirs, THEIRS, "theirs")):
        found = await service.search(SearchRequest("the tunnel ours theirs"))
        assert [hit.memory.content_hash for hit in found.results] == [own]
        assert [memory.content_hash for memory in (await service.list_memories()).memories] == [own]
        assert [count.tag for count in await service.list_tags()] == [tag]
        assert (await service.stats()).memories == 1


async def test_a_memory_of_another_namespace_is_neither_read_nor_changed(storage: SqliteVecStorage):
    ours, theirs = await two_callers(storage, WordEmbedder())
    for asked in (
        theirs.get_memory(OURS),
        theirs.explain(SearchRequest("tunnel"), OURS),
        theirs.update_memory(OURS, MemoryPatch(tags=())),
        theirs.delete_memory(OURS),
        theirs.record_feedback("tunnel", OURS, useful=True),
    ):
        with pytest.raises(MemoryNotFound):
            await asked
    assert (await theirs.purge_memories([OURS])).not_found == (OURS,)
    assert (await ours.get_memory(OURS)).tags == ("ours",)


async def test_namespaces_share_the_embedder_and_what_it_answered(storage: SqliteVecStorage):
    embedder = CountingEmbedder()
    ours, theirs = await two_callers(storage, embedder)
    assert (ours.within("team"), theirs.within("default")) == (theirs, ours)
    embedder.asked.clear()
    for service in (ours, theirs):
        await service.search(SearchRequest("where is the tunnel"))
    assert embedder.asked == ["where is the tunnel"]


async def test_an_mcp_server_acts_for_its_caller(storage: SqliteVecStorage):
    ours, _ = await two_callers(storage, WordEmbedder())
    async with Client(build_mcp_server(ours, 5_000, local_caller=TEAM)) as client:
        listed = await client.call_tool("list_memories", {})
    assert ids_of(listed) == [THEIRS[:12]]


async def test_weights_are_tuned_for_one_namespace(storage: SqliteVecStorage):
    def policy(tuned: TunedWeights | None) -> RankingPolicy:
        return RankingPolicy(vector_trust=tuned.vector_trust) if tuned else RankingPolicy()

    before = MemoryService(storage, WordEmbedder(), tuned=policy)
    texts = ("the tunnel of rathole", "a port of the tunnel", "something else")
    for namespace in ("default", "team"):
        await before.within(namespace).store_batch([MemoryDraft(text) for text in texts])
    await storage.save_tuning("team", Tuning(TunedWeights(0.001, 1.0, 0.5), 0, 30, 0.5, 0.6))
    after = MemoryService(storage, WordEmbedder(), tuned=policy)

    async def alpha(service: MemoryService, namespace: str) -> float:
        return (await service.within(namespace).search(SearchRequest("a tunnel"))).alpha_used

    untouched = await alpha(before, "default")
    assert await alpha(after, "default") == untouched
    assert await alpha(after, "team") < untouched


async def test_services_of_namespaces_that_nobody_uses_are_not_kept(storage: SqliteVecStorage):
    service = MemoryService(storage, WordEmbedder())
    used = service.within("used")
    forgotten = [ref(service.within(f"team{number}")) for number in range(2 * MAX_NAMESPACES)]
    gc.collect()
    assert sum(each() is not None for each in forgotten) <= MAX_NAMESPACES
    assert service.within("used") is used
    assert service.within("default") is service


@pytest.mark.parametrize("name", ["", " team", "team ", "team/*", "a\nb", "a\0b", "x" * 201])
async def test_a_namespace_has_a_plain_name(storage: SqliteVecStorage, name: str):
    with pytest.raises(InvalidInput, match="namespace"):
        MemoryService(storage, WordEmbedder()).within(name)
