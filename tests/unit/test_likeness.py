"""How alike two memories are, from vectors and words."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import MIN_LIKENESS, compared_words, likeness, mean_direction

WORD_SETS = st.frozensets(st.sampled_from("abcdefgh"))
COSINES = st.floats(-1, 1)


@given(COSINES, WORD_SETS, WORD_SETS)
def test_likeness_is_the_same_both_ways_and_at_most_1(cosine: float, words: frozenset[str], others: frozenset[str]):
    score = likeness(cosine, words, others)
    assert score == likeness(cosine, others, words)
    assert -1 <= score <= 1


@given(COSINES, WORD_SETS, WORD_SETS)
def test_a_word_in_common_never_makes_two_texts_less_alike(
    cosine: float, words: frozenset[str], others: frozenset[str]
):
    assert likeness(cosine, words | {"x"}, others | {"x"}) >= likeness(cosine, words | {"x"}, others)


def test_equal_texts_are_wholly_alike_and_texts_without_words_by_their_vectors():
    assert likeness(1.0, frozenset({"a"}), frozenset({"a"})) == 1.0
    assert likeness(1.0, frozenset(), frozenset()) >= MIN_LIKENESS


def test_only_the_beginning_of_a_long_text_is_compared_by_its_words():
    assert compared_words("tuesday " * 1_000 + "thursday") == {"tuesday"}


def test_the_direction_of_a_long_text_is_the_mean_of_its_chunks():
    chunks = (np.array([2, 0], np.float32), np.array([0, 0.5], np.float32))
    assert np.allclose(mean_direction(chunks), np.array([1, 1]) / np.sqrt(2))
    assert np.allclose(mean_direction(chunks[:1]), [1, 0])
    assert np.allclose(mean_direction((chunks[0], -chunks[0])), [1, 0]), "opposite chunks have no mean"
