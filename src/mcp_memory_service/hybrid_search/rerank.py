"""The first of a ranking in a new order: what a cross-encoder says of them, blended with what the signals said."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from ..models import Memory
from .columns.candidates import Places, Scores
from .columns.fused import Fused, Vote
from .signals import above_baseline
from .tag_weights import rank_column
from .updates import lift_updates

RERANK = "rerank"


def rerank(fused: Fused, scores: Mapping[str, float], weight: float, first: int) -> Fused:
    """The first so many by `(1 - weight) · score + weight · best score · scaled score of the cross-encoder`; the others
    after them as they were, by `(1 - weight) · score`.

    Scores of a cross-encoder are scaled as similarities are (`above_baseline`): some models give logits and others
    shares of 1, and neither has a zero that means the same for every query. One without a score gets nothing.
    """
    leading = fused.order[:first]
    ids = fused.pool.take(leading).content_hashes
    scored = leading[[each in scores for each in ids]] if len(leading) else leading
    given = np.array([scores[each] for each in ids if each in scores], np.float64)
    contributions = weight * (fused.best_score if len(leading) else 0.0) * above_baseline(given)
    blended = (1.0 - weight) * fused.pool.scores
    blended[scored] += contributions
    votes = dict(zip(scored.tolist(), map(Vote, _ranks(given), given.tolist(), contributions.tolist()), strict=True))

    def votes_at(places: Places) -> list[Mapping[str, Vote]]:
        listed: list[int] = places.tolist()
        before = zip(listed, fused.votes_at(places), strict=True)
        return [{**found, RERANK: votes[place]} if place in votes else found for place, found in before]

    return _first_sorted(replace(fused, pool=fused.pool.with_scores(blended), votes_at=votes_at), fused, first)


def lift_updates_among(fused: Fused, first: int, memories: Sequence[Memory]) -> tuple[Fused, Mapping[str, float]]:
    """`lift_updates`, of which only the first so many of the ranking are moved; these are their memories."""
    lifted, factors = lift_updates(fused, memories)
    return _first_sorted(lifted, fused, first), factors


def _first_sorted(fused: Fused, before: Fused, first: int) -> Fused:
    order = before.order
    return replace(fused, members=np.concatenate([fused.pool.best_first(order[:first]), order[first:]]), sorted=True)


def _ranks(scores: Scores) -> list[int]:
    """From 1; equals share the middle place of their group."""
    order = (-scores).argsort(kind="stable")
    ranks = np.empty(len(scores), np.int64)
    ranks[order] = rank_column(scores[order])
    return ranks.tolist()
