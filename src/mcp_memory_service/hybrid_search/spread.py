"""Pages on which no document has more than a few chunks."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple


class Spread(NamedTuple):
    """A page of a ranked list."""

    places: list[int]
    """Those on the page."""
    placed: int
    """How many are on it and on those before it."""
    pages: int
    """How many these are, without empty ones."""


def page_places(documents: Sequence[str | None], page: int, page_size: int, limit: int) -> Spread:
    """The places of a ranked list that are on a page, if each page has at most `limit` places of a document: what is
    too much for one page comes first on the next. `documents` names the document at each place, None if there is none.

    Nothing is left out and nothing comes twice: the pages together are the whole list.
    """
    taken, waiting = list[int](), list(range(len(documents)))
    for number in range(page):
        if not waiting:
            return Spread([], len(documents), number)
        taken, waiting = _filled_page(documents, waiting, page_size, limit)
    return Spread(taken, len(documents) - len(waiting), page)


def _filled_page(
    documents: Sequence[str | None], waiting: Sequence[int], page_size: int, limit: int
) -> tuple[list[int], list[int]]:
    taken: list[int] = []
    left: list[int] = []
    chunks: Counter[str | None] = Counter()
    for place in waiting:
        document = documents[place]
        if len(taken) == page_size or (document is not None and chunks[document] == limit):
            left.append(place)
        else:
            taken.append(place)
            chunks[document] += 1
    return taken, left
