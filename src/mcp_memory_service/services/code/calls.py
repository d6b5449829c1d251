"""Who calls a symbol, and whom it calls."""

import asyncio
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from ...errors import InvalidInput
from ...models import Edge, Memory, code_of
from ...storage.ports import Store
from .answers import (
    RELATIONS,
    CallsAnswer,
    CallSite,
    CodeSymbol,
    Completeness,
    Detail,
    OpenCalls,
    Related,
    certainty_rank,
    path_of,
)
from .freshness import code_freshness
from .names import open_name
from .questions import MAX_DEPTH, MAX_LIMIT, CallsRequest
from .reach import Graph, Node, Reached, order_of
from .symbols import Symbols, Target

CHARS_PER_TOKEN = 2.7
"""Of the lines of callers that MCP shows of tests/support/code_graph.py, at all levels of detail."""
ENTRY_CHARS = 40
"""Of depth, certainty, lines and signs around the names of an entry."""
MAX_OPEN_NAMES = 8
CONSTRUCTORS = ("__init__", "__new__", "constructor")
"""Who makes an instance of a class calls these."""

_CURSOR = re.compile(r"([0-9]{1,3})\.([0-9])\.([0-9]{1,9})\.([0-9a-f]{64})")


class Calls:
    """Of one namespace."""

    def __init__(self, storage: Store, namespace: str, symbols: Symbols) -> None:
        self._storage = storage
        self._code = code_of(namespace)
        self._symbols = symbols
        self._graph = Graph(storage, self._code)

    async def ask(self, request: CallsRequest) -> CallsAnswer:
        checked(request)
        return await self.of(await self._symbols.find(request.asked), request)

    async def of(self, target: Target, request: CallsRequest) -> CallsAnswer:
        """Of a symbol that is found already."""
        after = checked(request)
        is_up = request.direction == "callers"
        reached = await self._graph.walk(
            await self.with_constructors(target) if is_up else target.ids,
            request.direction,
            request.depth,
            request.kinds,
            partial(_is_sure, worst=certainty_rank(request.min_certainty)),
            [open_name(target.project, target.name)] if is_up else (),
        )
        rest = [item for item in reached.in_order() if after is None or order_of(*item) > after]
        shown = rest[: request.limit]
        symbols, related = await self._shown(target, shown)
        found = fitting(related, request)
        return CallsAnswer(
            request.direction,
            symbols,
            request.depth,
            request.detail,
            found,
            len(reached.nodes),
            reached.returns,
            _completeness(request, reached, len(rest) - len(found)),
            _cursor_of(*shown[len(found) - 1]) if len(found) < len(rest) else None,
        )

    async def with_constructors(self, target: Target) -> list[str]:
        """A class is called by its constructor."""
        names = [f"{target.qualified_name}.{each}" for each in CONSTRUCTORS]
        is_class = any(CodeSymbol.of(memory).kind == "class" for memory in target.memories)
        if not is_class:
            return target.ids
        made_by = await self._symbols.called(target.project, names)
        return [*target.ids, *(memory.content_hash for memory in made_by)]

    async def _shown(
        self, target: Target, shown: Sequence[tuple[str, Node]]
    ) -> tuple[tuple[CodeSymbol, ...], tuple[Related, ...]]:
        """The symbol itself, and what is on the page."""
        own = {memory.content_hash: memory for memory in target.memories}
        near = [step.near for _, node in shown for step in node.steps]
        ids = dict.fromkeys(each for each in (*(each for each, _ in shown), *near) if each not in own)
        memories = own | {each.content_hash: each for each in await self._storage.get_many(self._code, list(ids))}
        there = [(each, node) for each, node in shown if each in memories]  # it may have gone since the walk
        symbols = await shown_symbols([*target.memories, *(memories[each] for each, _ in there)])
        pairs = zip(symbols[len(own) :], there, strict=True)
        related = [Related(symbol, node.depth, node.certainty, sites_of(node, memories)) for symbol, (_, node) in pairs]
        return symbols[: len(own)], tuple(related)


def _completeness(request: CallsRequest, reached: Reached, not_shown: int) -> Completeness:
    unsure = {step.far for step in reached.beside if step.edge.kind in request.kinds}
    others = Counter(step.edge.kind for step in reached.beside if step.edge.kind not in request.kinds)
    return Completeness(
        open_calls(reached.open_edges) if "calls" in request.kinds else OpenCalls(),
        reached.bounded,
        not_shown,
        len(unsure - reached.nodes.keys()),
        dict(sorted(others.items())),
    )


def checked(request: CallsRequest) -> tuple[int, int, int, str] | None:
    """Where the page begins; InvalidInput for what cannot be asked."""
    check_bound("depth", request.depth, MAX_DEPTH)
    check_bound("limit", request.limit, MAX_LIMIT)
    if request.max_tokens is not None and request.max_tokens < 1:
        raise InvalidInput("max_tokens must be 1 or more.", reason="max_tokens_out_of_range", field="max_tokens")
    if not request.kinds or not set(request.kinds) <= set(RELATIONS):
        raise InvalidInput(f"kinds are of {', '.join(RELATIONS)}.", reason="kinds_unknown", field="kinds")
    if request.cursor is None:
        return None
    read = _CURSOR.fullmatch(request.cursor)
    if read is None:
        raise InvalidInput("This is no cursor of an answer.", reason="cursor_invalid", field="cursor")
    depth, rank, sites, symbol_id = read.groups()
    return int(depth), int(rank), -int(sites), symbol_id


def check_bound(name: str, value: int, largest: int) -> None:
    if not 1 <= value <= largest:
        raise InvalidInput(f"{name} must be 1 to {largest}.", reason=f"{name}_out_of_range", field=name)


def _cursor_of(symbol_id: str, node: Node) -> str:
    depth, rank, sites, _ = order_of(symbol_id, node)
    return f"{depth}.{rank}.{-sites}.{symbol_id}"


def _is_sure(edge: Edge, worst: int) -> bool:
    return certainty_rank(edge.certainty) <= worst


def open_calls(edges: Sequence[Edge]) -> OpenCalls:
    names = Counter(edge.to.rpartition(":")[2] for edge in edges)
    return OpenCalls(
        sum(max(1, len(edge.lines)) for edge in edges),
        len({edge.from_id for edge in edges}),
        tuple(name for name, _ in names.most_common(MAX_OPEN_NAMES)),
    )


def sites_of(node: Node, memories: Mapping[str, Memory]) -> tuple[CallSite, ...]:
    """Each edge once, whoever has the name that it leads to; in the file of the symbol that it starts from."""
    edges = {step.edge.key: step.edge for step in node.steps}
    return tuple(site_of(edge, memories) for _, edge in sorted(edges.items()))


def site_of(edge: Edge, memories: Mapping[str, Memory]) -> CallSite:
    origin = memories.get(edge.from_id)
    path = path_of(origin) if origin else ""
    return CallSite(edge.kind, edge.certainty, path, edge.lines, edge.to.rpartition(":")[2])


async def shown_symbols(memories: Sequence[Memory]) -> tuple[CodeSymbol, ...]:
    """With whether their files still have them."""
    return await asyncio.to_thread(lambda: tuple(CodeSymbol.of(memory, code_freshness(memory)) for memory in memories))


def fitting(found: Sequence[Related], request: CallsRequest) -> tuple[Related, ...]:
    """As many as the budget has room for, and one in any case."""
    if request.max_tokens is None:
        return tuple(found)
    room, count = request.max_tokens * CHARS_PER_TOKEN, 0
    for each in found:
        room -= entry_chars(each, request.detail)
        if room < 0 and count:
            break
        count += 1
    return tuple(found[:count])


def entry_chars(related: Related, detail: Detail) -> int:
    symbol = related.symbol
    shown = len(symbol.qualified_name) + len(symbol.path) + sum(6 * len(site.lines) for site in related.sites)
    if detail == "signatures":
        shown += len(symbol.signature)
    return ENTRY_CHARS + shown + (len(symbol.content) if detail == "code" else 0)
