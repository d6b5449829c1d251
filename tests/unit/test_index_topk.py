"""The k-th largest and the positions of values: compared with sorting them."""

import numpy as np
import pytest

from mcp_memory_service.storage.sqlite_vec.index.query.topk import kth_largest, positions_in

CHANCE = np.random.default_rng(7)


@pytest.mark.parametrize(
    "values",
    [
        CHANCE.random(1000),
        np.full(1000, 0.25),
        np.where(CHANCE.random(1000) < 0.02, 0.9, 0.25),
        CHANCE.choice([0.1, 0.2, 0.3, 0.5, 0.8], 1000),
        np.concatenate([np.zeros(900), CHANCE.random(100)]),
        CHANCE.integers(0, 40, 1000),
    ],
    ids=["all different", "all equal", "two values", "five values", "many at the bottom", "whole numbers"],
)
@pytest.mark.parametrize("limit", [1, 7, 250, 999, 1000, 2000])
def test_the_kth_largest_is_where_a_sorted_list_has_it(
    values: "np.ndarray[tuple[int], np.dtype[np.float64]]", limit: int
) -> None:
    assert kth_largest(values, limit) == np.sort(values)[max(0, values.size - limit)]


def test_values_are_found_where_a_sorted_list_has_them():
    in_order = np.array([2, 3, 5, 8], np.uint32)
    there, places = positions_in(in_order, np.array([9, 5, 1, 2]))
    assert (there.tolist(), places.tolist()) == ([1, 3], [2, 0])
    for nothing, sought in ((in_order[:0], [1]), (in_order, [])):
        there, places = positions_in(nothing, np.array(sought, np.int64))
        assert (there.tolist(), places.tolist()) == ([], [])
