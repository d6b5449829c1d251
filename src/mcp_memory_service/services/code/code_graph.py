"""What is asked of the code that belongs to a namespace."""

from collections.abc import Callable

from ...storage.ports import Store
from .answers import CallsAnswer, ChainAnswer
from .calls import Calls
from .chain import Chains
from .findings import CodeStats, ImpactAnswer, LinkedAnswer
from .impact import Impact
from .linked import Linked, SearchCode
from .questions import CallsRequest, ChainRequest, ImpactRequest, LinkedRequest
from .spoken import Mentions
from .stats import code_stats
from .symbols import Symbols


class CodeGraph:
    """Each question finds its symbols first: SymbolNotFound with names that are near, AmbiguousSymbol with those that
    fit."""

    def __init__(
        self, storage: Store, namespace: str, now: Callable[[], int], search: SearchCode | None = None
    ) -> None:
        """`search` finds symbols for a question; without it their names do."""
        self._storage = storage
        self._namespace = namespace
        symbols = Symbols(storage, namespace)
        self._calls = Calls(storage, namespace, symbols)
        self._chains = Chains(storage, namespace, symbols)
        mentions = Mentions(storage, namespace, symbols, now)
        self._linked = Linked(symbols, self._calls, mentions, search or symbols.like)
        self._impact = Impact(storage, namespace, symbols, self._calls, mentions)

    async def calls(self, request: CallsRequest) -> CallsAnswer:
        """Who calls a symbol, or whom it calls, level by level."""
        return await self._calls.ask(request)

    async def chain(self, request: ChainRequest) -> ChainAnswer:
        """The shortest ways from one symbol to another."""
        return await self._chains.ask(request)

    async def linked(self, request: LinkedRequest) -> LinkedAnswer:
        """A symbol, who calls it and whom it calls, and what was said about it."""
        return await self._linked.ask(request)

    async def impact(self, request: ImpactRequest) -> ImpactAnswer:
        """What a change of a symbol may touch."""
        return await self._impact.ask(request)

    async def stats(self) -> CodeStats:
        """How much code is indexed, and how far it is resolved."""
        return await code_stats(self._storage, self._namespace)
