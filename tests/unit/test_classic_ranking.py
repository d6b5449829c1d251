"""`MCP_MEMORY_RANKING=classic`: every table of the requirements, row by row, with numbers worked out here by hand."""

import math
from pathlib import Path

import pytest
from tests.support.fakes import WordEmbedder
from tests.support.notes import contents, store_notes

from mcp_memory_service.config import HybridSearchSettings, env_file_to_read, load_settings, settings_in_force
from mcp_memory_service.hybrid_search import (
    CLASSIC,
    RankingPolicy,
    apply_recency_decay,
    combine_results_rrf,
    extract_query_keywords,
    get_adaptive_alpha,
    recency_factor,
    rrf_score,
)
from mcp_memory_service.models import Candidate, MemoryDraft, SearchRequest, TunedWeights
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

NOW = 1_800_000_000_000_000


def days_ago(days: float) -> int:
    return NOW - round(days * MICROSECONDS_PER_DAY)


@pytest.fixture
def classic(store: MemoryStore) -> MemoryService:
    return MemoryService(store, WordEmbedder(), CLASSIC, now=lambda: NOW)


async def debugged(service: MemoryService, query: str, alpha: float | None = None) -> SearchResult:
    return await service.search(SearchRequest(query, page_size=100, alpha=alpha, debug=True))


# --- one variable


def test_measured_is_the_default():
    assert load_settings().hybrid.ranking == "measured"
    assert load_settings().hybrid.policy() == RankingPolicy()


def test_one_variable_sets_every_number_of_the_requirements(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_MEMORY_RANKING", "classic")
    assert load_settings().hybrid.policy() == RankingPolicy(
        ranking="classic",
        hybrid_alpha=None,
        adaptive_threshold_small=500,
        adaptive_threshold_large=5000,
        fusion="rrf",
        rrf_k=60,
        tag_weight=1.0,
        keyword_weight=0.0,
        neighbour_weight=0.0,
        graph_weight=0.0,
        recency_decay=0.01,
        recency_floor=0.0,
        query_dates=False,
    )


def test_what_was_set_itself_wins_over_what_classic_implies(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("MCP_MEMORY_RANKING", "classic")
    monkeypatch.setenv("MCP_MEMORY_RECENCY_DECAY", "0")
    (tmp_path / ".env").write_text("MCP_MEMORY_RECENCY_FLOOR=0.9\nMCP_MEMORY_RANKING=measured\n")
    file, flags = env_file_to_read(tmp_path / ".env"), {"hybrid_alpha": 0.3}
    policy = load_settings(flags, file).hybrid.policy()
    assert (policy.ranking, policy.recency_decay, policy.recency_floor, policy.hybrid_alpha) == ("classic", 0, 0.9, 0.3)
    assert (policy.fusion, policy.keyword_weight, policy.query_dates) == ("rrf", 0.0, False)
    assert load_settings({"ranking": "measured"}, file).hybrid.fusion == "score"


def test_the_settings_say_what_classic_implies():
    settings = load_settings({"ranking": "classic", "recency_floor": 0.5})
    shown = {each.variable: each for each in settings_in_force(settings, {"ranking": "classic"}, None)}
    assert (shown["MCP_MEMORY_FUSION"].value, shown["MCP_MEMORY_FUSION"].origin) == ("rrf", "MCP_MEMORY_RANKING")
    assert (shown["MCP_MEMORY_RRF_K"].value, shown["MCP_MEMORY_RRF_K"].origin) == (60, "default")
    assert shown["MCP_MEMORY_RANKING"].origin == "flag"


@pytest.mark.parametrize("fusion", ["rrf", "score"])
def test_tuned_weights_do_not_apply_in_classic(fusion: str):
    settings = load_settings({"ranking": "classic", "fusion": fusion}).hybrid
    assert settings.policy(TunedWeights(vector_trust=2.0, tag_weight=0.5, neighbour_weight=0.3)) == settings.policy()


def test_fusion_rrf_alone_stays_the_finer_switch():
    assert HybridSearchSettings(fusion="rrf").policy() == RankingPolicy(fusion="rrf")


# --- adaptive alpha


@pytest.mark.parametrize(("corpus", "alpha"), [(0, 0.5), (499, 0.5), (500, 0.7), (4_999, 0.7), (5_000, 0.8)])
@pytest.mark.parametrize(("tags", "boost"), [(0, 1.0), (1, 1.0), (2, 1.0), (3, 1.5), (4, 1.5)])
def test_adaptive_alpha_follows_the_size_and_three_tags(corpus: int, alpha: float, tags: int, boost: float):
    assert get_adaptive_alpha(corpus, tags, CLASSIC) == pytest.approx(1 - boost * (1 - alpha))


@pytest.mark.parametrize(("query", "alpha"), [("note", 0.5), ("note topic-1", 0.5), ("note topic-1 topic-2", 0.25)])
async def test_every_matching_tag_counts_also_one_that_all_memories_carry(
    classic: MemoryService, query: str, alpha: float
):
    await store_notes(classic)
    found = await classic.retrieve_memories(query)
    assert (found.keywords, found.alpha_used) == (tuple(query.split()), alpha)


# --- Reciprocal Rank Fusion


def test_rrf_score_basic_and_edge_cases():
    assert rrf_score(1) == 1 / 61 == pytest.approx(0.0164, abs=5e-5)
    assert rrf_score(10**6) == 1 / 1_000_060
    for rank in (0, -1):
        with pytest.raises(ValueError, match="starts at 1"):
            rrf_score(rank)


@pytest.mark.parametrize(
    ("alpha", "scores"),
    [
        (1.0, {"both": 1 / 61, "vector": 1 / 62}),
        (0.0, {"tag": 1 / 61, "both": 1 / 62}),
        (0.7, {"both": 0.7 / 61 + 0.3 / 62, "vector": 0.7 / 62, "tag": 0.3 / 61}),
    ],
)
def test_combine_results_rrf_pure_vector_pure_tags_and_overlap(alpha: float, scores: dict[str, float]):
    by_vector = [Candidate("both", NOW, 0.9), Candidate("vector", NOW, 0.8)]
    by_tag = [Candidate("tag", NOW, 2.0), Candidate("both", NOW, 1.0)]
    fused = combine_results_rrf(by_vector, by_tag, alpha)
    assert {candidate.content_hash: candidate.score for candidate in fused} == pytest.approx(scores)
    assert [candidate.content_hash for candidate in fused] == list(scores)


async def test_scores_are_exactly_the_formula(classic: MemoryService):
    """The vectors place `rathole setup` first and the tagged one second."""
    await classic.store_memory(MemoryDraft("rathole setup", created_at=days_ago(0)))
    await classic.store_memory(MemoryDraft("setup of a tunnel", tags=("rathole",), created_at=days_ago(7)))
    await classic.store_memory(MemoryDraft("cachekit", tags=("cachekit",), created_at=days_ago(30)))
    found = await debugged(classic, "rathole setup")
    assert contents(found) == ["setup of a tunnel", "rathole setup", "cachekit"]
    week, month = math.exp(-0.07), math.exp(-0.3)
    expected = [(0.5 / 62, 0.5 / 61, week), (0.5 / 61, 0.0, 1.0), (0.5 / 63, 0.0, month)]
    for hit, (vector_rrf, tag_boost, factor) in zip(found.results, expected, strict=True):
        debug = hit.debug
        assert debug is not None
        votes = {name: vote.contribution for name, vote in debug.contributions.items()}
        assert votes == ({"vector": vector_rrf, "tag": tag_boost} if tag_boost else {"vector": vector_rrf})
        assert debug.recency_factor == pytest.approx(factor)
        assert debug.final_score == (vector_rrf + tag_boost) * debug.recency_factor
        assert (debug.alpha_used, debug.ranking, debug.fusion) == (0.5, "classic", "rrf")


async def test_words_of_the_text_have_no_vote(classic: MemoryService):
    await store_notes(classic)
    found = await debugged(classic, "note about topic 3")
    assert {name for hit in found.results for name in hit.provenance} == {"vector", "tag"}
    assert {name for hit in (await debugged(classic, "nothing tagged so")).results for name in hit.provenance} == {
        "vector"
    }


# --- recency


@pytest.mark.parametrize("days", [0, 1, 7, 30, 70, 365])
def test_recency_decay_is_plainly_exponential(days: int):
    factor = recency_factor(days_ago(days), NOW, CLASSIC.recency_decay, CLASSIC.recency_floor)
    assert factor == pytest.approx(math.exp(-0.01 * days), rel=1e-12)


def test_half_is_gone_after_about_70_days():
    assert math.log(2) / CLASSIC.recency_decay == pytest.approx(70, abs=1)
    assert recency_factor(days_ago(70), NOW, CLASSIC.recency_decay, CLASSIC.recency_floor) == pytest.approx(
        0.5, abs=0.01
    )


def test_decay_0_changes_nothing():
    fused = combine_results_rrf([Candidate("old", 0, 0.9), Candidate("new", NOW, 0.8)], [], alpha=0.5)
    assert apply_recency_decay(fused, 0.0, NOW) == fused


@pytest.mark.parametrize(
    ("alpha", "first", "ages"),
    [(None, "new", True), (0.5, "new", True), (0.0, "new", True), (1.0, "old rathole", False)],
)
async def test_age_counts_at_every_alpha_below_1(classic: MemoryService, alpha: float | None, first: str, ages: bool):
    await classic.store_memory(MemoryDraft("old rathole", tags=("rathole", "rare"), created_at=days_ago(365)))
    await classic.store_memory(MemoryDraft("new", tags=("rathole",), created_at=NOW))
    found = await debugged(classic, "rare old rathole", alpha)
    assert contents(found)[0] == first
    factors = [hit.debug.recency_factor for hit in found.results if hit.debug and hit.memory.content == "old rathole"]
    assert factors == [pytest.approx(math.exp(-3.65) if ages else 1.0)]


async def test_a_time_in_the_query_does_not_count(classic: MemoryService):
    await store_notes(classic)
    assert (await classic.retrieve_memories("latest note")).time is None


# --- keywords, and the rows of the integration tests


@pytest.mark.parametrize(
    ("query", "keywords"),
    [
        ("rathole project", ["rathole", "project"]),
        ("the quick brown fox", ["quick", "brown", "fox"]),
        ("python,api,bug-fix", ["python", "api", "bug", "fix"]),
    ],
)
def test_extract_keywords_basic_stop_words_and_punctuation(query: str, keywords: list[str]):
    assert extract_query_keywords(query) == keywords
    assert extract_query_keywords(query, {*keywords, "other"}) == keywords


async def test_hybrid_by_default_and_pure_vector_by_alpha_1(store: MemoryStore, classic: MemoryService):
    await store_notes(classic)
    assert "tag" in (await classic.retrieve_memories("topic 3")).results[0].provenance
    settings = load_settings({"ranking": "classic", "hybrid_alpha": 1.0})
    pure = MemoryService(store, WordEmbedder(), settings.hybrid.policy(), now=lambda: NOW)
    found = await debugged(pure, "topic 3")
    assert all(set(hit.provenance) == {"vector"} for hit in found.results)
    similarities = [hit.similarity or 0.0 for hit in found.results]
    assert similarities == sorted(similarities, reverse=True)


async def test_a_matching_tag_ranks_higher_unless_tags_are_skipped(classic: MemoryService):
    await store_notes(classic, 40)
    await classic.store_memory(MemoryDraft("plain text", tags=("lab",), created_at=NOW))
    assert contents(await classic.retrieve_memories("something about my lab"))[0] == "plain text"
    skipped = await classic.retrieve_memories("something about my lab", tags=[], page_size=100)
    assert contents(skipped)[-1] == "plain text"


async def test_pages_continue_each_other(classic: MemoryService):
    await store_notes(classic, 25)
    whole = contents(await classic.retrieve_memories("note about topic 3", page_size=100))
    pages = [await classic.retrieve_memories("note about topic 3", page=page, page_size=10) for page in (1, 2, 3)]
    assert [content for page in pages for content in contents(page)] == whole
    assert len(set(whole)) == 25
