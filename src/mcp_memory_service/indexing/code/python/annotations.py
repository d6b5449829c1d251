"""What an annotation promises, as an expression of the facts."""

from tree_sitter import Node

from ..facts import Expr, Op
from .parsing import parser
from .reader import Reader, text_of

_NO_CLASS = frozenset(
    {"Any", "object", "None", "AnyStr", "NoReturn", "Never", "TypeAlias", "LiteralString", "Hashable"}
)
_ALTERNATIVES = frozenset({"Optional", "Union"})
_FIRST = frozenset({"Annotated", "ClassVar", "Final", "Required", "NotRequired", "ReadOnly", "InitVar", "Awaitable"})
_COLLECTIONS = frozenset(
    "list List set Set frozenset FrozenSet Sequence MutableSequence Iterable Iterator Collection Container Generator "
    "AsyncIterable AsyncIterator AsyncGenerator AbstractSet MutableSet deque Deque Reversible KeysView "
    "ValuesView".split()
)
_TABLES = frozenset(
    "dict Dict Mapping MutableMapping defaultdict DefaultDict OrderedDict ChainMap Counter WeakValueDictionary "
    "WeakKeyDictionary MappingProxyType".split()
)
_LAST = frozenset({"Coroutine"})
_MAX_DEPTH = 30


def declared(r: Reader, node: Node | None, depth: int = 0) -> Expr:  # noqa: PLR0911 - one for each form
    """The value that something of this annotation is; 0 if it says nothing."""
    if node is None or depth > _MAX_DEPTH:
        return 0
    kind = node.type
    if kind in ("identifier", "attribute", "member_type", "dotted_name"):
        return _named(r, node)
    if kind == "string":
        return _quoted(r, node, depth)
    if kind in ("generic_type", "subscript"):
        return _generic(r, node, depth)
    if kind in ("binary_operator", "union_type"):
        return r.build.union([declared(r, child, depth + 1) for child in node.named_children])
    if kind in ("type", "parenthesized_expression", "expression_statement", "module", "constrained_type"):
        return declared(r, node.named_children[0] if node.named_children else None, depth + 1)
    return 0


def _quoted(r: Reader, node: Node, depth: int) -> Expr:
    parts = [child for child in node.named_children if child.type == "string_content"]
    if not parts:
        return 0
    tree = parser().parse(text_of(parts[0]).strip().encode())
    outside, r.ascii = r.ascii, None
    found = declared(r, tree.root_node, depth + 1)
    r.ascii = outside
    if found and r.op(found) == Op.INSTANCE:
        r.read(r.build.facts.exprs[found][1], node)
    return found


def _named(r: Reader, node: Node) -> Expr:
    text = text_of(node)
    last = text.rpartition(".")[2]
    if last in _NO_CLASS:
        return 0
    if last == "Self" and r.frame.class_scope >= 0:
        return r.build.expr(Op.SELF, r.frame.class_scope)
    names = text.split(".")
    value = r.name(names[0])
    for name in names[1:]:
        value = r.build.expr(Op.ATTR, value, name)
    return instance_of(r, value, node)


def instance_of(r: Reader, value: Expr, node: Node) -> Expr:
    row = r.build.facts.exprs[value]
    if row[0] == Op.FREE and not r.build.facts.scopes[0].stars:
        return r.build.expr(Op.EXTERNAL, row[1])
    if row[0] in (Op.SYMBOL, Op.MEMBER, Op.ATTR, Op.FREE, Op.UNION, Op.CALL, Op.SLOT, Op.OPERATION):
        r.read(value, node)
        return r.build.expr(Op.INSTANCE, value)
    return 0


def _generic(r: Reader, node: Node, depth: int) -> Expr:
    children = node.named_children
    base = text_of(children[0]).rpartition(".")[2] if children else ""
    arguments = _arguments(node)
    if base in ("Type", "type"):
        return _class_of(r, arguments[0], depth) if arguments else 0
    parts = [declared(r, each, depth + 1) for each in arguments]
    if base in _ALTERNATIVES:
        return r.build.union(parts)
    return (
        _built_in(r, base, parts, arguments)
        if base in _KNOWN
        else declared(r, children[0], depth + 1)
        if children
        else 0
    )


_KNOWN = (
    _FIRST
    | _COLLECTIONS
    | _TABLES
    | _LAST
    | {"tuple", "Tuple", "Callable", "Literal", "ContextManager", "AsyncContextManager"}
)


def _built_in(r: Reader, base: str, parts: list[Expr], arguments: list[Node]) -> Expr:  # noqa: PLR0911
    first, last = (parts[0], parts[-1]) if parts else (0, 0)
    if base in _FIRST:
        return first
    if base in _COLLECTIONS:
        return r.build.expr(Op.COLLECTION, first)
    if base in _TABLES:
        return r.build.expr(Op.TABLE, first, last)
    if base in ("tuple", "Tuple"):
        if len(parts) == 2 and text_of(arguments[1]) == "...":
            return r.build.expr(Op.COLLECTION, first)
        return r.build.literal(Op.SEQUENCE, parts)
    if base == "Callable":
        return r.build.expr(Op.CALLABLE, last)
    if base in _LAST:
        return last
    return r.build.expr(Op.EXTERNAL, "str") if base == "Literal" else 0


def _arguments(node: Node) -> list[Node]:
    if node.type == "subscript":
        return node.children_by_field_name("subscript")
    holder = next((child for child in node.named_children if child.type == "type_parameter"), None)
    return [child for child in holder.named_children if child.type != "comment"] if holder else []


def _class_of(r: Reader, node: Node, depth: int) -> Expr:
    """`type[X]`: X itself."""
    promised = declared(r, node, depth + 1)
    row = r.build.facts.exprs[promised]
    if row[0] == Op.INSTANCE:
        return row[1]
    return r.build.expr(Op.CLS, row[1]) if row[0] == Op.SELF else 0
