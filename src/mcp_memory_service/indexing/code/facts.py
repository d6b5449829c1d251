"""What a file says that matters for resolving names, in one form for all languages: expressions, variables, scopes,
sites.

A front end lowers the statements of a language to this form and decides all that its file alone can decide: which
variable a name means, which assignments reach it, what an annotation denotes. What needs other files is left to the
resolver: imports, classes and their bases, and what flows through calls.

Everything is lists, numbers and strings, so that it is JSON as it is; the record of each file keeps it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final, TypeAlias

from .model import SymbolKind

Expr: TypeAlias = int
"""The place of an expression in `Facts.exprs`. Equal expressions of a file have one place; 0 is `Op.UNKNOWN`."""
Row: TypeAlias = Sequence[Any]
"""An expression: its `Op`, and the operands that the op names."""


# What an annotation of these types promises is nothing of the project, whatever is assigned.
SCALARS = frozenset({"int", "str", "float", "bool", "bytes", "complex"})


class Op:
    """What an expression is; behind each its operands. Plain numbers: they are compared a million times in a
    project."""

    UNKNOWN: Final = 0
    """Nothing is known. A receiver that is unknown may be guessed by a unique name."""
    EXTERNAL: Final = 1
    """(what: str): certainly nothing of the project, such as a literal or a value of a built-in type; never guessed."""
    KEY: Final = 2
    """(value: str | int): a constant that may be a key of a mapping, an index, or the name of an attribute."""
    SLOT: Final = 3
    """(slot: int): the variable of this number in `Facts.slots`."""
    FREE: Final = 4
    """(name: str): a name that the file does not bind: from a star import, or built in."""
    SYMBOL: Final = 5
    """(scope: int): the function or class that a scope of this file defines, without its decorators."""
    MODULE: Final = 6
    """(specifier: str): a module, as it is written: `a.b`, `..c`, `./d.js`."""
    MEMBER: Final = 7
    """(specifier: str, name: str): what a module exports by this name, or a module in it."""
    ATTR: Final = 8
    """(of: Expr, name: str)"""
    ITEM: Final = 9
    """(of: Expr, key: Expr): what stands under a key or an index; key 0 if it is not known."""
    ELEMENT: Final = 10
    """(of: Expr): what iterating gives; (of, 1): what an asynchronous loop gets."""
    CALL: Final = 11
    """(site: int): what the call of this number in `Facts.sites` returns."""
    AWAIT: Final = 12
    """(of: Expr)"""
    UNION: Final = 13
    """(exprs: list[Expr]): one of these: branches, `a or b`, `x if c else y`."""
    SEQUENCE: Final = 14
    """(elements: list[Expr]): a list, tuple or set; an element may be a SPREAD."""
    MAPPING: Final = 15
    """(pairs: list[list[Expr]]): a dict. A pair is [key, value]; key 0 if it is not known; [0, SPREAD] takes all of
    another."""
    SPREAD: Final = 16
    """(of: Expr): all elements of this, in a SEQUENCE, a MAPPING, an OBJECT or the arguments of a call."""
    INSTANCE: Final = 17
    """(of: Expr): an instance of the class that this denotes: what an annotation promises, or what a test has made
    sure."""
    SELF: Final = 18
    """(scope: int): the object that the methods of this class run on: an instance of it or of a class below it."""
    CLS: Final = 19
    """(scope: int): this class or one below it, in class methods."""
    SUPER: Final = 20
    """(scope: int): the object of a method of this class, with the attributes of the classes above it only."""
    COLLECTION: Final = 21
    """(element: Expr): something that gives this when iterated or indexed: `list[X]`, `Iterator[X]`."""
    TABLE: Final = 22
    """(key: Expr, value: Expr): something that gives keys when iterated and values when indexed: `dict[K, V]`."""
    CALLABLE: Final = 23
    """(result: Expr): something that gives this when called: `Callable[..., X]`. What flows in is still followed."""
    OBJECT: Final = 24
    """(pairs: list[list[Expr]]): an object literal of JavaScript: its entries are attributes as well. A pair as in
    MAPPING."""
    SLICE: Final = 25
    """(of: Expr, start: int | None, stop: int | None): a part of a sequence; None if a bound is not known or not
    given."""
    TYPE_OF: Final = 26
    """(of: Expr): the class of this: `type(x)`, `x.constructor`."""
    OPERATION: Final = 27
    """(of: Expr, method: str, argument: Expr): a method that is called without being named: `a + b`, `with`,
    `len(x)`."""
    TYPE: Final = 28
    """(of: Expr): a type that is no class; an INSTANCE of it is `of`: `type Action = () => void`."""
    PROTOTYPE: Final = 29
    """(of: Expr): an instance of exactly the class that this denotes: `A.prototype`."""
    EXCEPT: Final = 30
    """(of: Expr, classes: Expr): `of`, where a test has made sure that it is no instance of these classes."""
    ONLY: Final = 31
    """(of: Expr, classes: Expr): of the objects that `of` may be, the instances of these classes."""


class ParameterKind:
    PLAIN: Final = 0
    """By position or by name."""
    POSITIONAL: Final = 1
    NAMED: Final = 2
    REST: Final = 3
    """`*args`, `...rest`: its slot holds a sequence of what is left."""
    NAMED_REST: Final = 4
    """`**kwargs`"""


@dataclass(slots=True)
class Parameter:
    name: str
    slot: int
    """The variable it is in the body. The resolver puts into it what callers pass."""
    kind: int = ParameterKind.PLAIN
    declared: Expr = 0
    """What its annotation promises (`INSTANCE`, `COLLECTION`, `CALLABLE`, ...); 0 without one."""
    default: Expr = 0


class Trait:
    """What a front end knows of a symbol."""

    ASYNC: Final = 1
    GENERATOR: Final = 2
    STATIC: Final = 4
    """Called on a class or an instance, it gets neither as its first argument."""
    CLASS_METHOD: Final = 8
    PROPERTY: Final = 16
    """Reading the attribute is a call."""
    ABSTRACT: Final = 32
    """Declared without a body that does anything: abstract, of a protocol or an interface, an overload, a stub."""
    CONTEXT_MANAGER: Final = 64
    """A generator function that `with` is used on."""
    THIS_FROM_OUTSIDE: Final = 128
    """An arrow function: `this` is that of the scope around it."""
    TEST: Final = 256
    """A test, or a fixture: its calls are `tests` edges as well."""
    SETTER: Final = 512
    """Assigning the attribute is a call; such a symbol is in `Scope.setters`, not in `members`."""
    WRAPPER: Final = 1024
    """Says by itself that it stands for another function, as with `functools.wraps`: a call of it may mean that too."""
    OVERLOAD: Final = 2048
    """One of several declarations of a function whose body stands elsewhere."""


@dataclass(slots=True)
class Scope:
    """What belongs to one symbol. The first of `Facts.scopes` is the module; the others come in any order."""

    kind: SymbolKind
    qualified_name: str
    first_line: int
    last_line: int
    parent: int = -1
    """The scope around it."""
    traits: int = 0
    parameters: list[Parameter] = field(default_factory=list[Parameter])
    """Of functions; `self` and `cls` are among them, `this` is not."""
    returns: list[Expr] = field(default_factory=list[Expr])
    yields: list[Expr] = field(default_factory=list[Expr])
    declared: Expr = 0
    """What calling it gives, by its annotation. Of a generator: what the generator gives (COLLECTION)."""
    bases: list[Expr] = field(default_factory=list[Expr])
    """Of classes and interfaces: what it extends and implements, in order."""
    members: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """Of classes: what its body binds, methods included (a decorated one as the CALL of its decorator). Of modules:
    every name that others can import; of JavaScript its exports: `default`, and `=` for what replaces the module
    (`module.exports = ...`). Of functions that are used as constructors: what is put on their prototype."""
    attributes: dict[str, list[Expr]] = field(default_factory=dict[str, list[Expr]])
    """Of classes: what their methods assign to `self.NAME`, and INSTANCEs that the class body declares."""
    setters: dict[str, Expr] = field(default_factory=dict[str, Expr])
    """Of classes: the functions that are called when `x.NAME = ...` is executed."""
    stars: list[str] = field(default_factory=list[str])
    """Of modules: specifiers of modules whose exports are exports of this one: `from m import *`, `export * from`."""
    this: int = -1
    """Of functions: the variable that holds the object they are called on, where a call decides it (`this`); -1 if
    none."""


class SiteFlag:
    NEW: Final = 1
    """`new X(...)`"""
    IMPLICIT: Final = 2
    """Not written as a call: `with`, `for`, `x[k]`, operators, a decorator. Never guessed, never told as open."""
    DECORATOR: Final = 4
    """A decorator and what it decorates, its only argument. Unless the decorator is known, the result is the
    argument."""
    RAISE: Final = 8
    """`raise X`: instantiates if it is a class, else nothing is called."""
    OPTIONAL: Final = 16
    """`super().x()` and others that need not lead to the project."""
    QUIET: Final = 32
    """Passes its arguments on, but is no call: `f.bind(x, y)`."""


@dataclass(slots=True)
class Site:
    """One place of a call."""

    scope: int
    """Whose code it is in: the caller."""
    line: int
    callee: Expr
    """An ATTR for a method; so the receiver is known as well."""
    arguments: list[Expr] = field(default_factory=list[Expr])
    """By position; SPREAD for `*x`."""
    named: list[list[Any]] = field(default_factory=list[list[Any]])
    """[name, Expr]; name "" for `**x`."""
    flags: int = 0
    this: Expr = 0
    """The object it is called on if that is not written before the dot: `f.call(x)`."""
    unless: int = -1
    """The number of another site: this call happens only if that one leads to nothing of the project, for it is made
    by a built-in method: `list.map(f)` calls `f`."""


@dataclass(slots=True)
class Facts:
    """Of one file."""

    exprs: list[Row]
    slots: list[list[Expr]]
    """Variables: the expressions that are assigned to each. A front end may make a new one for each assignment, and
    so say which of them reaches which use."""
    scopes: list[Scope]
    sites: list[Site]
    reads: list[list[Any]]
    """[scope, Expr, line, line, ...]: what is read and not called. SYMBOL, MEMBER, ATTR become references if they are
    functions or classes, and calls if they are properties; ITEM, ELEMENT and OPERATION calls of what defines them."""
    stores: list[list[Any]]
    """[scope, line, of: Expr, name: str, value: Expr]: assignments to attributes of anything but `self`."""
    items: list[list[Any]]
    """[of: Expr, key: Expr, value: Expr]: assignments to keys and indices. With a fourth entry: by a method that only
    built-in containers have by this meaning, such as `list.push(x)`."""
    imports: list[list[Any]]
    """[scope, line, specifier, name]: `name` is "" for a module as a whole and "*" for all that it exports."""

    def to_json(self) -> list[Any]:
        return [
            self.exprs,
            self.slots,
            [_scope_row(scope) for scope in self.scopes],
            [[s.scope, s.line, s.callee, s.arguments, s.named, s.flags, s.this, s.unless] for s in self.sites],
            self.reads,
            self.stores,
            self.items,
            self.imports,
        ]

    @classmethod
    def from_json(cls, rows: Sequence[Any]) -> "Facts":
        exprs, slots, scopes, sites, reads, stores, items, imports = rows
        return cls(
            exprs, slots, [_scope(row) for row in scopes], [Site(*row) for row in sites], reads, stores, items, imports
        )


def _scope_row(scope: Scope) -> list[Any]:
    return [
        scope.kind,
        scope.qualified_name,
        scope.first_line,
        scope.last_line,
        scope.parent,
        scope.traits,
        [[p.name, p.slot, p.kind, p.declared, p.default] for p in scope.parameters],
        scope.returns,
        scope.yields,
        scope.declared,
        scope.bases,
        scope.members,
        scope.attributes,
        scope.setters,
        scope.stars,
        scope.this,
    ]


def _scope(row: Sequence[Any]) -> Scope:
    scope = Scope(*row)
    scope.parameters = [Parameter(*each) for each in row[6]]
    return scope


class FactsBuilder:
    """Collects the facts of a file; a front end has one."""

    def __init__(self) -> None:
        self.facts = Facts([[Op.UNKNOWN]], [], [], [], [], [], [], [])
        self._known: dict[tuple[Any, ...], Expr] = {}
        self._reads: dict[tuple[int, Expr], list[Any]] = {}

    def expr(self, *row: int | str | None) -> Expr:
        """The expression of an op and its operands; equal ones are one."""
        known = self._known.get(row)
        if known is None:
            known = self._known[row] = len(self.facts.exprs)
            self.facts.exprs.append(row)
        return known

    def literal(self, op: int, parts: list[Any]) -> Expr:
        """SEQUENCE, MAPPING or OBJECT: each place in the text is an object of its own."""
        self.facts.exprs.append([op, parts])
        return len(self.facts.exprs) - 1

    def union(self, exprs: Sequence[Expr]) -> Expr:
        distinct = sorted({expr for expr in exprs if expr})
        if len(distinct) < 2:
            return distinct[0] if distinct else 0
        key = (Op.UNION, *distinct)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = len(self.facts.exprs)
            self.facts.exprs.append([Op.UNION, distinct])
        return known

    def slot(self, *bound: Expr) -> int:
        """A new variable."""
        self.facts.slots.append(list(bound))
        return len(self.facts.slots) - 1

    def bind(self, slot: int, value: Expr) -> None:
        if value:
            self.facts.slots[slot].append(value)

    def scope(self, scope: Scope) -> int:
        self.facts.scopes.append(scope)
        return len(self.facts.scopes) - 1

    def call(self, site: Site) -> Expr:
        """Notes a call; gives the expression of its result."""
        self.facts.sites.append(site)
        return self.expr(Op.CALL, len(self.facts.sites) - 1)

    def read(self, scope: int, expr: Expr, line: int) -> None:
        row = self._reads.get((scope, expr))
        if row is None:
            row = self._reads[scope, expr] = [scope, expr]
            self.facts.reads.append(row)
        if row[-1] != line or len(row) == 2:
            row.append(line)
