"""Fusion over columns against fusion as one would write it down: the same scores to the last bit, the same order."""

from collections.abc import Mapping, Sequence
from itertools import groupby

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import (
    FusedCandidate,
    Pool,
    Vote,
    apply_recency_decay,
    as_rare_as_they_are_few,
    best_first,
    fuse_rrf,
    fuse_scores,
    missing_neighbours,
    recency_factor,
    rrf_score,
    tag_weights,
)
from mcp_memory_service.hybrid_search.columns.candidates import Candidates
from mcp_memory_service.models import Candidate
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

NOW = 20_000 * MICROSECONDS_PER_DAY
Signals = dict[str, list[Candidate]]
Weights = dict[str, float]


# --- the reference


def shared(scores: Sequence[float]) -> list[int]:
    ranks: list[int] = []
    for _, group in groupby(scores):
        size = len(list(group))
        ranks += [len(ranks) + 1 + (size - 1) // 2] * size
    return ranks


def normalised(name: str, scores: list[float]) -> list[float]:
    if name == "tag":
        return [min(1.0, score) for score in scores]
    if name == "vector":
        values = np.array(scores)
        floor = min(values.min(), values.mean() - 2.0 * values.std())
        return ((values - floor) / (values.max() - floor)).tolist() if values.max() > floor else [1.0] * len(scores)
    return [score / max(scores) if max(scores) > 0 else 1.0 for score in scores]


def lent(candidates: Sequence[Candidate], totals: Mapping[str, float], share: float) -> dict[str, float]:
    places: dict[tuple[str | None, int], float] = {}
    placed = [(c, (c.session, c.sequence)) for c in candidates if c.session is not None and c.sequence is not None]
    for candidate, place in placed:
        places[place] = max(places.get(place, 0.0), totals.get(candidate.content_hash, 0.0))
    offers = {
        candidate.content_hash: max(
            share**steps * (places.get((session, sequence + direction * steps), 0.0) - totals.get(candidate[0], 0.0))
            for steps in (1, 2)
            for direction in (-1, 1)
        )
        for candidate, (session, sequence) in placed
    }
    return {content_hash: offer for content_hash, offer in offers.items() if offer > 0}


def reference(signals: Signals, weights: Weights, k: int | None, share: float = 0.0) -> list[FusedCandidate]:
    """Ranks are fused if there is a k, scores if there is none."""
    everyone = {c.content_hash: c for found in signals.values() for c in found}
    totals: dict[str, float] = {}
    votes: dict[str, dict[str, Vote]] = {content_hash: {} for content_hash in everyone}
    for name, found in signals.items():
        if weights[name] <= 0 or not found:
            continue
        scores = [c.score for c in found]
        ranks = shared(scores) if name in {"tag", "keyword"} else list(range(1, len(found) + 1))
        parts = normalised(name, scores) if k is None else [rrf_score(rank, k) for rank in ranks]
        for candidate, rank, part in zip(found, ranks, parts, strict=True):
            totals[candidate.content_hash] = totals.get(candidate.content_hash, 0.0) + weights[name] * part
            votes[candidate.content_hash][name] = Vote(rank, candidate.score, weights[name] * part)
    if share > 0:
        gifts = lent(list(everyone.values()), totals, share)
        ordered = sorted(gifts, key=lambda content_hash: (-gifts[content_hash], content_hash))
        for content_hash, rank in zip(ordered, shared([gifts[c] for c in ordered]), strict=True):
            gift = gifts[content_hash]
            totals[content_hash] = totals.get(content_hash, 0.0) + gift
            votes[content_hash]["neighbour"] = Vote(rank, gift, gift)
    fused = [FusedCandidate(c, everyone[c].created_at, total, votes[c]) for c, total in totals.items()]
    return sorted(fused, key=best_first)


def aged(fused: Sequence[FusedCandidate], decay: float, floor: float) -> list[FusedCandidate]:
    factors = [recency_factor(c.created_at, NOW, decay, floor) for c in fused]
    return sorted(
        (c._replace(score=c.score * f, recency_factor=f) for c, f in zip(fused, factors, strict=True)), key=best_first
    )


# --- what is fused


@st.composite
def memories(draw: st.DrawFn) -> list[Candidate]:
    """Few different dates and sessions, so that ties and neighbours are frequent."""
    dates = st.sampled_from([0, 5, NOW - 1, NOW, NOW + 7]) | st.integers(0, NOW)
    names = draw(st.lists(st.text("abc", min_size=1, max_size=4), unique=True, max_size=25))
    return [
        Candidate(
            name,
            draw(dates),
            0.0,
            draw(st.sampled_from([None, "s", "t"])),
            draw(st.none() | st.integers(1, 9) | st.sampled_from([-(2**63), 2**63 - 1])),
        )
        for name in names
    ]


@st.composite
def lists(draw: st.DrawFn) -> Signals:
    known = draw(memories())
    scores = st.sampled_from([0.0, 0.1, 0.25, 1.0, 3.0]) | st.floats(0, 20)
    signals: Signals = {}
    for name in draw(st.permutations(["vector", "tag", "keyword", "neighbour"])):
        found = draw(st.permutations(known))[: draw(st.integers(0, len(known)))]
        falling = sorted((draw(scores) for _ in found), reverse=True)
        signals[name] = [c._replace(score=score) for c, score in zip(found, falling, strict=True)]
    return signals


weights = st.fixed_dictionaries(
    {name: st.sampled_from([0.0, 1.0]) | st.floats(0, 5) for name in ("vector", "tag", "keyword")}
).map(lambda drawn: {**drawn, "neighbour": 0.0})
shares = st.sampled_from([0.0, 0.5, 0.7, 1.0])
decays = st.sampled_from([0.01, 1e-6, 10.0])
floors = st.sampled_from([0.0, 0.5, 0.998])


@given(lists(), weights, shares, decays, floors)
def test_scores_are_fused_as_the_reference_does(
    signals: Signals, weights: Weights, share: float, decay: float, floor: float
):
    expected, fused = reference(signals, weights, None, share), fuse_scores(signals, weights, share)
    assert fused == expected
    assert apply_recency_decay(fused, decay, NOW, floor) == aged(expected, decay, floor)
    assert apply_recency_decay(expected, decay, NOW, floor) == aged(expected, decay, floor)
    assert [fused[place] for place in range(len(fused))] == expected
    assert fused[3:7] == expected[3:7]
    assert [fused.place_of(c.content_hash) for c in expected] == list(range(1, len(expected) + 1))


@given(lists(), weights, st.integers(1, 100), decays, floors)
def test_ranks_are_fused_as_the_reference_does(signals: Signals, weights: Weights, k: int, decay: float, floor: float):
    expected = reference(signals, weights, k)
    assert fuse_rrf(signals, weights, k) == expected
    assert apply_recency_decay(fuse_rrf(signals, weights, k), decay, NOW, floor) == aged(expected, decay, floor)


@given(lists(), weights, shares)
def test_a_pool_that_is_joined_later_is_fused_as_if_all_had_come_at_once(
    signals: Signals, weights: Weights, share: float
):
    early = Pool.of({name: found for name, found in signals.items() if name != "neighbour"})
    fuse_scores(early, weights, share)
    joined = early.joined_by("neighbour", signals["neighbour"])
    assert Pool.of(joined) is joined
    assert fuse_scores(joined, weights, share) == reference(signals, weights, None, share)


@given(memories(), st.data())
def test_a_list_that_names_a_memory_twice_counts_it_twice_and_has_it_once(known: list[Candidate], data: st.DataObject):
    found = data.draw(st.lists(st.sampled_from(known), max_size=12)) if known else []
    ranks = {c.content_hash: [rank for rank, o in enumerate(found, 1) if o == c] for c in found}
    fused = fuse_rrf({"vector": found}, {"vector": 1.0})
    assert {c.content_hash: c.score for c in fused} == {
        content_hash: sum(rrf_score(rank) for rank in of_one) for content_hash, of_one in ranks.items()
    }


@given(memories(), st.data())
def test_missing_neighbours_are_those_the_reference_misses(known: list[Candidate], data: st.DataObject):
    leading = data.draw(st.permutations(known))[: data.draw(st.integers(0, 5))]
    places = {(c.session, c.sequence) for c in known}
    expected = [
        c.content_hash
        for c in leading
        if c.session is not None
        and c.sequence is not None
        and not {(c.session, c.sequence - 1), (c.session, c.sequence + 1)} <= places
    ]
    assert missing_neighbours(leading, known) == expected
    assert missing_neighbours(Candidates.of(leading), Candidates.of(known)) == expected


@given(st.lists(st.sampled_from([0.1, 0.5, 1.0, 2.0])), st.integers(0, 1_000))
def test_a_tag_score_is_limited_by_how_many_match_as_well(scores: list[float], corpus: int):
    falling = sorted(scores, reverse=True)
    limited = as_rare_as_they_are_few([Candidate(str(i), 0, s) for i, s in enumerate(falling)], corpus)
    as_good = [sum(other >= score for other in falling) for score in falling]
    assert [match.score for match in limited] == [
        min(score, tag_weights({"as one tag": count}, corpus)["as one tag"])
        for score, count in zip(falling, as_good, strict=True)
    ]
