"""What global functions and objects do with what they are given: timers, `Object`, `Promise`, `Reflect`, `new Map`."""

from collections.abc import Callable
from typing import TypeAlias

from tree_sitter import Node

from ..facts import Expr, Op, Site, SiteFlag, Trait
from .assignments import entries_of, prototype_owner, store_on
from .library import calls_given, entries
from .objects import argument
from .reader import Reader, field_of, line_of, string_of, text_of

_TIMERS = frozenset(
    "setTimeout setInterval setImmediate queueMicrotask requestAnimationFrame requestIdleCallback".split()
)
_FIRST = frozenset("freeze seal preventExtensions".split())
_INHERITS = frozenset("inherits _inherits __extends _inheritsLoose inherit".split())
_EMITTERS = frozenset("EventEmitter EventEmitter2 EventEmitter3 Emitter EventTarget".split())


def global_call(r: Reader, node: Node, name: str, nodes: list[Node]) -> Expr | None:
    """A call of a name that the file does not bind; none if it is no function known here."""
    if name == "Object" and nodes:
        return r.value(nodes[0])
    if name in _TIMERS and nodes:
        arguments = [argument(r, one) for one in nodes]
        calls_given(r, node, arguments[0], arguments[2:], -1)
        return r.external("timer")
    if name in _INHERITS and len(nodes) == 2:
        _inherits(r, nodes[0], nodes[1])
    return None


def static_call(r: Reader, node: Node, function: Node, nodes: list[Node], name: str) -> Expr | None:
    """`Object.assign(...)` and the like; none if it is not one of these."""
    method = text_of(field_of(function, "property"))
    of = field_of(function, "object")
    if method in _INHERITS and len(nodes) == 2:
        _inherits(r, nodes[0], nodes[1])
        return None
    owner = r.global_name(of, frozenset(_STATIC))
    read = _STATIC[owner].get(method) if owner else None
    if read is None:
        return None
    arguments = [argument(r, one, name if read is _first else "") for one in nodes]
    return read(r, node, nodes, arguments)


def _inherits(r: Reader, child: Node, parent: Node) -> None:
    row = r.row(r.value(child))
    if row[0] == Op.SYMBOL:
        r.scope(row[1]).bases.append(r.mentioned(r.value(parent), parent))


_Static: TypeAlias = "Callable[[Reader, Node, list[Node], list[Expr]], Expr]"


def _assign(r: Reader, node: Node, nodes: list[Node], arguments: list[Expr]) -> Expr:
    """`Object.assign(target, ...sources)`"""
    if not nodes:
        return 0
    owner = prototype_owner(r, nodes[0])
    if owner is not None:
        for source, value in zip(nodes[1:], arguments[1:], strict=True):
            _mix_in(r, owner, source, value)
        return 0
    if nodes[0].type == "object":
        return r.build.literal(Op.OBJECT, [[0, r.build.expr(Op.SPREAD, one)] for one in arguments])
    for value in arguments[1:]:
        for name, entry in entries_of(r, value):
            store_on(r, node, arguments[0], name, entry)
    return arguments[0]


def _mix_in(r: Reader, owner: int, source: Node, value: Expr) -> None:
    scope = r.scope(owner)
    if source.type == "member_expression" and text_of(field_of(source, "property")) == "prototype":
        scope.bases.insert(0, r.value(field_of(source, "object")))
        return
    entries = entries_of(r, value)
    for name, entry in entries:
        scope.members[name] = entry
    if not entries:
        scope.bases.insert(0, value)


def _create(r: Reader, _node: Node, nodes: list[Node], arguments: list[Expr]) -> Expr:
    if not nodes:
        return 0
    if nodes[0].type == "member_expression" and text_of(field_of(nodes[0], "property")) == "prototype":
        return r.build.expr(Op.PROTOTYPE, r.value(field_of(nodes[0], "object")))
    return r.build.literal(Op.OBJECT, [[0, r.build.expr(Op.SPREAD, arguments[0])]])


def _first(_r: Reader, _node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    return arguments[0] if arguments else 0


def _values(r: Reader, _node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    return r.build.expr(Op.COLLECTION, r.build.expr(Op.ITEM, arguments[0], 0)) if arguments else 0


def _object_entries(r: Reader, _node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    return entries(r, arguments[0]) if arguments else 0


def _keys(r: Reader, _node: Node, _nodes: list[Node], _arguments: list[Expr]) -> Expr:
    return r.build.expr(Op.COLLECTION, r.external("key"))


def _define_property(r: Reader, node: Node, nodes: list[Node], arguments: list[Expr]) -> Expr:
    name = string_of(nodes[1]) if len(nodes) == 3 else None
    for key, value in entries_of(r, arguments[2]) if name is not None else ():
        if key in {"get", "value"}:
            _describe(r, node, nodes[0], arguments[0], name or "", key, value)
    return arguments[0] if arguments else 0


def _describe(r: Reader, node: Node, of_node: Node, of: Expr, name: str, key: str, value: Expr) -> None:
    row = r.row(value)
    if key == "get" and row[0] == Op.SYMBOL:
        r.scope(row[1]).traits |= Trait.PROPERTY
    owner = prototype_owner(r, of_node)
    if owner is not None:
        r.scope(owner).members[name] = value
    else:
        store_on(r, node, of, name, value)


def _set_prototype(r: Reader, _node: Node, nodes: list[Node], arguments: list[Expr]) -> Expr:
    if len(nodes) == 2:
        owner = prototype_owner(r, nodes[0])
        if owner is not None and nodes[1].type == "member_expression":
            r.scope(owner).bases.append(r.value(field_of(nodes[1], "object")))
    return arguments[0] if arguments else 0


def _from(r: Reader, node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    if len(arguments) < 2:
        return arguments[0] if arguments else 0
    returned = calls_given(r, node, arguments[1], [r.build.expr(Op.ELEMENT, arguments[0])], -1)
    return r.build.expr(Op.COLLECTION, returned)


def _second(r: Reader, node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    """`JSON.parse(text, reviver)`"""
    if len(arguments) > 1:
        calls_given(r, node, arguments[1], [], -1)
    return r.external("json")


def _any(r: Reader, _node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    return r.build.expr(Op.ELEMENT, arguments[0]) if arguments else 0


def _nothing(_r: Reader, _node: Node, _nodes: list[Node], _arguments: list[Expr]) -> Expr:
    return 0


def _apply(r: Reader, node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    if not arguments:
        return 0
    this = arguments[1] if len(arguments) > 1 else 0
    passed = [r.build.expr(Op.SPREAD, arguments[2])] if len(arguments) > 2 else []
    return r.build.call(Site(r.frame.scope, line_of(node), arguments[0], passed, [], 0, this))


def _construct(r: Reader, node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    if not arguments:
        return 0
    passed = [r.build.expr(Op.SPREAD, arguments[1])] if len(arguments) > 1 else []
    return r.call(node, arguments[0], passed, SiteFlag.NEW)


def _next_tick(r: Reader, node: Node, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    if arguments:
        calls_given(r, node, arguments[0], arguments[1:], -1)
    return 0


_STATIC: dict[str, dict[str, _Static]] = {
    "Object": {
        "assign": _assign,
        "create": _create,
        "values": _values,
        "entries": _object_entries,
        "keys": _keys,
        "defineProperty": _define_property,
        "setPrototypeOf": _set_prototype,
        **dict.fromkeys(_FIRST, _first),
    },
    "Array": {"from": _from, "of": lambda r, _node, _nodes, arguments: r.build.literal(Op.SEQUENCE, arguments)},
    "Promise": {
        "resolve": _first,
        "all": _first,
        "allSettled": _first,
        "race": _any,
        "any": _any,
        "reject": _nothing,
    },
    "JSON": {"parse": _second, "stringify": _second},
    "Reflect": {"apply": _apply, "construct": _construct},
    "process": {"nextTick": _next_tick},
}


def new_expression(r: Reader, node: Node, _name: str) -> Expr:
    made, listed = field_of(node, "constructor"), field_of(node, "arguments")
    nodes = [child for child in listed.named_children if child.type != "comment"] if listed is not None else []
    builtin = r.global_name(made, {"Promise", "Map", "WeakMap", "Set", "WeakSet", "Array", "Proxy"})
    if builtin == "Promise" and nodes and nodes[0].type in {"arrow_function", "function_expression"}:
        return _new_promise(r, node, nodes[0])
    arguments = [argument(r, one) for one in nodes]
    if builtin:
        return _new_builtin(r, node, builtin, nodes, arguments)
    callee = r.value(made)
    result = r.call(node, callee, arguments, SiteFlag.NEW)
    if text_of(made).rpartition(".")[2] in _EMITTERS:
        return r.build.union((result, r.build.literal(Op.OBJECT, [])))
    return result


def _new_builtin(r: Reader, node: Node, name: str, _nodes: list[Node], arguments: list[Expr]) -> Expr:
    if name == "Promise":
        if arguments:
            calls_given(r, node, arguments[0], [], -1)
        return 0
    if name == "Proxy":
        return arguments[0] if arguments else 0
    if name in {"Map", "WeakMap"}:
        pairs: list[list[Expr]] = []
        if arguments:
            pair = r.build.expr(Op.ITEM, arguments[0], 0)
            pairs.append([r.build.expr(Op.ITEM, pair, r.key(0)), r.build.expr(Op.ITEM, pair, r.key(1))])
        return r.build.literal(Op.MAPPING, pairs)
    return r.build.literal(Op.SEQUENCE, [r.build.expr(Op.SPREAD, one) for one in arguments[:1]])


def _new_promise(r: Reader, node: Node, executor: Node) -> Expr:
    """`new Promise((resolve) => resolve(x))` stands for x."""
    held = r.build.slot()
    r.promise_slots[executor.id] = held
    calls_given(r, node, r.value(executor), [], -1)
    return r.slot_value(held)
