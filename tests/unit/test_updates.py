"""An update comes before what it updates: which of two notes it is, and what stays as it was."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import Fused, FusedCandidate, lift_updates, possible_updates
from mcp_memory_service.hybrid_search.updates import LEADING
from mcp_memory_service.models import Memory, content_hash
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

OLD = "the control port of the tunnel is 2333"
NEW = "moved the control port of the tunnel from 2333 to 4477"


def note(content: str, day: float) -> Memory:
    moment = int(day * MICROSECONDS_PER_DAY)
    return Memory(content, content_hash(content), created_at=moment, updated_at=moment)


def ranked(*placed: tuple[Memory, float]) -> Fused:
    by_score = sorted(placed, key=lambda each: (-each[1], -each[0].created_at, each[0].content_hash))
    return Fused.of([FusedCandidate(memory.content_hash, memory.created_at, score, {}) for memory, score in by_score])


def order(*placed: tuple[Memory, float]) -> list[str]:
    fused, _ = lift_updates(ranked(*placed), [memory for memory, _ in placed])
    contents = {memory.content_hash: memory.content for memory, _ in placed}
    return [contents[each] for each in fused.content_hashes]


def test_an_update_gets_the_score_of_what_it_updates():
    old, new = note(OLD, 1), note(NEW, 100)
    fused, factors = lift_updates(ranked((old, 0.9), (new, 0.8)), [old, new])
    assert [(each.content_hash, each.score) for each in fused] == [(new.content_hash, 0.9), (old.content_hash, 0.9)]
    assert factors == {new.content_hash: pytest.approx(0.9 / 0.8)}


def test_of_three_versions_the_newest_comes_first():
    middle, newest = "raised the control port of the tunnel to 3000", NEW
    assert order((note(OLD, 1), 1.0), (note(middle, 50), 0.9), (note(newest, 99), 0.85)) == [newest, middle, OLD]


@pytest.mark.parametrize(
    ("new", "day", "score"),
    [
        pytest.param("the control port of the tunnel is 4477", 100, 0.8, id="says of no change"),
        pytest.param("now the cat sleeps in the sun all day", 100, 0.8, id="is about something else"),
        pytest.param(NEW, 1.5, 0.8, id="was noted together with it"),
        pytest.param(NEW, 100, 0.7, id="answers far worse"),
        pytest.param(NEW + " " + "and so on. " * 60, 100, 0.8, id="is no short statement"),
    ],
)
def test_what_is_no_update_stays_behind(new: str, day: float, score: float):
    assert order((note(OLD, 1), 0.9), (note(new, day), score)) == [OLD, new]


def test_contents_are_read_only_where_age_and_score_leave_it_open():
    old, new, far = note(OLD, 1), note(NEW, 100), note("far behind now", 200)
    assert possible_updates(ranked((new, 0.9), (old, 0.8), (far, 0.2))) == []
    assert possible_updates(ranked((old, 0.9), (new, 0.8), (far, 0.2))) == [old.content_hash, new.content_hash]
    assert possible_updates(ranked()) == []


WORDS = st.lists(st.sampled_from("port tunnel control now moved since cache key".split()), min_size=1, max_size=6)
RANKED = st.lists(
    st.tuples(WORDS, st.integers(0, 400), st.floats(0, 1)), max_size=16, unique_by=lambda each: " ".join(each[0])
)


@given(RANKED, st.randoms(use_true_random=False))
def test_nothing_is_lost_or_invented_and_only_updates_move(notes: list[tuple[list[str], int, float]], mixed: Random):
    placed = [(note(" ".join(words), day), score) for words, day, score in notes]
    fused = ranked(*placed)
    memories = [memory for memory, _ in placed]
    lifted, factors = lift_updates(fused, memories)
    before, after = fused.content_hashes, lifted.content_hashes
    assert sorted(before) == sorted(after)
    assert [each for each in after if each not in factors] == [each for each in before if each not in factors]
    assert all(factor >= 1 for factor in factors.values())
    assert set(factors) <= set(possible_updates(fused)) <= set(before[:LEADING])
    assert after[LEADING:] == before[LEADING:]
    mixed.shuffle(memories)
    again, _ = lift_updates(fused, memories)
    assert again.content_hashes == after
    scores = [each.score for each in lifted]
    assert scores == sorted(scores, reverse=True)
