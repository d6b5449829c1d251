"""The ranking `context`: words 1.0, meaning 0.8 and graph 0.6, each 1 / (60 + rank), summed; freshness multiplies."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.config import load_settings
from mcp_memory_service.hybrid_search import (
    CONTEXT,
    GRAPH,
    KEYWORD,
    VECTOR,
    Fused,
    Links,
    Pool,
    fuse_rrf,
    only,
    signal_weights,
    weigh_first,
)
from mcp_memory_service.models import Candidate, Edge, Linked

NAMES = "abcdefgh"


def ranked(*names: str) -> list[Candidate]:
    return [Candidate(name, 0, 1.0 - 0.1 * place) for place, name in enumerate(names)]


def calls(origin: str, to: str, weight: float = 1.0) -> Linked:
    return Linked(Candidate(to, 0, 0.0), origin, Edge(origin, to, "calls", weight, by_name=False), 1, 1)


def fused(
    words: list[Candidate], meaning: list[Candidate], *hops: list[Linked], leaders: str = ""
) -> dict[str, tuple[float, set[str]]]:
    weights = signal_weights("hybrid", CONTEXT.hybrid_alpha or 0.0, CONTEXT)
    pool = Pool.of({KEYWORD: words, VECTOR: meaning})
    links = Links([Candidate(each, 0, 0.0) for each in leaders], hops, CONTEXT) if hops else None
    if links is not None:
        pool = pool.joined_by(GRAPH, links.candidates)
    return {
        each.content_hash: (each.score, set(each.contributions))
        for each in fuse_rrf(pool, weights, CONTEXT.rrf_k, links)
    }


def test_words_count_in_full_and_meaning_four_fifths():
    weights = signal_weights("hybrid", CONTEXT.hybrid_alpha or 0.0, CONTEXT)
    assert weights == {"vector": pytest.approx(0.8), "keyword": pytest.approx(1.0), "tag": 0.0}


def test_a_place_in_one_list_is_its_weight_by_sixty_and_the_rank():
    found = fused(ranked("a", "b"), ranked("c", "d"))
    assert found["a"][0] == pytest.approx(1.0 / 61)
    assert found["b"][0] == pytest.approx(1.0 / 62)
    assert found["c"][0] == pytest.approx(0.8 / 61)
    assert found["d"][0] == pytest.approx(0.8 / 62)


def test_places_in_two_lists_add_up():
    found = fused(ranked("a", "b"), ranked("b", "a"))
    assert found["a"][0] == pytest.approx(1.0 / 61 + 0.8 / 62)
    assert found["b"][0] == pytest.approx(1.0 / 62 + 0.8 / 61)
    assert list(found) == ["a", "b"]


def test_no_list_outweighs_two_others_that_agree():
    found = fused(ranked("a", "b", "c"), ranked("b", "c"), [calls("c", "b"), calls("a", "c")], leaders="abc")
    assert next(iter(found)) == "b"


def test_the_graph_is_a_third_list_with_three_fifths():
    found = fused(ranked("a"), [], [calls("a", "b"), calls("a", "c", weight=0.5)], leaders="a")
    assert found["b"] == (pytest.approx(0.6 / 61), {"graph"})
    assert found["c"] == (pytest.approx(0.6 / 62), {"graph"})


def test_equals_in_the_graph_share_a_rank():
    found = fused(ranked("a"), [], [calls("a", "b"), calls("a", "c")], leaders="a")
    assert found["b"][0] == found["c"][0] == pytest.approx(0.6 / 61)


def test_what_words_and_the_graph_find_has_both():
    found = fused(ranked("a", "b"), [], [calls("a", "b")], leaders="ab")
    assert found["b"] == (pytest.approx(1.0 / 62 + 0.6 / 61), {"keyword", "graph"})


def test_two_edges_away_comes_after_one():
    found = fused(ranked("a"), [], [calls("a", "b")], [calls("b", "c")], leaders="a")
    assert [found[each][0] for each in "bc"] == [pytest.approx(0.6 / 61), pytest.approx(0.6 / 62)]


ORDERS = st.permutations(NAMES).flatmap(lambda order: st.integers(0, len(NAMES)).map(lambda size: order[:size]))


@given(ORDERS, ORDERS)
def test_the_order_of_a_list_is_kept_where_the_other_is_silent(words: list[str], meaning: list[str]):
    found = list(fused(ranked(*words), ranked(*meaning)))
    alone = [each for each in words if each not in meaning]
    assert [each for each in found if each in alone] == alone
    assert set(found) == {*words, *meaning}


def test_the_setting_is_the_whole_preset():
    assert load_settings({"ranking": "context"}).hybrid.policy() == CONTEXT
    other = load_settings({"ranking": "context", "rrf_k": 10}).hybrid.policy()
    assert other == replace(CONTEXT, rrf_k=10)


# --- freshness, after fusion

SCORES = st.lists(st.floats(0.01, 1.0), min_size=1, max_size=8)
FACTORS = st.dictionaries(st.sampled_from(NAMES), st.sampled_from([1.0, 0.9, 0.7, 0.5]))


def ranking(scores: list[float]) -> Fused:
    found = [Candidate(name, 0, score) for name, score in zip(NAMES, sorted(scores, reverse=True), strict=False)]
    return fuse_rrf({KEYWORD: found}, {KEYWORD: 1.0})


def test_scores_are_multiplied_by_their_factors():
    weighed = weigh_first(ranking([0.9, 0.8, 0.7]), {"a": 0.5, "b": 1.0, "c": 0.9}, 3)
    expected = {"b": 1 / 62, "c": 0.9 / 63, "a": 0.5 / 61}
    assert {each.content_hash: each.score for each in weighed} == pytest.approx(expected)
    assert [each.content_hash for each in weighed] == ["b", "c", "a"]


@given(SCORES, FACTORS, st.integers(0, 8))
def test_weighing_loses_nobody_and_moves_only_the_first(scores: list[float], factors: dict[str, float], first: int):
    before = ranking(scores)
    after = weigh_first(before, factors, first)
    ids, moved = before.content_hashes, after.content_hashes
    assert sorted(moved) == sorted(ids)
    assert moved[first:] == ids[first:]
    found = [each.score for each in after]
    assert found == sorted(found, reverse=True)


@given(SCORES, st.sets(st.sampled_from(NAMES)))
def test_a_floor_keeps_the_order_of_what_it_leaves(scores: list[float], kept: set[str]):
    before = ranking(scores)
    assert only(before, kept).content_hashes == [each for each in before.content_hashes if each in kept]
