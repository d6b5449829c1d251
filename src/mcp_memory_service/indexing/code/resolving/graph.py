"""What may flow where: nodes hold values, edges carry them on, listeners react to each. Runs until nothing is new.

The result is the least solution: it does not depend on the order in which nodes and edges come.
"""

from collections.abc import Callable, Collection
from typing import Any, TypeAlias

Node: TypeAlias = int
Mark: TypeAlias = int
"""A value (`Values`) and how it came: twice the number of the value, plus one if a step on its way was weak."""

STRONG, WEAK = 0, 1
_NOTHING: frozenset[Mark] = frozenset()


class Graph:
    def __init__(self, gate: Callable[[Mark, Node], None]) -> None:
        """`gate(mark, target)` decides what passes on gated edges, and when."""
        self.values: list[set[Mark] | None] = [None]
        self._gate = gate
        # Most nodes have one edge or none: what is rare is kept apart.
        self._edges: dict[Node, list[Node]] = {}
        self._weak_edges: dict[Node, list[Node]] = {}
        self._gates: dict[Node, list[tuple[Node, int]]] = {}
        self._listeners: dict[Node, list[tuple[Any, ...]]] = {}
        self._known: set[tuple[Node, Node, int]] = set()
        self._news: list[tuple[Node, Mark]] = []
        self._to_build: list[tuple[Any, ...]] = []

    def node(self, build: Callable[..., None] | None = None, *arguments: Any) -> Node:
        """A new one. `build(node, *arguments)` is called later to say what flows into it."""
        node = len(self.values)
        self.values.append(None)
        if build is not None:
            self._to_build.append((build, node, *arguments))
        return node

    def marks(self, node: Node) -> Collection[Mark]:
        """What a node holds so far."""
        return self.values[node] or _NOTHING

    def add(self, node: Node, mark: Mark) -> None:
        known = self.values[node]
        if known is None:
            self.values[node] = {mark}
        elif mark in known or (mark & 1 and mark ^ 1 in known):
            return
        else:
            known.add(mark)
        self._news.append((node, mark))

    def edge(self, source: Node, target: Node, weak: int = STRONG) -> None:
        key = (source, target, weak)
        if source and source != target and key not in self._known:
            self._known.add(key)
            (self._weak_edges if weak else self._edges).setdefault(source, []).append(target)
            for mark in tuple(self.values[source] or ()):
                self.add(target, mark | weak)

    def gated_edge(self, source: Node, target: Node, weak: int = STRONG) -> None:
        """An edge into something that many things flow into."""
        key = (source, target, weak | 2)
        if source and source != target and key not in self._known:
            self._known.add(key)
            self._gates.setdefault(source, []).append((target, weak))
            for mark in tuple(self.values[source] or ()):
                self._gate(mark | weak, target)

    def listen(self, node: Node, react: Callable[..., None], *arguments: Any) -> None:
        """`react(mark, *arguments)` is called once for each value, those that are there already included."""
        if node:
            self._listeners.setdefault(node, []).append((react, arguments))
            for mark in tuple(self.values[node] or ()):
                react(mark, *arguments)

    def run(self) -> None:
        news, to_build = self._news, self._to_build
        while news or to_build:
            while to_build:
                build, *arguments = to_build.pop()
                build(*arguments)
            if news:
                self._tell(*news.pop())

    def _tell(self, node: Node, mark: Mark) -> None:
        values = self.values
        for edges, passed in ((self._edges, mark), (self._weak_edges, mark | 1)):
            for target in edges.get(node, ()):
                known = values[target]
                if known is None:
                    values[target] = {passed}
                elif passed in known or (passed & 1 and passed ^ 1 in known):
                    continue
                else:
                    known.add(passed)
                self._news.append((target, passed))
        if node in self._gates:
            for target, weak in tuple(self._gates[node]):
                self._gate(mark | weak, target)
        if node in self._listeners:
            for react, arguments in tuple(self._listeners[node]):
                react(mark, *arguments)
