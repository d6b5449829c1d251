"""Edges between symbols, from what the solver found: what each site calls, how sure that is, and what stays open."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

from ..facts import Op, Scope, SiteFlag, Trait
from ..model import Certainty, RelationKind
from .graph import Mark
from .guesses import Unresolved
from .index import Index, Place
from .names import Names
from .solver import Solver
from .values import Definition, Kind

# Where a call may mean more than these, none of them is told: it is open.
MAX_TARGETS = 12
# Of so many targets of one call at most, most are meant at one time or another; of more, few: on 40 calls of rxjs.
MAX_LIKELY_TARGETS = 4
_ORDER: dict[Certainty, int] = {"certain": 0, "likely": 1, "guess": 2}

EdgeKey: TypeAlias = tuple[str, str, str, RelationKind]
"""From which symbol, to which, in which file, how."""
OpenKey: TypeAlias = tuple[str, str, int]
"""From which symbol, what name, how many candidates."""


@dataclass(frozen=True, slots=True)
class FileRelations:
    """What was found in one file, before anything is guessed."""

    edges: dict[EdgeKey, tuple[Certainty, frozenset[int]]]
    open_calls: dict[OpenKey, frozenset[int]]
    unresolved: tuple[Unresolved, ...]


def join(
    edges: dict[EdgeKey, tuple[Certainty, frozenset[int]]], key: EdgeKey, certainty: Certainty, lines: Iterable[int]
) -> None:
    """Adds lines to an edge; of two classes the better one counts."""
    known = edges.get(key)
    if known is None:
        edges[key] = (certainty, frozenset(lines))
    else:
        best = certainty if _ORDER[certainty] < _ORDER[known[0]] else known[0]
        edges[key] = (best, known[1].union(lines))


class Edges:
    """What begins in one file."""

    def __init__(self, solver: Solver, names: Names, file: int) -> None:
        self._solver = solver
        self._index: Index = solver.index
        self._names = names
        self._file = file
        self._path = self._index.files[file].path
        self._facts = self._index.files[file].facts
        self._edges: dict[tuple[int, Definition, RelationKind], tuple[Certainty, set[int]]] = {}
        self._open: dict[tuple[int, str, int], set[int]] = {}
        self._unresolved: list[Unresolved] = []

    def all(self) -> FileRelations:
        self._calls()
        self._reads()
        self._stores()
        self._imports()
        self._structure()
        return FileRelations(self._named_edges(), self._named_open(), tuple(self._unresolved))

    def _add(self, scope: int, to: Definition, kind: RelationKind, certainty: Certainty, lines: Iterable[int]) -> None:
        key = (scope, to, kind)
        known = self._edges.get(key)
        if known is None:
            self._edges[key] = (certainty, set(lines))
        else:
            known[1].update(lines)
            if _ORDER[certainty] < _ORDER[known[0]]:
                self._edges[key] = (certainty, known[1])

    def _named_edges(self) -> dict[EdgeKey, tuple[Certainty, frozenset[int]]]:
        named: dict[EdgeKey, tuple[Certainty, frozenset[int]]] = {}
        for (scope, to, kind), (certainty, lines) in self._edges.items():
            to_file = self._index.files[to[0]]
            to_symbol = to_file.facts.scopes[to[1]].qualified_name
            join(named, (self._facts.scopes[scope].qualified_name, to_symbol, to_file.path, kind), certainty, lines)
        return named

    def _named_open(self) -> dict[OpenKey, frozenset[int]]:
        named: dict[OpenKey, frozenset[int]] = {}
        for (scope, name, candidates), lines in self._open.items():
            key = (self._facts.scopes[scope].qualified_name, name, candidates)
            named[key] = named.get(key, frozenset()) | lines
        return named

    # Calls

    def _calls(self) -> None:
        for number, site in enumerate(self._facts.sites):
            targets = self._solver.invocations.targets.get((self._file, number))
            if targets is None:
                continue
            found = self._concrete(definitions(self._solver, targets))
            if not found:
                if not site.flags & SiteFlag.IMPLICIT:
                    self._leave_open(number)
            elif len(found) > MAX_TARGETS:
                self._open.setdefault((site.scope, self._name(site.callee), len(found)), set()).add(site.line)
            else:
                is_open = self._may_be_overridden(site.callee)
                for to, is_weak in found.items():
                    certainty = _certainty(len(found), is_weak=is_weak or is_open)
                    self._call(site.scope, to, certainty, site.line)

    def _concrete(self, found: dict[Definition, bool]) -> dict[Definition, bool]:
        """Without methods that have no body of their own, if there are others."""
        bodies = {to: weak for to, weak in found.items() if not self._index.scope(to).traits & Trait.ABSTRACT}
        return bodies or found

    def _call(self, scope: int, to: Definition, certainty: Certainty, line: int) -> None:
        self._add(scope, to, "calls", certainty, (line,))
        if self._is_test(scope) and not self._names.is_test_file(to[0]):
            self._add(scope, to, "tests", certainty, (line,))

    def _is_test(self, scope: int) -> bool:
        while scope >= 0:
            if self._facts.scopes[scope].traits & Trait.TEST:
                return True
            scope = self._facts.scopes[scope].parent
        return False

    def _name(self, callee: int) -> str:
        row = self._facts.exprs[callee]
        if row[0] in (Op.ATTR, Op.MEMBER):
            return row[2]
        if row[0] == Op.SYMBOL:
            return self._facts.scopes[row[1]].qualified_name.rpartition(".")[2]
        return row[1] if row[0] == Op.FREE else ""

    def _may_be_overridden(self, callee: int) -> bool:
        """Whether the method is found on an object of a class that others below replace it in."""
        row = self._facts.exprs[callee]
        if row[0] != Op.ATTR:
            return False
        for mark in self._solver.graph.marks(self._solver.expr(self._file, callee)):
            value = self._solver.values.rows[mark >> 1]
            if value[0] == Kind.BOUND:
                receiver = self._solver.values.rows[value[2]]
                if receiver[0] in (Kind.DECLARED, Kind.SUBCLASS) and any(
                    row[2] in self._index.scope(below).members for below in self._index.below(receiver[1:])
                ):
                    return True
        return False

    def _leave_open(self, number: int) -> None:
        """Nothing was found: what the name alone may mean is looked for in all files, unless the receiver is known."""
        site = self._facts.sites[number]
        row = self._facts.exprs[site.callee]
        if row[0] not in (Op.ATTR, Op.FREE) or self._solver.graph.marks(self._solver.expr(self._file, site.callee)):
            return
        is_method = row[0] == Op.ATTR
        if not (is_method and self._is_known(row[1])):
            symbol = self._facts.scopes[site.scope].qualified_name
            name = self._name(site.callee)
            self._unresolved.append(Unresolved(symbol, site.line, name, is_method, self._is_test(site.scope)))

    def _is_known(self, receiver: int) -> bool:
        """Whether it is known what the object is; then the method is none that the project defines."""
        kinds = {
            self._solver.values.rows[mark >> 1][0]
            for mark in self._solver.graph.marks(self._solver.expr(self._file, receiver))
        }
        return bool(kinds)

    # What is read

    def _reads(self) -> None:
        for scope, expr, *lines in self._facts.reads:
            row = self._facts.exprs[expr]
            implicit = self._solver.implicit.get((self._file, expr))
            if implicit:
                found = self._concrete(definitions(self._solver, implicit))
                for to, is_weak in found.items():
                    for line in lines:
                        self._call(scope, to, _certainty(len(found), is_weak=is_weak), line)
            if row[0] == Op.ATTR:
                if row[2] in self._names.all:
                    self._references(scope, expr, lines)
            elif row[0] in (Op.SYMBOL, Op.MEMBER, Op.FREE, Op.CALL):
                for to in self._index.definitions((self._file, expr)):
                    if to is not None and to != (self._file, scope):
                        self._add(scope, to, "references", "certain", lines)

    def _stores(self) -> None:
        """Assigning to a property calls its setter."""
        for scope, line, of, name, _ in self._facts.stores:
            if name in self._names.setters:
                for mark in tuple(self._solver.graph.marks(self._solver.expr(self._file, of))):
                    for to in self._setters(mark, name):
                        self._call(scope, to, "likely" if mark & 1 else "certain", line)

    def _setters(self, mark: Mark, name: str) -> Iterable[Definition]:
        kind, *rest = self._solver.values.rows[mark >> 1]
        place: Place | None = None
        if kind in (Kind.INSTANCE, Kind.DECLARED):
            above = (each for each in self._index.order((rest[0], rest[1])) if each is not None)
            owner = next((each for each in above if name in self._index.scope(each).setters), None)
            place = (owner[0], self._index.scope(owner).setters[name]) if owner else None
        elif kind == Kind.OBJECT:
            row = self._index.row((rest[0], rest[1]))
            for key, value in row[1] if row[0] == Op.OBJECT else ():
                if self._index.row((rest[0], key))[-1] == f"set {name}":
                    place = (rest[0], value)
        return [each for each in self._index.definitions(place) if each] if place else []

    def _references(self, scope: int, expr: int, lines: list[int]) -> None:
        found: dict[Definition, bool] = {}
        for mark in self._solver.graph.marks(self._solver.expr(self._file, expr)):
            row = self._solver.values.rows[mark >> 1]
            if row[0] == Kind.BOUND:
                row = self._solver.values.rows[row[1]]
            if row[0] in (Kind.FUNCTION, Kind.CLASS):
                to = (row[1], row[2])
                found[to] = found.get(to, True) and bool(mark & 1)
        name = self._facts.exprs[expr][2]
        found = {to: weak for to, weak in found.items() if self._names.last(to) == name}
        if len(found) <= MAX_TARGETS:
            for to, is_weak in found.items():
                self._add(scope, to, "references", "likely" if is_weak or len(found) > 1 else "certain", lines)

    # What is written

    def _imports(self) -> None:
        for scope, line, specifier, name in self._facts.imports:
            module = self._index.module(self._file, specifier)
            if module is not None:
                to: Definition = (module, 0)
                found = self._index.export(module, name) if name not in ("", "*") else None
                if isinstance(found, int):
                    to = (found, 0)
                for each in (self._index.definitions(found) if isinstance(found, tuple) else ()) or (to,):
                    self._add(scope, each or to, "imports", "certain", (line,))
            elif name not in ("", "*"):
                inner = self._index.module(self._file, specifier + ("" if specifier.endswith(".") else ".") + name)
                if inner is not None:
                    self._add(scope, (inner, 0), "imports", "certain", (line,))

    def _structure(self) -> None:
        for number, scope in enumerate(self._facts.scopes):
            if scope.parent >= 0:
                self._add(scope.parent, (self._file, number), "contains", "certain", (scope.first_line,))
            if scope.bases:
                self._inherits(number, scope)

    def _inherits(self, number: int, scope: Scope) -> None:
        for parent in self._index.parents((self._file, number)):
            if parent is not None:
                self._add(number, parent, "inherits", "certain", (scope.first_line,))
        above = self._index.order((self._file, number))[1:]
        for name, member in scope.members.items():
            for own in self._methods((self._file, member)):
                for cls in above:
                    found = self._index.scope(cls).members.get(name) if cls is not None else None
                    if cls is not None and found:
                        for to in self._methods((cls[0], found)):
                            line = self._index.scope(own).first_line
                            if own[0] == self._file:
                                self._add(own[1], to, "overrides", "certain", (line,))
                        break

    def _methods(self, place: Place) -> list[Definition]:
        found = [each for each in self._index.definitions(place) if each is not None]
        return [each for each in found if self._index.scope(each).kind in ("method", "function", "lambda")]


def definitions(solver: Solver, marks: Iterable[Mark]) -> dict[Definition, bool]:
    """The functions and classes among values, and whether each came by a weak step only."""
    found: dict[Definition, bool] = {}
    for mark in marks:
        row = solver.values.rows[mark >> 1]
        if row[0] in (Kind.FUNCTION, Kind.CLASS):
            to = (row[1], row[2])
            found[to] = found.get(to, True) and bool(mark & 1)
    return found


def _certainty(targets: int, *, is_weak: bool) -> Certainty:
    """Of a call that may mean so many; weak if a step on the way to it was."""
    if targets > MAX_LIKELY_TARGETS:
        return "guess"
    return "likely" if is_weak or targets > 1 else "certain"
