"""The files of a project by what they define: modules, exports, classes with their order of inheritance, names."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

from ..code_file import CodeFile
from ..facts import Expr, Op, Row, Scope, Site, SiteFlag
from ..languages import FrontEnd, Language
from .modules import Modules
from .values import Definition

Place: TypeAlias = tuple[int, Expr]
"""An expression of a file."""

_MAX_STEPS = 60
MAX_CALLS = 60
MAX_DECORATED = 8


class Index:
    """Of files that are connected by imports; made anew when one of them changes. What is asked is kept."""

    def __init__(self, files: Sequence[CodeFile], modules: Modules, front_ends: Mapping[Language, FrontEnd]) -> None:
        self.files = files
        self._numbers = {file.path: number for number, file in enumerate(files)}
        self._all_modules = modules
        self._front_ends = front_ends
        self._packages: set[str] = set()
        for file in files:
            parts = file.module.split(".")
            self._packages.update(".".join(parts[:i]) for i in range(1, len(parts)))
        self._found_modules: dict[tuple[int, str], int | None] = {}
        self._export_tables: dict[int, dict[str, Place]] = {}
        self._foreign_stars: dict[int, bool] = {}
        self._found_classes: dict[Place, tuple[Definition | None, ...]] = {}
        self._orders: dict[Definition, tuple[Definition | None, ...]] = {}
        self._below: dict[Definition, list[Definition]] | None = None
        self._sites_of_name: Counter[str] = Counter()
        for number, file in enumerate(self.files):
            exprs = file.facts.exprs
            rows = (exprs[site.callee] for site in file.facts.sites)
            self._sites_of_name.update(self.last_name(number, row) for row in rows)
        self._uses_of_decorators = Counter(
            self._decorator_name(number, site)
            for number, file in enumerate(self.files)
            for site in file.facts.sites
            if site.flags & SiteFlag.DECORATOR
        )

    def is_called_often(self, function: Definition) -> bool:
        """Whether so many calls have its name that what they pass says nothing of a single one."""
        *around, name = self.scope(function).qualified_name.split(".")
        if name in ("__init__", "__new__", "constructor") and around:
            name = around[-1]
        return self._sites_of_name[name] > MAX_CALLS

    def is_common_decorator(self, file: int, site: Site) -> bool:
        """Whether so many functions have this decorator that what it makes of each could not be told apart."""
        return self._uses_of_decorators[self._decorator_name(file, site)] > MAX_DECORATED

    def _decorator_name(self, file: int, site: Site) -> str:
        row = self.row((file, site.callee))
        if row[0] == Op.CALL:
            row = self.row((file, self.files[file].facts.sites[row[1]].callee))
        return self.last_name(file, row)

    def last_name(self, file: int, row: Row) -> str:
        if row[0] == Op.SYMBOL:
            return self.scope((file, row[1])).qualified_name.rpartition(".")[2]
        return row[-1] if isinstance(row[-1], str) else ""

    def row(self, place: Place) -> Row:
        return self.files[place[0]].facts.exprs[place[1]]

    def scope(self, definition: Definition) -> Scope:
        return self.files[definition[0]].facts.scopes[definition[1]]

    def front_end(self, file: int) -> FrontEnd:
        return self._front_ends[self.files[file].language]

    def module(self, file: int, specifier: str) -> int | None:
        """The file that an import in `file` means; None if it is none of the project."""
        key = (file, specifier)
        if key not in self._found_modules:
            self._found_modules[key] = self._module(file, specifier)
        return self._found_modules[key]

    def _module(self, file: int, specifier: str) -> int | None:
        path = self._all_modules.find(specifier, self.files[file])
        return self._numbers.get(path) if path is not None else None

    def is_namespace(self, dotted: str) -> bool:
        """Whether a folder without a file of its own has modules of the project."""
        return dotted in self._packages

    def export(self, file: int, name: str) -> Place | int | None:
        """What a module gives by this name: an expression of some file, or the number of a file that is a module in
        it."""
        found = self._exports(file).get(name)
        if found is not None:
            return found
        if name == "default" and self.files[file].language != "python":
            replaced = self.files[file].facts.scopes[0].members.get("=")
            return file if replaced is None else (file, replaced)
        return self.submodule(file, name)

    def _exports(self, file: int) -> dict[str, Place]:
        """Its own names, then those of the modules whose names it takes, the last first."""
        table = self._export_tables.get(file)
        if table is None:
            table = self._export_tables[file] = {}
            reached = {file: None}
            rest = [file]
            while rest:
                each = rest.pop()
                module = self.files[each].facts.scopes[0]
                listed = self._listed(each) if each != file else frozenset[str]()
                for name, expr in module.members.items():
                    hidden = (name.startswith("_") and name not in listed) or name in ("default", "=")
                    if each == file or not hidden:
                        table.setdefault(name, (each, expr))
                for specifier in module.stars:
                    other = self.module(each, specifier)
                    if other is not None and other not in reached:
                        reached[other] = None
                        rest.append(other)
        return table

    def _listed(self, file: int) -> frozenset[str]:
        """The names in `__all__`, as far as they are written."""
        row = self.row((file, self.files[file].facts.scopes[0].members.get("__all__", 0)))
        elements: list[Expr] = row[1] if row[0] == Op.SEQUENCE else []
        rows = (self.row((file, each)) for each in elements)
        return frozenset(row[1] for row in rows if row[0] == Op.KEY)

    def submodule(self, file: int, name: str) -> int | None:
        path = self.files[file].path
        if not path.rpartition("/")[2].startswith("__init__."):
            return None
        found = self.module(file, "." + name)
        return found if found != file else None

    def has_foreign_stars(self, file: int) -> bool:
        """Whether names of a file may come from modules that are none of the project."""
        found = self._foreign_stars.get(file)
        if found is None:
            stars = self.files[file].facts.scopes[0].stars
            found = self._foreign_stars[file] = any(self.module(file, specifier) is None for specifier in stars)
        return found

    def definitions(self, place: Place) -> tuple[Definition | None, ...]:
        """The functions and classes that an expression denotes by what the language says, without following values;
        None stands for one from outside of the project."""
        known = self._found_classes.get(place)
        if known is None:
            self._found_classes[place] = ()  # for circles
            known = self._found_classes[place] = tuple(self._definitions(place))
        return known

    def _definitions(self, start: Place) -> Iterable[Definition | None]:  # noqa: C901 - a case for each form
        found: dict[Definition | None, None] = {}
        seen: set[Place] = set()
        rest = [start]
        while rest and len(seen) < _MAX_STEPS:
            place = rest.pop()
            if place in seen:
                continue
            seen.add(place)
            file, row = place[0], self.row(place)
            op = row[0]
            if op == Op.SYMBOL:
                found[file, row[1]] = None
            elif op == Op.UNION:
                rest.extend((file, each) for each in row[1])
            elif op == Op.SLOT:
                rest.extend((file, each) for each in self.files[file].facts.slots[row[1]])
            elif op == Op.ITEM:  # `Base[int]`
                rest.append((file, row[1]))
            elif op == Op.CALL:
                site = self.files[file].facts.sites[row[1]]
                if site.flags & SiteFlag.DECORATOR:
                    rest.append((file, site.arguments[0]))
                else:
                    rest.extend(self._made_by((file, site.callee), found))
            elif op in (Op.MEMBER, Op.FREE, Op.ATTR):
                rest.extend(self._named(file, row, found))
            elif op == Op.EXTERNAL:
                found[None] = None
        return found

    def _made_by(self, callee: Place, found: dict[Definition | None, None]) -> Iterable[Place]:
        """What functions that make classes return."""
        made: list[Place] = []
        for each in self.definitions(callee):
            if each is not None and self.scope(each).kind not in ("class", "interface"):
                made.extend((each[0], expr) for expr in self.scope(each).returns)
        if not made:
            found[None] = None
        return made

    def _named(self, file: int, row: Row, found: dict[Definition | None, None]) -> Iterable[Place]:
        if row[0] == Op.ATTR:
            return self._attribute(file, row, found)
        if row[0] == Op.FREE:
            export = self.export(file, row[1])
            if export is None:
                found[None] = None
        else:
            module = self.module(file, row[1])
            export = self.export(module, row[2]) if module is not None else None
            if module is None:
                found[None] = None
        return [export] if isinstance(export, tuple) else []

    def _attribute(self, file: int, row: Row, found: dict[Definition | None, None]) -> Iterable[Place]:
        places: list[Place] = []
        of = self.row((file, row[1]))
        for part in of[1] if of[0] == Op.UNION else (row[1],):
            places.extend(self._attribute_of((file, part), row[2], found))
        return places

    def _attribute_of(self, of: Place, name: str, found: dict[Definition | None, None]) -> Iterable[Place]:
        module = self.module_of(of)
        if module is not None:
            export = self.export(module, name)
            return [export] if isinstance(export, tuple) else []
        places: list[Place] = []
        for definition in self.definitions(of):
            if definition is None:
                found[None] = None
            else:
                member = self.scope(definition).members.get(name)
                places.extend([(definition[0], member)] if member is not None else [])
        if not places and self.row(of)[0] == Op.MODULE:
            found[None] = None
        return places

    def module_of(self, place: Place) -> int | None:
        """The file that an expression is as a module."""
        names: list[str] = []
        file, expr = place
        for _ in range(_MAX_STEPS):
            row = self.row((file, expr))
            if row[0] != Op.ATTR:
                break
            names.append(row[2])
            expr = row[1]
        row = self.row((file, expr))
        if row[0] == Op.MODULE:
            module, dotted = self.module(file, row[1]), row[1]
        elif row[0] == Op.MEMBER:
            outer = self.module(file, row[1])
            export = self.export(outer, row[2]) if outer is not None else None
            if isinstance(export, tuple):
                again = self.row(export)
                export = self.module(export[0], again[1]) if again[0] == Op.MODULE else None
            module, dotted = export, ""
        else:
            return None
        for name in reversed(names):
            dotted = f"{dotted}.{name}"
            if module is not None:
                export = self.export(module, name)
                module = export if isinstance(export, int) else None
                if isinstance(export, tuple):
                    return None
            else:
                module = self.module(file, dotted)
        return module

    def order(self, definition: Definition) -> tuple[Definition | None, ...]:
        """Where attributes of a class are looked for, itself first (C3); None where a class from outside has its
        place."""
        rest = [definition]
        entered: set[Definition] = set()
        while definition not in self._orders:
            top = rest[-1]
            above = [each for each in self.parents(top) if each and each not in self._orders and each not in entered]
            entered.add(top)
            if above:
                rest.extend(above)
            else:
                self._orders[top] = self._linear(top)
                rest.pop()
        return self._orders[definition]

    def _linear(self, definition: Definition) -> tuple[Definition | None, ...]:
        lists: list[list[Definition | None]] = []
        parents: list[Definition | None] = []
        for parent in self.parents(definition):
            if parent is None:
                parents.append(None)
            elif parent != definition:
                parents.append(parent)
                lists.append(list(self._orders.get(parent, (parent,))))
        lists.append(parents)
        order: list[Definition | None] = [definition]
        while any(lists):
            lists = [each for each in lists if each]
            head = next((each[0] for each in lists if not any(each[0] in other[1:] for other in lists)), lists[0][0])
            if head is None or head not in order:
                order.append(head)
            lists = [[each for each in other if each != head] for other in lists]
        return tuple(order)

    def has_attribute(self, cls: Definition, name: str) -> bool:
        """Whether the class or one above it defines or assigns the attribute."""
        for each in self.order(cls):
            if each is not None:
                scope = self.scope(each)
                if name in scope.members or name in scope.attributes:
                    return True
        return False

    def parents(self, definition: Definition) -> tuple[Definition | None, ...]:
        file = definition[0]
        found: dict[Definition | None, None] = {}
        for base in self.scope(definition).bases:
            for parent in self.definitions((file, base)):
                found[parent] = None
        return tuple(found)

    def below(self, definition: Definition) -> list[Definition]:
        """The classes that inherit from this one, directly or not."""
        if self._below is None:
            self._below = {}
            for file, code in enumerate(self.files):
                for number, scope in enumerate(code.facts.scopes):
                    if scope.bases:
                        for above in self.order((file, number))[1:]:
                            if above is not None:
                                self._below.setdefault(above, []).append((file, number))
        return self._below.get(definition, [])
