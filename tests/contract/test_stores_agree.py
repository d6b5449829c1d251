"""The same corpus in every store gives the same rankings: words and tags in the same order, vectors up to ties."""

import json
import random
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
import pytest_asyncio
from tests.support.fakes import WordEmbedder
from tests.support.qdrant_target import collection_of

from mcp_memory_service.hybrid_search import indexed_text, query_terms
from mcp_memory_service.models import Candidate, EmbeddedMemory, MemoryFilter
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .memories import EVERYTHING, memory

EVALUATION = Path(__file__).parents[1] / "eval"
FILTERS = [EVERYTHING, MemoryFilter(types=("decision",)), MemoryFilter(after=30, before=100)]

Stores = tuple[Store, Store]


def notes() -> list[EmbeddedMemory]:
    """Our evaluation corpus, and many short notes that score alike, three to a moment.

    Less than the thousand up to which chance is measured by all vectors, so that both stores see the same evidence.
    """
    lines = [json.loads(line) for line in (EVALUATION / "memories.jsonl").read_text().splitlines()]
    real = [memory(line["content"], *line.get("tags", ()), memory_type=line.get("memory_type")) for line in lines]
    alike = [memory(f"tunnel note{i}", "alike", f"kind{i % 4}", at=i // 3) for i in range(390)]
    return [EmbeddedMemory(note, (WordEmbedder.vector(note.content),)) for note in (*real, *alike)]


def queries() -> list[str]:
    cases = json.loads((EVALUATION / "ground_truth.json").read_text())["test_cases"]
    return [case["query"] for case in cases] + ["tunnel", '"tunnel note7"', "tunnel note7 note8", "node.js c++ 部署"]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=["memory", "qdrant"])
async def stores(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> AsyncGenerator[Stores, None]:
    """SQLite, and one that must agree with it."""
    folder = tmp_path_factory.mktemp("agree")
    opening = (WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    sqlite = await SqliteVecStorage.open(folder / "a.db", *opening)
    if request.param == "memory":
        other = await MemoryStore.open(*opening)
    else:
        options = QdrantOptions(request.getfixturevalue("qdrant_url"), collection_of(folder))
        other = await QdrantStorage.open(options, *opening)
    for store in (sqlite, other):
        await store.store_batch(notes())
    yield sqlite, other
    await sqlite.close()
    await other.close()


pytestmark = pytest.mark.asyncio(loop_scope="module")


def order(found: Sequence[Candidate]) -> list[str]:
    return [candidate.content_hash for candidate in found]


@pytest.mark.parametrize("limit", [5, 250])
async def test_words_give_the_same_order_and_the_same_scores(stores: Stores, limit: int):
    sqlite, other = stores
    for number, query in enumerate(queries()):
        where = FILTERS[number % len(FILTERS)]
        expected = (await sqlite.search_by_text(query_terms(query), limit, where)).candidates
        found = (await other.search_by_text(query_terms(query), limit, where)).candidates
        assert order(found) == order(expected), query
        assert [c.score for c in found] == pytest.approx([c.score for c in expected], rel=1e-9)


@pytest.mark.parametrize("limit", [5, 250])
async def test_tags_give_the_same_order(stores: Stores, limit: int):
    sqlite, other = stores
    chance = random.Random(5)
    tags = [tag.tag.casefold() for tag in await sqlite.get_all_tags("default")]
    for _ in range(40):
        named = {tag: chance.choice([0.5, 1.0, 2.25]) for tag in [*chance.sample(tags, 3), "alike", "kind2"]}
        for where in FILTERS:
            assert await other.search_by_tag(named, limit, where) == await sqlite.search_by_tag(named, limit, where)


async def test_vectors_give_the_same_order_up_to_ties(stores: Stores):
    sqlite, other = stores
    for query in queries()[:60]:
        vector = WordEmbedder.vector(query)
        expected = await sqlite.retrieve(vector, 50, EVERYTHING)
        found = await other.retrieve(vector, 50, EVERYTHING)
        assert [c.score for c in found] == pytest.approx([c.score for c in expected], abs=5e-6)
        lowest = expected[-1].score + 5e-6
        above = {candidate.content_hash for candidate in expected if candidate.score > lowest}
        assert above <= set(order(found)), query


async def test_rarities_tags_and_listings_are_the_same(stores: Stores):
    sqlite, other = stores
    for query in queries():
        words = query_terms(query).words
        asked = (EVERYTHING, words, ["tunnel"])
        assert await other.corpus_statistics(*asked) == await sqlite.corpus_statistics(*asked)
    assert await other.get_all_tags("default") == await sqlite.get_all_tags("default")
    for offset in range(0, 1000, 97):
        assert await other.list_memories(EVERYTHING, offset, 97) == await sqlite.list_memories(EVERYTHING, offset, 97)


async def test_a_whole_search_gives_the_same_answer(stores: Stores):
    """Through the service, with the evidence of both: alpha, scores, and the first place."""
    on_sqlite, on_other = (MemoryService(store, WordEmbedder(), now=lambda: 1_000_000) for store in stores)
    for query in queries()[::5]:
        expected = await on_sqlite.retrieve_memories(query)
        found = await on_other.retrieve_memories(query)
        assert found.alpha_used == pytest.approx(expected.alpha_used, abs=1e-3), query
        assert [hit.score for hit in found.results] == pytest.approx([hit.score for hit in expected.results], abs=1e-4)
        assert found.results[0].memory == expected.results[0].memory, query
