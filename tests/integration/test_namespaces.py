"""Callers of two namespaces share one service and see nothing of each other."""

from collections.abc import Sequence

import pytest
from mcp import Client
from tests.support.fakes import WordEmbedder

from mcp_memory_service.access.caller import OWNER, Caller, Scope
from mcp_memory_service.errors import MemoryNotFound
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.models import MemoryDraft, MemoryPatch, SearchRequest, Vector, content_hash
from mcp_memory_service.services import MemoryService
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
    assert listed.structured_content is not None
    assert [memory["content_hash"] for memory in listed.structured_content["memories"]] == [THEIRS]
