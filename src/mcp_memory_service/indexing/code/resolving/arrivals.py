"""What callers pass: arguments into parameters, into the rest of them, and into the fields of classes."""

from typing import TYPE_CHECKING, Any, NamedTuple

from ..facts import SCALARS, Expr, Op, ParameterKind
from .containers import CONTAINERS, Constant
from .graph import WEAK, Mark, Node
from .values import Definition, Kind

if TYPE_CHECKING:
    from .solver import Solver


class Arrival(NamedTuple):
    """One way into a function: what a site passes to it."""

    file: int
    arguments: list[Expr]
    named: list[list[Any]]
    offset: int
    """How many parameters are not among the arguments: 1 if the object is the first of them."""
    receiver: Mark | None


class Arrivals:
    def __init__(self, solver: "Solver") -> None:
        self._solver = solver
        self._graph = solver.graph
        self._index = solver.index
        self._arrivals: dict[Definition, dict[Any, Arrival]] = {}
        self._is_asked: dict[Definition, bool] = {}
        self._parameters: dict[Definition, dict[int, Node]] = {}
        self._rests: dict[Definition, list[tuple[Node, int, Constant | None]]] = {}
        self._fields: dict[Definition, list[tuple[Node, str]]] = {}
        self._key_slots: dict[int, set[int]] = {}
        self._made: dict[Definition, dict[Any, Arrival]] = {}

    def defaults_of_unknown(self) -> None:
        """A parameter that nobody passes is its default."""
        for function, parameters in self._parameters.items():
            if function not in self._arrivals:
                for number, node in parameters.items():
                    default = self._solver.parameter(function, number).default
                    self._graph.edge(self._solver.expr(function[0], default), node, WEAK)

    def arrive(self, function: Definition, key: Any, arrival: Arrival) -> None:
        if not self._takes(function):
            return
        arrivals = self._arrivals.setdefault(function, {})
        known = (key, arrival.offset, arrival.receiver)
        if known in arrivals:
            return
        arrivals[known] = arrival
        for number, node in self._parameters.get(function, {}).items():
            self._pass(arrival, function, number, node)
        for node, number, asked in self._rests.get(function, []):
            self._pass_rest(arrival, function, number, asked, node)

    def _takes(self, function: Definition) -> bool:
        """Whether it matters what a function is given."""
        takes = self._is_asked.get(function)
        if takes is None:
            takes = bool(self._index.scope(function).parameters) and not self._index.is_called_often(function)
            self._is_asked[function] = takes
        return takes

    def build_parameter(self, node: Node, function: Definition, number: int) -> None:
        parameter = self._solver.parameter(function, number)
        file = function[0]
        if parameter.kind in (ParameterKind.REST, ParameterKind.NAMED_REST):
            self._solver.add(node, Kind.REST, *function, number)
            return
        self._graph.edge(self._solver.expr(file, parameter.declared), node)
        row = self._index.row((file, parameter.declared))
        if row[0] == Op.EXTERNAL and row[1] in SCALARS:
            return
        if self._index.is_called_often(function):
            self._graph.edge(self._solver.expr(file, parameter.default), node, WEAK)
            return
        classes = self._promised_classes(file, parameter.declared)
        if classes:
            entry = self._graph.node()
            self._graph.listen(entry, self._let_in, node, classes)
            node = entry
        self._parameters.setdefault(function, {})[number] = node
        for arrival in tuple(self._arrivals.get(function, {}).values()):
            self._pass(arrival, function, number, node)

    def _promised_classes(self, file: int, declared: Expr) -> frozenset[Definition]:
        """The classes that an annotation names, where objects of other classes are refused."""
        row = self._index.row((file, declared))
        classes: set[Definition] = set()
        for part in row[1] if row[0] == Op.UNION else (declared,):
            inner = self._index.row((file, part))
            if inner[0] == Op.INSTANCE:
                found = self._index.definitions((file, inner[1]))
                if not found or not all(each is not None and self._is_closed(each) for each in found):
                    return frozenset()
                classes.update(each for each in found if each is not None)
            elif inner[0] not in (Op.EXTERNAL, Op.COLLECTION, Op.TABLE, Op.SEQUENCE):
                return frozenset()
        return frozenset(classes)

    def _is_closed(self, cls: Definition) -> bool:
        """Whether only classes that inherit from it can stand for it."""
        scope = self._index.scope(cls)
        bases = (self._index.row((cls[0], base)) for base in scope.bases)
        return scope.kind == "class" and not any(row[-1] == "Protocol" for row in bases)

    def _let_in(self, mark: Mark, node: Node, classes: frozenset[Definition]) -> None:
        """An object of another class comes from an annotation that said less."""
        kind, *rest = self._solver.values.rows[mark >> 1]
        if kind not in (Kind.INSTANCE, Kind.DECLARED) or classes.intersection(self._index.order((rest[0], rest[1]))):
            self._graph.add(node, mark)

    def _pass(self, arrival: Arrival, function: Definition, number: int, node: Node) -> None:
        """One argument into one parameter."""
        if number < arrival.offset:
            if arrival.receiver is not None:
                self._graph.add(node, arrival.receiver | 1)
            return
        parameter = self._solver.parameter(function, number)
        source = self.argument(arrival, parameter.name, number - arrival.offset, parameter.kind)
        if source is not None:
            if parameter.slot in self._keys(function[0]):
                self._graph.edge(source, node, WEAK)
            else:
                self._graph.gated_edge(source, node, WEAK)
        else:
            self._graph.edge(self._solver.expr(function[0], parameter.default), node, WEAK)

    def _keys(self, file: int) -> set[int]:
        """The variables of a file that are used as keys."""
        slots = self._key_slots.get(file)
        if slots is None:
            facts = self._index.files[file].facts
            keys = [row[2] for row in facts.exprs if row[0] == Op.ITEM] + [row[1] for row in facts.items]
            rows = (facts.exprs[key] for key in keys)
            slots = self._key_slots[file] = {row[1] for row in rows if row[0] == Op.SLOT}
        return slots

    def argument(self, arrival: Arrival, name: str, place: int, kind: int) -> Node | None:
        for each, value in arrival.named:
            if each == name:
                return self._solver.expr(arrival.file, value)
        if kind != ParameterKind.NAMED:
            for i, expr in enumerate(arrival.arguments[: place + 1]):
                row = self._index.row((arrival.file, expr))
                if row[0] == Op.SPREAD:
                    return self._from_spread(arrival.file, row[1], place - i)
                if i == place:
                    return self._solver.expr(arrival.file, expr)
        for each, value in arrival.named:
            if not each:
                return self._from_spread(arrival.file, value, name)
        return None

    def _from_spread(self, file: int, expr: Expr, key: Constant | None) -> Node:
        node = self._graph.node()
        self._graph.listen(self._solver.expr(file, expr), self._unpack, key, node)
        return node

    def _unpack(self, mark: Mark, key: Constant | None, node: Node) -> None:
        kind = self._solver.values.rows[mark >> 1][0]
        if kind in CONTAINERS:
            self._graph.edge(self._solver.containers.content(mark >> 1, key), node, WEAK)

    def build_rest(self, node: Node, function: Definition, number: int, key: Constant | None) -> None:
        """What `*args` or `**kwargs` of a function holds, under a key or at all."""
        declared = self._solver.parameter(function, number).declared
        self._graph.edge(self._solver.expr(function[0], declared), node)
        row = self._index.row((function[0], declared))
        if row[0] == Op.EXTERNAL and row[1] in SCALARS:
            return
        if self._index.is_called_often(function):
            return
        self._rests.setdefault(function, []).append((node, number, key))
        for arrival in tuple(self._arrivals.get(function, {}).values()):
            self._pass_rest(arrival, function, number, key, node)

    def _pass_rest(self, arrival: Arrival, function: Definition, number: int, key: Constant | None, node: Node) -> None:
        parameter = self._solver.parameter(function, number)
        if parameter.kind == ParameterKind.REST:
            self._pass_positions(arrival, number - arrival.offset, key, node)
            return
        taken = {each.name for each in self._index.scope(function).parameters}
        for name, value in arrival.named:
            if not name:
                self._graph.edge(self._from_spread(arrival.file, value, key), node, WEAK)
            elif name not in taken and key in (None, name):
                self._graph.edge(self._solver.expr(arrival.file, value), node, WEAK)

    def _pass_positions(self, arrival: Arrival, first: int, key: Constant | None, node: Node) -> None:
        for i, expr in enumerate(arrival.arguments):
            row = self._index.row((arrival.file, expr))
            if row[0] == Op.SPREAD:
                self._graph.edge(self._solver.element(arrival.file, row[1]), node, WEAK)
            elif i >= first and key in (None, i - first):
                self._graph.edge(self._solver.expr(arrival.file, expr), node, WEAK)

    # Classes that are filled without a constructor of their own: dataclasses, models, named tuples

    def fill(self, cls: Definition, key: Any, arrival: Arrival) -> None:
        for each in self._index.order(cls):
            if each is not None:
                made = self._made.setdefault(each, {})
                if key not in made:
                    made[key] = arrival
                    for node, name in self._fields.get(each, []):
                        self._fill_field(arrival, each, name, node)

    def build_field(self, node: Node, cls: Definition, name: str) -> None:
        declared = self._index.scope(cls).attributes[name]
        if any(row[0] == Op.EXTERNAL and row[1] in SCALARS for row in (self._index.row((cls[0], e)) for e in declared)):
            return
        self._fields.setdefault(cls, []).append((node, name))
        for arrival in tuple(self._made.get(cls, {}).values()):
            self._fill_field(arrival, cls, name, node)

    def _fill_field(self, arrival: Arrival, cls: Definition, name: str, node: Node) -> None:
        fields = list(self._index.scope(cls).attributes)
        source = self.argument(arrival, name, fields.index(name), ParameterKind.PLAIN)
        if source is not None:
            self._graph.edge(source, node, WEAK)
