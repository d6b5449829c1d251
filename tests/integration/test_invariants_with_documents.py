"""The properties of a ranking hold with documents beside memories, with links between them and a cap on chunks."""

import asyncio
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import WordEmbedder
from tests.support.vaults import write

from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text
from mcp_memory_service.models import MemoryDraft, SearchRequest
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.memory import MemoryStore

WORDS = ["tunnel", "cache", "port", "deploy", "größe", "the"]
NAMES = ["A", "B", "sub/C", "sub/D"]

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
links = st.lists(st.sampled_from(NAMES).map("[[{}]]".format), max_size=3).map(" ".join)
# Long enough that each section is a chunk.
sections = st.tuples(texts, links).map(lambda part: f"## {part[0]}\n\n{part[1]}\n\n{(part[0] + ' ') * 60}\n\n")
notes = st.dictionaries(st.sampled_from(NAMES), st.lists(sections, min_size=1, max_size=3).map("".join), max_size=4)
policies = st.builds(
    RankingPolicy,
    fusion=st.sampled_from(["rrf", "score"]),
    recency=st.sampled_from(["decay", "tiers"]),
    graph_weight=st.sampled_from([0.0, 0.35, 1.0]),
    graph_decay=st.sampled_from([0.0, 0.8, 1.0]),
    graph_form=st.sampled_from(["boost", "decay"]),
    graph_hops=st.sampled_from([1, 2]),
    max_chunks_per_document=st.integers(0, 3),
    ranking_window=st.sampled_from([10, 1_000]),
)


@dataclass(frozen=True)
class Searched:
    pages: Sequence[SearchResult]
    explained: Sequence[str]
    """The ids in the order of the whole ranking."""


async def searched(vault: Path, memories: Sequence[str], policy: RankingPolicy, query: str, page_size: int) -> Searched:
    store = await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    service = MemoryService(store, WordEmbedder(), policy)
    await service.sources.index(vault)
    await service.sources.embed()
    if memories:
        await service.store_batch(list(map(MemoryDraft, memories)))
    pages = [await service.search(SearchRequest(query, 1, page_size))]
    while pages[-1].paging.has_more:
        pages.append(await service.search(SearchRequest(query, len(pages) + 1, page_size)))
    uncapped = MemoryService(store, WordEmbedder(), replace(policy, max_chunks_per_document=0))
    whole = await uncapped.search(SearchRequest(query, 1, 100))
    return Searched(pages, [hit.memory.content_hash for hit in whole.results])


@settings(max_examples=50)
@given(notes, st.lists(texts, max_size=8, unique=True), policies, texts, st.integers(1, 12))
def test_documents_beside_memories_keep_the_invariants(
    vault: Mapping[str, str], memories: Sequence[str], policy: RankingPolicy, query: str, page_size: int
):
    with tempfile.TemporaryDirectory() as folder:
        root = write(Path(folder) / "vault", {f"{name}.md": text for name, text in vault.items()})
        found = asyncio.run(searched(root, memories, policy, query, page_size))
    ids = [hit.memory.content_hash for page in found.pages for hit in page.results]
    assert len(ids) == len(set(ids)) == found.pages[0].paging.total
    assert set(ids) >= set(found.explained)
    for page in found.pages:
        scores = [hit.score for hit in page.results]
        assert len(scores) <= page_size
        assert scores == sorted(scores, reverse=True)
        assert all(0.0 <= score <= 1.0 for score in scores)
        cap = policy.max_chunks_per_document
        of_documents = Counter(hit.memory.source for hit in page.results if hit.memory.kind == "note")
        assert not cap or all(count <= cap for count in of_documents.values())
    first = found.pages[0].results
    assert not first or first[0].score == 1.0
    if not policy.max_chunks_per_document:
        assert ids[:100] == found.explained
