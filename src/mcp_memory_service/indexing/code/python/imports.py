"""Imports of Python."""

from tree_sitter import Node

from ..facts import Op
from .reader import Reader, line_of, text_of


def import_(r: Reader, node: Node) -> None:
    """`import a.b` binds `a`, `import a.b as c` binds `c` to `a.b`."""
    for child in node.named_children:
        if child.type == "aliased_import":
            module = text_of(child.named_children[0])
            alias = child.child_by_field_name("alias")
            if alias is not None:
                r.bind(text_of(alias), r.build.expr(Op.MODULE, module))
        else:
            module = text_of(child)
            first = module.partition(".")[0]
            r.bind(first, r.build.expr(Op.MODULE, first))
        r.build.facts.imports.append([r.frame.scope, line_of(child), module, ""])


def import_from(r: Reader, node: Node) -> None:
    from_ = node.child_by_field_name("module_name")
    module = "".join(text_of(from_).split()) if from_ is not None else ""
    for child in node.named_children:
        if child.type == "wildcard_import":
            r.build.facts.scopes[0].stars.append(module)
            r.read_ops = (Op.SYMBOL, Op.MEMBER, Op.CALL, Op.FREE)
            r.build.facts.imports.append([r.frame.scope, line_of(child), module, "*"])
    for child in node.children_by_field_name("name"):
        alias = child.child_by_field_name("alias") if child.type == "aliased_import" else None
        name = text_of(child.named_children[0] if child.type == "aliased_import" else child)
        r.bind(text_of(alias) if alias is not None else name, r.build.expr(Op.MEMBER, module, name))
        r.build.facts.imports.append([r.frame.scope, line_of(child), module, name])
