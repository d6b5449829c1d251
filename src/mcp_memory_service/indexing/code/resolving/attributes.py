"""What `x.name` may be, for each value of `x`."""

from typing import TYPE_CHECKING

from ..facts import Op, Trait
from .graph import STRONG, WEAK, Mark, Node
from .index import Index, Place
from .values import Definition, Kind, Value

if TYPE_CHECKING:
    from .solver import Solver

_OF_OBJECTS = (Kind.INSTANCE, Kind.DECLARED)


class Attributes:
    def __init__(self, solver: "Solver") -> None:
        self._solver = solver
        self._graph = solver.graph
        self._index = solver.index
        self._nodes: dict[tuple[Value, str], Node] = {}
        self._computed = _names_of_properties(solver.index)
        self._instance_nodes: dict[tuple[Definition, str], Node] = {}
        self._stored_nodes: dict[tuple[Value, str], Node] = {}
        self._asked_stores: set[str] = set()
        self._stores: dict[str, list[tuple[int, int, int]]] = {}
        for file, code in enumerate(solver.index.files):
            for _, _, of, name, value in code.facts.stores:
                if value and code.facts.exprs[of][0] not in (Op.SELF, Op.CLS):
                    self._stores.setdefault(name, []).append((file, of, value))

    def load(self, mark: Mark, name: str, node: Node, place: Place) -> None:
        """Listens to the receiver; `node` is what the attribute may be."""
        kind, *rest = self._solver.values.rows[mark >> 1]
        weak = mark & 1
        if kind in (Kind.EXTERNAL, Kind.KEY):
            self._graph.add(node, weak)
        elif kind in (*_OF_OBJECTS, Kind.SUPER):
            self.read(mark, name, node, place)
        elif kind in (Kind.CLASS, Kind.SUBCLASS):
            self._of_class(mark, (rest[0], rest[1]), name, node)
        elif kind == Kind.MODULE:
            self._of_module(rest[0], name, node)
        elif kind == Kind.NAMESPACE:
            self._of_namespace(rest[0], rest[1], name, node)
        elif kind in (Kind.OBJECT, Kind.REST, Kind.SLICE, Kind.PAIR, Kind.VIEW):
            self._solver.containers.attribute(mark, name, node, place)
        elif kind in (Kind.FUNCTION, Kind.BOUND):
            self._of_function(mark, name, node)
        elif kind == Kind.GENERATOR:
            self._graph.add(node, weak)

    def _of_module(self, module: int, name: str, node: Node) -> None:
        found = self._index.export(module, name)
        if found is not None:
            self._solver.exported(node, found)
        elif self._index.has_foreign_stars(module) or name.startswith("__"):
            self._graph.add(node, 0)
        self.stored_in_module(node, module, name)

    def stored_in_module(self, node: Node, module: int, name: str) -> None:
        if name in self._stores:
            self._graph.edge(self._stored(self._solver.values.of(Kind.MODULE, module), name), node, WEAK)

    def _of_namespace(self, dotted: str, file: int, name: str, node: Node) -> None:
        module = self._index.module(file, f"{dotted}.{name}")
        if module is not None:
            self._solver.module_value(node, module)
        elif self._index.is_namespace(f"{dotted}.{name}"):
            self._solver.add(node, Kind.NAMESPACE, f"{dotted}.{name}", file)

    def read(self, mark: Mark, name: str, node: Node, place: Place) -> None:
        """Lets what an object has under a name into a node. Properties are calls."""
        source = self.of_value(mark >> 1, name)
        if name in self._computed:
            self._graph.listen(source, self._read, mark & 1, node, place)
        else:
            self._graph.edge(source, node, mark & 1)

    def _read(self, mark: Mark, weak: int, node: Node, place: Place) -> None:
        kind, *rest = self._solver.values.rows[mark >> 1]
        if kind == Kind.ACCESS:
            self._run_property(rest[0], rest[1], node, place, (mark | weak) & 1)
        else:
            self._graph.add(node, mark | weak)

    def _run_property(self, function: Value, receiver: Value, node: Node, place: Place, weak: int) -> None:
        _, file, scope = self._solver.values.rows[function]
        self._solver.called(place, function, weak)
        self._solver.run_on((file, scope), receiver << 1)
        self._solver.invocations.give_result((file, scope), receiver << 1 | weak, node, weak)

    def of_value(self, value: Value, name: str) -> Node:
        """What an object has under a name: methods bound to it, properties as an ACCESS."""
        node = self._nodes.get((value, name))
        if node is None:
            node = self._nodes[value, name] = self._graph.node(self._build, value, name)
        return node

    def _build(self, node: Node, value: Value, name: str) -> None:
        kind, file, scope = self._solver.values.rows[value]
        cls = (file, scope)
        if kind == Kind.SUPER:
            receiver = self._solver.values.of(Kind.DECLARED, *cls)
            if self._look_up(self._index.order(cls)[1:], receiver, name, node) is None:
                self._graph.add(node, 0)
        elif name == "__class__":
            self._solver.add(node, Kind.CLASS, *cls)
        else:
            self._of_object(value, kind == Kind.DECLARED, cls, name, node)

    def _of_object(self, value: Value, is_open: bool, cls: Definition, name: str, node: Node) -> None:
        order = self._index.order(cls)
        found = self._look_up(order, value, name, node)
        if found is None and None in order:
            self._graph.add(node, 0)
        elif found is None and not self._index.front_end(cls[0]).passes_receiver:
            for each in order:
                if each is not None:
                    owner = self._solver.values.of(Kind.DECLARED, *each)
                    self._graph.edge(self._solver.containers.content(owner, name), node, WEAK)
        if is_open and (found is None or self._is_abstract(found, name)):
            self._from_below(value, cls, name, node)

    def _from_below(self, value: Value, cls: Definition, name: str, node: Node) -> None:
        """What classes below have, if the class itself does not, or leaves it to them."""
        for below in self._index.below(cls):
            scope = self._index.scope(below)
            if name in scope.members or name in scope.attributes:
                self._use(below, value, name, node, weak=WEAK)
                continue
            inherited = (each for each in self._index.order(below) if each and name in self._index.scope(each).members)
            found = next((each for each in inherited if not self._is_abstract(each, name)), None)
            if found is not None and found not in self._index.order(cls):
                self._use(found, value, name, node, weak=WEAK)

    def _is_abstract(self, cls: Definition, name: str) -> bool:
        scope = self._index.scope(cls)
        if scope.kind == "interface" and name in scope.attributes:
            return True
        member = scope.members.get(name)
        row = self._index.row((cls[0], member)) if member else [0]
        return row[0] == Op.SYMBOL and bool(self._index.scope((cls[0], row[1])).traits & Trait.ABSTRACT)

    def _look_up(self, order: tuple[Definition | None, ...], value: Value, name: str, node: Node) -> Definition | None:
        """The class that has it, the first in the order. What any class assigns to `self.name` counts in any case."""
        found: Definition | None = None
        for cls in order:
            if cls is None:
                continue
            scope = self._index.scope(cls)
            if name in scope.attributes or (found is None and name in scope.members):
                self._use(cls, value, name, node, with_members=found is None)
                found = found or cls
            if name in self._stores:
                for kind in _OF_OBJECTS:
                    owner = self._solver.values.of(kind, *cls)
                    self._graph.edge(self._stored(owner, name), node, WEAK)
        return found

    def _use(
        self, cls: Definition, value: Value, name: str, node: Node, *, weak: int = STRONG, with_members: bool = True
    ) -> None:
        scope = self._index.scope(cls)
        if name in scope.attributes:
            self._graph.edge(self._of_instances(cls, name), node, weak)
        member = scope.members.get(name)
        if member and with_members:
            self._graph.listen(self._solver.expr(cls[0], member), self._bind, value, node, weak)

    def _bind(self, member: Mark, receiver: Value, node: Node, weak: int) -> None:
        """A function that is found in the class of an object becomes a method of it."""
        kind, *rest = self._solver.values.rows[member >> 1]
        weak |= member & 1
        traits = self._index.scope((rest[0], rest[1])).traits if kind == Kind.FUNCTION else Trait.STATIC
        if traits & Trait.PROPERTY:
            self._solver.add(node, Kind.ACCESS, member >> 1, receiver, weak=weak)
        elif traits & Trait.STATIC:
            self._graph.add(node, member | weak)
        else:
            self._solver.add(node, Kind.BOUND, member >> 1, receiver, weak=weak)

    def of_literal(self, member: Mark, receiver: Mark, node: Node, place: Place) -> None:
        """What stands in an object literal: where no parameter takes the object, a function of it runs on it."""
        kind, *rest = self._solver.values.rows[member >> 1]
        scope = self._index.scope((rest[0], rest[1])) if kind == Kind.FUNCTION else None
        if scope is not None and scope.traits & Trait.PROPERTY:
            self._run_property(member >> 1, receiver >> 1, node, place, (member | receiver) & 1)
        elif scope is not None and scope.this >= 0:
            self._bind(member, receiver >> 1, node, receiver & 1)
        else:
            self._graph.add(node, member | receiver & 1)

    def _of_class(self, mark: Mark, cls: Definition, name: str, node: Node) -> None:
        found = False
        for each in self._index.order(cls):
            if each is None:
                continue
            scope = self._index.scope(each)
            member = scope.members.get(name)
            if member:
                self._graph.listen(self._solver.expr(each[0], member), self._bind_to_class, mark, node)
            if name in scope.attributes:
                self._graph.edge(self._of_instances(each, name), node, mark & 1)
            found = found or name in scope.members or name in scope.attributes
            if found:
                break
        if not found and None in self._index.order(cls):
            self._graph.add(node, mark & 1)
        if name in self._stores:
            self._graph.edge(self._stored(mark >> 1, name), node, WEAK)

    def _bind_to_class(self, member: Mark, receiver: Mark, node: Node) -> None:
        kind, *rest = self._solver.values.rows[member >> 1]
        weak = (member | receiver) & 1
        if kind == Kind.FUNCTION and self._index.scope((rest[0], rest[1])).traits & Trait.CLASS_METHOD:
            self._solver.add(node, Kind.BOUND, member >> 1, receiver >> 1, weak=weak)
        elif kind in (Kind.KEY, Kind.EXTERNAL) and self._is_enumeration(receiver):
            self._solver.add(node, Kind.INSTANCE, *self._solver.values.rows[receiver >> 1][1:], weak=weak)
        else:
            self._graph.add(node, member | weak)

    def _is_enumeration(self, receiver: Mark) -> bool:
        file, number = self._solver.values.rows[receiver >> 1][1:]
        bases = self._index.scope((file, number)).bases
        names = (self._index.row((file, base))[-1] for base in bases)
        return any(isinstance(name, str) and name.endswith(("Enum", "Flag")) for name in names)

    def _of_function(self, mark: Mark, name: str, node: Node) -> None:
        row = self._solver.values.rows[mark >> 1]
        function = row if row[0] == Kind.FUNCTION else self._solver.values.rows[row[1]]
        member = self._index.scope((function[1], function[2])).members.get(name)
        if member:
            self._graph.edge(self._solver.expr(function[1], member), node, mark & 1)
        elif name in self._index.front_end(function[1]).function_methods:
            self._solver.add(node, Kind.METHOD, mark >> 1, name, weak=mark & 1)
        elif name in self._stores:
            self._graph.edge(self._stored(self._solver.values.of(*function), name), node, WEAK)
        else:
            self._graph.add(node, mark & 1)

    def _of_instances(self, cls: Definition, name: str) -> Node:
        """What the methods of a class assign to `self.name`, and what its body declares."""
        node = self._instance_nodes.get((cls, name))
        if node is None:
            node = self._instance_nodes[cls, name] = self._graph.node(self._build_instance, cls, name)
        return node

    def _build_instance(self, node: Node, cls: Definition, name: str) -> None:
        for expr in self._index.scope(cls).attributes.get(name, []):
            self._graph.edge(self._solver.expr(cls[0], expr), node)
        self._solver.arrivals.build_field(node, cls, name)

    def _stored(self, owner: Value, name: str) -> Node:
        """What is assigned to the attribute of this value from outside of its class."""
        node = self._stored_nodes.get((owner, name))
        if node is None:
            node = self._stored_nodes[owner, name] = self._graph.node()
        if name not in self._asked_stores:
            self._asked_stores.add(name)
            for file, of, value in self._stores.get(name, []):
                self._graph.listen(self._solver.expr(file, of), self._store, name, file, value)
        return node

    def _store(self, mark: Mark, name: str, file: int, value: int) -> None:
        kind = self._solver.values.rows[mark >> 1][0]
        if kind in (*_OF_OBJECTS, Kind.CLASS, Kind.SUBCLASS, Kind.MODULE, Kind.FUNCTION):
            self._graph.edge(self._solver.expr(file, value), self._stored(mark >> 1, name), WEAK)


def _names_of_properties(index: Index) -> set[str]:
    names: set[str] = set()
    for code in index.files:
        computed = {number for number, scope in enumerate(code.facts.scopes) if scope.traits & Trait.PROPERTY}
        names.update(code.facts.scopes[number].qualified_name.rpartition(".")[2] for number in computed)
        for scope in code.facts.scopes if computed else ():
            for name, member in scope.members.items():
                row = code.facts.exprs[member]
                if row[0] == Op.SYMBOL and row[1] in computed:
                    names.add(name)
    return names
