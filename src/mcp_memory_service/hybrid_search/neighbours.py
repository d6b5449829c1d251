"""The graph signal: memories next to each other in a session lend each other a part of their score.

What answers a question is often said one turn after the words that match it.
"""

from collections.abc import Iterable, Mapping, Sequence

from ..models import Candidate

# Half of the score one step away, a quarter two steps away. On LoCoMo turns, NDCG@10 / recall-fraction@10: none
# .491 / .647, one step .530 / .718, two steps .533 / .725 (docs/adr/0008).
REACH = 2


def lent_scores(candidates: Iterable[Candidate], scores: Mapping[str, float], share: float) -> dict[str, float]:
    """What each candidate gets from its neighbours: the most that one of them lends, `share` to the power of the steps
    between them times its own score. A candidate without a place in a session neither lends nor gets."""
    placed = {
        (candidate.session, candidate.sequence): candidate.content_hash
        for candidate in candidates
        if candidate.session is not None and candidate.sequence is not None
    }
    lent: dict[str, float] = {}
    for (session, sequence), content_hash in placed.items():
        offers = (
            share**steps * scores.get(placed.get((session, sequence + direction * steps), ""), 0.0)
            for steps in range(1, REACH + 1)
            for direction in (-1, 1)
        )
        best = max(offers)
        if best > 0.0:
            lent[content_hash] = best
    return lent


def missing_neighbours(leading: Sequence[Candidate], known: Iterable[Candidate]) -> list[str]:
    """Which of the leading candidates have a neighbour that is not among the known ones (or does not exist)."""
    places = {(candidate.session, candidate.sequence) for candidate in known}
    return [
        candidate.content_hash
        for candidate in leading
        if candidate.session is not None
        and candidate.sequence is not None
        and not {(candidate.session, candidate.sequence - 1), (candidate.session, candidate.sequence + 1)} <= places
    ]
