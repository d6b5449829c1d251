"""Candidates as columns: for whoever looks at them, a sequence of ordinary candidates."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search.columns.candidates import Candidates
from mcp_memory_service.models import Candidate

candidate = st.builds(
    Candidate,
    st.text(max_size=3),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.none() | st.text(max_size=2),
    st.none() | st.integers(),
)
lists = st.lists(candidate)


@given(lists)
def test_columns_are_equal_to_the_list_they_were_made_of(items: list[Candidate]):
    columns = Candidates.of(items)
    assert columns == items
    assert items == columns
    assert columns == Candidates.of(tuple(items))
    assert list(columns) == items
    assert len(columns) == len(items)
    assert bool(columns) is bool(items)
    assert Candidates.of(columns) is columns


@given(lists, st.slices(20))
def test_parts_of_columns_are_what_parts_of_the_list_are(items: list[Candidate], part: slice):
    columns = Candidates.of(items)
    assert [columns[place] for place in range(-len(items), len(items))] == items + items
    assert isinstance(columns[part], Candidates)
    assert columns[part] == items[part]
    places = range(len(items))[part]
    assert columns.take(places) == items[part]


@given(lists, candidate)
def test_other_candidates_are_not_equal(items: list[Candidate], more: Candidate):
    columns = Candidates.of(items)
    assert columns != [*items, more]
    assert columns != [*items[:-1], more._replace(content_hash="another")]
    assert columns != "a text"
    assert columns != 7


def test_what_comes_out_is_made_of_plain_values():
    columns = Candidates(["a"], np.array([5]), np.array([0.5]))
    for found in (columns[0], *columns):
        assert found == Candidate("a", 5, 0.5)
        assert [type(value) for value in found] == [str, int, float, type(None), type(None)]


def test_there_is_no_column_of_sessions_where_nobody_has_one():
    assert Candidates.of([Candidate("a", 1, 1.0), Candidate("b", 1, 1.0)]).sessions is None
    one = Candidates.of([Candidate("a", 1, 1.0), Candidate("b", 1, 1.0, "talk", 3)])
    assert (one.sessions, one.sequences) == ((None, "talk"), (None, 3))


def test_a_place_that_is_not_there_is_an_index_error():
    with pytest.raises(IndexError):
        Candidates.of([])[0]
