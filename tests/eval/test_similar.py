"""How much of what a store names is what it repeats, corrects or contradicts, and how much of that it names."""

from .conftest import Evaluated


def test_two_of_three_named_memories_are_right(evaluated: Evaluated):
    assert evaluated.named.precision >= 0.62  # measured: .647


def test_most_of_what_is_repeated_or_corrected_is_named(evaluated: Evaluated):
    assert evaluated.named.recall >= 0.70  # measured: .733
