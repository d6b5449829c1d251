"""Properties of the whole pipeline over random corpora, queries, pages and weights; thousands of hostile queries."""

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import WordEmbedder
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text, query_terms
from mcp_memory_service.models import MemoryDraft, MemoryFilter, SearchRequest
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.queries.text_search import search_by_text

WORDS = ["tunnel", "cache", "port", "deploy", "größe", "部署", "node.js", "the", "authenticate_user"]
TAGS = ["rathole", "project:x", "home-lab", "部署", "Fix"]

drafts = st.builds(
    MemoryDraft,
    content=st.lists(st.sampled_from(WORDS), min_size=1, max_size=6).map(" ".join),
    tags=st.lists(st.sampled_from(TAGS), max_size=3, unique=True).map(tuple),
    memory_type=st.sampled_from([None, "note", "fix"]),
    created_at=st.integers(0, 1_700_000_000_000_000),
)
corpora = st.lists(drafts, max_size=30)
queries = st.lists(st.sampled_from([*WORDS, *TAGS, '"', "unknown"]), min_size=1, max_size=6).map(" ".join)
policies = st.builds(
    RankingPolicy,
    hybrid_alpha=st.none() | st.floats(0, 1),
    recency=st.sampled_from(["decay", "tiers"]),
    recency_decay=st.sampled_from([0.0, 0.01, 1.0]),
    recency_floor=st.sampled_from([0.0, 0.998, 1.0]),
    tag_weight=st.floats(0, 3),
    keyword_weight=st.floats(0, 3),
    fusion=st.sampled_from(["rrf", "score"]),
    rrf_k=st.integers(1, 100),
)
searches = st.fixed_dictionaries(
    {},
    optional={
        "mode": st.sampled_from(["hybrid", "semantic", "keyword"]),
        "tags": st.lists(st.sampled_from(TAGS), max_size=2),
        "tag_match": st.sampled_from(["any", "all"]),
        "memory_type": st.sampled_from(["note", "fix"]),
        "min_similarity": st.floats(-1, 1),
        "after": st.integers(0, 1_700_000_000_000_000),
    },
)


async def searched(
    corpus: list[MemoryDraft], policy: RankingPolicy, query: str, page_size: int, search: dict[str, Any]
) -> tuple[list[SearchResult], SearchResult]:
    """All pages of a search, and the same search as one page."""
    store = await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    service = MemoryService(store, WordEmbedder(), policy)
    if corpus:
        await service.store_batch(corpus)
    pages = [await service.search(SearchRequest(query, 1, page_size, **search))]
    while pages[-1].paging.has_more:
        pages.append(await service.search(SearchRequest(query, len(pages) + 1, page_size, **search)))
    return pages, await service.search(SearchRequest(query, 1, 100, **search))


@settings(max_examples=60)
@given(corpora, policies, queries, st.integers(1, 12), searches)
def test_every_search_keeps_the_invariants(
    corpus: list[MemoryDraft], policy: RankingPolicy, query: str, page_size: int, search: dict[str, Any]
):
    pages, whole = asyncio.run(searched(corpus, policy, query, page_size, search))
    hits = [hit for page in pages for hit in page.results]
    hashes = [hit.memory.content_hash for hit in hits]
    scores = [hit.score for hit in hits]
    assert all(len(page.results) <= page_size for page in pages)
    assert len(hashes) == len(set(hashes)) == whole.paging.total
    assert hashes == [hit.memory.content_hash for hit in whole.results]
    assert all(0.0 <= score <= 1.0 for score in scores)
    assert scores == sorted(scores, reverse=True)
    assert not scores or scores[0] == 1.0
    for hit in hits:
        assert hit.provenance
        assert search.get("memory_type") in {None, hit.memory.memory_type}
        assert hit.memory.created_at >= search.get("after", 0)
        if hit.similarity is not None and "min_similarity" in search:
            assert hit.similarity >= search["min_similarity"]


HOSTILE = [
    '"',
    "'",
    "*",
    "^",
    ":",
    "-",
    "+",
    "(",
    ")",
    "{",
    "}",
    "AND",
    "OR",
    "NOT",
    "NEAR",
    "NEAR/3",
    "\\",
    ";",
    "--",
    "%",
]


def hostile_query(chance: random.Random) -> str:
    pieces = [
        chance.choice(
            [*HOSTILE, *WORDS, "the", "of", "\u202e", "🚀", "\n", "\x00", "a" * 300, chr(chance.randrange(1, 0xD7FF))]
        )
        for _ in range(chance.randrange(1, 30))
    ]
    return chance.choice(["", " "]).join(pieces)


async def test_twenty_thousand_hostile_queries_are_answered(tmp_path: Path):
    storage = await SqliteVecStorage.open(tmp_path / "x.db", "words-64", 64, indexed_text)
    service = MemoryService(storage, WordEmbedder())
    await service.store_batch([MemoryDraft(f"{word} {i}", tags=(word,)) for i in range(20) for word in WORDS])
    chance = random.Random(7)
    connection = connect(tmp_path / "x.db", read_only=True)
    for _ in range(20_000):
        search_by_text(connection, query_terms(hostile_query(chance)), 10, MemoryFilter())
    connection.close()
    for _ in range(300):
        assert await outcome_of(service, hostile_query(chance)) in {"found", "query_empty", "control_character"}
    await storage.close()


async def outcome_of(service: MemoryService, query: str) -> str:
    try:
        found = await service.retrieve_memories(query)
    except InvalidInput as error:
        return error.code
    return "degraded" if found.degraded else "found"


@pytest.mark.parametrize(
    "query", ["word " * 2_000, "the " * 2_500, "?" * 10_000, '"' * 9_999, "部" * 10_000, "a_b " * 2_500]
)
async def test_the_longest_queries_are_answered(service: MemoryService, query: str):
    await service.store_batch([MemoryDraft(f"word {i}", tags=(f"部{i}",)) for i in range(50)])
    async with asyncio.timeout(HANG_SECONDS):
        await service.retrieve_memories(query)
