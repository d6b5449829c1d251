"""What a search is prepared with is kept between searches, and made anew once when the store has changed."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest
from tests.indexed_store import open_indexed
from tests.support.fakes import WordEmbedder, partly_broken

from mcp_memory_service.errors import StorageUnavailable
from mcp_memory_service.models import MemoryDraft, MemoryFilter, SearchRequest, TagCount, Vector, VectorSample
from mcp_memory_service.services import MemoryService, ServiceLimits
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.index import IndexReader

MEMORIES = 300


class CountingEmbedder(WordEmbedder):
    def __init__(self) -> None:
        self.asked = 0

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += 1
        return await super().embed(texts)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteVecStorage]:
    opened = await open_indexed(tmp_path / "store.db", WordEmbedder.model_id, WordEmbedder.dimension)
    await stored(opened, *(f"note {number} about rathole" for number in range(MEMORIES)))
    yield opened
    await opened.close()


async def stored(store: SqliteVecStorage, *texts: str, tag: str = "rathole", namespace: str = "default") -> None:
    """By a service of its own, as another process would."""
    limits = ServiceLimits(find_similar=False)  # which would ask for vectors as well
    service = MemoryService(store, WordEmbedder(), limits=limits, namespace=namespace)
    await service.store_batch([MemoryDraft(text, tags=(tag,)) for text in texts])


@pytest.fixture
def asked(store: SqliteVecStorage, monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """How often the store was asked for what."""
    counted: Counter[str] = Counter()
    retrieve, sample_vectors, get_all_tags = IndexReader.retrieve, store.sample_vectors, store.get_all_tags

    async def sample(where: MemoryFilter, limit: int) -> VectorSample:
        counted["sample"] += 1
        return await sample_vectors(where, limit)

    async def tags(namespace: str) -> list[TagCount]:
        counted["tags"] += 1
        return await get_all_tags(namespace)

    def counted_retrieve(*arguments: object) -> object:
        counted["vectors"] += 1
        return retrieve(*arguments)  # pyright: ignore[reportArgumentType]

    monkeypatch.setattr(IndexReader, "retrieve", counted_retrieve)
    monkeypatch.setattr(store, "sample_vectors", sample)
    monkeypatch.setattr(store, "get_all_tags", tags)
    return counted


async def test_after_others_wrote_a_search_is_prepared_once_more(store: SqliteVecStorage, asked: Counter[str]):
    service = MemoryService(store, WordEmbedder())
    await service.retrieve_memories("note 1")
    await stored(store, *(f"more {number}" for number in range(20)))
    asked.clear()
    for number in range(10):
        await service.retrieve_memories(f"note {number} rathole")
    assert asked == {"vectors": 10, "sample": 1}


async def test_a_tag_of_another_namespace_costs_nothing(store: SqliteVecStorage, asked: Counter[str]):
    service = MemoryService(store, WordEmbedder())
    await service.retrieve_memories("note 1")
    asked.clear()
    for number in range(5):
        await stored(store, f"elsewhere {number}", tag=f"tag{number}", namespace="elsewhere")
        await service.retrieve_memories(f"note {number}")
    assert asked == {"vectors": 5}


async def test_a_model_that_hangs_holds_a_search_once(store: SqliteVecStorage, monkeypatch: pytest.MonkeyPatch):
    class HangingEmbedder(CountingEmbedder):
        async def embed(self, texts: Sequence[str]) -> list[Vector]:
            self.asked += 1
            return await asyncio.Future[list[Vector]]()

    monkeypatch.setattr("mcp_memory_service.services.search.cached_inputs.EMBED_TIMEOUT_SECONDS", 0.05)
    embedder = HangingEmbedder()
    service = MemoryService(store, embedder)
    await service.retrieve_memories("note 1")
    await stored(store, "another one", tag="kestrel")
    found = await service.retrieve_memories("note 2 kestrel")
    assert found.degraded == ("embedder_unavailable",)
    assert found.keywords == ("kestrel",)
    assert embedder.asked == 2


async def test_a_count_that_failed_once_changes_no_later_search(
    store: SqliteVecStorage, monkeypatch: pytest.MonkeyPatch
):
    await stored(store, *(f"thing {number}" for number in range(MEMORIES)), tag="misc")
    expected = await MemoryService(store, WordEmbedder()).retrieve_memories("rathole misc thing", page_size=3)

    async def failing(_namespace: str) -> int:
        raise StorageUnavailable("count_all_memories does not answer.")

    service = MemoryService(store, WordEmbedder())
    with monkeypatch.context() as broken:
        broken.setattr(store, "count_all_memories", failing)
        await service.retrieve_memories("note 1")
    found = await service.retrieve_memories("rathole misc thing", page_size=3)
    assert (found.keywords, found.alpha_used, found.degraded) == (expected.keywords, expected.alpha_used, ())
    assert [hit.provenance["tag"] for hit in found.results] == [hit.provenance["tag"] for hit in expected.results]


@pytest.mark.parametrize("options", [{"mode": "keyword"}, {"alpha": 0.5}])
async def test_evidence_that_nobody_weighs_is_not_missed(store: SqliteVecStorage, options: dict[str, str | float]):
    service = MemoryService(partly_broken(store, "sample_vectors"), WordEmbedder())
    assert (await service.search(SearchRequest("rathole", **options))).degraded == ()  # pyright: ignore[reportArgumentType]
    assert (await service.retrieve_memories("rathole")).degraded == ("evidence_unavailable",)


async def test_a_store_that_fails_has_no_query_embedded_again(store: SqliteVecStorage):
    embedder = CountingEmbedder()
    service = MemoryService(partly_broken(store, "retrieve"), embedder)
    for _ in range(3):
        assert (await service.retrieve_memories("rathole")).degraded == ("vector_search_unavailable",)
    assert embedder.asked == 1
