"""What methods of built-in types do with what they are given: arrays, maps, promises, events, functions."""

from collections.abc import Callable
from dataclasses import dataclass

from tree_sitter import Node

from ..facts import Expr, Op, Site, SiteFlag
from .assignments import store_on
from .objects import argument
from .reader import Reader, line_of


@dataclass(frozen=True, slots=True)
class Callback:
    """A method that calls one of its arguments."""

    position: int
    gives: str
    """What the callback is given, a letter for each argument: an element, the object, the result so far, an index."""
    result: str
    """What the method returns: `all` that the callback returns, the `same` object, an `element` of it, the `value` that
    the callback returns, `flat` all of it, or nothing that matters."""


CALLBACKS = {
    "map": Callback(0, "e.o", "all"),
    "flatMap": Callback(0, "e.o", "flat"),
    "forEach": Callback(0, "e.o", ""),
    "filter": Callback(0, "e.o", "same"),
    "find": Callback(0, "e.o", "element"),
    "findLast": Callback(0, "e.o", "element"),
    "findIndex": Callback(0, "e.o", ""),
    "findLastIndex": Callback(0, "e.o", ""),
    "some": Callback(0, "e.o", ""),
    "every": Callback(0, "e.o", ""),
    "reduce": Callback(0, "re", "value"),
    "reduceRight": Callback(0, "re", "value"),
    "sort": Callback(0, "ee", "same"),
    "toSorted": Callback(0, "ee", "same"),
    "then": Callback(0, "o", "value"),
    "catch": Callback(0, "", "value"),
    "finally": Callback(0, "", "same"),
    "replace": Callback(1, "", ""),
    "replaceAll": Callback(1, "", ""),
    "addEventListener": Callback(1, "", ""),
}
_LISTEN = frozenset("on once addListener prependListener prependOnceListener".split())


def calls_given(r: Reader, node: Node, callee: Expr, arguments: list[Expr], unless: int) -> Expr:
    """A call of what was given as an argument, made by a built-in function."""
    if r.op(callee) in {Op.EXTERNAL, Op.KEY, Op.UNKNOWN}:
        return 0
    flags = SiteFlag.IMPLICIT
    r.frame.stored.clear()
    return r.build.call(Site(r.frame.scope, line_of(node), callee, arguments, [], flags, 0, unless))


def method_effects(r: Reader, node: Node, of: Expr, method: str, arguments: list[Expr], result: Expr) -> Expr:
    """What a method does if it is a built-in one; the result of whatever it is."""
    site = len(r.build.facts.sites) - 1
    callback = CALLBACKS.get(method)
    if callback is not None and len(arguments) > callback.position:
        return r.build.union((result, _with_callback(r, node, of, callback, arguments, site)))
    if method in _LISTEN or method == "emit":
        _event(r, node, of, method, arguments, site)
        return r.build.union((result, of)) if method in _LISTEN else result
    return r.build.union((result, _plain(r, of, method, arguments)))


def _with_callback(r: Reader, node: Node, of: Expr, callback: Callback, arguments: list[Expr], site: int) -> Expr:
    element = r.build.expr(Op.ITEM, of, 0)
    start = arguments[1] if callback.gives.startswith("r") and len(arguments) > 1 else 0
    before = r.build.slot(*filter(None, (start,)))
    given = {"e": element, "o": of, "r": r.slot_value(before), ".": r.external("index")}
    passed = [given[letter] for letter in callback.gives]
    returned = calls_given(r, node, arguments[callback.position], passed, site)
    if callback.gives == "o" and len(arguments) > 1:
        returned = r.build.union((returned, calls_given(r, node, arguments[1], [], site)))
    r.build.bind(before, returned)
    if callback.result == "all":
        return r.build.expr(Op.COLLECTION, returned)
    if callback.result == "flat":
        return r.build.union((r.build.expr(Op.COLLECTION, r.build.expr(Op.ELEMENT, returned)), returned))
    if callback.result == "value":
        first = element if callback.gives == "re" and not start else 0
        r.build.bind(before, first)
        return r.build.union((returned, start, first, of if callback.gives == "" else 0))
    return {"same": of, "element": element}.get(callback.result, 0)


def _event(r: Reader, node: Node, of: Expr, method: str, arguments: list[Expr], site: int) -> None:
    """Listeners are kept as attributes of the emitter, by the name of the event."""
    row = r.row(arguments[0]) if arguments else [0]
    name = f"on {row[1]}" if row[0] == Op.KEY else "on"
    if method == "emit":
        calls_given(r, node, r.attribute(of, name), arguments[1:], site)
    elif len(arguments) > 1:
        store_on(r, node, of, name, arguments[1])


def _plain(r: Reader, of: Expr, method: str, arguments: list[Expr]) -> Expr:
    """A method of a container: what it puts in, and what it gives."""
    items = r.build.facts.items
    if method in {"push", "unshift", "add"}:
        items.extend([of, 0, value, 1] for value in arguments if value)
    elif method == "set" and len(arguments) == 2:
        items.append([of, _constant(r, arguments[0]), arguments[1], 1])
    if method == "get" and len(arguments) == 1:
        return r.build.expr(Op.ITEM, of, _constant(r, arguments[0]))
    read = _GIVES.get(method)
    return read(r, of, arguments) if read is not None else 0


def _constant(r: Reader, key: Expr) -> Expr:
    return key if r.op(key) == Op.KEY else 0


def _any_item(r: Reader, of: Expr, _arguments: list[Expr]) -> Expr:
    return r.build.expr(Op.ITEM, of, 0)


def _itself(_r: Reader, of: Expr, _arguments: list[Expr]) -> Expr:
    return of


def _joined(r: Reader, of: Expr, arguments: list[Expr]) -> Expr:
    return r.build.literal(Op.SEQUENCE, [r.build.expr(Op.SPREAD, one) for one in (of, *arguments)])


def _part(r: Reader, of: Expr, arguments: list[Expr]) -> Expr:
    row = r.row(arguments[0]) if arguments else [0]
    return r.build.expr(Op.SLICE, of, row[1] if row[0] == Op.KEY and isinstance(row[1], int) else None, None)


def _flat(r: Reader, of: Expr, _arguments: list[Expr]) -> Expr:
    inner = r.build.expr(Op.ITEM, of, 0)
    return r.build.expr(Op.COLLECTION, r.build.union((inner, r.build.expr(Op.ITEM, inner, 0))))


def _all_items(r: Reader, of: Expr, _arguments: list[Expr]) -> Expr:
    return r.build.expr(Op.COLLECTION, r.build.expr(Op.ITEM, of, 0))


def _pairs(r: Reader, of: Expr, _arguments: list[Expr]) -> Expr:
    return entries(r, of)


def _step(r: Reader, of: Expr, _arguments: list[Expr]) -> Expr:
    return r.build.literal(Op.OBJECT, [[r.key("value"), r.build.expr(Op.ELEMENT, of)]])


_GIVES: dict[str, Callable[[Reader, Expr, list[Expr]], Expr]] = {
    **dict.fromkeys("pop shift at".split(), _any_item),
    **dict.fromkeys("reverse toReversed fill copyWithin splice toSpliced add set".split(), _itself),
    "concat": _joined,
    "slice": _part,
    "flat": _flat,
    "values": _all_items,
    "entries": _pairs,
    "next": _step,
}


def entries(r: Reader, of: Expr) -> Expr:
    pair = r.build.literal(Op.SEQUENCE, [r.external("key"), r.build.expr(Op.ITEM, of, 0)])
    return r.build.expr(Op.COLLECTION, pair)


def called_with(r: Reader, node: Node, method: str, of: Expr, nodes: list[Node]) -> Expr:
    """`f.call(this, a)`, `f.apply(this, [a])`, `f.bind(this, a)`"""
    arguments = [argument(r, one) for one in nodes]
    this, passed = (arguments[0], arguments[1:]) if arguments else (0, [])
    if method == "apply" and passed:
        passed = [r.build.expr(Op.SPREAD, passed[0])]
    row = r.row(of)
    flags = SiteFlag.QUIET if method == "bind" else 0
    result = r.build.call(Site(r.frame.scope, line_of(node), of, passed, [], flags, this))
    if method == "bind":
        r.mentioned(of, node)
        return of
    if row[0] == Op.ATTR and isinstance(row[2], str) and row[2] in CALLBACKS:
        site = len(r.build.facts.sites) - 1
        return r.build.union((result, _borrowed(r, node, row[2], this, passed, site)))
    return result


def _borrowed(r: Reader, node: Node, method: str, of: Expr, arguments: list[Expr], site: int) -> Expr:
    """`Array.prototype.map.call(list, f)`"""
    callback = CALLBACKS[method]
    if len(arguments) <= callback.position:
        return 0
    return _with_callback(r, node, of, callback, arguments, site)
