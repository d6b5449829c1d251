"""Who leads to whom: the graph of code, walked level by level."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple

from ...models import Certainty, Edge, EdgeKind
from ...storage.ports import Store
from .answers import RELATIONS, Direction, as_certainty, certainty_rank

MAX_REACHED = 5_000
"""Symbols of one walk: an answer shows some dozens, and its budget of time is that of a few queries."""
ALL_RELATIONS: tuple[EdgeKind, ...] = RELATIONS


class Step(NamedTuple):
    """An edge between a symbol and one that is reached from it."""

    near: str
    far: str
    edge: Edge


@dataclass(slots=True)
class Node:
    """A symbol that was reached."""

    depth: int
    rank: int
    """Of the least sure step on the surest way of this length."""
    steps: list[Step] = field(default_factory=list[Step])
    """All that lead here from one level before."""

    @property
    def certainty(self) -> Certainty | None:
        return as_certainty(self.rank)

    @property
    def sites(self) -> int:
        return sum(max(1, len(step.edge.lines)) for step in self.steps)


@dataclass(slots=True)
class Reached:
    """What a walk found."""

    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    """Without those where it began."""
    returns: bool = False
    """Whether it came back to where it began."""
    bounded: bool = False
    """Whether it ended at a bound of its breadth."""
    open_edges: list[Edge] = field(default_factory=list[Edge])
    """Calls that were not resolved: of all whose edges were followed outwards, or by the names that were asked for
    beside."""
    beside: list[Step] = field(default_factory=list[Step])
    """The first steps that were not taken, whatever their kind."""

    def in_order(self) -> list[tuple[str, Node]]:
        """Nearest first, then surest, then by how often."""
        return sorted(self.nodes.items(), key=lambda item: order_of(*item))


def is_open(edge: Edge) -> bool:
    """Of a call that was not resolved."""
    return not edge.by_name and edge.to.startswith("open:")


def order_of(symbol_id: str, node: Node) -> tuple[int, int, int, str]:
    return node.depth, node.rank, -node.sites, symbol_id


class Graph:
    """The edges between the symbols of a namespace."""

    def __init__(self, storage: Store, code_namespace: str) -> None:
        self._storage = storage
        self._code = code_namespace

    async def steps(
        self, ids: Sequence[str], direction: Direction, kinds: Sequence[EdgeKind] = ("calls",)
    ) -> tuple[list[Step], list[Edge]]:
        """One step from each of these, and the edges that lead to nobody."""
        if direction == "callers":
            found = await self._storage.edges_to(self._code, ids, kinds)
            steps = [Step(near, edge.from_id, edge) for near, edges in found.items() for edge in edges]
            open_edges = [step.edge for step in steps if is_open(step.edge)]
            return [step for step in steps if not is_open(step.edge)], open_edges
        found = await self._storage.edges_from(self._code, ids, kinds)
        edges = list(chain(*found.values()))
        called = await self._storage.resolve(self._code, [edge.to for edge in edges if edge.by_name])
        steps = [Step(edge.from_id, far, edge) for edge in edges if edge.by_name for far in called.get(edge.to, ())]
        return steps, [edge for edge in edges if is_open(edge)]

    async def open_to(self, names: Iterable[str]) -> dict[str, list[Edge]]:
        """The calls by these names that were not resolved."""
        return await self._storage.edges_to(self._code, list(names), ["calls"])

    async def walk(
        self,
        start: Sequence[str],
        direction: Direction,
        depth: int,
        kinds: Sequence[EdgeKind] = ("calls",),
        accepts: Callable[[Edge], bool] = lambda _: True,
        open_names: Sequence[str] = (),
    ) -> Reached:
        """All that can be reached within so many steps, each at its least depth; cycles end. The first step is asked
        for all kinds, and with it the calls of `open_names`: it says what there is beside."""
        reached, level, ranks = Reached(), list(dict.fromkeys(start)), dict.fromkeys(start, 0)
        for hop in range(1, depth + 1):
            is_first = hop == 1
            asked = [*level, *open_names] if is_first else level
            steps, open_edges = await self.steps(asked, direction, ALL_RELATIONS if is_first else kinds)
            reached.open_edges += open_edges
            taken: list[Step] = []
            for step in steps:
                wanted = step.edge.kind in kinds and accepts(step.edge)
                (taken if wanted else reached.beside if is_first else []).append(step)
            level = _taken(reached, taken, hop, ranks)
            if not level:
                break
        return reached


def _taken(reached: Reached, steps: Iterable[Step], hop: int, ranks: dict[str, int]) -> list[str]:
    """Adds what is new, and returns it: the next level. `ranks` are those of all before it, and of where it began."""
    new: dict[str, Node] = {}
    for step in steps:
        if step.far in ranks:
            reached.returns |= step.far not in reached.nodes
            continue
        rank = max(ranks[step.near], certainty_rank(step.edge.certainty))
        node = new.get(step.far)
        if node is None:
            if len(reached.nodes) + len(new) >= MAX_REACHED:
                reached.bounded = True
                continue
            node = new[step.far] = Node(hop, rank)
        node.rank = min(node.rank, rank)
        node.steps.append(step)
    reached.nodes |= new
    ranks |= {each: node.rank for each, node in new.items()}
    return list(new)
