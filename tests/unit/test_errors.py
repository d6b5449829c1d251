"""Every error of ours has an HTTP status and an exit code; nobody forgets one."""

from collections.abc import Iterator

from mcp_memory_service import errors
from mcp_memory_service.api.problems import STATUS_BY_ERROR
from mcp_memory_service.cli.exit_codes import CODE_BY_ERROR


def descendants(kind: type[errors.MemoryServiceError]) -> Iterator[type[errors.MemoryServiceError]]:
    for child in kind.__subclasses__():
        yield child
        yield from descendants(child)


def test_every_error_is_in_both_tables():
    every = set(descendants(errors.MemoryServiceError))
    assert set(STATUS_BY_ERROR) == every
    assert set(CODE_BY_ERROR) == every


def test_codes_are_distinct_and_the_tree_is_drawn():
    every = list(descendants(errors.MemoryServiceError))
    assert len({kind.code for kind in every}) == len(every)
    assert errors.__doc__ is not None
    assert all(kind.__name__ in errors.__doc__ for kind in every)
