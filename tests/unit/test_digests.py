"""Ids as bytes behave as a list of their texts does."""

import hashlib

import numpy as np
import pytest

from mcp_memory_service.hybrid_search.columns.digests import Digests

TEXTS = [hashlib.sha256(bytes([number % 7])).hexdigest() for number in range(20)]


@pytest.fixture
def digests() -> Digests:
    found = Digests.joined([TEXTS[:5], [], TEXTS[5:]])
    assert found is not None
    return found


def test_they_are_read_as_a_list(digests: Digests):
    assert list(digests) == TEXTS
    assert digests == TEXTS
    assert digests[3:9] == TEXTS[3:9]
    assert digests[-1] == TEXTS[-1]
    assert list(digests.take(np.array([4, 2]))) == [TEXTS[4], TEXTS[2]]


def test_one_is_found_where_a_list_has_it(digests: Digests):
    assert [digests.index(text) for text in TEXTS] == [TEXTS.index(text) for text in TEXTS]
    assert digests.index(TEXTS[3], 4) == TEXTS.index(TEXTS[3], 4)
    for unknown in ("", "no digest", "0" * 64, TEXTS[0].upper(), 5):
        with pytest.raises(ValueError, match="not in it"):
            digests.index(unknown)
    with pytest.raises(ValueError, match="not in it"):
        digests.index(TEXTS[6], 0, 6)


def test_equals_are_known_by_the_first_of_them(digests: Digests):
    first = digests.first_of_equals()
    assert first is not None
    assert first.tolist() == [TEXTS.index(text) for text in TEXTS]


def test_what_is_no_digest_is_not_taken_as_one():
    assert Digests.joined([["short"]]) is None
    assert Digests.joined([["x" * 64]]) is None
    assert Digests.joined([[TEXTS[0].upper()]]) is None
