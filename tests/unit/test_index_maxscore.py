"""Sums of what terms add to documents."""

import numpy as np
import pytest

from mcp_memory_service.storage.sqlite_vec.index.format.segment import Postings
from mcp_memory_service.storage.sqlite_vec.index.query import maxscore
from mcp_memory_service.storage.sqlite_vec.index.query.maxscore import Numbers, Places, Term, top_sums


def by_weight(_documents: Places, frequencies: Numbers, weight: Numbers | float) -> Numbers:
    return frequencies * weight


def term(documents: list[int], weight: float, bound: float | None = None) -> Term:
    postings = Postings(np.array(documents, np.uint32), np.ones(len(documents), np.uint8))
    return Term(postings, weight, bound or weight, by_weight)


def sums(terms: list[Term], size: int, limit: int) -> dict[int, float]:
    documents, found = top_sums(terms, size, None, limit)
    return dict(zip(documents.tolist(), found.tolist(), strict=True))


@pytest.mark.parametrize("min_postings", [1, 10**6])
def test_a_sum_that_fails_leaves_nothing_to_the_next_one(monkeypatch: pytest.MonkeyPatch, min_postings: int):
    monkeypatch.setattr(maxscore, "MIN_POSTINGS_TO_SKIP", min_postings)
    terms = [term([0, 1, 2], 0.5), term([1, 2, 3], 0.25)]
    expected = sums(terms, 5, 4)

    def out_of_memory(*_: object) -> None:
        raise MemoryError

    failing = "_once_each" if min_postings > 1 else "_add_to_candidates"
    with monkeypatch.context() as broken:
        broken.setattr(maxscore, failing, out_of_memory)
        with pytest.raises(MemoryError):
            sums(terms, 5, 1)
    assert sums(terms, 5, 4) == expected == {0: 0.5, 1: 0.75, 2: 0.75, 3: 0.25}


@pytest.mark.parametrize("seed", range(20))
def test_terms_that_are_skipped_change_no_sum(monkeypatch: pytest.MonkeyPatch, seed: int):
    chance = np.random.default_rng(seed)
    size, limit = 2_000, int(chance.integers(1, 40))
    terms = [
        term(sorted(chance.choice(size, int(chance.integers(1, size)), replace=False).tolist()), float(weight))
        for weight in chance.exponential(size=int(chance.integers(2, 9)))
    ]
    expected = np.zeros(size)
    for each in terms:
        expected[each.postings.documents] += each.weight
    monkeypatch.setattr(maxscore, "MIN_POSTINGS_TO_SKIP", 300)
    found = sums(terms, size, limit)
    best = np.sort(expected)[::-1][:limit]
    assert sorted(found.values(), reverse=True)[:limit] == best.tolist()
    assert all(expected[document] == score for document, score in found.items())


@pytest.mark.parametrize("seed", range(20))
def test_words_that_nearly_all_have_lose_nobody(monkeypatch: pytest.MonkeyPatch, seed: int):
    """Their weights are a millionth of those of rare words, which too few documents have to fill the list."""
    chance = np.random.default_rng(seed)
    size, limit = 6_000, 250

    def terms_in(each_in: int, weights: list[float]) -> list[Term]:
        return [
            term(sorted(chance.choice(size, each_in, replace=False).tolist()), weight, 2.2 * weight)
            for weight in weights
        ]

    terms = [*terms_in(5, chance.uniform(7, 11, size=4).tolist()), *terms_in(size * 4 // 5, [1e-6] * 4)]
    chance.shuffle(terms)  # pyright: ignore[reportArgumentType] -- any list can be shuffled
    expected = np.zeros(size)
    for each in terms:
        expected[each.postings.documents] += each.weight
    monkeypatch.setattr(maxscore, "MIN_POSTINGS_TO_SKIP", 1_000)
    found = sums(terms, size, limit)
    last = np.sort(expected)[-limit]
    assert set(np.flatnonzero(expected >= last).tolist()) <= set(found)
    assert all(expected[document] == score for document, score in found.items())
