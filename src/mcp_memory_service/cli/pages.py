"""Pages larger than those of the service, put together from several of them."""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from ..schemas import ListOut, RetrieveOut, paging_of
from ..services.search.results import Paging
from ..services.write.checks import MAX_PAGE_SIZE

P = TypeVar("P", RetrieveOut, ListOut)


async def whole_page(ask: Callable[[int, int], Awaitable[P]], page: int, limit: int) -> P:
    """The page of `limit` results, from what `ask` answers to a page and its size. Each page of the service is of its
    own moment: what is stored meanwhile may move results from one to the next."""
    if limit <= MAX_PAGE_SIZE:
        return await ask(page, limit)
    skipped, offset = divmod((page - 1) * limit, MAX_PAGE_SIZE)
    parts = [await ask(skipped + 1, MAX_PAGE_SIZE)]
    while parts[-1].has_more and len(parts) * MAX_PAGE_SIZE < offset + limit:
        parts.append(await ask(skipped + 1 + len(parts), MAX_PAGE_SIZE))
    rows = [row for part in parts for row in (part.results if isinstance(part, RetrieveOut) else part.memories)]
    name = "results" if isinstance(parts[0], RetrieveOut) else "memories"
    paging = paging_of(Paging(page, limit, parts[0].total))
    return parts[0].model_copy(update={name: rows[offset : offset + limit], **paging})
