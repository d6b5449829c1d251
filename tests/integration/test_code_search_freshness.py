"""Code that has changed since it was read comes later, and a floor leaves it out; memories have an age."""

import os
from pathlib import Path

import pytest
from tests.support.code import names, store_code, symbol_of
from tests.support.fakes import WordEmbedder
from tests.support.vaults import age, write

from mcp_memory_service.hybrid_search import CONTEXT, RankingPolicy
from mcp_memory_service.models import Freshness, MemoryDraft, SearchRequest
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

FILES = {
    "whole.py": "def whole():\n    return 'the cache is read'\n",
    "touched.py": "def touched():\n    return 'the cache is read'\n",
    "edited.py": "def edited():\n    return 'the cache is read'\n",
    "gone.py": "def gone():\n    return 'the cache is read'\n",
}
NOW = 2_000_000_000_000_000
QUERY = "the cache is read"
ORDER = ["whole.whole", "touched.touched", "edited.edited", "gone.gone"]


@pytest.fixture
async def changed(store: MemoryStore, tmp_path: Path) -> MemoryStore:
    """Four symbols, and what became of their files."""
    folder = write(tmp_path / "project", FILES)
    symbols = [symbol_of(folder / name, f"{name[:-3]}.{name[:-3]}", 1, 2) for name in reversed(FILES)]
    await store_code(store, symbols)
    age(folder / "touched.py")
    write(folder, {"edited.py": "def edited():\n    return 'nothing'\n"})
    os.utime(folder / "edited.py", (1, 1))
    (folder / "gone.py").unlink()
    return store


async def search(store: MemoryStore, policy: RankingPolicy | None = None, **asked: object) -> SearchResult:
    """By words alone, of which all have the same."""
    request = SearchRequest(QUERY, **({"kinds": ("code",), "mode": "keyword"} | asked))  # pyright: ignore[reportArgumentType]
    return await MemoryService(store, WordEmbedder(), policy, now=lambda: NOW).search(request)


async def test_what_is_less_fresh_comes_later_and_says_so(changed: MemoryStore):
    found = await search(changed, debug=True)
    assert names(found) == ORDER
    assert [hit.freshness for hit in found.results] == ["fresh", "acceptable", "stale", "stale_with_risk"]
    factors = [hit.debug.freshness_factor if hit.debug else None for hit in found.results]
    assert factors == [1.0, 0.9, 0.7, 0.5]
    for hit in found.results:
        assert hit.debug is not None
        debug = hit.debug
        total = sum(vote.contribution for vote in debug.contributions.values())
        assert debug.final_score == pytest.approx(total * debug.recency_factor * debug.freshness_factor)


@pytest.mark.parametrize(("floor", "left"), [("stale_with_risk", 4), ("stale", 3), ("acceptable", 2), ("fresh", 1)])
async def test_a_floor_leaves_what_is_at_least_as_fresh(changed: MemoryStore, floor: Freshness, left: int):
    found = await search(changed, freshness_floor=floor)
    assert (names(found), found.paging.total) == (ORDER[:left], left)
    pages = [await search(changed, freshness_floor=floor, page=page, page_size=1) for page in range(1, left + 2)]
    assert [name for page in pages for name in names(page)] == ORDER[:left]
    assert [page.paging.has_more for page in pages] == [*[True] * (left - 1), False, False]


async def test_memories_have_an_age_in_place_of_a_file(changed: MemoryStore):
    service = MemoryService(changed, WordEmbedder(), now=lambda: NOW)
    ages = {"fresh": 1, "acceptable": 20, "stale": 200}
    for label, days in ages.items():
        await service.store_memory(MemoryDraft(f"{QUERY} {label}", created_at=NOW - days * MICROSECONDS_PER_DAY))
    found = await search(changed, kinds=("memory", "code"))
    shown = {hit.memory.content: hit.freshness for hit in found.results if hit.memory.kind == "memory"}
    assert shown == {f"{QUERY} {label}": label for label in ages}
    floored = await search(changed, kinds=("memory",), freshness_floor="acceptable")
    assert sorted(names(floored)) == [f"{QUERY} acceptable", f"{QUERY} fresh"]
    plain = await search(changed, kinds=())
    assert [hit.freshness for hit in plain.results] == [None] * 3


async def test_age_weighs_no_memory_down(changed: MemoryStore):
    service = MemoryService(changed, WordEmbedder(), RankingPolicy(recency_decay=0.0), now=lambda: NOW)
    await service.store_memory(MemoryDraft(QUERY, created_at=0))
    alone = await service.search(SearchRequest(QUERY, debug=True, kinds=("memory", "code")))
    old = next(hit for hit in alone.results if hit.memory.kind == "memory")
    assert old.debug is not None
    assert (old.freshness, old.debug.freshness_factor) == ("stale", 1.0)


async def test_notes_keep_their_rank_unless_the_ranking_is_that_of_contexts(store: MemoryStore, tmp_path: Path):
    vault = write(
        tmp_path / "vault", {"old.md": f"# Cache\n\n{QUERY} and written\n", "new.md": f"# Cache\n\n{QUERY}\n"}
    )
    service = MemoryService(store, WordEmbedder(), now=lambda: NOW)
    await service.sources.index(vault)
    await service.sources.embed()
    (first, second) = (await search(store, kinds=("note", "code"))).results
    Path(first.memory.source or "").unlink()
    plain = await search(store, kinds=("note", "code"))
    context = await search(store, CONTEXT, kinds=("note", "code"), mode="hybrid")
    assert [hit.memory for hit in plain.results] == [first.memory, second.memory]
    assert [hit.freshness for hit in plain.results] == ["stale_with_risk", "fresh"]
    assert [hit.freshness for hit in context.results] == ["fresh", "stale_with_risk"]
