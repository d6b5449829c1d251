"""Of two notes of the same fact the newer comes first, where it says that something has changed.

An old note states a fact plainly ("the port is 2333") and is nearer to a plain question than the note that changes it
("moved the port to 4477"). No weight of age puts that right without harm to all that is merely old (docs/adr/0021).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache

from ..models import Memory
from ..timestamps import MICROSECONDS_PER_DAY
from .columns.candidates import Candidates
from .columns.fused import Fused
from .likeness import compared_words, shared_words

# Chosen on our own notes (python -m tests.eval.updates) and held to LoCoMo, where nothing is an update: docs/adr/0021.
LEADING = 5
"""So many of the best are compared. With ten as much is gained, and LoCoMo turns lose .0010 instead of .0004."""
MIN_SCORE_SHARE = 0.8
"""Of the score of the older: what answers far worse is about something else."""
MIN_SHARED_WORDS = 0.15
"""Of the words of both."""
MIN_TIME_BETWEEN = MICROSECONDS_PER_DAY
"""What was noted together does not update itself."""
MAX_STATEMENT_CHARS = 600
"""A statement is short. Longer texts share words whatever they say: sessions of LoCoMo would lose .02."""

_CHANGED = re.compile(
    r"\b(?:now|no longer|instead|any ?more|these days|from now on|since|changed|changes|moved|switch(?:ed|ing)?"
    r"|replac(?:ed|es|ing)|renamed|updated|upgraded|bump(?:ed)?|raised|lowered|increased|reduced)\b",
    re.IGNORECASE,
)


def possible_updates(fused: Fused) -> list[str]:
    """The ids of the leading memories that may be one of a pair, by age and score alone; their contents decide."""
    first = fused.order[:LEADING]
    moments: list[int] = fused.pool.created_at[first].tolist()
    if not moments or max(moments) - min(moments) < MIN_TIME_BETWEEN:
        return []
    leading = fused.pool.take(first)
    places = {place for newer, older in _pairs(leading) for place in (newer, *older)}
    return [leading.content_hashes[place] for place in sorted(places)]


def lift_updates(fused: Fused, memories: Sequence[Memory]) -> tuple[Fused, Mapping[str, float]]:
    """Give each memory that updates a better placed one the score of that one, so that of the two equals the newer
    comes first; and the factors, by id, that did it. What else there is keeps its score, and its order."""
    leading = fused.pool.take(fused.order[:LEADING])
    read = {memory.content_hash: memory for memory in memories if len(memory.content) <= MAX_STATEMENT_CHARS}
    known = {place: read[each] for place, each in enumerate(leading.content_hashes) if each in read}

    @cache
    def words(place: int) -> frozenset[str]:
        return compared_words(known[place].content)

    scores, factors = fused.pool.scores.copy(), dict[str, float]()
    for newer, better_placed in _pairs(leading):
        note = known.get(newer)
        if note is None or not _CHANGED.search(note.content):
            continue
        updated = [
            older
            for older in better_placed
            if older in known
            and known[older].kind == note.kind
            and shared_words(words(newer), words(older)) >= MIN_SHARED_WORDS
        ]
        if updated:
            lifted = max([float(scores[fused.order[older]]) for older in updated])
            factors[note.content_hash] = lifted / float(leading.scores[newer])
            scores[fused.order[newer]] = lifted
    if not factors:
        return fused, factors
    return Fused(fused.pool.with_scores(scores), fused.members, fused.votes_at, fused.recency_factors), factors


def _pairs(leading: Candidates) -> Iterator[tuple[int, list[int]]]:
    """Each place with those before it whose memory the one there may update, by age and score."""
    created_at: list[int] = leading.created_at.tolist()
    scores: list[float] = leading.scores.tolist()
    for newer, (moment, score) in enumerate(zip(created_at, scores, strict=True)):
        older = [
            place
            for place in range(newer)
            if moment - created_at[place] >= MIN_TIME_BETWEEN and score >= MIN_SCORE_SHARE * scores[place] > 0
        ]
        if older:
            yield newer, older
