"""Follows values through the expressions of all files: the state, and what each expression takes its values from."""

from typing import Any

from ..facts import SCALARS, Expr, Facts, Op, Parameter, Row, Scope, Trait
from .arrivals import Arrivals
from .attributes import Attributes
from .containers import CONTAINERS, Containers
from .graph import STRONG, WEAK, Graph, Mark, Node
from .index import Index, Place
from .invocations import Invocations
from .values import Definition, Kind, Value, Values


class Solver:
    """Built on demand: only what is asked for, and what that depends on."""

    def __init__(self, index: Index) -> None:
        self.index = index
        self.graph = Graph(self._pass_gate)
        self.values = Values()
        self.implicit: dict[Place, set[Mark]] = {}
        """The functions that reading an expression calls: properties, `__getitem__`, `__iter__`, operators."""
        self._exprs: list[list[Node]] = [[0] * len(file.facts.exprs) for file in index.files]
        self._slots: list[list[Node]] = [[0] * len(file.facts.slots) for file in index.files]
        self._parameters: list[dict[int, tuple[int, int]]] = [
            _parameter_slots(file.facts.scopes) for file in index.files
        ]
        self._selves: dict[Definition, Node] = {}
        self._constants: dict[Value, Node] = {}
        self._results: dict[Definition, Node] = {}
        self._elements: dict[Place, Node] = {}
        self._own: dict[Definition, dict[Expr, int]] = {}
        self.attributes = Attributes(self)
        self.containers = Containers(self)
        self.arrivals = Arrivals(self)
        self.invocations = Invocations(self)

    # Nodes

    def expr(self, file: int, expr: Expr) -> Node:
        """What an expression may be; node 0, which never has a value, for UNKNOWN."""
        if not expr:
            return 0
        node = self._exprs[file][expr]
        if not node:
            row = self.index.files[file].facts.exprs[expr]
            op = row[0]
            if op == Op.SLOT:
                node = self.slot(file, row[1])
            elif op in _CONSTANT:
                node = self._constant(file, row)
            else:
                node = self.graph.node(self._build, file, expr, row)
            self._exprs[file][expr] = node
        return node

    def _constant(self, file: int, row: Row) -> Node:
        """Equal constants of all files are one node."""
        if row[0] == Op.EXTERNAL:
            value = 0
        elif row[0] == Op.KEY:
            value = self.values.of(Kind.KEY, row[1])
        elif row[0] == Op.SYMBOL:
            is_class = self.index.scope((file, row[1])).kind in ("class", "interface")
            value = self.values.of(Kind.CLASS if is_class else Kind.FUNCTION, file, row[1])
        else:
            value = self.values.of(_CONSTANT[row[0]], file, row[1])
        node = self._constants.get(value)
        if node is None:
            node = self._constants[value] = self.graph.node()
            self.graph.add(node, value << 1)
        return node

    def slot(self, file: int, slot: int) -> Node:
        node = self._slots[file][slot]
        if not node:
            node = self._slots[file][slot] = self.graph.node(self._build_slot, file, slot)
        return node

    def result(self, function: Definition) -> Node:
        """What calling a function gives, apart from what depends on the call itself (`returns_own`)."""
        node = self._results.get(function)
        if node is None:
            node = self._results[function] = self.graph.node(self._build_result, function)
        return node

    def element(self, file: int, expr: Expr) -> Node:
        """What iterating over an expression gives, for expressions that are not written, as in `f(*x)`."""
        node = self._elements.get((file, expr))
        if node is None:
            node = self._elements[file, expr] = self.graph.node(self._build_element, file, expr, (file, 0))
        return node

    def own_returns(self, function: Definition) -> dict[Expr, int]:
        own = self._own.get(function)
        if own is None:
            own = self._own[function] = returns_own(self.index, function)
        return own

    def parameter(self, function: Definition, number: int) -> Parameter:
        return self.index.scope(function).parameters[number]

    # What flows into them

    def _build(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        _BUILD[row[0]](self, node, file, expr, row)

    def _build_slot(self, node: Node, file: int, slot: int) -> None:
        for expr in self.index.files[file].facts.slots[slot]:
            self.graph.edge(self.expr(file, expr), node)
        place = self._parameters[file].get(slot)
        if place is not None:
            self.arrivals.build_parameter(node, (file, place[0]), place[1])

    def _build_result(self, node: Node, function: Definition) -> None:
        scope = self.index.scope(function)
        file = function[0]
        if scope.traits & Trait.GENERATOR:
            self.add(node, Kind.GENERATOR, *function)
            return
        if is_scalar(self.index.row((file, scope.declared))):
            self.graph.add(node, 0)
            return
        own = self.own_returns(function)
        for expr in scope.returns:
            if expr not in own:
                self.graph.gated_edge(self.expr(file, expr), node)
        self.graph.edge(self.expr(file, scope.declared), node)

    def _build_element(self, node: Node, file: int, expr: Expr, place: Place) -> None:
        self.graph.listen(self.expr(file, expr), self.containers.iterate, node, place)

    def free(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        found = self.index.export(file, row[1])
        if found is not None:
            self.exported(node, found)
        elif row[1] in self.index.front_end(file).builtin_names or self.index.has_foreign_stars(file):
            self.graph.add(node, 0)

    def exported(self, node: Node, found: Place | int) -> None:
        if isinstance(found, int):
            self.add(node, Kind.MODULE, found)
        else:
            self.graph.edge(self.expr(*found), node)

    def module(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        module = self.index.module(file, row[1])
        if module is not None:
            self.module_value(node, module)
        elif self.index.is_namespace(row[1]):
            self.add(node, Kind.NAMESPACE, row[1], file)
        else:
            self.graph.add(node, 0)

    def module_value(self, node: Node, module: int) -> None:
        replaced = self.index.files[module].facts.scopes[0].members.get("=")
        if replaced is not None:
            self.graph.edge(self.expr(module, replaced), node)
        self.add(node, Kind.MODULE, module)

    def member(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        module = self.index.module(file, row[1])
        if module is not None:
            found = self.index.export(module, row[2])
            if found is not None:
                self.exported(node, found)
                self.attributes.stored_in_module(node, module, row[2])
            elif "=" in self.index.scope((module, 0)).members:
                replaced = self.expr(module, self.index.scope((module, 0)).members["="])
                self.graph.listen(replaced, self.attributes.load, row[2], node, (file, expr))
            elif self.index.has_foreign_stars(module):
                self.graph.add(node, 0)
            return
        dotted = f"{row[1]}.{row[2]}"
        inner = self.index.module(file, dotted if not row[1].endswith(".") else row[1] + row[2])
        if inner is not None:
            self.module_value(node, inner)
        elif self.index.is_namespace(dotted):
            self.add(node, Kind.NAMESPACE, dotted, file)
        else:
            self.graph.add(node, 0)

    def attribute(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.listen(self.expr(file, row[1]), self.attributes.load, row[2], node, (file, expr))

    def item(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.listen(self.expr(file, row[1]), self.containers.index, (file, row[2]), node, (file, expr))

    def iteration(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self._build_element(node, file, row[1], (file, expr))

    def call(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.invocations.build_call(node, file, row[1])

    def same(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.edge(self.expr(file, row[1]), node)

    def union(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        for each in row[1]:
            self.graph.edge(self.expr(file, each), node)

    def object(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.add(node, Kind.OBJECT, file, expr)

    def instance(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        inner = self.index.row((file, row[1]))
        if inner[0] == Op.UNION:
            for each in inner[1]:
                self.graph.listen(self.expr(file, each), self._instance, node)
        elif inner[0] == Op.OPERATION and inner[2] == "__or__":
            for each in (inner[1], inner[3]):
                self.graph.listen(self.expr(file, each), self._instance, node)
        else:
            self.graph.listen(self.expr(file, row[1]), self._instance, node)

    def _instance(self, mark: Mark, node: Node) -> None:
        kind, *rest = self.values.rows[mark >> 1]
        if kind in (Kind.CLASS, Kind.SUBCLASS) or (kind == Kind.FUNCTION and self._is_constructor(rest)):
            self.add(node, Kind.DECLARED, *rest, weak=mark & 1)
        elif kind == Kind.TYPE:
            self.graph.edge(self.expr(*rest), node, mark & 1)
        elif kind == Kind.EXTERNAL:
            self.graph.add(node, mark)

    def _is_constructor(self, function: list[int]) -> bool:
        return not self.index.front_end(function[0]).passes_receiver

    def type(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.add(node, Kind.TYPE, file, row[1])

    def prototype(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.listen(self.expr(file, row[1]), self._prototype, node)

    def _prototype(self, mark: Mark, node: Node) -> None:
        kind, *rest = self.values.rows[mark >> 1]
        if kind in (Kind.CLASS, Kind.SUBCLASS, Kind.FUNCTION):
            self.add(node, Kind.INSTANCE, *rest, weak=mark & 1)
        elif kind == Kind.EXTERNAL:
            self.graph.add(node, mark)

    def object_of_methods(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.edge(self.itself((file, row[1])), node)

    def itself(self, cls: Definition) -> Node:
        """The object that the methods of a class run on: of the class, or of those below whose objects they are
        called on."""
        node = self._selves.get(cls)
        if node is None:
            node = self._selves[cls] = self.graph.node()
            self.add(node, Kind.DECLARED, *cls)
        return node

    def run_on(self, function: Definition, receiver: Mark) -> None:
        """Notes on which object a method is called."""
        parent = self.index.scope(function).parent
        cls = (function[0], parent)
        if parent >= 0 and self.index.scope(cls).kind == "class":
            kind, *of = self.values.rows[receiver >> 1]
            if kind in (Kind.INSTANCE, Kind.DECLARED) and tuple(of) != cls:
                self.graph.add(self.itself(cls), receiver | WEAK)

    def callable(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.add(node, Kind.CALLABLE, file, row[1])

    def slice(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.listen(self.expr(file, row[1]), self._slice, row[2], node)

    def _slice(self, mark: Mark, start: int | None, node: Node) -> None:
        kind, *rest = self.values.rows[mark >> 1]
        if kind in (Kind.OBJECT, Kind.REST):
            self.add(node, Kind.SLICE, mark >> 1, start or 0, weak=mark & 1)
        elif kind == Kind.SLICE:
            self.add(node, Kind.SLICE, rest[0], -1, weak=mark & 1)
        else:
            self.graph.add(node, mark)

    def type_of(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.listen(self.expr(file, row[1]), self._type_of, node)

    def _type_of(self, mark: Mark, node: Node) -> None:
        kind, *rest = self.values.rows[mark >> 1]
        if kind in (Kind.INSTANCE, Kind.DECLARED):
            self.add(node, Kind.CLASS if kind == Kind.INSTANCE else Kind.SUBCLASS, *rest, weak=mark & 1)

    def operation(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        self.graph.listen(self.expr(file, row[1]), self.invocations.operate, row[2], node, (file, expr))

    def except_(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        refused = frozenset(self.index.definitions((file, row[2]))) - {None}
        self.graph.listen(self.expr(file, row[1]), self._except, refused, node)

    def only(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        kept = frozenset(self.index.definitions((file, row[2])))
        if None in kept:  # a class from outside may be one that asks for nothing but some methods
            self.graph.edge(self.expr(file, row[1]), node)
        else:
            self.graph.listen(self.expr(file, row[1]), self._only, kept, node)

    def _only(self, mark: Mark, kept: frozenset[Definition | None], node: Node) -> None:
        kind, *rest = self.values.rows[mark >> 1]
        if kind in (Kind.INSTANCE, Kind.DECLARED) and not kept.isdisjoint(self.index.order((rest[0], rest[1]))):
            self.graph.add(node, mark)

    def _except(self, mark: Mark, refused: frozenset[Definition | None], node: Node) -> None:
        kind, *rest = self.values.rows[mark >> 1]
        if kind not in (Kind.INSTANCE, Kind.DECLARED) or refused.isdisjoint(self.index.order((rest[0], rest[1]))):
            self.graph.add(node, mark)

    def nothing(self, node: Node, file: int, expr: Expr, row: Row) -> None:
        pass

    # Small steps

    def _pass_gate(self, mark: Mark, target: Node) -> None:
        """Into contents, parameters and results go containers only once something of the project stands in them, and no
        constants: the rest would only be carried around, and there is much of it."""
        kind = self.values.rows[mark >> 1][0]
        if kind in (Kind.KEY, Kind.METHOD, Kind.VIEW):
            self.graph.add(target, mark & 1)
        elif kind in CONTAINERS and not self.containers.is_object(mark >> 1):
            self.containers.when_filled(mark, target)
        else:
            self.graph.add(target, mark)

    def add(self, node: Node, kind: int, *row: Any, weak: int = STRONG) -> None:
        self.graph.add(node, self.values.of(kind, *row) << 1 | weak)

    def called(self, place: Place, function: Value, weak: int = STRONG) -> None:
        """Notes that reading an expression calls a function."""
        self.implicit.setdefault(place, set()).add(function << 1 | weak)


def _parameter_slots(scopes: list[Any]) -> dict[int, tuple[int, int]]:
    return {p.slot: (number, i) for number, scope in enumerate(scopes) for i, p in enumerate(scope.parameters)}


def is_scalar(row: Row) -> bool:
    return row[0] == Op.EXTERNAL and row[1] in SCALARS


def returns_own(index: Index, function: Definition) -> dict[Expr, int]:
    """What a function returns that it was given: its parameters by their numbers, -1 for its object, -2 and less for
    what calling its first and following parameters gives. A call of it gives what that call passes, not what all
    pass."""
    scope = index.scope(function)
    facts = index.files[function[0]].facts
    own: dict[Expr, int] = {}
    if is_scalar(facts.exprs[scope.declared]):
        return own
    for expr in scope.returns:
        row = facts.exprs[expr]
        if row[0] in (Op.SELF, Op.CLS):
            own[expr] = -1
            continue
        is_called = row[0] == Op.CALL
        number = _own_parameter(facts, scope, facts.exprs[facts.sites[int(row[1])].callee] if is_called else row)
        if number is not None:
            own[expr] = -2 - number if is_called else number
    return own


def _own_parameter(facts: Facts, scope: Scope, row: Row) -> int | None:
    if row[0] != Op.SLOT or facts.slots[row[1]]:
        return None
    number = next((i for i, each in enumerate(scope.parameters) if each.slot == row[1]), None)
    return number if number is not None and scope.parameters[number].kind < 3 else None


_CONSTANT = {
    Op.EXTERNAL: Kind.EXTERNAL,
    Op.KEY: Kind.KEY,
    Op.SYMBOL: Kind.FUNCTION,
    Op.CLS: Kind.SUBCLASS,
    Op.SUPER: Kind.SUPER,
}
_BUILD: dict[int, Any] = {
    Op.UNKNOWN: Solver.nothing,
    Op.FREE: Solver.free,
    Op.MODULE: Solver.module,
    Op.MEMBER: Solver.member,
    Op.ATTR: Solver.attribute,
    Op.ITEM: Solver.item,
    Op.ELEMENT: Solver.iteration,
    Op.CALL: Solver.call,
    Op.AWAIT: Solver.same,
    Op.UNION: Solver.union,
    Op.SEQUENCE: Solver.object,
    Op.MAPPING: Solver.object,
    Op.SPREAD: Solver.same,
    Op.INSTANCE: Solver.instance,
    Op.COLLECTION: Solver.object,
    Op.TABLE: Solver.object,
    Op.CALLABLE: Solver.callable,
    Op.OBJECT: Solver.object,
    Op.SLICE: Solver.slice,
    Op.TYPE_OF: Solver.type_of,
    Op.SELF: Solver.object_of_methods,
    Op.OPERATION: Solver.operation,
    Op.TYPE: Solver.type,
    Op.PROTOTYPE: Solver.prototype,
    Op.EXCEPT: Solver.except_,
    Op.ONLY: Solver.only,
}
