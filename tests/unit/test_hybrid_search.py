"""The ranking functions: the cases of the requirements, then properties that must hold for any input."""

import math
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.config import HybridSearchSettings
from mcp_memory_service.hybrid_search import (
    FusedCandidate,
    RankingPolicy,
    Vote,
    above_baseline,
    apply_recency_decay,
    as_rare_as_they_are_few,
    combine_results_rrf,
    dividing_tags,
    fuse_rrf,
    fuse_scores,
    get_adaptive_alpha,
    recency_factor,
    rrf_score,
    share_of_best,
    shared_ranks,
    tag_weights,
)
from mcp_memory_service.hybrid_search.explain import place_of
from mcp_memory_service.models import Candidate
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

POLICY = RankingPolicy()
NOW = 400 * MICROSECONDS_PER_DAY


def found(name: str, score: float = 1.0, created_at: int = NOW) -> Candidate:
    return Candidate(name, created_at, score)


def names(fused: Sequence[FusedCandidate]) -> list[str]:
    return [candidate.content_hash for candidate in fused]


# --- rrf_score


def test_rrf_score_basic():
    assert rrf_score(1) == pytest.approx(0.0164, abs=5e-5)
    assert rrf_score(1) == 1 / 61


@pytest.mark.parametrize("rank", [0, -1, -100])
def test_rrf_score_refuses_ranks_below_one(rank: int):
    with pytest.raises(ValueError, match="starts at 1"):
        rrf_score(rank)


def test_rrf_score_of_a_large_rank_is_small_but_positive():
    assert 0 < rrf_score(10**9) < 1e-8


@given(st.integers(1, 10**6), st.integers(1, 1000))
def test_rrf_score_falls_with_the_rank(rank: int, k: int):
    assert rrf_score(rank, k) > rrf_score(rank + 1, k) > 0


# --- combine_results_rrf


def test_combine_results_rrf_alpha_1_is_the_vector_list():
    fused = combine_results_rrf([found("a"), found("b")], [found("t", 9.0), found("b", 5.0)], alpha=1.0)
    assert names(fused) == ["a", "b"]
    assert all(set(candidate.contributions) == {"vector"} for candidate in fused)


def test_combine_results_rrf_alpha_0_is_the_tag_list():
    fused = combine_results_rrf([found("a"), found("b")], [found("t", 9.0), found("b", 5.0)], alpha=0.0)
    assert names(fused) == ["t", "b"]
    assert all(set(candidate.contributions) == {"tag"} for candidate in fused)


def test_combine_results_rrf_overlap_adds_both_votes():
    fused = combine_results_rrf([found("a", 0.9), found("b", 0.8)], [found("b", 2.5)], alpha=0.7)
    assert names(fused) == ["b", "a"]
    both, alone = fused
    assert both.score == pytest.approx(0.7 / 62 + 0.3 / 61)
    assert both.contributions["vector"] == Vote(rank=2, score=0.8, contribution=0.7 / 62)
    assert both.contributions["tag"] == pytest.approx(Vote(rank=1, score=2.5, contribution=0.3 / 61))
    assert both.recency_factor == 1.0
    assert set(alone.contributions) == {"vector"}


def test_combine_results_rrf_of_nothing_is_nothing():
    assert combine_results_rrf([], [], alpha=0.5) == []


def test_ties_go_to_the_newer_then_to_the_smaller_id():
    tags = [found("z", 1.0, created_at=5), found("b", 1.0, created_at=3), found("a", 1.0, created_at=3)]
    assert names(combine_results_rrf([], tags, alpha=0.0)) == ["z", "a", "b"]


candidates = st.lists(st.sampled_from("abcdefghijklmnop"), unique=True).map(lambda ids: [found(i) for i in ids])
scored = st.lists(
    st.tuples(st.sampled_from("abcdefghijklmnop"), st.sampled_from([5.0, 2.0, 1.0])), unique_by=lambda pair: pair[0]
).map(lambda pairs: [found(i, score) for i, score in sorted(pairs, key=lambda pair: -pair[1])])
alphas = st.floats(0.01, 0.99)


@given(candidates, scored, alphas)
def test_fusion_loses_invents_and_repeats_nothing(by_vector: list[Candidate], by_tag: list[Candidate], alpha: float):
    fused = combine_results_rrf(by_vector, by_tag, alpha)
    assert sorted(names(fused)) == sorted({c.content_hash for c in (*by_vector, *by_tag)})


@given(candidates, scored, alphas)
def test_fused_parts_add_up_and_fall(by_vector: list[Candidate], by_tag: list[Candidate], alpha: float):
    fused = combine_results_rrf(by_vector, by_tag, alpha)
    scores = [candidate.score for candidate in fused]
    assert scores == sorted(scores, reverse=True)
    for candidate in fused:
        assert candidate.score == pytest.approx(sum(vote.contribution for vote in candidate.contributions.values()))
        assert 0 < candidate.score <= 1 / 61 + 1e-12


@given(candidates, alphas)
def test_a_further_vote_never_lowers_a_memory(by_vector: list[Candidate], alpha: float):
    if not by_vector:
        return
    last = by_vector[-1].content_hash
    before = combine_results_rrf(by_vector, [], alpha)
    after = combine_results_rrf(by_vector, [found(last)], alpha)
    assert names(after).index(last) <= names(before).index(last)


# --- fusion of any number of signals


signal_names = st.sampled_from(["vector", "tag", "keyword", "graph"])
many_signals = st.dictionaries(signal_names, scored)
many_weights = st.fixed_dictionaries({name: st.floats(0.01, 5) for name in ("vector", "tag", "keyword", "graph")})


@given(many_signals, many_weights, st.sampled_from([fuse_rrf, fuse_scores]))
def test_any_fusion_loses_invents_and_repeats_nothing(
    signals: dict[str, list[Candidate]], weights: dict[str, float], fuse: Callable[..., Sequence[FusedCandidate]]
):
    fused = fuse(signals, weights)
    assert sorted(names(fused)) == sorted({c.content_hash for found in signals.values() for c in found})
    scores = [candidate.score for candidate in fused]
    assert scores == sorted(scores, reverse=True)
    assert all(score >= 0 for score in scores)


@given(many_signals, many_weights, st.sampled_from([fuse_rrf, fuse_scores]))
def test_the_order_of_the_signals_does_not_matter(
    signals: dict[str, list[Candidate]], weights: dict[str, float], fuse: Callable[..., Sequence[FusedCandidate]]
):
    turned = dict(reversed(signals.items()))
    expected, actual = fuse(signals, weights), fuse(turned, weights)
    assert {c.content_hash: pytest.approx(c.score) for c in expected} == {c.content_hash: c.score for c in actual}


@given(many_signals, many_weights)
def test_more_weight_for_a_signal_never_lowers_its_first(
    signals: dict[str, list[Candidate]], weights: dict[str, float]
):
    for name, found in signals.items():
        if found:
            first = found[0].content_hash
            before = place_of(first, fuse_rrf(signals, weights))
            after = place_of(first, fuse_rrf(signals, {**weights, name: weights[name] * 3}))
            ties = sum(candidate.score == found[0].score for candidate in found)
            assert before is not None
            assert after is not None
            assert after <= before + ties


def test_a_signal_without_weight_has_no_vote():
    fused = fuse_rrf({"vector": [found("a")], "keyword": [found("b")]}, {"vector": 1.0, "keyword": 0.0})
    assert names(fused) == ["a"]


def test_the_two_signal_case_is_exactly_the_formula():
    signals = {"vector": [found("a", 0.9), found("b", 0.5)], "tag": [found("b", 2.0), found("c", 1.0)]}
    fused = {c.content_hash: c.score for c in fuse_rrf(signals, {"vector": 0.7, "tag": 0.3})}
    assert fused == pytest.approx({"a": 0.7 / 61, "b": 0.7 / 62 + 0.3 / 61, "c": 0.3 / 62})


def test_score_fusion_keeps_distances_that_ranks_forget():
    signals = {
        "vector": [found("a", 0.9), found("b", 0.2), found("c", 0.1)],
        "keyword": [found("b", 9.0), found("a", 8.9)],
    }
    # By rank a and b are equal: first and second each. By score a is far ahead by vector, b hardly by words.
    assert names(fuse_scores(signals, {"vector": 0.5, "keyword": 0.5}))[0] == "a"
    assert names(fuse_scores(signals, {"vector": 0.01, "keyword": 0.99}))[0] == "b"
    assert share_of_best([4.0, 2.0, 1.0]).tolist() == [1.0, 0.5, 0.25]
    assert share_of_best([0.0, 0.0]).tolist() == [1.0, 1.0]
    assert share_of_best([]).tolist() == []


def test_vector_scores_are_measured_from_their_baseline():
    assert above_baseline([0.9, 0.5]).tolist() == pytest.approx([1.0, 1 / 3])
    assert above_baseline([0.4, 0.4]).tolist() == [1.0, 1.0]
    assert above_baseline([]).tolist() == []


@given(st.lists(st.floats(-1, 1), min_size=1))
def test_scaled_vector_scores_are_between_0_and_1_in_the_same_order(scores: list[float]):
    scaled = above_baseline(scores).tolist()
    assert max(scaled) == 1.0
    assert min(scaled) >= 0.0
    by_scaled = sorted(range(len(scores)), key=lambda position: -scaled[position])
    assert [scaled[position] for position in by_scaled] == [
        scaled[position] for position in sorted(range(len(scores)), key=lambda position: -scores[position])
    ]


# --- adaptive alpha


@pytest.mark.parametrize(
    ("corpus", "alpha"), [(0, 0.5), (499, 0.5), (500, 0.7), (4_999, 0.7), (5_000, 0.8), (10**7, 0.8)]
)
def test_adaptive_alpha_grows_with_the_corpus(corpus: int, alpha: float):
    assert get_adaptive_alpha(corpus, 0, POLICY) == alpha


@pytest.mark.parametrize(("corpus", "alpha"), [(100, 0.25), (1_000, 0.55), (10_000, 0.7)])
def test_adaptive_alpha_tag_boost_from_three_matching_tags_on(corpus: int, alpha: float):
    assert get_adaptive_alpha(corpus, 2, POLICY) > alpha
    assert get_adaptive_alpha(corpus, 3, POLICY) == pytest.approx(alpha)
    assert get_adaptive_alpha(corpus, 30, POLICY) == pytest.approx(alpha)


def test_adaptive_alpha_takes_the_settings_as_they_are():
    settings = HybridSearchSettings(adaptive_threshold_small=10, adaptive_threshold_large=20)
    assert [get_adaptive_alpha(n, 0, settings) for n in (9, 10, 19, 20)] == [0.5, 0.7, 0.7, 0.8]


def test_tags_that_most_memories_carry_tell_nothing_apart():
    assert dividing_tags({"project": 31, "rathole": 30}, 60) == {"rathole": 30}
    assert dividing_tags({"only": 1}, 1) == {"only": 1}


# --- tag weights and ranks


def test_rare_tags_weigh_more_and_even_a_tag_on_everything_weighs_something():
    weights = tag_weights({"rathole": 1, "project": 300, "everywhere": 600}, corpus_size=600)
    assert weights["rathole"] > 4 * (weights["project"] + weights["everywhere"]) > 0
    assert weights["everywhere"] > 0


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 10**6)), st.integers(0, 10**6))
def test_tag_weights_are_finite_and_positive(counts: dict[str, int], corpus: int):
    weights = tag_weights(counts, corpus)
    assert weights.keys() == counts.keys()
    assert all(math.isfinite(weight) and weight > 0 for weight in weights.values())


def test_what_hundreds_match_is_not_rare_however_many_tags_add_up():
    few = [found("a", 1.3), found("b", 0.9), found("c", 0.2)]
    assert [match.score for match in as_rare_as_they_are_few(few, 1_000)] == pytest.approx([1.0, 0.9, 0.2], abs=0.03)
    many = [found(f"m{i:03d}", 1.5) for i in range(250)]
    limited = as_rare_as_they_are_few(many, 1_000)
    assert [match.content_hash for match in limited] == [match.content_hash for match in many]
    assert all(match.score == pytest.approx(0.21, abs=0.01) for match in limited)
    assert as_rare_as_they_are_few([], 0) == []


@given(st.lists(st.floats(0.01, 3)).map(lambda scores: sorted(scores, reverse=True)), st.integers(0, 10**6))
def test_limited_tag_scores_keep_the_order(scores: list[float], corpus: int):
    matches = [found(f"{place}", score) for place, score in enumerate(scores)]
    limited = [match.score for match in as_rare_as_they_are_few(matches, corpus)]
    assert limited == sorted(limited, reverse=True)
    assert all(after <= before for after, before in zip(limited, scores, strict=True))


@pytest.mark.parametrize(
    ("scores", "ranks"),
    [([], []), ([3.0], [1]), ([9, 4, 4, 4, 1], [1, 3, 3, 3, 5]), ([2, 2], [1, 1]), ([5, 4, 3], [1, 2, 3])],
)
def test_equal_matches_share_the_middle_place_of_their_group(scores: list[float], ranks: list[int]):
    assert shared_ranks(scores) == ranks


@given(st.lists(st.sampled_from([1.0, 2.0, 3.0])).map(lambda scores: sorted(scores, reverse=True)))
def test_shared_ranks_follow_the_scores(scores: list[float]):
    ranks = shared_ranks(scores)
    for position, (score, rank) in enumerate(zip(scores, ranks, strict=True)):
        first = sum(other > score for other in scores) + 1
        last = sum(other >= score for other in scores)
        assert first <= rank <= last
        assert first <= position + 1 <= last


# --- recency


def aged(days: float, decay: float, floor: float = 0.0) -> FusedCandidate:
    fused = combine_results_rrf([found("a", created_at=int(NOW - days * MICROSECONDS_PER_DAY))], [], alpha=0.5)
    return apply_recency_decay(fused, decay, NOW, floor)[0]


def test_recency_decay_basic():
    assert aged(70, 0.01).recency_factor == pytest.approx(0.5, abs=0.005)
    assert aged(0, 0.01).recency_factor == 1.0


def test_recency_decay_disabled():
    fused = combine_results_rrf([found("a", created_at=0)], [], alpha=0.5)
    assert apply_recency_decay(fused, 0.0, NOW) == fused


def test_recency_decay_multiplies_the_score_and_sorts_again():
    old, new = found("old", created_at=0), found("new", created_at=NOW)
    fused = apply_recency_decay(combine_results_rrf([old, new], [], alpha=0.5), 0.01, NOW)
    assert names(fused) == ["new", "old"]
    parts = sum(vote.contribution for vote in fused[1].contributions.values())
    assert fused[1].score == pytest.approx(parts * fused[1].recency_factor)


def test_a_memory_from_the_future_counts_as_new():
    assert recency_factor(NOW + 5, NOW, decay=0.01) == 1.0


@pytest.mark.parametrize("alpha", [0.25, 0.45, 0.5, 0.55, 0.7, 0.8])
@pytest.mark.parametrize("tied_on_tags", [0, 1, 2, 10, 50])
def test_with_the_default_floor_age_alone_never_takes_the_first_place(alpha: float, tied_on_tags: int):
    leader = found("leader", created_at=0)
    fresh = [found(f"fresh{i}", created_at=NOW) for i in range(50)]
    tied = [leader, *fresh][:tied_on_tags]
    weights = {"vector": alpha, "tag": 1 - alpha, "keyword": 1 - alpha}
    fused = fuse_rrf({"vector": [leader, *fresh], "tag": tied, "keyword": tied}, weights)
    assert names(apply_recency_decay(fused, 10.0, NOW, POLICY.recency_floor))[0] == "leader"


def test_with_the_default_floor_age_decides_between_equals():
    tags = [found("old", created_at=0), found("new", created_at=NOW)]
    aged = apply_recency_decay(combine_results_rrf([], tags, alpha=0.5), 0.01, NOW, POLICY.recency_floor)
    assert names(aged) == ["new", "old"]
    assert aged[0].score > aged[1].score


@given(st.floats(0, 10_000), st.floats(0, 5), st.floats(0, 1))
def test_the_recency_factor_stays_between_floor_and_one(days: float, decay: float, floor: float):
    factor = recency_factor(NOW - int(days * MICROSECONDS_PER_DAY), NOW, decay, floor)
    assert floor - 1e-12 <= factor <= 1.0 + 1e-12
