"""Which words of a corpus become terms, and which of them are added to a query."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from mcp_memory_service.hybrid_search import STOP_WORDS, word_tokens
from mcp_memory_service.hybrid_search.concepts import (
    MIN_MEMORIES,
    Vocabulary,
    chosen_terms,
    expanded_query,
    terms_of,
)
from mcp_memory_service.models import Vector

WORDS = ["tunnel", "tunnels", "relay", "relaying", "port", "größe", "node", "cache", "cached", "k3s"]
texts = st.lists(st.sampled_from([*WORDS, "the", "of", "42", "部署服务", "ui"]) | st.text(max_size=8)).map(" ".join)


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("The Tunnel of the tunnels", {"tunnel", "tunnels"}),
        ("parseHTTPResponse fails", {"parse", "http", "response", "fails"}),
        ("port 2333, k3s and 2026-05", {"port", "k3s"}),
        ("Höhe 部署服务 höhe", {"höhe"}),
        ("UI of C++", {"c++"}),
        ("x" * 41, set[str]()),
        ("", set[str]()),
    ],
)
def test_terms_are_words_as_they_are_written(text: str, terms: set[str]):
    assert terms_of(text) == terms


@given(texts, texts)
def test_the_terms_of_two_texts_are_those_of_each(one: str, other: str):
    assert terms_of(f"{one}\n{other}") == terms_of(one) | terms_of(other)


@given(texts)
def test_no_term_is_a_stop_word_or_a_number_and_terms_are_their_own_terms(text: str):
    terms = terms_of(text)
    assert terms.isdisjoint(STOP_WORDS)
    assert all(any(map(str.isalpha, term)) for term in terms)
    assert terms_of("\n".join(terms)) == terms


@given(st.dictionaries(st.sampled_from(WORDS), st.integers(1, 4)), st.integers(0, 12))
def test_the_most_frequent_terms_are_chosen_of_those_that_several_memories_have(counts: dict[str, int], limit: int):
    chosen = chosen_terms(counts, limit)
    frequent = {term: count for term, count in counts.items() if count >= MIN_MEMORIES}
    assert len(chosen) == len(set(chosen)) == min(limit, len(frequent))
    assert list(chosen) == sorted(chosen, key=lambda term: (-frequent[term], term))
    left_out = frequent.keys() - set(chosen)
    assert all(frequent[out] <= frequent[term] for out in left_out for term in chosen)


@st.composite
def vocabularies(draw: st.DrawFn) -> Vocabulary:
    terms = draw(st.lists(st.sampled_from(WORDS), unique=True))
    numbers = st.floats(-1, 1, width=32)
    vectors = draw(arrays(np.float32, (len(terms), 3), elements=numbers))
    return Vocabulary(tuple(terms), vectors, memories=10)


@given(vocabularies(), texts, arrays(np.float32, 3, elements=st.floats(-1, 1, width=32)), st.integers(1, 5))
def test_the_nearest_terms_are_new_words_in_the_order_of_their_similarity(
    vocabulary: Vocabulary, query: str, vector: Vector, limit: int
):
    found = vocabulary.nearest(query, vector, limit)
    stems = Counter(stem for term in found for stem in word_tokens(term))
    assert not stems.keys() & set(word_tokens(query)), "nothing that the query says itself"
    assert set(stems.values()) <= {1}, "one form of a word"
    assert len(found) <= limit
    similarity = dict(zip(vocabulary.terms, np.vecdot(vocabulary.vectors, vector).tolist(), strict=True))
    assert found == sorted(found, key=lambda term: -similarity[term])
    if len(found) < limit:  # all that may be were taken
        taken = {*stems, *word_tokens(query)}
        assert all(taken & set(word_tokens(term)) for term in vocabulary.terms)
    for term in vocabulary.terms:
        stem = word_tokens(term)
        if found and term not in found and not {*stems, *word_tokens(query)} & set(stem):
            assert similarity[term] <= similarity[found[-1]]


def test_terms_are_added_behind_the_query():
    assert expanded_query("why is it slow", ("latency", "timeout")) == "why is it slow latency timeout"
    assert expanded_query("why is it slow", ()) == "why is it slow"
