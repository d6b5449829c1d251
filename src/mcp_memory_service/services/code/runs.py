"""How files of code are taken in; its parsers are imported when they are needed."""

from ..sources.order import RunOrder
from ..sources.reports import IndexReport


async def run_code(order: RunOrder) -> IndexReport:
    from .index_run import CodeRun  # noqa: PLC0415 - with the parsers, which few commands need

    return await CodeRun(order).run()


def is_code(name: str) -> bool:
    """Whether a file of that name is read as code."""
    from ...indexing.code import language_of  # noqa: PLC0415

    return language_of(name) is not None
