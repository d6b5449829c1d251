"""Pages larger than those of the service, put together from several of them."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..schemas import HitOut, ListOut, MemoryOut, RetrieveOut, paging_of
from ..services.search.results import Paging
from ..services.write.checks import MAX_PAGE_SIZE

P = TypeVar("P", RetrieveOut, ListOut)


async def whole_page(ask: Callable[[int, int], Awaitable[P]], page: int, limit: int, *, are_full: bool) -> P:
    """The page of `limit` results, from what `ask` answers to a page and its size. Each page of the service is of its
    own moment: what is stored meanwhile may move results from one to the next. Unless its pages are full but for the
    last, all from the first on are read."""
    if limit <= MAX_PAGE_SIZE:
        return await ask(page, limit)
    skipped, offset = divmod((page - 1) * limit, MAX_PAGE_SIZE) if are_full else (0, (page - 1) * limit)
    part = first = await ask(skipped + 1, MAX_PAGE_SIZE)
    rows, number = _rows(part), skipped + 1
    while part.has_more and len(rows) < offset + limit:
        number += 1
        part = await ask(number, MAX_PAGE_SIZE)
        rows += _rows(part)
    name = "results" if isinstance(first, RetrieveOut) else "memories"
    paging = paging_of(Paging(page, limit, first.total))
    return first.model_copy(update={name: rows[offset : offset + limit], **paging})


def _rows(part: RetrieveOut | ListOut) -> list[HitOut | MemoryOut]:
    return [*(part.results if isinstance(part, RetrieveOut) else part.memories)]
