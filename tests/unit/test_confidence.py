"""How sure an answer is, by what its best hits show."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import (
    VectorStanding,
    certainty,
    confidence_of,
    is_at_least,
    vector_standing,
    word_coverage,
)

LEVELS = ("none", "low", "high")
similarity = st.floats(-1, 1)
share = st.floats(0, 1)
standings = st.builds(VectorStanding, similarity, st.floats(0, 2))


@given(st.none() | standings, st.none() | share)
def test_certainty_is_a_probability_and_known_if_anything_is(vector: VectorStanding | None, coverage: float | None):
    sure = certainty(vector, coverage)
    assert (sure is None) == (vector is None and coverage is None)
    assert sure is None or 0.0 <= sure <= 1.0


@given(standings, st.none() | share, st.floats(0, 1))
def test_certainty_rises_with_similarity_and_lead(vector: VectorStanding, coverage: float | None, more: float):
    sure = certainty(vector, coverage)
    nearer = certainty(VectorStanding(vector.similarity + more, vector.lead), coverage)
    further_ahead = certainty(VectorStanding(vector.similarity, vector.lead + more), coverage)
    assert sure is not None
    assert nearer is not None
    assert further_ahead is not None
    assert min(nearer, further_ahead) >= sure


@given(st.none() | standings, share, share)
def test_certainty_rises_with_coverage(vector: VectorStanding | None, one: float, other: float):
    few, many = certainty(vector, min(one, other)), certainty(vector, max(one, other))
    assert few is not None
    assert many is not None
    assert few <= many


@given(share, share)
def test_the_words_rise_with_the_certainty(one: float, other: float):
    less, more = confidence_of(min(one, other)), confidence_of(max(one, other))
    assert is_at_least(more, less)
    assert is_at_least(less, more) == (less == more)


def test_what_nobody_can_tell_is_low():
    assert certainty(None, None) is None
    assert confidence_of(None) == "low"


def test_levels_are_in_order_and_none_asked_for_lets_everything_pass():
    assert [[is_at_least(found, least) for least in LEVELS] for found in LEVELS] == [  # pyright: ignore[reportArgumentType]
        [True, False, False],
        [True, True, False],
        [True, True, True],
    ]
    assert is_at_least("none", None)


@given(st.lists(similarity, min_size=1, max_size=12), st.floats(-1, 1), st.integers(0, 1000))
def test_a_standing_is_measured_from_chance_to_the_same_text(scores: list[float], chance: float, sampled: int):
    scores.sort(reverse=True)
    standing = vector_standing(scores, chance, sampled)
    assert standing is not None
    assert standing.lead >= 0.0
    same = vector_standing([1.0, *scores[1:]], chance, sampled)
    assert same is not None
    assert same.similarity == pytest.approx(1.0)
    assert same.similarity >= standing.similarity - 1e-9


def test_the_lead_is_over_the_fifth_and_counts_less_over_fewer():
    assert vector_standing([0.75, 0.7, 0.7, 0.7, 0.25, 0.1]) == VectorStanding(0.75, 0.5)
    assert vector_standing([0.75, 0.25, 0.25]) == VectorStanding(0.75, 0.25)
    assert vector_standing([0.75]) == VectorStanding(0.75, 0.0)
    assert vector_standing([]) is None


def test_what_everything_is_like_is_no_similarity_but_one_memory_is_no_baseline():
    """Some models find every two texts alike."""
    many = vector_standing([0.85], chance=0.8, sampled=1000)
    assert many is not None
    assert many.similarity == pytest.approx(0.27, abs=0.01)
    only = vector_standing([0.85], chance=0.85, sampled=1)
    assert only is not None
    assert only.similarity > 0.8


def test_coverage_counts_each_word_and_the_rare_ones_more():
    assert word_coverage(["rathol", "port"], {"rathol"}, {}) == 0.5
    assert word_coverage(["rathol", "port"], {"rathol"}, {"rathol": 4.0, "port": 0.0}) == pytest.approx(5 / 6)
    assert word_coverage(["rathol"], {"rathol", "port"}, {"rathol": 0.0}) == 1.0
    assert word_coverage([], {"rathol"}, {}) is None


@given(st.dictionaries(st.sampled_from("abcdef"), st.floats(0, 10)), st.sets(st.sampled_from("abcdefgh")))
def test_coverage_is_a_share_and_rises_with_each_word(idf: dict[str, float], has: set[str]):
    words = sorted(idf)
    covered = word_coverage(words, has, idf)
    if covered is None:
        assert not words
        return
    assert 0.0 <= covered <= 1.0 + 1e-9
    assert all((word_coverage(words, has | {word}, idf) or 0.0) >= covered - 1e-9 for word in words)
