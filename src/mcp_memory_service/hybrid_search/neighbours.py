"""The graph signal: a memory is drawn towards the score of its best neighbour in the same session.

What answers a question is often said one turn after the words that match it. Only the difference is lent: a part of the
whole score would lift all memories of all sessions above those that belong to none.
"""

from collections.abc import Iterable, Mapping, Sequence

from ..models import Candidate

# Steps within which a neighbour lends (docs/adr/0008).
REACH = 2


def lent_scores(candidates: Iterable[Candidate], scores: Mapping[str, float], share: float) -> dict[str, float]:
    """What each candidate gets from its neighbours: the most that one of them lends, which is `share` to the power of
    the steps between them times the difference of their scores. Who has no place in a session neither lends nor gets.
    """
    placed = {
        (candidate.session, candidate.sequence): candidate.content_hash
        for candidate in candidates
        if candidate.session is not None and candidate.sequence is not None
    }
    lent: dict[str, float] = {}
    for (session, sequence), content_hash in placed.items():
        own = scores.get(content_hash, 0.0)
        offers = (
            share**steps * (scores.get(placed.get((session, sequence + direction * steps), ""), 0.0) - own)
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
