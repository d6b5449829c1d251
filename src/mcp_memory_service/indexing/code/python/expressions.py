"""Expressions of Python in the form of the facts."""

from tree_sitter import Node

from ..facts import Expr, Op
from .reader import ExpressionReader, Reader, attribute_key, element, object_and_name, operation, text_of
from .targets import assign, bind_pattern

# Longer strings and greater numbers are hardly keys.
MAX_KEY_LENGTH = 60
MAX_INDEX = 1000

_OPERATORS = {
    "+": "__add__", "-": "__sub__", "*": "__mul__", "/": "__truediv__", "//": "__floordiv__", "%": "__mod__",
    "@": "__matmul__", "**": "__pow__", "&": "__and__", "|": "__or__", "^": "__xor__", "<<": "__lshift__",
    ">>": "__rshift__", "==": "__eq__", "!=": "__ne__", "<": "__lt__", "<=": "__le__", ">": "__gt__", ">=": "__ge__",
}  # fmt: skip
_UNARY = {"-": "__neg__", "+": "__pos__", "~": "__invert__"}


def constant(r: Reader, node: Node) -> Expr:
    return r.build.expr(Op.EXTERNAL, node.type)


def nothing(r: Reader, node: Node) -> Expr:
    """`None`, `...`: says nothing of what a variable may hold."""
    return 0


def string(r: Reader, node: Node) -> Expr:
    text = r.text(node) if node.end_byte - node.start_byte <= MAX_KEY_LENGTH else ""
    if len(text) > 2 and text[0] in "\"'" and "\\" not in text and text[:3] not in ('"""', "'''"):
        return r.build.expr(Op.KEY, text[1:-1])
    for part in node.named_children:
        if part.type == "interpolation":
            for child in part.named_children:
                _formatted(r, child)
    return r.build.expr(Op.EXTERNAL, "str")


def _formatted(r: Reader, node: Node) -> None:
    if node.type == "format_specifier":
        for child in node.named_children:
            for each in child.named_children:
                r.expr(each)
    elif node.type != "type_conversion":
        operation(r, node, r.expr(node), "__format__")


def strings(r: Reader, node: Node) -> Expr:
    for part in node.named_children:
        r.expr(part)
    return r.build.expr(Op.EXTERNAL, "str")


def integer(r: Reader, node: Node) -> Expr:
    if node.end_byte - node.start_byte < 4:
        text = r.text(node)
        if text.isdecimal():
            return r.build.expr(Op.KEY, int(text))
    return r.build.expr(Op.EXTERNAL, "int")


def identifier(r: Reader, node: Node) -> Expr:
    value = r.name(r.text(node))
    if value and r.build.facts.exprs[value][0] in r.read_ops:
        r.read(value, node)
    return value


def attribute(r: Reader, node: Node) -> Expr:
    of, name = object_and_name(node)
    value = r.build.expr(Op.ATTR, r.expr(of), r.text(name) if name is not None else "")
    r.read(value, name or node)
    if r.frame.has_narrowed_attributes:
        return r.frame.names.get(attribute_key(value), value)
    return value


def subscript(r: Reader, node: Node) -> Expr:
    of = r.expr(node.child_by_field_name("value"))
    keys = node.children_by_field_name("subscript")
    if len(keys) == 1 and keys[0].type == "slice":
        operation(r, node, of, "__getitem__")
        return _slice(r, keys[0], of)
    key = r.expr(keys[0]) if len(keys) == 1 else 0
    if len(keys) > 1:
        for each in keys:
            r.expr(each)
    row = r.build.facts.exprs[of]
    if row[0] in (Op.EXTERNAL, Op.KEY):
        return r.build.expr(Op.EXTERNAL, "item")
    if row[0] == Op.MEMBER and row[2] in ("Union", "Optional"):  # an alias of a type
        return r.build.union([r.expr(each) for each in keys])
    value = r.build.expr(Op.ITEM, of, key)
    r.read(value, node)
    return value


def _slice(r: Reader, node: Node, of: Expr) -> Expr:
    bounds: list[int | None] = [None, None]
    place = 0
    for child in node.children:
        if child.type == ":":
            place += 1
        elif place < 2:
            row = r.build.facts.exprs[r.expr(child)]
            bounds[place] = row[1] if row[0] == Op.KEY and isinstance(row[1], int) else -1
        else:
            return of
    return r.build.expr(Op.SLICE, of, bounds[0], bounds[1])


def sequence(r: Reader, node: Node) -> Expr:
    elements = [r.expr(child) for child in node.named_children if child.type != "comment"]
    if (
        elements
        and all(r.op(each) in (Op.KEY, Op.EXTERNAL) for each in elements)
        and not _is_short_of_keys(r, elements)
    ):
        return r.build.expr(Op.EXTERNAL, node.type)
    return r.build.literal(Op.SEQUENCE, elements)


def _is_short_of_keys(r: Reader, elements: list[Expr]) -> bool:
    """Whether these may be names of attributes or keys that a loop goes through."""
    return len(elements) <= 20 and all(isinstance(r.build.facts.exprs[each][-1], str) for each in elements)


def splat(r: Reader, node: Node) -> Expr:
    children = node.named_children
    return r.build.expr(Op.SPREAD, r.expr(children[0])) if children else 0


def dictionary(r: Reader, node: Node) -> Expr:
    pairs: list[list[Expr]] = []
    for child in node.named_children:
        if child.type == "pair":
            key = r.expr(child.child_by_field_name("key"))
            pairs.append([key, r.expr(child.child_by_field_name("value"))])
        elif child.type == "dictionary_splat":
            pairs.append([0, splat(r, child)])
    return r.build.literal(Op.MAPPING, pairs)


def comprehension(r: Reader, node: Node) -> Expr:
    """Its variables are its own; its calls are those of the scope around it."""
    outside = r.frame.names
    r.frame.names = dict(outside)
    body = node.child_by_field_name("body")
    for clause in node.named_children:
        if clause.type == "for_in_clause":
            is_async = clause.children[0].type == "async"
            each = element(r, clause, r.expr(clause.child_by_field_name("right")), is_async=is_async)
            bind_pattern(r, clause.child_by_field_name("left"), each)
        elif clause.type == "if_clause":
            for child in clause.named_children:
                r.expr(child)
    value = _comprehended(r, node, body)
    r.frame.names = outside
    return value


def _comprehended(r: Reader, node: Node, body: Node | None) -> Expr:
    if body is not None and body.type == "pair":
        key = r.expr(body.child_by_field_name("key"))
        value = r.expr(body.child_by_field_name("value"))
        return r.build.expr(Op.TABLE, key, value)
    return r.build.expr(Op.COLLECTION, r.expr(body))


def conditional(r: Reader, node: Node) -> Expr:
    children = [child for child in node.named_children if child.type != "comment"]
    if len(children) != 3:
        return 0
    r.expr(children[1])
    return r.build.union([r.expr(children[0]), r.expr(children[2])])


def boolean(r: Reader, node: Node) -> Expr:
    return r.build.union(
        [r.expr(child) for child in (node.child_by_field_name("left"), node.child_by_field_name("right"))]
    )


def binary(r: Reader, node: Node) -> Expr:
    left = r.expr(node.child_by_field_name("left"))
    right = r.expr(node.child_by_field_name("right"))
    operator = node.child_by_field_name("operator")
    method = _OPERATORS.get(operator.type if operator else "")
    if r.op(left) == Op.SEQUENCE and r.op(right) == Op.SEQUENCE:
        both = [*r.build.facts.exprs[left][1], *r.build.facts.exprs[right][1]]
        return r.build.literal(Op.SEQUENCE, both)
    if method == "__mul__" and r.op(left) == Op.SEQUENCE:
        return left
    return operation(r, node, left, method, right) if method else 0


def comparison(r: Reader, node: Node) -> Expr:
    left = 0
    operator = ""
    for child in node.children:
        if not child.is_named:
            operator = f"{operator} {child.type}".strip()
            continue
        right = r.expr(child)
        if operator in ("in", "not in"):
            operation(r, child, right, "__contains__", left)
        elif operator in _OPERATORS:
            operation(r, child, left, _OPERATORS[operator], right)
        left, operator = right, ""
    return r.build.expr(Op.EXTERNAL, "bool")


def unary(r: Reader, node: Node) -> Expr:
    operand = r.expr(node.child_by_field_name("argument"))
    operator = node.child_by_field_name("operator")
    return operation(r, node, operand, _UNARY.get(operator.type if operator else "", "__neg__"))


def negation(r: Reader, node: Node) -> Expr:
    r.expr(node.child_by_field_name("argument"))
    return r.build.expr(Op.EXTERNAL, "bool")


def inner(r: Reader, node: Node) -> Expr:
    """Brackets and the like: the last expression in them."""
    value = 0
    for child in node.named_children:
        if child.type != "comment":
            value = r.expr(child)
    return value


def named(r: Reader, node: Node) -> Expr:
    value = r.expr(node.child_by_field_name("value"))
    name = node.child_by_field_name("name")
    if name is not None:
        r.bind(text_of(name), value)
    return value


def awaited(r: Reader, node: Node) -> Expr:
    value = inner(r, node)
    if not value:
        return 0
    operation(r, node, value, "__await__")
    return r.build.expr(Op.AWAIT, value)


def yielded(r: Reader, node: Node) -> Expr:
    value = inner(r, node)
    if any(child.type == "from" for child in node.children):
        value = element(r, node, value)
    r.build.facts.scopes[r.frame.scope].yields.append(value)
    return 0


def assignment(r: Reader, node: Node) -> Expr:
    return assign(r, node)


def skipped(r: Reader, node: Node) -> Expr:
    return 0


EXPRESSIONS: dict[str, ExpressionReader] = {
    "identifier": identifier,
    "attribute": attribute,
    "subscript": subscript,
    "string": string,
    "concatenated_string": strings,
    "integer": integer,
    "float": constant,
    "true": constant,
    "false": constant,
    "none": nothing,
    "ellipsis": nothing,
    "list": sequence,
    "tuple": sequence,
    "set": sequence,
    "expression_list": sequence,
    "list_splat": splat,
    "dictionary_splat": splat,
    "dictionary": dictionary,
    "list_comprehension": comprehension,
    "set_comprehension": comprehension,
    "generator_expression": comprehension,
    "dictionary_comprehension": comprehension,
    "conditional_expression": conditional,
    "boolean_operator": boolean,
    "binary_operator": binary,
    "comparison_operator": comparison,
    "unary_operator": unary,
    "not_operator": negation,
    "parenthesized_expression": inner,
    "named_expression": named,
    "await": awaited,
    "yield": yielded,
    "assignment": assignment,
    "comment": skipped,
    "type": skipped,
}
