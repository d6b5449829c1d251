"""What calls lead to: functions, constructors, callable objects; what they are given, and what they give back."""

from typing import TYPE_CHECKING, Any

from ..facts import Expr, Op, Site, SiteFlag, Trait
from .arrivals import Arrival
from .graph import STRONG, WEAK, Mark, Node
from .index import Place
from .values import Definition, Kind, Value

if TYPE_CHECKING:
    from .solver import Solver


class Invocations:
    def __init__(self, solver: "Solver") -> None:
        self._solver = solver
        self._graph = solver.graph
        self._index = solver.index
        self._arrivals = solver.arrivals
        self._callees: dict[tuple[int, int], Node] = {}
        self._results: dict[tuple[int, int], Node] = {}
        self._waiting: list[tuple[int, int]] | None = []
        self.targets: dict[tuple[int, int], set[Mark]] = {}
        """What each site calls: functions and classes, without their objects."""

    # Sites

    def site(self, file: int, number: int) -> None:
        """Follows what a site calls."""
        if (file, number) not in self._callees:
            site = self._index.files[file].facts.sites[number]
            self.targets[file, number] = set()
            callee = self._graph.node() if site.unless >= 0 else self._solver.expr(file, site.callee)
            self._callees[file, number] = callee
            self._graph.listen(callee, self._call, file, number)
            if site.unless >= 0:
                self._wait(file, number)

    def _wait(self, file: int, number: int) -> None:
        """For a call by a built-in method: until it is known that the method is none of the project."""
        if self._waiting is not None:
            self._waiting.append((file, number))
            return
        site = self._index.files[file].facts.sites[number]
        self.site(file, site.unless)
        if not self.targets[file, site.unless]:
            self._graph.edge(self._solver.expr(file, site.callee), self._callees[file, number])

    def let_built_in_methods_call(self) -> None:
        waiting, self._waiting = self._waiting or [], None
        for file, number in waiting:
            self._wait(file, number)

    def build_call(self, node: Node, file: int, number: int) -> None:
        self._results[file, number] = node
        self.site(file, number)
        for mark in tuple(self._graph.marks(self._callees[file, number])):
            self._give(mark, file, number)
        site = self._index.files[file].facts.sites[number]
        if site.flags & SiteFlag.DECORATOR:
            self._graph.listen(node, self._stand_in, file, site.arguments[0], node)

    def _stand_in(self, mark: Mark, file: int, decorated: Expr, node: Node) -> None:
        """A decorator that gives a wrapper of what it decorates: a call may be told to mean that too."""
        kind, *rest = self._solver.values.rows[mark >> 1]
        if kind == Kind.FUNCTION and self._index.scope((rest[0], rest[1])).traits & Trait.WRAPPER:
            self._graph.edge(self._solver.expr(file, decorated), node, WEAK)

    def _call(self, mark: Mark, file: int, number: int) -> None:
        site = self._index.files[file].facts.sites[number]
        arguments = site.arguments
        if site.flags & SiteFlag.DECORATOR and self._index.is_common_decorator(file, site):
            arguments = []
        targets = set[Mark]() if site.flags & SiteFlag.QUIET else self.targets[file, number]
        self._reach(mark, (file, number), targets, file, arguments, site.named)
        if site.this:
            self._graph.listen(self._solver.expr(file, site.this), self._run_on, mark)
        if (file, number) in self._results:
            self._give(mark, file, number)

    def _reach(
        self,
        mark: Mark,
        key: Any,
        targets: set[Mark],
        file: int,
        arguments: list[Expr],
        named: list[list[Any]],
        weak: int = STRONG,
    ) -> None:
        """Notes what is called, and lets the arguments in."""
        mark |= weak
        kind, *rest = self._solver.values.rows[mark >> 1]
        weak = mark & 1
        if kind == Kind.FUNCTION:
            targets.add(mark)
            self._arrivals.arrive((rest[0], rest[1]), key, Arrival(file, arguments, named, 0, None))
        elif kind == Kind.BOUND:
            targets.add(rest[0] << 1 | weak)
            self._run_on(rest[1] << 1, rest[0] << 1)
            _, inner_file, scope = self._solver.values.rows[rest[0]]
            self._solver.run_on((inner_file, scope), rest[1] << 1)
            offset = int(self._index.front_end(inner_file).passes_receiver)
            self._arrivals.arrive(
                (inner_file, scope), key, Arrival(file, arguments, named, offset, rest[1] << 1 | weak)
            )
        elif kind in (Kind.CLASS, Kind.SUBCLASS):
            self._construct(mark, (rest[0], rest[1]), key, targets, Arrival(file, arguments, named, 1, None))
        elif kind in (Kind.INSTANCE, Kind.DECLARED):
            called = self._solver.attributes.of_value(mark >> 1, "__call__")
            self._graph.listen(called, self._reach, key, targets, file, arguments, named, weak)
        elif kind == Kind.METHOD:
            self._solver.containers.change(rest[0], rest[1], [(file, each) for each in arguments])

    def _run_on(self, this: Mark, function: Mark) -> None:
        """Tells a function that decides by its call what `this` is."""
        definition = self._function(function >> 1)
        variable = self._index.scope(definition).this if definition else -1
        if definition and variable >= 0:
            self._graph.add(self._solver.slot(definition[0], variable), this | 1)

    def _function(self, value: Value) -> Definition | None:
        """The function that a value is, without its object."""
        row = self._solver.values.rows[value]
        if row[0] == Kind.BOUND:
            row = self._solver.values.rows[int(row[1])]
        return (row[1], row[2]) if row[0] == Kind.FUNCTION else None

    def _construct(self, mark: Mark, cls: Definition, key: Any, targets: set[Mark], arrival: Arrival) -> None:
        found = is_made = False
        front_end = self._index.front_end(cls[0])
        for name in front_end.constructors:
            definition = self._method(cls, name)
            if definition is not None:
                is_made = True
                found = found or name != "__new__"
                value = self._solver.values.of(Kind.FUNCTION, *definition)
                targets.add(value << 1 | mark & 1)
                made = Kind.INSTANCE if self._solver.values.rows[mark >> 1][0] == Kind.CLASS else Kind.DECLARED
                self._solver.run_on(definition, self._solver.values.of(made, *cls) << 1)
                offset = int(self._index.front_end(definition[0]).passes_receiver)
                passed = Arrival(arrival.file, arrival.arguments, arrival.named, offset, None)
                self._arrivals.arrive(definition, key, passed)
        if not found:
            if not is_made:
                targets.add(self._solver.values.of(Kind.CLASS, *cls) << 1 | mark & 1)
            after = self._method(cls, "__post_init__")
            if after is not None:
                targets.add(self._solver.values.of(Kind.FUNCTION, *after) << 1 | mark & 1)
            if front_end.passes_receiver:
                self._arrivals.fill(cls, key, arrival)

    def _method(self, cls: Definition, name: str) -> Definition | None:
        """The function that a class or one above it defines by this name."""
        for each in self._index.order(cls):
            member = self._index.scope(each).members.get(name) if each is not None else None
            if each is not None and member:
                found = self._index.definitions((each[0], member))
                return found[0] if found else None
        return None

    def stand_in_for_unknown(self) -> None:
        """Decorators that nothing is known of give back what they decorate."""
        for (file, number), node in self._results.items():
            site = self._index.files[file].facts.sites[number]
            if site.flags & SiteFlag.DECORATOR and not self._graph.marks(node):
                self._graph.edge(self._solver.expr(file, site.arguments[0]), node, WEAK)

    # What comes out

    def _give(self, mark: Mark, file: int, number: int) -> None:
        site = self._index.files[file].facts.sites[number]
        node = self._results[file, number]
        if site.flags & SiteFlag.DECORATOR and self._is_transparent(mark, file, site):
            self._graph.edge(self._solver.expr(file, site.arguments[0]), node)
            return
        if site.flags & SiteFlag.NEW:
            self._instantiate(mark, node)
        self._result(mark, node, file, site.arguments, site.named)

    def _is_transparent(self, decorator: Mark, file: int, site: Site) -> bool:
        """Whether a call of what is decorated calls that itself, as far as can be told."""
        kind, *rest = self._solver.values.rows[decorator >> 1]
        if kind in (Kind.CLASS, Kind.SUBCLASS) and self._method((rest[0], rest[1]), "__call__") is None:
            return True
        return kind in (Kind.EXTERNAL, Kind.KEY) or self._index.is_common_decorator(file, site)

    def _instantiate(self, mark: Mark, node: Node) -> None:
        """What `new` gives of a function."""
        made = self._function(mark >> 1)
        if made is not None:
            self._solver.add(node, Kind.INSTANCE, *made, weak=mark & 1)

    def _result(
        self,
        mark: Mark,
        node: Node,
        file: int,
        arguments: list[Expr],
        named: list[list[Any]],
        weak: int = STRONG,
    ) -> None:
        mark |= weak
        kind, *rest = self._solver.values.rows[mark >> 1]
        weak = mark & 1
        if kind == Kind.FUNCTION:
            self._returned((rest[0], rest[1]), None, 0, node, weak, file, arguments, named)
        elif kind == Kind.BOUND:
            _, inner, scope = self._solver.values.rows[rest[0]]
            offset = int(self._index.front_end(inner).passes_receiver)
            self._returned((inner, scope), rest[1] << 1 | weak, offset, node, weak, file, arguments, named)
        elif kind in (Kind.CLASS, Kind.SUBCLASS):
            made = Kind.INSTANCE if kind == Kind.CLASS else Kind.DECLARED
            self._solver.add(node, made, *rest, weak=weak)
        elif kind in (Kind.INSTANCE, Kind.DECLARED):
            called = self._solver.attributes.of_value(mark >> 1, "__call__")
            self._graph.listen(called, self._result, node, file, arguments, named, weak)
        elif kind == Kind.CALLABLE:
            self._graph.edge(self._solver.expr(*rest), node, weak)
        elif kind == Kind.METHOD:
            self._solver.containers.give(rest[0], rest[1], [(file, each) for each in arguments], node)
        elif kind == Kind.EXTERNAL:
            self._graph.add(node, weak)

    def _returned(
        self,
        function: Definition,
        receiver: Mark | None,
        offset: int,
        node: Node,
        weak: int,
        file: int,
        arguments: list[Expr],
        named: list[list[Any]],
    ) -> None:
        self.give_result(function, receiver, node, weak)
        arrival = Arrival(file, arguments, named, offset, receiver)
        for number in self._solver.own_returns(function).values():
            if number <= -2:
                self._give_called(arrival, function, -2 - number, node)
            elif number >= offset:
                parameter = self._solver.parameter(function, number)
                source = self._arrivals.argument(arrival, parameter.name, number - offset, parameter.kind)
                if source is not None:
                    self._graph.edge(source, node, weak)
                elif parameter.default:
                    self._graph.edge(self._solver.expr(function[0], parameter.default), node, WEAK)

    def _give_called(self, arrival: Arrival, function: Definition, number: int, node: Node) -> None:
        """A function that returns what calling its parameter gives."""
        parameter = self._solver.parameter(function, number)
        source = self._arrivals.argument(arrival, parameter.name, number - arrival.offset, parameter.kind)
        if source is None:
            source = self._solver.expr(function[0], parameter.default)
        self._graph.listen(source, self._result, node, arrival.file, [], [])

    def give_result(self, function: Definition, receiver: Mark | None, node: Node, weak: int) -> None:
        """What a function returns, and the object itself if it returns that."""
        self._graph.edge(self._solver.result(function), node, weak)
        if -1 in self._solver.own_returns(function).values():
            if receiver is not None:
                self._graph.add(node, receiver | weak)
            else:
                for expr in self._index.scope(function).returns:
                    if self._index.row((function[0], expr))[0] in (Op.SELF, Op.CLS):
                        self._graph.edge(self._solver.expr(function[0], expr), node, weak)

    def operate(self, mark: Mark, method: str, node: Node, place: Place) -> bool:
        """Calls a method of a value without its being named. False if it has none of that name."""
        kind, *rest = self._solver.values.rows[mark >> 1]
        if kind in (Kind.INSTANCE, Kind.DECLARED):
            cls = (rest[0], rest[1])
            if not self._index.has_attribute(cls, method):
                return False
            called = self._solver.attributes.of_value(mark >> 1, method)
            self._graph.listen(called, self._operate, node, place, mark & 1)
            return True
        if kind == Kind.GENERATOR and method in ("__enter__", "__aenter__"):
            for expr in self._index.scope((rest[0], rest[1])).yields:
                self._graph.edge(self._solver.expr(rest[0], expr), node, mark & 1)
        elif kind in (Kind.CLASS, Kind.SUBCLASS) and method == "__or__":  # an alias of a type: `A | B`
            self._graph.add(node, mark)
            self._graph.edge(self._solver.expr(place[0], self._index.row(place)[3]), node)
        elif method == "__iter__" or (kind == Kind.OBJECT and method == "__add__"):
            self._graph.add(node, mark)
        elif kind in (Kind.EXTERNAL, Kind.KEY):
            self._graph.add(node, mark & 1)
        return False

    def _operate(self, mark: Mark, node: Node, place: Place, weak: int) -> None:
        mark |= weak
        row = self._index.row(place) if place[1] else (Op.UNKNOWN,)
        arguments = [row[3]] if row[0] == Op.OPERATION and row[3] else [row[2]] if row[0] == Op.ITEM else []
        targets = self._solver.implicit.setdefault(place, set())
        self._reach(mark, ("operation", place), targets, place[0], arguments, [])
        self._result(mark, node, place[0], arguments, [])
