"""The shortest ways from one symbol to another along the calls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ...models import EdgeKind, Memory, code_of
from ...storage.ports import Store
from .answers import ChainAnswer, ChainStep, CodeSymbol, Completeness, Direction, OpenCalls
from .calls import check_bound, open_calls, shown_symbols, site_of
from .names import open_name
from .questions import MAX_CHAIN_DEPTH, ChainRequest
from .reach import MAX_REACHED, Graph, Step
from .symbols import Symbols, Target

MAX_CHAINS = 3
CHAIN_KINDS: tuple[EdgeKind, ...] = ("calls",)


@dataclass(slots=True)
class Side:
    """What is reached from one end, with the steps that lead there by a shortest way."""

    direction: Direction
    level: list[str]
    depth: int = 0
    steps: dict[str, list[Step]] = field(default_factory=dict[str, list[Step]])
    """Of each symbol; none of where it begins."""
    bounded: bool = False

    def __post_init__(self) -> None:
        self.steps = {each: [] for each in self.level}

    async def grow(self, graph: Graph) -> None:
        """By one step."""
        found, _ = await graph.steps(self.level, self.direction, CHAIN_KINDS)
        new: dict[str, list[Step]] = {}
        for step in found:
            if step.far not in self.steps:
                if step.far not in new and len(self.steps) + len(new) >= MAX_REACHED:
                    self.bounded = True
                    continue
                new.setdefault(step.far, []).append(step)
        self.steps |= new
        self.level, self.depth = list(new), self.depth + 1


class Chains:
    """Of one namespace."""

    def __init__(self, storage: Store, namespace: str, symbols: Symbols) -> None:
        self._storage = storage
        self._code = code_of(namespace)
        self._symbols = symbols
        self._graph = Graph(storage, self._code)

    async def ask(self, request: ChainRequest) -> ChainAnswer:
        check_bound("max_depth", request.max_depth, MAX_CHAIN_DEPTH)
        origin, goal = await self._symbols.find(request.origin), await self._symbols.find(request.goal)
        ahead, back, middle = await self._met(origin, goal, request.max_depth)
        ways = _ways(ahead, back, middle, MAX_CHAINS + 1)
        chains = await self._chains(ways[:MAX_CHAINS])
        first, last = await shown_symbols([origin.memories[0], goal.memories[0]])
        completeness = await self._completeness(goal, ahead.bounded or back.bounded)
        return ChainAnswer(first, last, request.max_depth, chains, len(ways) > MAX_CHAINS, completeness)

    async def _met(self, origin: Target, goal: Target, max_depth: int) -> tuple[Side, Side, list[str]]:
        """Grown from both ends, the smaller level first, until they meet; and where they do."""
        ahead, back = Side("callees", origin.ids), Side("callers", goal.ids)
        middle = [each for each in ahead.level if each in back.steps]
        while not middle and ahead.depth + back.depth < max_depth and ahead.level and back.level:
            grown, other = (ahead, back) if len(ahead.level) <= len(back.level) else (back, ahead)
            await grown.grow(self._graph)
            middle = [each for each in grown.level if each in other.steps]
        return ahead, back, middle

    async def _chains(self, ways: Sequence[tuple[Step, ...]]) -> tuple[tuple[ChainStep, ...], ...]:
        ids = list(dict.fromkeys(each for way in ways for step in way for each in (step.near, step.far)))
        memories = {memory.content_hash: memory for memory in await self._storage.get_many(self._code, ids)}
        symbols = {symbol.id: symbol for symbol in await shown_symbols(list(memories.values()))}
        there = [way for way in ways if all({step.near, step.far} <= symbols.keys() for step in way)]
        return tuple(_chain(way, symbols, memories) for way in there if way)

    async def _completeness(self, goal: Target, bounded: bool) -> Completeness:
        by_name = await self._graph.open_to([open_name(goal.project, goal.name)])
        edges = [edge for each in by_name.values() for edge in each]
        return Completeness(open_calls(edges) if edges else OpenCalls(), bounded)


def _ways(ahead: Side, back: Side, middle: Sequence[str], limit: int) -> list[tuple[Step, ...]]:
    """Some of the shortest ways, in a settled order: of the symbols in the middle, and to each from both ends."""
    found: list[tuple[Step, ...]] = []
    for each in sorted(middle):
        for before in _ways_to(ahead, each, limit):
            for after in _ways_to(back, each, limit):
                turned = tuple(Step(step.far, step.near, step.edge) for step in reversed(after))
                found.append(before + turned)
                if len(found) == limit:
                    return found
    return found


def _ways_to(side: Side, end: str, limit: int) -> list[tuple[Step, ...]]:
    """From where a side begins; iteratively, for a way may be long."""
    found: list[tuple[Step, ...]] = []
    waiting: list[tuple[Step, ...]] = [()]
    while waiting and len(found) < limit:
        way = waiting.pop()
        steps = side.steps[way[0].near if way else end]
        if not steps:
            found.append(way)
        one_each = {step.near: step for step in sorted(steps, key=_by_certainty, reverse=True)}
        waiting += [(step, *way) for step in one_each.values()]
    return found


def _by_certainty(step: Step) -> tuple[float, str]:
    return -step.edge.weight, step.near


def _chain(
    way: Sequence[Step], symbols: Mapping[str, CodeSymbol], memories: Mapping[str, Memory]
) -> tuple[ChainStep, ...]:
    steps = [ChainStep(symbols[step.near], site_of(step.edge, memories)) for step in way]
    return (*steps, ChainStep(symbols[way[-1].far], None))
