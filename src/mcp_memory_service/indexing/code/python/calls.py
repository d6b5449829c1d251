"""Calls of Python, and what calls of built-in functions mean."""

from collections.abc import Callable
from typing import Any, TypeAlias

from tree_sitter import Node

from ..facts import Expr, Op, Row, Site, SiteFlag
from .reader import Reader, element, line_of, object_and_name, operation, text_of

_Arguments: TypeAlias = list[Expr]
_BuiltIn: TypeAlias = Callable[[Reader, Node, _Arguments, list[list[Any]]], Expr]


def call(r: Reader, node: Node) -> Expr:
    parts = node.named_children
    if len(parts) == 2:
        function, holder = parts
    else:
        found, holder = node.child_by_field_name("function"), node.child_by_field_name("arguments")
        if found is None:
            return 0
        function = found
    callee, place = _callee(r, function)
    arguments, named = _arguments(r, holder)
    row = r.build.facts.exprs[callee]
    if row[0] == Op.FREE and row[1] in _BUILT_IN:
        return _BUILT_IN[row[1]](r, node, arguments, named)
    known = _LIBRARY.get(_library_name(r, row))
    if known is not None:
        return known(r, node, arguments, named)
    if row[0] == Op.ATTR:
        if r.op(row[1]) in (Op.EXTERNAL, Op.KEY):
            return r.build.expr(Op.EXTERNAL, "result")
        if row[2] in _ENTERING and len(arguments) == 1:
            return operation(r, node, arguments[0], _ENTERING[row[2]])
        if row[2] == "update" and len(arguments) == 1:
            _update(r, function, row[1], arguments[0])
    return r.build.call(Site(r.frame.scope, line_of(place), callee, arguments, named))


def _library_name(r: Reader, row: Row) -> str:
    """`functools.reduce`, however it was imported."""
    if row[0] == Op.MEMBER:
        return f"{row[1]}.{row[2]}"
    if row[0] == Op.ATTR:
        of = r.build.facts.exprs[row[1]]
        return f"{of[1]}.{row[2]}" if of[0] == Op.MODULE else ""
    return ""


# Of `contextlib.ExitStack` and `AsyncExitStack`.
_ENTERING = {"enter_context": "__enter__", "enter_async_context": "__aenter__"}


def _update(r: Reader, function: Node, of: Expr, other: Expr) -> None:
    """`d.update(e)` of two literals: from here on the variable has the entries of both."""
    place = function.child_by_field_name("object")
    name = text_of(place) if place is not None and place.type == "identifier" else ""
    is_literal = r.op(of) == Op.MAPPING and r.op(other) == Op.MAPPING
    if is_literal and r.frame.names.get(name) == of and name not in r.shared_names:
        pairs = [[0, r.build.expr(Op.SPREAD, each)] for each in (of, other)]
        r.bind(name, r.build.literal(Op.MAPPING, pairs))


def _callee(r: Reader, function: Node) -> tuple[Expr, Node]:
    """Not noted as read. Beside it where its name stands."""
    if function.type == "identifier":
        return r.name(r.text(function)), function
    if function.type == "attribute":
        inner, name = object_and_name(function)
        of = r.expr(inner)
        return r.build.expr(Op.ATTR, of, r.text(name) if name is not None else ""), name or function
    return r.expr(function), function


def _arguments(r: Reader, holder: Node | None) -> tuple[_Arguments, list[list[Any]]]:
    arguments: _Arguments = []
    named: list[list[Any]] = []
    if holder is None:
        return arguments, named
    if holder.type == "generator_expression":
        return [r.expr(holder)], named
    for child in holder.named_children:
        kind = child.type
        if kind == "keyword_argument":
            parts = child.named_children
            named.append([r.text(parts[0]), r.expr(parts[-1])])
        elif kind == "dictionary_splat":
            named.append(["", r.expr(child.named_children[0])])
        elif kind != "comment":
            arguments.append(r.expr(child))
    return arguments, named


def _super(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    scope = r.frame.class_scope
    if arguments and r.op(arguments[0]) == Op.SYMBOL:
        scope = r.build.facts.exprs[arguments[0]][1]
    return r.build.expr(Op.SUPER, scope) if scope >= 0 else 0


def _getattr(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    if len(arguments) < 2:
        return 0
    row = r.build.facts.exprs[arguments[1]]
    if row[0] != Op.KEY:
        return 0
    found = r.build.expr(Op.ATTR, arguments[0], str(row[1]))
    r.read(found, node)
    return r.build.union([found, *arguments[2:]])


def _setattr(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    if len(arguments) == 3:
        row = r.build.facts.exprs[arguments[1]]
        if row[0] == Op.KEY:
            r.build.facts.stores.append([r.frame.scope, line_of(node), arguments[0], str(row[1]), arguments[2]])
    return 0


def _type(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    return r.build.expr(Op.TYPE_OF, arguments[0]) if len(arguments) == 1 else 0


def _collection(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    """`list(x)`, `sorted(x, key=f)`: another object with the elements of the first."""
    for name, value in named:
        if name == "key" and arguments:
            _called(r, node, value, [element(r, node, arguments[0])])
    if not arguments:
        return r.build.literal(Op.SEQUENCE, [])
    element(r, node, arguments[0])
    return r.build.literal(Op.SEQUENCE, [r.build.expr(Op.SPREAD, arguments[0])])


def _called(r: Reader, node: Node, function: Expr, arguments: _Arguments) -> Expr:
    """A function that a built-in one calls at once."""
    flags = SiteFlag.IMPLICIT
    return r.build.call(Site(r.frame.scope, line_of(node), function, arguments, [], flags)) if function else 0


def _map(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    if len(arguments) < 2:
        return 0
    result = _called(r, node, arguments[0], [element(r, node, each) for each in arguments[1:]])
    return r.build.expr(Op.COLLECTION, result)


def _filter(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    if len(arguments) != 2:
        return 0
    each = element(r, node, arguments[1])
    _called(r, node, arguments[0], [each])
    return r.build.expr(Op.COLLECTION, each)


def _chosen(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    """`max`, `min`, `next`: one of what is given."""
    each = element(r, node, arguments[0]) if len(arguments) == 1 else r.build.union(arguments)
    for name, value in named:
        if name == "key":
            _called(r, node, value, [each])
    return each


def _next(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    if not arguments:
        return 0
    operation(r, node, arguments[0], "__next__")
    return r.build.union([r.build.expr(Op.ELEMENT, arguments[0]), *arguments[1:]])


def _iter(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    return operation(r, node, arguments[0], "__iter__") if arguments else 0


def _dict(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    pairs = [[0, r.build.expr(Op.SPREAD, each)] for each in arguments]
    for name, value in named:
        pairs.append([r.build.expr(Op.KEY, name), value] if name else [0, r.build.expr(Op.SPREAD, value)])
    return r.build.literal(Op.MAPPING, pairs)


def _enumerate(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    parts = [r.build.expr(Op.EXTERNAL, "int"), *(element(r, node, each) for each in arguments[:1])]
    return r.build.expr(Op.COLLECTION, r.build.literal(Op.SEQUENCE, parts))


def _zip(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    return r.build.expr(Op.COLLECTION, r.build.literal(Op.SEQUENCE, [element(r, node, each) for each in arguments]))


def _consumed(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    """`sum`, `any`, `all`, `isinstance`, ...: nothing of the project comes out."""
    for each in arguments[:1]:
        element(r, node, each)
    return r.build.expr(Op.EXTERNAL, "value")


def _operation(method: str) -> _BuiltIn:
    def read(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
        for each in arguments[:1]:
            operation(r, node, each, method)
        return r.build.expr(Op.EXTERNAL, method)

    return read


def _plain(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    return r.build.expr(Op.EXTERNAL, "value")


def _same(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    return arguments[0] if arguments else 0


def _cast(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    """`cast(X, value)`: what the type promises, if it is a class, beside the value."""
    if len(arguments) != 2:
        return 0
    is_class = r.op(arguments[0]) in (Op.SYMBOL, Op.MEMBER)
    return r.build.expr(Op.INSTANCE, arguments[0]) if is_class else arguments[1]


def _chain(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    return r.build.literal(Op.SEQUENCE, [r.build.expr(Op.SPREAD, each) for each in arguments])


def _partial(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    return arguments[0] if arguments else 0


def _reduce(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    if len(arguments) < 2:
        return 0
    each = element(r, node, arguments[1])
    return r.build.union([_called(r, node, arguments[0], [each, each]), *arguments[2:]])


def _default_dict(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    """What its first argument makes stands under every key."""
    made = _called(r, node, arguments[0], []) if arguments else 0
    return r.build.literal(Op.MAPPING, [[0, made]])


def _import_module(r: Reader, node: Node, arguments: _Arguments, named: list[list[Any]]) -> Expr:
    row = r.build.facts.exprs[arguments[0]] if arguments else (Op.UNKNOWN,)
    if row[0] != Op.KEY or not isinstance(row[1], str):
        return 0
    r.build.facts.imports.append([r.frame.scope, line_of(node), row[1], ""])
    return r.build.expr(Op.MODULE, row[1])


_LIBRARY: dict[str, _BuiltIn] = {
    "functools.partial": _partial,
    "functools.reduce": _reduce,
    "collections.deque": _collection,
    "collections.OrderedDict": _dict,
    "collections.defaultdict": _default_dict,
    "importlib.import_module": _import_module,
    "itertools.chain": _chain,
    "copy.copy": _same,
    "copy.deepcopy": _same,
    "typing.cast": _cast,
}
_BUILT_IN: dict[str, _BuiltIn] = {
    "super": _super,
    "getattr": _getattr,
    "setattr": _setattr,
    "type": _type,
    **dict.fromkeys(("list", "tuple", "set", "frozenset", "sorted", "reversed"), _collection),
    "map": _map,
    "filter": _filter,
    "max": _chosen,
    "min": _chosen,
    "next": _next,
    "iter": _iter,
    "dict": _dict,
    "enumerate": _enumerate,
    "zip": _zip,
    **dict.fromkeys(("sum", "any", "all"), _consumed),
    **dict.fromkeys(("isinstance", "issubclass", "range", "print", "open", "hasattr", "id", "callable"), _plain),
    "len": _operation("__len__"),
    "str": _operation("__str__"),
    "repr": _operation("__repr__"),
    "bool": _operation("__bool__"),
    "hash": _operation("__hash__"),
    "abs": _operation("__abs__"),
    "int": _operation("__int__"),
    "float": _operation("__float__"),
    "bytes": _operation("__bytes__"),
}
