"""Code has a search index of its own: it answers as the rows do, and that of memories knows nothing of it."""

from collections.abc import AsyncGenerator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from tests.support.code import look_alikes, names, store_code, symbol
from tests.support.fakes import WordEmbedder
from tests.support.notes import store_notes

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import GraphExpansion, SearchRequest, code_of
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.sqlite_vec import IndexOptions, LiveIndex, SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.index import CODE, index_file

NOW = 1_700_000_000_000_000
REQUESTS = [
    SearchRequest(query, kinds=("code",), debug=True, page_size=30, mode="keyword", graph_expansion=expansion)
    for query in ("check the token of an order", "authenticate_user", "shop/part1.py:7", "merge basket price")
    for expansion in (None, GraphExpansion("related", 2))
]


async def opened(path: Path, *, indexed: bool) -> SqliteVecStorage:
    index = partial(LiveIndex, options=IndexOptions(min_memories=100)) if indexed else None
    return await SqliteVecStorage.open(path, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text, index=index)


@pytest.fixture
async def storage(tmp_path: Path) -> AsyncGenerator[SqliteVecStorage, None]:
    storage = await opened(tmp_path / "x.db", indexed=True)
    await store_notes(MemoryService(storage, WordEmbedder()), 60)
    calls = {"shop.part0.load_user_user_0": ["shop.part1.load_price_user_55"]}
    await store_code(storage, look_alikes(300), calls)
    await storage.wait_ready()
    yield storage
    await storage.close()


async def answers(storage: SqliteVecStorage) -> list[SearchResult]:
    service = MemoryService(storage, WordEmbedder(), now=lambda: NOW)
    return [replace(await service.search(request), took_ms=0.0) for request in REQUESTS]


async def test_the_index_of_code_answers_as_the_rows_do(storage: SqliteVecStorage, tmp_path: Path):
    assert storage.slowed_by(code_of("default")) == ()
    assert index_file(tmp_path / "x.db", CODE.file_suffix).exists()
    rows = await opened(tmp_path / "x.db", indexed=False)
    for found, expected in zip(await answers(storage), await answers(rows), strict=True):
        assert found == expected
    # Of vectors an index has bytes: what is nearly as near may change places.
    for request in [replace(each, mode="semantic", graph_expansion=None) for each in REQUESTS]:
        both = [await MemoryService(each, WordEmbedder()).search(request) for each in (storage, rows)]
        scores = [[hit.similarity or 0.0 for hit in found.results] for found in both]
        assert scores[0] == pytest.approx(scores[1], abs=0.01)
    await rows.close()


async def test_it_follows_what_is_read_anew(storage: SqliteVecStorage):
    service = MemoryService(storage, WordEmbedder())
    await store_code(storage, [symbol("shop.part0.brand_new", "Nothing like it.")])
    found = await service.search(SearchRequest("nothing like it", kinds=("code",)))
    assert names(found)[0] == "shop.part0.brand_new"
    # The file has nothing else any more.
    assert "shop.part0.load_user_user_0" not in names(await service.search(SearchRequest("user", kinds=("code",))))


async def test_the_index_of_memories_stays_as_small_as_they_are(storage: SqliteVecStorage, tmp_path: Path):
    assert not index_file(tmp_path / "x.db").exists()
    assert storage.degraded == ()
    found = await MemoryService(storage, WordEmbedder()).search(SearchRequest("topic 3 note"))
    assert len(found.results) == 10


async def test_a_purge_forgets_both(storage: SqliteVecStorage, tmp_path: Path):
    service = MemoryService(storage, WordEmbedder())
    (hit, *_) = (await service.search(SearchRequest("topic 3 note"))).results
    file = index_file(tmp_path / "x.db", CODE.file_suffix)
    before = file.stat().st_ino
    await service.purge_memories([hit.memory.content_hash])
    await storage.wait_ready()
    assert file.stat().st_ino != before
    assert len((await service.search(SearchRequest("authenticate_user", kinds=("code",)))).results) == 10


async def test_a_store_without_code_has_no_such_index(tmp_path: Path):
    storage = await opened(tmp_path / "y.db", indexed=True)
    await store_notes(MemoryService(storage, WordEmbedder()), 200)
    await storage.wait_ready()
    assert index_file(tmp_path / "y.db").exists()
    assert not index_file(tmp_path / "y.db", CODE.file_suffix).exists()
    await storage.close()
    assert storage.slowed_by(code_of("default")) == ()
