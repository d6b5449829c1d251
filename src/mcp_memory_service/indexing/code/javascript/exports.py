"""What a module imports and exports, as ES modules and as CommonJS."""

from tree_sitter import Node

from ..facts import Expr, Op
from .grammars import bound_names
from .reader import Reader, decorate, field_of, line_of, string_of, text_of
from .types import class_of


def import_rows(r: Reader, node: Node) -> None:
    """Declares the names of an `import` statement."""
    clause = next((child for child in node.named_children if child.type.startswith("import_")), None)
    specifier = string_of(field_of(node, "source") or (field_of(clause, "source") if clause is not None else None))
    if specifier is None:
        return
    _note(r, node, specifier, "")
    for child in clause.named_children if clause is not None else ():
        _import_part(r, clause, child, specifier)


def _import_part(r: Reader, clause: Node | None, node: Node, specifier: str) -> None:
    if node.type == "identifier":
        required = clause is not None and clause.type == "import_require_clause"
        value = r.build.expr(Op.MODULE, specifier) if required else r.build.expr(Op.MEMBER, specifier, "default")
        _declare(r, node, value)
    elif node.type == "namespace_import" and node.named_children:
        _declare(r, node.named_children[0], r.build.expr(Op.MODULE, specifier))
    elif node.type == "named_imports":
        for one in node.named_children:
            name = field_of(one, "name")
            if name is not None:
                _note(r, one, specifier, _export_name(name))
                value = r.build.expr(Op.MEMBER, specifier, _export_name(name))
                _declare(r, field_of(one, "alias") or name, value)


def _declare(r: Reader, name: Node, value: Expr) -> None:
    r.variables.declare(text_of(name), steady=value)


def _note(r: Reader, node: Node, specifier: str, name: str) -> None:
    r.build.facts.imports.append([r.frame.scope, line_of(node), specifier, name])


def required_module(r: Reader, node: Node, specifier: str) -> Expr:
    """`require('./a')`, `import('./a')`"""
    _note(r, node, specifier, "")
    return r.mentioned(r.build.expr(Op.MODULE, specifier), node)


def export_value(r: Reader, name: str, value: Expr) -> None:
    """One more value of a name that this module exports."""
    slot = r.exports.get(name)
    if slot is None:
        slot = r.exports[name] = r.build.slot()
    r.build.bind(slot, value)


def export_statement(r: Reader, node: Node) -> None:
    source = string_of(field_of(node, "source"))
    declaration = field_of(node, "declaration")
    value = field_of(node, "value")
    is_default = any(child.type == "default" for child in node.children)
    if declaration is not None:
        for child in node.children:
            if child.type == "decorator":
                decorate(r, child)
        r.statement(declaration)
        for name, expr in _declared(r, declaration):
            _export(r, "default" if is_default else name, expr)
    elif value is not None:
        _export(r, "default", r.value(value, f"{r.module.path}.default"))
    elif source is not None:
        _re_export(r, node, source)
    else:
        _export_list(r, node)


def _export(r: Reader, name: str, value: Expr) -> None:
    frame = r.frame
    if frame is r.module:
        export_value(r, name, value)
    elif frame.scope and not frame.is_function:
        members = r.scope(frame.scope).members
        members[name] = r.build.union((members.get(name, 0), value))


def _declared(r: Reader, node: Node) -> list[tuple[str, Expr]]:
    if node.type in {"lexical_declaration", "variable_declaration"}:
        patterns = [field_of(child, "name") for child in node.named_children if child.type == "variable_declarator"]
        names = [name for pattern in patterns if pattern is not None for name in bound_names(pattern)]
        return [(name, r.variables.read(name)) for name in names]
    if node.type == "ambient_declaration":
        return [pair for child in node.named_children for pair in _declared(r, child)]
    if node.type in {"interface_declaration", "type_alias_declaration"}:
        name = text_of(field_of(node, "name"))
        return [(name, class_of(r, r.variables.find_type(name) or 0))]
    name = text_of(field_of(node, "name")).partition(".")[0]
    return [(name, r.variables.read(name))] if name else []


def _export_list(r: Reader, node: Node) -> None:
    assigned = any(child.type == "=" for child in node.children)
    for child in node.named_children:
        if child.type == "export_clause":
            for one in child.named_children:
                name = field_of(one, "name")
                if name is not None:
                    _export(r, _export_name(field_of(one, "alias") or name), _by_name(r, text_of(name)))
        elif child.type not in {"comment", "decorator"} and assigned:
            export_value(r, "=", r.value(child))


def _by_name(r: Reader, name: str) -> Expr:
    variable = r.variables.find(name)
    if variable is not None:
        return variable.steady or r.slot_value(variable.slot)
    return class_of(r, r.variables.find_type(name) or 0) or r.build.expr(Op.FREE, name)


def _export_name(node: Node) -> str:
    return string_of(node) or text_of(node)


def _re_export(r: Reader, node: Node, source: str) -> None:
    for child in node.named_children:
        if child.type == "export_clause":
            for one in child.named_children:
                name = field_of(one, "name")
                if name is not None:
                    _note(r, one, source, _export_name(name))
                    value = r.build.expr(Op.MEMBER, source, _export_name(name))
                    _export(r, _export_name(field_of(one, "alias") or name), value)
            return
        if child.type == "namespace_export" and child.named_children:
            _note(r, child, source, "")
            _export(r, _export_name(child.named_children[0]), r.build.expr(Op.MODULE, source))
            return
    _note(r, node, source, "*")
    r.scope(0).stars.append(source)


def close_exports(r: Reader) -> None:
    """When all is read: what the module gives to others."""
    members = r.scope(0).members
    for name, slot in r.exports.items():
        values = list(dict.fromkeys(r.build.facts.slots[slot]))
        members[name] = values[0] if len(values) == 1 else r.slot_value(slot)


def exports_object(r: Reader, node: Node) -> bool:
    """Whether a node is `exports` or `module.exports`."""
    if r.global_name(node, {"exports"}):
        return True
    if node.type != "member_expression" or text_of(field_of(node, "property")) != "exports":
        return False
    return bool(r.global_name(field_of(node, "object"), {"module"}))
