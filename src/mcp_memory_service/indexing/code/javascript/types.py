"""What a type annotation promises of a value."""

from tree_sitter import Node

from ..facts import Expr, Op
from .patterns import key_name
from .reader import Reader, field_of, string_of, text_of

_SAME = frozenset(
    "Awaited DeepPartial Exclude Extract NonNullable Omit Partial Pick Promise PromiseLike Readonly Required".split()
)
"""Generic types that stand for their first argument; of a promise see `await_expression`."""
_COLLECTIONS = frozenset(
    "Array ReadonlyArray Set ReadonlySet WeakSet Iterable Iterator IterableIterator Generator AsyncGenerator "
    "AsyncIterable AsyncIterator AsyncIterableIterator".split()
)
_TABLES = frozenset({"Map", "ReadonlyMap", "WeakMap"})
_UNKNOWN = frozenset({"any", "unknown", "object", "never"})
_COMPONENTS = frozenset({"FC", "FunctionComponent"})


def declared_type(r: Reader, annotation: Node | None) -> Expr:
    """Of a `type_annotation`, or of a type itself; 0 without one."""
    if annotation is None:
        return 0
    if annotation.type == "type_annotation":
        inner = annotation.named_children
        return promised(r, inner[0]) if inner else 0
    if annotation.type in {"asserts_annotation", "type_predicate_annotation"}:
        return r.external("boolean")
    return promised(r, annotation)


def declare_type_parameters(r: Reader, node: Node) -> None:
    """`<T extends A>`: a value of type T is at least an A."""
    parameters = field_of(node, "type_parameters")
    for each in parameters.named_children if parameters is not None else ():
        name = text_of(field_of(each, "name"))
        bound = field_of(each, "constraint")
        r.variables.block.types[name] = 0
        if bound is not None and bound.named_children:
            r.variables.block.types[name] = promised(r, bound.named_children[0])


def promised(r: Reader, node: Node) -> Expr:
    read = _READERS.get(node.type)
    if read is not None and r.enter():
        value = read(r, node)
        r.leave()
        return value
    return 0


def instance_of(r: Reader, node: Node) -> Expr:
    """A value of a type that is given by a name, `A` or `a.b.C`."""
    name = text_of(node)
    if node.type in {"type_identifier", "identifier"}:
        known = r.variables.find_type(name)
        if known is not None:
            return known
    denoted = named_class(r, node)
    return r.build.expr(Op.INSTANCE, denoted) if denoted else 0


def named_class(r: Reader, node: Node) -> Expr:
    if node.type in {"nested_type_identifier", "nested_identifier", "member_expression"}:
        first = field_of(node, "module") or field_of(node, "object")
        last = field_of(node, "name") or field_of(node, "property")
        if first is None or last is None:
            return 0
        if first.type == "call_expression":
            return _imported(r, first, text_of(last))
        of = named_class(r, first)
        return r.mentioned(r.attribute(of, text_of(last)), node) if of else 0
    known = r.variables.find_type(text_of(node))
    denoted = r.variables.read(text_of(node)) if known is None else class_of(r, known)
    return r.mentioned(denoted, node) if denoted else 0


def class_of(r: Reader, value: Expr) -> Expr:
    """The type that a value of it stands for: an interface or a class, or what is no class."""
    row = r.build.facts.exprs[value]
    if row[0] == Op.INSTANCE:
        return row[1]
    if row[0] == Op.UNION:
        return r.build.union([class_of(r, one) for one in row[1]])
    return r.build.expr(Op.TYPE, value) if value else 0


def _imported(r: Reader, call: Node, name: str) -> Expr:
    """`import('./a').A`"""
    arguments = field_of(call, "arguments")
    specifier = string_of(arguments.named_children[0]) if arguments is not None and arguments.named_children else None
    return r.build.expr(Op.MEMBER, specifier, name) if specifier else 0


def _predefined(r: Reader, node: Node) -> Expr:
    name = text_of(node)
    return 0 if name in _UNKNOWN else r.external(name)


def _generic(r: Reader, node: Node) -> Expr:
    name = field_of(node, "name")
    listed = field_of(node, "type_arguments")
    if name is None:
        return 0
    arguments = [promised(r, one) for one in listed.named_children] if listed is not None else []
    return _known_generic(r, text_of(name), arguments) if _is_global(r, name) else _own_generic(r, name, arguments)


def _is_global(r: Reader, name: Node) -> bool:
    text = text_of(name)
    return (r.variables.find_type(text) is None and r.variables.find(text) is None) or text.startswith("React.")


def _known_generic(r: Reader, name: str, arguments: list[Expr]) -> Expr:
    first = arguments[0] if arguments else 0
    if name in _SAME:
        return first
    if name in _COLLECTIONS:
        return r.build.expr(Op.COLLECTION, first)
    if name == "Record":
        return r.build.literal(Op.OBJECT, [[0, arguments[1] if len(arguments) > 1 else 0]])
    if name in _TABLES:
        return r.build.expr(Op.TABLE, first, arguments[1] if len(arguments) > 1 else 0)
    if name.rpartition(".")[2] in _COMPONENTS:
        return r.build.expr(Op.CALLABLE, 0)
    return r.build.expr(Op.INSTANCE, r.build.expr(Op.FREE, name)) if "." not in name else 0


def _own_generic(r: Reader, name: Node, _arguments: list[Expr]) -> Expr:
    if text_of(name) in _COMPONENTS:
        return r.build.expr(Op.CALLABLE, 0)
    return instance_of(r, name)


def _named(r: Reader, node: Node) -> Expr:
    return instance_of(r, node)


def _array(r: Reader, node: Node) -> Expr:
    return r.build.expr(Op.COLLECTION, promised(r, node.named_children[0]) if node.named_children else 0)


def _tuple(r: Reader, node: Node) -> Expr:
    return r.build.literal(Op.SEQUENCE, [_entry(r, child) for child in node.named_children])


def _entry(r: Reader, node: Node) -> Expr:
    return declared_type(r, field_of(node, "type")) if field_of(node, "type") is not None else promised(r, node)


def _union(r: Reader, node: Node) -> Expr:
    found: list[Expr] = []
    waiting = [node]
    while waiting:
        one = waiting.pop()
        if one.type in {"union_type", "intersection_type"}:
            waiting.extend(reversed(one.named_children))
        else:
            found.append(promised(r, one))
    own = [one for one in found if r.op(one) != Op.EXTERNAL]
    return r.build.union(own or found)


def _inner(r: Reader, node: Node) -> Expr:
    return promised(r, node.named_children[-1]) if node.named_children else 0


def _function(r: Reader, node: Node) -> Expr:
    result = field_of(node, "return_type") or field_of(node, "type")
    return r.build.expr(Op.CALLABLE, declared_type(r, result))


def _object(r: Reader, node: Node) -> Expr:
    pairs: list[list[Expr]] = []
    for child in node.named_children:
        name = key_name(r, field_of(child, "name"))
        if child.type == "property_signature" and name is not None:
            pairs.append([r.key(name), declared_type(r, field_of(child, "type"))])
        elif child.type == "method_signature" and name is not None:
            pairs.append([r.key(name), _function(r, child)])
        elif child.type == "index_signature":
            pairs.append([0, declared_type(r, field_of(child, "type"))])
    return r.build.literal(Op.OBJECT, [list(pair) for pair in pairs])


def _query(r: Reader, node: Node) -> Expr:
    """`typeof x`"""
    return r.value(node.named_children[0]) if node.named_children else 0


def _lookup(r: Reader, node: Node) -> Expr:
    """`A['b']`"""
    of = promised(r, node.named_children[0]) if node.named_children else 0
    literal = node.named_children[1] if len(node.named_children) > 1 else None
    name = string_of(literal.named_children[0]) if literal is not None and literal.named_children else None
    return r.attribute(of, name) if of and name else 0


def _conditional(r: Reader, node: Node) -> Expr:
    ways = [field_of(node, "consequence"), field_of(node, "alternative")]
    return r.build.union([promised(r, way) for way in ways if way is not None])


def _this(r: Reader, _node: Node) -> Expr:
    return r.frame.this


def _literal(r: Reader, _node: Node) -> Expr:
    return r.external("literal")


_READERS = {
    "type_identifier": _named,
    "nested_type_identifier": _named,
    "member_expression": _named,
    "predefined_type": _predefined,
    "generic_type": _generic,
    "array_type": _array,
    "tuple_type": _tuple,
    "union_type": _union,
    "intersection_type": _union,
    "parenthesized_type": _inner,
    "readonly_type": _inner,
    "optional_type": _inner,
    "rest_type": _inner,
    "function_type": _function,
    "constructor_type": _function,
    "object_type": _object,
    "type_query": _query,
    "lookup_type": _lookup,
    "conditional_type": _conditional,
    "this_type": _this,
    "literal_type": _literal,
    "template_literal_type": _literal,
}
