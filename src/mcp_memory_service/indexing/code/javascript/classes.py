"""Classes, interfaces, enums and namespaces: what stands behind a dot."""

from tree_sitter import Node

from ..facts import Expr, Op, Trait
from .functions import anonymous_name, define_function
from .patterns import key_name, written_key
from .reader import Reader, decorate, field_of, text_of
from .types import declare_type_parameters, declared_type, named_class, promised
from .variables import Block, Frame


def class_expression(r: Reader, node: Node, name: str) -> Expr:
    number = r.scope_of(node)
    if number is None:
        return 0
    own = text_of(field_of(node, "name"))
    path = f"{name.rpartition('.')[0] or r.frame.path}.{own}" if own else name or anonymous_name(r)
    return define_class(r, node, number, path)


def class_declaration(r: Reader, node: Node) -> None:
    number = r.scope_of(node)
    if number is not None:
        define_class(r, node, number, f"{r.frame.path}.{text_of(field_of(node, 'name'))}")


def define_class(r: Reader, node: Node, number: int, path: str) -> Expr:
    scope = r.scope(number)
    scope.kind, scope.qualified_name, scope.parent = "class", path, r.frame.scope
    symbol = r.symbol(number)
    frame = Frame(number, path, r.frame, r.build.expr(Op.CLS, number), number, is_function=False)
    block = Block(node.start_byte, node.end_byte, frame, r.variables.block)
    for child in node.children:
        if child.type == "decorator":
            decorate(r, child, symbol)
    with r.variables.within(block, frame):
        own = text_of(field_of(node, "name"))
        if own and node.type == "class":
            r.variables.declare(own, steady=symbol)
        declare_type_parameters(r, node)
        for child in node.named_children:
            if child.type == "class_heritage":
                with r.variables.within(block, frame.outer):
                    _heritage(r, child, number)
        body = field_of(node, "body")
        for child in body.named_children if body is not None else ():
            _member(r, child, number)
    return symbol


def _heritage(r: Reader, node: Node, number: int) -> None:
    bases = r.scope(number).bases
    for child in node.named_children:
        if child.type == "extends_clause":
            bases.extend(r.mentioned(r.value(value), value) for value in child.children_by_field_name("value"))
        elif child.type == "implements_clause":
            bases.extend(interface_bases(r, child.named_children))
        else:
            bases.append(r.mentioned(r.value(child), child))


def interface_bases(r: Reader, nodes: list[Node]) -> list[Expr]:
    names = [field_of(node, "name") if node.type == "generic_type" else node for node in nodes]
    return [named_class(r, name) for name in names if name is not None]


def _member(r: Reader, node: Node, number: int) -> None:
    kind = node.type
    if kind == "method_definition" or kind.endswith("method_signature"):
        _method(r, node, number)
    elif kind in {"field_definition", "public_field_definition"}:
        _field(r, node, number)
    elif kind == "class_static_block":
        body = field_of(node, "body")
        r.statement(body)
    elif kind == "decorator":
        decorate(r, node)
    elif kind == "index_signature":
        declared_type(r, field_of(node, "type"))


def _is_static(node: Node) -> bool:
    return any(child.type == "static" for child in node.children)


def _method(r: Reader, node: Node, number: int) -> None:
    method = r.scope_of(node)
    if method is None:
        return
    key = field_of(node, "name")
    name = key_name(r, key)
    written = written_key(r, key)
    scope = r.scope(number)
    static = _is_static(node)
    this = r.build.expr(Op.CLS if static else Op.SELF, number)
    for child in node.children:
        if child.type == "decorator":
            decorate(r, child)
    path = f"{scope.qualified_name}.{written}" if written else anonymous_name(r)
    define_function(r, node, method, path, "method", this, number)
    if name is None:
        return
    symbol = r.symbol(method)
    if r.scope(method).traits & Trait.SETTER:
        scope.setters[name] = symbol
    else:
        scope.members[name] = r.build.union((scope.members.get(name, 0), symbol))


def _field(r: Reader, node: Node, number: int) -> None:
    key = field_of(node, "name") or field_of(node, "property")
    name = key_name(r, key)
    scope = r.scope(number)
    for child in node.children:
        if child.type == "decorator":
            decorate(r, child)
    declared = declared_type(r, field_of(node, "type"))
    this = r.frame.this
    static = _is_static(node)
    r.frame.this = this if static else r.build.expr(Op.SELF, number)
    value = r.value(field_of(node, "value"), f"{scope.qualified_name}.{name}" if name else "")
    r.frame.this = this
    if name is None:
        return
    if static:
        scope.members[name] = r.build.union((value, declared)) or r.external("field")
    elif value or declared:
        scope.attributes.setdefault(name, []).extend(one for one in dict.fromkeys((value, declared)) if one)


def interface_declaration(r: Reader, node: Node) -> None:
    number = r.scope_of(node)
    if number is None:
        return
    name = text_of(field_of(node, "name"))
    scope = r.scope(number)
    scope.kind, scope.qualified_name, scope.parent = "interface", f"{r.frame.path}.{name}", r.frame.scope
    scope.traits |= Trait.ABSTRACT
    frame = Frame(number, scope.qualified_name, r.frame, r.build.expr(Op.SELF, number), number, is_function=False)
    with r.variables.within(Block(node.start_byte, node.end_byte, frame, r.variables.block), frame):
        declare_type_parameters(r, node)
        for child in node.named_children:
            if child.type in {"extends_type_clause", "extends_clause"}:
                scope.bases.extend(interface_bases(r, child.named_children))
        body = field_of(node, "body")
        signatures(r, body.named_children if body is not None else [], number)


def signatures(r: Reader, nodes: list[Node], number: int) -> None:
    """The members of an interface or of an object type with a name."""
    scope = r.scope(number)
    for child in nodes:
        name = key_name(r, field_of(child, "name"))
        if child.type == "method_signature" and name is not None:
            _method(r, child, number)
        elif child.type == "property_signature" and name is not None:
            declared = declared_type(r, field_of(child, "type"))
            if declared:
                scope.attributes.setdefault(name, []).append(declared)
        elif child.type == "call_signature":
            scope.members["()"] = r.build.expr(Op.CALLABLE, declared_type(r, field_of(child, "return_type")))


def type_alias(r: Reader, node: Node) -> None:
    """Of an object it is like an interface; else it stands for its value."""
    number = r.scope_of(node)
    value = field_of(node, "value")
    if number is None or value is None:
        return
    name = text_of(field_of(node, "name"))
    scope = r.scope(number)
    scope.kind, scope.qualified_name, scope.parent = "interface", f"{r.frame.path}.{name}", r.frame.scope
    scope.traits |= Trait.ABSTRACT
    frame = Frame(number, scope.qualified_name, r.frame, 0, -1, is_function=False)
    block = Block(node.start_byte, node.end_byte, frame, r.variables.block)
    with r.variables.within(block, frame):
        declare_type_parameters(r, node)
        if value.type == "object_type":
            signatures(r, value.named_children, number)
        else:
            r.build.bind(r.alias_slots[node.id], promised(r, value))


def enum_declaration(r: Reader, node: Node) -> None:
    number = r.scope_of(node)
    if number is None:
        return
    scope = r.scope(number)
    name = text_of(field_of(node, "name"))
    scope.kind, scope.qualified_name, scope.parent = "class", f"{r.frame.path}.{name}", r.frame.scope
    body = field_of(node, "body")
    for child in body.named_children if body is not None else ():
        member = field_of(child, "name") if child.type == "enum_assignment" else child
        if child.type == "enum_assignment":
            r.value(field_of(child, "value"))
        if member is not None:
            scope.members[key_name(r, member) or ""] = r.external("enum")


def namespace_declaration(r: Reader, node: Node) -> None:
    """`namespace A.B { ... }`; all parts of one name share their names."""
    number = r.scope_of(node)
    name = field_of(node, "name")
    body = field_of(node, "body")
    if number is None or name is None:
        return
    scope = r.scope(number)
    written = text_of(name).strip("'\"").replace("/", "_")
    scope.kind, scope.qualified_name, scope.parent = "class", f"{r.frame.path}.{written}", r.frame.scope
    frame = Frame(number, scope.qualified_name, r.frame, 0, -1, is_function=False)
    key = f"{r.frame.path}.{written}"
    block = Block(node.start_byte, node.end_byte, frame, r.namespaces.get(key, r.variables.block))
    r.namespaces[key] = block
    with r.variables.within(block, frame):
        if body is not None:
            r.statement_list(body)
