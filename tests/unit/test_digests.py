"""Ids as bytes behave as a list of their texts does."""

import hashlib

import numpy as np
import pytest

from mcp_memory_service.hybrid_search.columns.digests import Digests, NumberedDigests, joined_digests

TEXTS = [hashlib.sha256(bytes([number % 7])).hexdigest() for number in range(20)]


def of_texts(texts: list[str]) -> Digests:
    found = Digests.of(texts)
    assert found is not None
    return found


def numbered(numbers: list[int]) -> NumberedDigests:
    """As a store has them that knows its memories by numbers."""
    return NumberedDigests(np.array(numbers, np.int64), READ)


KNOWN = of_texts(TEXTS[:7])
READ = KNOWN.rows.__getitem__


@pytest.fixture(params=["read", "numbered"])
def digests(request: pytest.FixtureRequest) -> Digests:
    return of_texts(TEXTS) if request.param == "read" else numbered([number % 7 for number in range(20)])


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


def test_equals_have_one_number_and_are_known_by_the_first_of_them(digests: Digests):
    numbers, first = digests.numbered()
    assert [TEXTS[first[number]] for number in numbers] == TEXTS
    assert sorted(first.tolist()) == sorted({TEXTS.index(text) for text in TEXTS})


def test_digests_that_begin_alike_are_told_apart():
    """Anyone can make texts whose digests share their first eight bytes."""
    alike = ["ab" * 8 + f"{number:048x}" for number in (3, 1, 3, 2, 1, 3)]
    digests = Digests.of([*alike, TEXTS[0]])
    assert digests is not None
    numbers, first = digests.numbered()
    assert [digests[int(first[number])] for number in numbers] == [*alike, TEXTS[0]]
    assert sorted(first.tolist()) == [0, 1, 3, 6]


def test_what_is_no_digest_is_not_taken_as_one():
    assert Digests.of(["short"]) is None
    assert Digests.of(["x" * 64]) is None
    assert Digests.of([TEXTS[0].upper()]) is None


def test_digests_of_one_store_are_joined_by_their_numbers():
    joined = joined_digests([numbered([3, 1]), numbered([]), numbered([1])])
    assert isinstance(joined, NumberedDigests)
    assert joined == [TEXTS[3], TEXTS[1], TEXTS[1]]


def test_digests_of_several_stores_are_joined_as_bytes():
    elsewhere = NumberedDigests(np.array([0]), lambda numbers: KNOWN.rows[numbers + 5])
    for others in (elsewhere, [TEXTS[5]], of_texts([TEXTS[5]])):
        joined = joined_digests([numbered([3, 5]), others])
        assert joined == [TEXTS[3], TEXTS[5], TEXTS[5]]
        assert joined is not None
        assert joined.numbered()[0][1] == joined.numbered()[0][2]
    assert joined_digests([numbered([3]), ["no digest"]]) is None
