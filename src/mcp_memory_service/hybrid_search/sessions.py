"""Neighbours: a memory is drawn towards the score of the best one near it in the same session.

What answers a question is often said one turn after the words that match it. A neighbour adds a part of the difference
of the two scores: a part of the whole score would lift all memories of all sessions above those that belong to none.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np

from ..models import Candidate
from .columns.candidates import Candidates, Places, Scores

# Steps within which a neighbour boosts who was found; who was not is brought in from one step away (docs/adr/0008).
REACH = 2


def neighbour_boosts(candidates: Collection[Candidate], scores: Mapping[str, float], share: float) -> dict[str, float]:
    """What neighbours add to the score of each candidate: the most that one of them does, which is `share` to the power
    of the steps between them times the difference of their scores. Who has no place in a session takes no part."""
    scored = Candidates.of([each._replace(score=scores.get(each.content_hash, 0.0)) for each in candidates])
    boosts: list[float] = SessionPositions.of(scored).boosts(scored.scores, share).tolist()
    return {each: boost for each, boost in zip(scored.content_hashes, boosts, strict=True) if boost > 0.0}


@dataclass(frozen=True, slots=True, eq=False)
class SessionPositions:
    """Who of some candidates has a place in a session, and which; as columns."""

    at: Places
    sessions: Places
    """As numbers from 0."""
    sequences: Places
    different_sessions: int

    @classmethod
    def of(cls, candidates: Candidates) -> "SessionPositions":
        at, sessions, sequences = _placed(candidates)
        codes = {session: code for code, session in enumerate(dict.fromkeys(sessions))}
        return cls(
            at,
            np.fromiter(map(codes.__getitem__, sessions), np.int64, len(at)),
            np.fromiter(sequences, np.int64, len(at)),
            len(codes),
        )

    def _order(self) -> Places:
        """By session and sequence."""
        low, high = int(self.sequences.min()), int(self.sequences.max())
        # If both fit into one number, it is sorted four times as fast.
        if self.different_sessions * (high - low + 1) < 2**63:
            return np.argsort(self.sessions * (high - low + 1) + (self.sequences - low))
        return np.lexsort((self.sequences, self.sessions))

    def boosts(self, scores: Scores, share: float) -> Scores:
        """What each candidate gets from its neighbours, as `neighbour_boosts` has it; 0 for who gets nothing."""
        boosts = np.zeros(len(scores))
        if not len(self.at):
            return boosts
        in_order = self._order()
        receivers = self.at[in_order]
        own = scores[receivers]
        near = _best_near(self.sessions[in_order], self.sequences[in_order], own)
        offers = [share**steps * (best - own) for steps, best in enumerate(near, start=1)]
        boosts[receivers] = np.maximum(0.0, np.max(offers, axis=0))
        return boosts


def _placed(candidates: Candidates) -> tuple[Places, Sequence[str], Sequence[int]]:
    """Those that have a place in a session: where they are, their sessions and their sequences."""
    sessions, sequences = candidates.sessions, candidates.sequences
    if sessions is None or sequences is None:
        return np.empty(0, np.int64), (), ()
    at = np.arange(len(sessions))
    if None in set(sessions) or None in set(sequences):
        positions = enumerate(zip(sessions, sequences, strict=True))
        placed = [place for place, (session, sequence) in positions if session is not None and sequence is not None]
        at = np.array(placed, np.int64)
        sessions, sequences = [sessions[place] for place in placed], [sequences[place] for place in placed]
    return at, cast("Sequence[str]", sessions), cast("Sequence[int]", sequences)


def _best_near(sessions: Places, sequences: Places, scores: Scores) -> Iterator[Scores]:
    """For one step away, two and so on as far as neighbours reach: the best score there on either side, 0 if nobody is.
    All are sorted by session and sequence."""
    begins = np.ones(len(sessions), np.bool_)
    begins[1:] = (sessions[1:] != sessions[:-1]) | (sequences[1:] != sequences[:-1])
    starts = np.flatnonzero(begins)
    turn_of = np.cumsum(begins) - 1
    best = np.maximum(0.0, np.maximum.reduceat(scores, starts))  # several may come from one turn: the best counts
    turns, sessions = sequences[starts], sessions[starts]
    near = np.zeros((REACH, len(starts)))
    for ahead in range(1, REACH + 1):  # turns are distinct and sorted: who is two steps away is at most two further on
        steps = turns[ahead:] - turns[:-ahead]
        earlier = np.flatnonzero((sessions[ahead:] == sessions[:-ahead]) & (steps > 0) & (steps <= REACH))
        later, row = earlier + ahead, steps[earlier] - 1
        near[row, earlier] = np.maximum(near[row, earlier], best[later])
        near[row, later] = np.maximum(near[row, later], best[earlier])
    return (row[turn_of] for row in near)


def missing_neighbours(leading: Sequence[Candidate], known: Sequence[Candidate]) -> list[str]:
    """Which of the leading candidates have a neighbour that is not among the known ones (or does not exist)."""
    leaders = Candidates.of(leading)
    at, sessions, sequences = _placed(leaders)
    there = _places_in(set(sessions), Candidates.of(known))
    places: list[int] = at.tolist()
    return [
        leaders.content_hashes[place]
        for place, session, sequence in zip(places, sessions, sequences, strict=True)
        if not {(session, sequence - 1), (session, sequence + 1)} <= there
    ]


def _places_in(sessions: Collection[str], known: Candidates) -> set[tuple[str | None, int | None]]:
    if not sessions or known.sessions is None or known.sequences is None:
        return set()
    return {place for place in zip(known.sessions, known.sequences, strict=True) if place[0] in sessions}
