"""The first of a ranking in a new order: nothing lost, nothing invented, and the arithmetic open to inspection."""

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import (
    RERANK,
    Fused,
    FusedCandidate,
    Vote,
    best_first,
    lift_updates_among,
    rerank,
)
from mcp_memory_service.models import Memory, content_hash
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY


def ranking(*scores: float) -> Fused:
    """Of memories called a, b, c …, with these fused scores."""
    found = [
        FusedCandidate(chr(97 + i), 0, score, {"vector": Vote(i + 1, score, score)}) for i, score in enumerate(scores)
    ]
    return Fused.of(sorted(found, key=best_first))


def shown(fused: Fused) -> list[tuple[str, Any]]:
    return [(each.content_hash, pytest.approx(each.score)) for each in fused]


def test_the_first_are_ordered_by_the_blend_and_the_others_stay_after_them():
    found = rerank(ranking(1.0, 0.8, 0.6, 0.4), {"a": -3.0, "b": 5.0}, weight=0.5, first=2)
    # Of two, the lower is worth a third (two deviations below the mean are worth nothing).
    assert shown(found) == [("b", 0.9), ("a", 0.5 + 0.5 / 3), ("c", 0.3), ("d", 0.2)]
    assert [each.contributions.get(RERANK) for each in found] == [
        Vote(1, 5.0, 0.5),
        Vote(2, -3.0, 0.5 / 3),
        None,
        None,
    ]
    assert all("vector" in each.contributions for each in found)


def test_with_the_whole_weight_the_cross_encoder_decides_alone_and_the_others_keep_their_order():
    found = rerank(ranking(1.0, 0.9, 0.8, 0.7, 0.6), {"a": 1.0, "b": 2.0, "c": 3.0}, weight=1.0, first=3)
    assert found.content_hashes == ["c", "b", "a", "d", "e"]
    assert [each.score for each in found][-2:] == [0.0, 0.0]


@pytest.mark.parametrize("weight", [0.1, 0.5, 1.0])
def test_equal_scores_keep_the_order(weight: float):
    found = rerank(ranking(1.0, 1.0, 0.5), dict.fromkeys("abc", 7.0), weight, first=3)
    assert found.content_hashes == ["a", "b", "c"]
    assert [each.contributions[RERANK].rank for each in found] == [2, 2, 2]


def test_one_that_got_no_score_gains_nothing():
    found = rerank(ranking(1.0, 0.9, 0.8), {"b": 1.0, "c": 1.0}, weight=0.5, first=3)
    assert shown(found) == [("b", 0.95), ("c", 0.9), ("a", 0.5)]


def test_nothing_is_ranked_as_nothing():
    assert list(rerank(ranking(), {}, 0.5, 10)) == []


rankings = st.lists(st.floats(0, 2), min_size=1, max_size=25).map(lambda scores: ranking(*scores))
crossed = st.dictionaries(st.sampled_from([chr(97 + i) for i in range(25)]), st.floats(-1e30, 1e30))


@given(rankings, crossed, st.floats(0.01, 1), st.integers(1, 30))
def test_a_new_order_keeps_what_is_promised(fused: Fused, scores: Mapping[str, float], weight: float, first: int):
    before = fused.content_hashes
    found = rerank(fused, scores, weight, first)
    after = found.content_hashes
    assert sorted(after[:first]) == sorted(before[:first])
    assert after[first:] == before[first:]
    totals = [each.score for each in found]
    assert totals == sorted(totals, reverse=True)
    assert all(0.0 <= total <= fused.best_score + 1e-12 for total in totals)  # two products are rounded
    first_stage = {each.content_hash: each.score for each in fused}
    for each in found:
        vote = each.contributions.get(RERANK)
        assert (vote is not None) == (each.content_hash in set(before[:first]) & scores.keys())
        assert each.score == (1.0 - weight) * first_stage[each.content_hash] + (vote.contribution if vote else 0.0)
    assert rerank(fused, dict(reversed(list(scores.items()))), weight, first) == found


@given(rankings, st.dictionaries(st.sampled_from("abcdefgh"), st.integers(-9, 9)), st.floats(-5, 5))
def test_only_differences_of_cross_encoder_scores_count(fused: Fused, scores: Mapping[str, int], shift: float):
    scaled = {name: 3.0 * score + shift for name, score in scores.items()}
    plain, moved = (rerank(fused, each, 0.5, 8) for each in (scores, scaled))
    assert [each.score for each in moved] == pytest.approx([each.score for each in plain])


def test_an_update_comes_before_what_it_updates_whatever_the_cross_encoder_says():
    texts = ["the control port of the tunnel is 2333", "moved the control port of the tunnel from 2333 to 4477"]
    old, new = (
        Memory(text, content_hash(text), created_at=day * MICROSECONDS_PER_DAY, updated_at=0)
        for day, text in enumerate(texts)
    )
    placed = [FusedCandidate(each.content_hash, each.created_at, score, {}) for each, score in ((old, 1.0), (new, 0.9))]
    placed.append(FusedCandidate("0" * 64, 0, 0.1, {}))
    reranked = rerank(Fused.of(placed), {old.content_hash: 4.0, new.content_hash: 3.9, "0" * 64: -9.0}, 0.5, 3)
    assert reranked.content_hashes[0] == old.content_hash
    lifted, factors = lift_updates_among(reranked, 3, [old, new])
    assert lifted.content_hashes == [new.content_hash, old.content_hash, "0" * 64]
    assert factors.keys() == {new.content_hash}
    assert lifted[0].score == lifted[1].score == pytest.approx(reranked[1].score * factors[new.content_hash])
