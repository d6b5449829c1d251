"""What stands in lists, dicts and object literals, and what their built-in methods give."""

from typing import TYPE_CHECKING, TypeAlias

from ..facts import Expr, Op
from .graph import STRONG, WEAK, Mark, Node
from .index import Place
from .values import Kind, Value

if TYPE_CHECKING:
    from .solver import Solver

Constant: TypeAlias = str | int
_ANY = None
CONTAINERS = (Kind.OBJECT, Kind.REST, Kind.SLICE, Kind.PAIR)
_OBJECTS = (Kind.INSTANCE, Kind.DECLARED)

_CONTENT = ("get", "pop", "setdefault", "popleft", "at", "find", "shift", "next")
_NAMED_KEYS = (Op.SLOT, Op.MEMBER, Op.FREE)  # what may stand for a constant
_VIEWS = ("values", "items", "keys")
_ADDING = ("append", "add", "appendleft", "push", "unshift", "put")
_METHODS = frozenset({*_CONTENT, *_VIEWS, *_ADDING, "copy", "insert", "set", "extend", "update", "extendleft"})
CHANGING = frozenset({*_ADDING, "insert", "setdefault", "set", "extend", "update", "extendleft"})


class Containers:
    def __init__(self, solver: "Solver") -> None:
        self._solver = solver
        self._graph = solver.graph
        self._index = solver.index
        self._nodes: dict[Value, dict[Constant | None, Node]] = {}
        self._stored: dict[Value, dict[Constant | None, Node]] = {}
        self._taken: dict[Value, list[Value]] = {}
        self._keys: dict[Value, Node] = {}
        self._waiting: dict[Value, set[tuple[Mark, Node]]] = {}
        self._is_filled: set[Value] = set()
        self._by_key: list[tuple[Node, Mark, Node]] = []

    def is_object(self, owner: Value) -> bool:
        """Whether it is an object literal: what it is given to may add to it."""
        kind, *rest = self._solver.values.rows[owner]
        return kind == Kind.OBJECT and self._index.row((rest[0], rest[1]))[0] == Op.OBJECT

    def when_filled(self, mark: Mark, node: Node) -> None:
        """Lets a container into a node as soon as something of the project stands in it."""
        owner = mark >> 1
        waiting = self._waiting.get(owner)
        if waiting is None:
            self._waiting[owner] = {(mark, node)}
            self._graph.listen(self.content(owner, _ANY), self._filled, owner)
        elif owner in self._is_filled:
            self._graph.add(node, mark)
        else:
            waiting.add((mark, node))

    def _filled(self, mark: Mark, owner: Value) -> None:
        if owner not in self._is_filled and self._solver.values.rows[mark >> 1][0] not in (Kind.EXTERNAL, Kind.KEY):
            self._is_filled.add(owner)
            for waiting, node in self._waiting[owner]:
                self._graph.add(node, waiting)

    def store_items(self) -> None:
        """Lets all assignments to keys and indices take place."""
        for file, code in enumerate(self._index.files):
            for of, key, value, *by_method in code.facts.items:
                if value and of:
                    places = (file, key), (file, value)
                    self._graph.listen(self._solver.expr(file, of), self._store_item, *places, bool(by_method))
            if not self._index.front_end(file).passes_receiver:
                for _, _, of, name, value in code.facts.stores:
                    if value and of:
                        self._graph.listen(self._solver.expr(file, of), self._store_attribute, name, (file, value))

    def _store_item(self, mark: Mark, key: Place, value: Place, by_method: bool) -> None:
        kind, *rest = self._solver.values.rows[mark >> 1]
        owner = mark >> 1
        if kind in _OBJECTS and not by_method and not self._index.front_end(rest[0]).passes_receiver:
            owner = self._solver.values.of(Kind.DECLARED, *rest)
        elif kind not in CONTAINERS:
            return
        row = self._index.row(key)
        if row[0] == Op.KEY:
            self.store(owner, row[1], self._solver.expr(*value))
        elif row[0] in _NAMED_KEYS:
            self._graph.listen(self._solver.expr(*key), self._store_under, owner, value)
        else:
            self.store(owner, _ANY, self._solver.expr(*value))

    def _store_attribute(self, mark: Mark, name: str, value: Place) -> None:
        """The entries of an object literal are its attributes."""
        if self._solver.values.rows[mark >> 1][0] == Kind.OBJECT:
            self.store(mark >> 1, name, self._solver.expr(*value))

    def _store_under(self, key: Mark, owner: Value, value: Place) -> None:
        row = self._solver.values.rows[key >> 1]
        constant = row[1] if row[0] == Kind.KEY else _ANY
        self.store(owner, constant, self._solver.expr(*value))

    def store(self, owner: Value, key: Constant | None, source: Node) -> None:
        """Puts something into a container: under a constant, or somewhere."""
        stored = self._stored.setdefault(owner, {})
        node = stored.get(key)
        if node is None:
            node = stored[key] = self._graph.node()
            for asked, reader in self._nodes.get(owner, {}).items():
                self._let_in(node, key, asked, reader)
        self._graph.gated_edge(source, node)

    def _let_in(self, node: Node, key: Constant | None, asked: Constant | None, reader: Node) -> None:
        if key is _ANY or asked is _ANY or key == asked:
            self._graph.edge(node, reader, WEAK if key is _ANY else STRONG)

    def content(self, owner: Value, key: Constant | None) -> Node:
        """What stands under a key; with no key, all that stands in it."""
        nodes = self._nodes.setdefault(owner, {})
        node = nodes.get(key)
        if node is None:
            node = nodes[key] = self._graph.node(self._build_content, owner, key)
            for stored, source in self._stored.get(owner, {}).items():
                self._let_in(source, stored, key, node)
            for other in tuple(self._taken.get(owner, ())):
                self._graph.gated_edge(self.content(other, key), node)
        return node

    def _build_content(self, node: Node, owner: Value, key: Constant | None) -> None:
        kind, *rest = self._solver.values.rows[owner]
        if kind == Kind.SLICE:
            inner, start = rest
            known = key + start if isinstance(key, int) and start >= 0 else _ANY
            self._graph.edge(self.content(inner, known), node)
        elif kind == Kind.PAIR:
            if key in (0, _ANY):
                self._graph.edge(self.keys(rest[0]), node)
            if key in (1, _ANY):
                self._graph.edge(self.content(rest[0], _ANY), node)
        elif kind == Kind.VIEW:
            self._view(rest[0], rest[1], node, WEAK)
        elif kind in _OBJECTS:
            return  # only what was stored
        elif kind == Kind.REST:
            self._solver.arrivals.build_rest(node, (rest[0], rest[1]), rest[2], key)
        else:
            self._build_literal(node, rest[0], rest[1], key)

    def _build_literal(self, node: Node, file: int, expr: Expr, key: Constant | None) -> None:
        row = self._index.row((file, expr))
        if row[0] == Op.COLLECTION:
            self._graph.gated_edge(self._solver.expr(file, row[1]), node)
        elif row[0] == Op.TABLE:
            self._graph.gated_edge(self._solver.expr(file, row[2]), node)
        elif row[0] == Op.SEQUENCE:
            self._build_sequence(node, file, row[1], key)
        else:
            self._build_pairs(node, file, row[1], key)

    def _build_sequence(self, node: Node, file: int, elements: list[Expr], key: Constant | None) -> None:
        is_exact = True
        for place, element in enumerate(elements):
            inner = self._index.row((file, element))
            if inner[0] == Op.SPREAD:
                is_exact = False
                self._graph.edge(self._solver.element(file, inner[1]), node, WEAK if len(elements) > 1 else STRONG)
            elif key is _ANY or not is_exact or place == key:
                self._graph.gated_edge(self._solver.expr(file, element), node)

    def _build_pairs(self, node: Node, file: int, pairs: list[list[Expr]], key: Constant | None) -> None:
        for name, value in reversed(pairs):
            row, inner = self._index.row((file, name)), self._index.row((file, value))
            if inner[0] == Op.SPREAD:
                self._graph.listen(self._solver.expr(file, inner[1]), self._spread, key, node)
                if key is not _ANY and self._has_key((file, inner[1]), key):
                    break
            elif row[0] == Op.KEY:
                if key is _ANY or row[1] == key:
                    self._graph.gated_edge(self._solver.expr(file, value), node)
                if key is not _ANY and row[1] == key:
                    break  # what stands before it under the same key is replaced
            elif not name:
                self._graph.gated_edge(self._solver.expr(file, value), node, WEAK)
            else:
                self._graph.listen(self._solver.expr(file, name), self._computed, key, (file, value), node)

    def _has_key(self, place: Place, key: Constant) -> bool:
        """Whether it is a literal that surely has this key."""
        row = self._index.row(place)
        pairs: list[list[Expr]] = row[1] if row[0] in (Op.MAPPING, Op.OBJECT) else []
        names = (self._index.row((place[0], name)) for name, _ in pairs)
        return any(name[0] == Op.KEY and name[1] == key for name in names)

    def _spread(self, mark: Mark, key: Constant | None, node: Node) -> None:
        if self._solver.values.rows[mark >> 1][0] in (Kind.OBJECT, Kind.REST):
            self._graph.edge(self.content(mark >> 1, key), node, mark & 1)

    def _computed(self, name: Mark, key: Constant | None, value: Place, node: Node) -> None:
        row = self._solver.values.rows[name >> 1]
        if key is _ANY or row[0] != Kind.KEY or row[1] == key:
            self._graph.edge(self._solver.expr(*value), node, WEAK)

    # Reading

    def index(self, mark: Mark, key: Place, node: Node, place: Place) -> None:
        """Listens to `x` of `x[key]`."""
        kind, *rest = self._solver.values.rows[mark >> 1]
        if kind in CONTAINERS:
            row = self._index.row(key)
            if row[0] == Op.KEY:
                self._graph.edge(self.content(mark >> 1, row[1]), node, mark & 1)
            elif row[0] in _NAMED_KEYS:
                self._graph.listen(self._solver.expr(*key), self._index_by, mark, node)
                self._by_key.append((self._solver.expr(*key), mark, node))
            else:
                self._graph.edge(self.content(mark >> 1, _ANY), node, WEAK)
        elif kind in _OBJECTS and not self._index.front_end(rest[0]).passes_receiver:
            self._index_object((rest[0], rest[1]), key, mark, node, place)
        elif kind in (Kind.INSTANCE, Kind.DECLARED, Kind.SUPER):
            self._solver.invocations.operate(mark, "__getitem__", node, place)
        elif kind in (Kind.EXTERNAL, Kind.KEY):
            self._graph.add(node, mark & 1)
        elif kind in (Kind.CLASS, Kind.SUBCLASS):
            self._graph.add(node, mark)  # `Generic[int]`

    def _index_object(self, cls: tuple[int, int], key: Place, mark: Mark, node: Node, place: Place) -> None:
        """Where objects are tables: what was put in by a key, or is an attribute of that name."""
        for each in self._index.order(cls):
            if each is not None:
                self._graph.edge(self.content(self._solver.values.of(Kind.DECLARED, *each), _ANY), node, WEAK)
        if key[1]:
            self._graph.listen(self._solver.expr(*key), self._attribute_by, mark, node, place)

    def _attribute_by(self, key: Mark, owner: Mark, node: Node, place: Place) -> None:
        row = self._solver.values.rows[key >> 1]
        if row[0] == Kind.KEY and isinstance(row[1], str):
            self._solver.attributes.load(owner | 1, row[1], node, place)

    def _index_by(self, key: Mark, owner: Mark, node: Node) -> None:
        row = self._solver.values.rows[key >> 1]
        constant = row[1] if row[0] == Kind.KEY else _ANY
        self._graph.edge(self.content(owner >> 1, constant), node, owner & 1 if row[0] == Kind.KEY else WEAK)

    def open_unknown_keys(self) -> None:
        """Under a key that nothing is known of may be anything that a container holds."""
        for key, owner, node in tuple(self._by_key):
            if not self._graph.marks(key):
                self._graph.edge(self.content(owner >> 1, _ANY), node, WEAK)

    def iterate(self, mark: Mark, node: Node, place: Place) -> None:
        """Listens to what is iterated over."""
        kind, *rest = self._solver.values.rows[mark >> 1]
        if kind == Kind.OBJECT and self._index.row((rest[0], rest[1]))[0] in (Op.MAPPING, Op.TABLE, Op.OBJECT):
            self._graph.edge(self.keys(mark >> 1), node, mark & 1)
        elif kind in CONTAINERS:
            self._graph.edge(self.content(mark >> 1, _ANY), node, mark & 1)
        elif kind == Kind.GENERATOR:
            self._yields((rest[0], rest[1]), node, mark & 1)
        elif kind in (Kind.INSTANCE, Kind.DECLARED):
            self._iterate_object(mark, node, place)
        elif kind == Kind.VIEW:
            self._view(rest[0], rest[1], node, mark & 1)
        elif kind in (Kind.EXTERNAL, Kind.KEY):
            self._graph.add(node, mark & 1)

    def _view(self, owner: Value, name: str, node: Node, weak: int) -> None:
        if name == "items":
            self._solver.add(node, Kind.PAIR, owner, weak=weak)
        else:
            self._graph.edge(self.keys(owner) if name == "keys" else self.content(owner, _ANY), node, weak)

    def _yields(self, function: tuple[int, int], node: Node, weak: int) -> None:
        for expr in self._index.scope(function).yields:
            self._graph.edge(self._solver.expr(function[0], expr), node, weak)

    def _iterate_object(self, mark: Mark, node: Node, place: Place) -> None:
        is_async = len(self._index.row(place)) > 2
        for first in ("__aiter__",) if is_async else ("__iter__", "__getitem__"):
            iterator = self._graph.node()
            if self._solver.invocations.operate(mark, first, iterator, place):
                if first == "__getitem__":
                    self._graph.edge(iterator, node)
                else:
                    self._graph.listen(iterator, self._iterate_further, node, place)
                return

    def _iterate_further(self, mark: Mark, node: Node, place: Place) -> None:
        if self._solver.values.rows[mark >> 1][0] in (Kind.INSTANCE, Kind.DECLARED):
            if not self._solver.invocations.operate(mark, "__next__", node, place):
                self._solver.invocations.operate(mark, "__anext__", node, place)
        else:
            self.iterate(mark, node, place)

    def keys(self, owner: Value) -> Node:
        node = self._keys.get(owner)
        if node is None:
            node = self._keys[owner] = self._graph.node(self._build_keys, owner)
        return node

    def _build_keys(self, node: Node, owner: Value) -> None:
        kind, file, expr, *_ = (*self._solver.values.rows[owner], 0)
        row = self._index.row((file, expr)) if kind == Kind.OBJECT else [0]
        if row[0] not in (Op.MAPPING, Op.TABLE, Op.OBJECT):
            return
        for key, value in [row[1:3]] if row[0] == Op.TABLE else row[1]:
            self._graph.edge(self._solver.expr(file, key), node)
            if not key:
                self._graph.listen(self._solver.expr(file, value), self._spread_keys, node)

    def _spread_keys(self, mark: Mark, node: Node) -> None:
        row = self._solver.values.rows[mark >> 1]
        if row[0] == Kind.OBJECT and self._index.row((row[1], row[2]))[0] in (Op.MAPPING, Op.OBJECT):
            self._graph.edge(self.keys(mark >> 1), node)

    # Methods

    def attribute(self, mark: Mark, name: str, node: Node, place: Place) -> None:
        kind, *rest = self._solver.values.rows[mark >> 1]
        if kind == Kind.OBJECT and self._index.row((rest[0], rest[1]))[0] == Op.OBJECT:
            self._graph.listen(self.content(mark >> 1, name), self._solver.attributes.of_literal, mark, node, place)
            if name not in self._index.front_end(rest[0]).builtin_members:
                return
        if kind in (Kind.OBJECT, Kind.REST, Kind.SLICE) and name in _METHODS:
            owner = rest[0] if kind == Kind.SLICE else mark >> 1
            self._solver.add(node, Kind.METHOD, owner, name, weak=mark & 1)
        else:
            self._graph.add(node, mark & 1)

    def change(self, owner: Value, name: str, arguments: list[Place]) -> None:
        """What a call of a built-in method puts into a container."""
        if name in _ADDING:
            for each in arguments:
                self.store(owner, _ANY, self._solver.expr(*each))
        elif name in ("insert", "setdefault", "set") and len(arguments) == 2:
            row = self._index.row(arguments[0])
            self.store(
                owner, row[1] if row[0] == Op.KEY and name != "insert" else _ANY, self._solver.expr(*arguments[1])
            )
        elif name in ("extend", "update", "extendleft") and arguments:
            self._graph.listen(self._solver.expr(*arguments[0]), self._take, owner)

    def give(self, owner: Value, name: str, arguments: list[Place], node: Node) -> None:
        """What it returns."""
        if name in _CONTENT:
            row = self._index.row(arguments[0]) if arguments else [0]
            key = row[1] if row[0] == Op.KEY else _ANY
            self._graph.edge(self.content(owner, key), node, WEAK if key is _ANY else STRONG)
            if name in ("get", "pop"):
                for each in arguments[1:]:
                    self._graph.edge(self._solver.expr(*each), node)
        elif name == "copy":
            self._graph.add(node, owner << 1)
        elif name in _VIEWS:
            self._solver.add(node, Kind.VIEW, owner, name)
        else:
            self._graph.add(node, 0)

    def _take(self, mark: Mark, owner: Value) -> None:
        """All of another container, under the keys that it has there."""
        other = mark >> 1
        if self._solver.values.rows[other][0] in CONTAINERS and other not in self._taken.setdefault(owner, []):
            self._taken[owner].append(other)
            for key, node in tuple(self._nodes.get(owner, {}).items()):
                self._graph.gated_edge(self.content(other, key), node)
