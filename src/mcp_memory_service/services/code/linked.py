"""A symbol with who calls it, whom it calls, and what was said about it."""

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from ...errors import SymbolNotFound
from ...models import Memory
from .answers import CallsAnswer, Direction
from .calls import Calls, check_bound, shown_symbols
from .findings import LinkedAnswer, SpokenOf
from .questions import MAX_SPOKEN, Asked, CallsRequest, LinkedRequest
from .spoken import Mentions
from .symbols import Symbols, targets_of

MAX_SYMBOLS = 3
"""That a question may mean."""
SHOWN_CALLS = 10

SearchCode: TypeAlias = Callable[[str, int], Awaitable[Sequence[Memory]]]
"""The symbols that fit a question best, at most so many."""


class Linked:
    """Of one namespace."""

    def __init__(self, symbols: Symbols, calls: Calls, mentions: Mentions, search: SearchCode) -> None:
        self._symbols = symbols
        self._calls = calls
        self._mentions = mentions
        self._search = search

    async def ask(self, request: LinkedRequest) -> LinkedAnswer:
        check_bound("limit", request.limit, MAX_SPOKEN)
        memories, by_search = await self._meant(request.asked)
        symbols = await shown_symbols(memories)
        spoken: SpokenOf = await self._mentions.of(symbols)
        return LinkedAnswer(
            symbols,
            by_search,
            await self._beside(memories[0], "callers"),
            await self._beside(memories[0], "callees"),
            spoken.found[: request.limit],
            len(spoken.found),
            spoken.bounded,
        )

    async def _meant(self, asked: Asked) -> tuple[list[Memory], bool]:
        """The symbol of that name; else what a search finds, or the words of the names."""
        try:
            return list((await self._symbols.find(asked)).memories), False
        except SymbolNotFound:
            found = [memory for memory in await self._search(asked.symbol, MAX_SYMBOLS) if asked.admits(memory)]
            found = found or list(filter(asked.admits, await self._symbols.like(asked.symbol, MAX_SYMBOLS)))
            if not found:
                raise
            return found, True

    async def _beside(self, memory: Memory, direction: Direction) -> CallsAnswer:
        return await self._calls.of(targets_of([memory])[0], CallsRequest(Asked(""), direction, limit=SHOWN_CALLS))
