"""A short form of `python -m tests.reliability.erased_bytes`."""

from tests.reliability.erased_bytes import run
from tests.reliability.stores import temporary_folder


def test_nothing_of_a_purged_memory_is_left_in_any_byte_of_the_files():
    with temporary_folder() as folder:
        figures = run(folder, seeds=(8, 9))  # with words that come to divide pages of the text index
    assert figures.clean, figures
    assert figures.traces_after_delete == 2, "the search finds what is there"
    assert figures.canaries_planted > 100
    assert (figures.pending, figures.killed) == (1, 2)
