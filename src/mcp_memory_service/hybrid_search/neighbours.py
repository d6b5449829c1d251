"""The graph signal: a memory is drawn towards the score of its best neighbour in the same session.

What answers a question is often said one turn after the words that match it. Only the difference is lent: a part of the
whole score would lift all memories of all sessions above those that belong to none.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from ..models import Candidate

# Steps within which a neighbour lends to who was found; who was not is brought in from one step away (docs/adr/0008).
REACH = 2


def lent_scores(candidates: Collection[Candidate], scores: Mapping[str, float], share: float) -> dict[str, float]:
    """What each candidate gets from its neighbours: the most that one of them lends, which is `share` to the power of
    the steps between them times the difference of their scores. Who has no place in a session neither lends nor gets.
    """
    places: dict[tuple[str, int], float] = {}
    for candidate in candidates:
        place = _place(candidate)
        if place:  # several memories may come from one turn: the best of them lends
            places[place] = max(places.get(place, 0.0), scores.get(candidate.content_hash, 0.0))
    lent: dict[str, float] = {}
    for candidate in candidates:
        place = _place(candidate)
        if place:
            best = _best_offer(place, places, share, own=scores.get(candidate.content_hash, 0.0))
            if best > 0.0:
                lent[candidate.content_hash] = best
    return lent


def _best_offer(place: tuple[str, int], places: Mapping[tuple[str, int], float], share: float, own: float) -> float:
    session, sequence = place
    return max(
        share**steps * (places.get((session, sequence + direction * steps), 0.0) - own)
        for steps in range(1, REACH + 1)
        for direction in (-1, 1)
    )


def _place(candidate: Candidate) -> tuple[str, int] | None:
    if candidate.session is None or candidate.sequence is None:
        return None
    return candidate.session, candidate.sequence


def missing_neighbours(leading: Sequence[Candidate], known: Iterable[Candidate]) -> list[str]:
    """Which of the leading candidates have a neighbour that is not among the known ones (or does not exist)."""
    places = {_place(candidate) for candidate in known}
    return [
        candidate.content_hash
        for candidate in leading
        if (place := _place(candidate)) and not {(place[0], place[1] - 1), (place[0], place[1] + 1)} <= places
    ]
