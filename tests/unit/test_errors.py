"""Every error of ours is answered at every door; nobody forgets one."""

from collections.abc import Iterator

from mcp_memory_service import errors
from mcp_memory_service.access.error_table import ERROR_TABLE


def descendants(kind: type[errors.MemoryServiceError]) -> Iterator[type[errors.MemoryServiceError]]:
    for child in kind.__subclasses__():
        yield child
        yield from descendants(child)


def test_every_error_is_in_the_table():
    assert set(ERROR_TABLE) == set(descendants(errors.MemoryServiceError))


def test_a_retry_may_help_exactly_where_something_is_unavailable():
    may_help = {kind for kind, answer in ERROR_TABLE.items() if answer.retry_may_help}
    assert may_help == {errors.Unavailable, *descendants(errors.Unavailable)}


def test_codes_are_distinct_and_the_tree_is_drawn():
    every = list(descendants(errors.MemoryServiceError))
    assert len({kind.code for kind in every}) == len(every)
    assert errors.__doc__ is not None
    assert all(kind.__name__ in errors.__doc__ for kind in every)
