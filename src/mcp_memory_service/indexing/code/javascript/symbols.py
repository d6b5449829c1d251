"""The symbols of a file, as they are searched and shown: signature, comment above, text, hash of the span."""

import hashlib
import re
from textwrap import dedent

from tree_sitter import Node

from ..facts import Scope
from ..model import Symbol, SymbolKind
from .reader import text_of

_CARRIERS = frozenset(
    "export_statement variable_declarator lexical_declaration variable_declaration expression_statement "
    "assignment_expression pair field_definition public_field_definition ambient_declaration".split()
)
"""What a definition stands in that is shown with it: `export const f = () => 1`."""
_OUTER: frozenset[SymbolKind] = frozenset({"module", "class", "interface"})
_STARS = re.compile(r"^\s*\*? ?", re.MULTILINE)
_MAX_SIGNATURE = 400


def symbols_of(path: str, text: str, nodes: list[Node], scopes: list[Scope]) -> tuple[Symbol, ...]:
    """Of all scopes, in the order of the text; the lines of the scopes become those of the symbols."""
    lines = text.split("\n")
    shown = [_carrier(node) for node in nodes]
    for scope, node in zip(scopes[1:], shown[1:], strict=True):
        scope.first_line, scope.last_line = _first_line(node), node.end_point[0] + 1
    inside: dict[int, list[int]] = {}
    for number, scope in enumerate(scopes):
        if number and scope.kind != "lambda":
            inside.setdefault(scope.parent, []).append(number)
    signatures = [path, *(_signature(node, carrier) for node, carrier in zip(nodes[1:], shown[1:], strict=True))]
    found: list[Symbol] = []
    for number, scope in enumerate(scopes):
        span = "\n".join(lines[scope.first_line - 1 : scope.last_line])
        members = inside.get(number, []) if scope.kind in _OUTER else []
        shortened = _without(lines, scope, [(scopes[each], signatures[each]) for each in members]) if members else span
        comment = _comment(shown[number]) if number else _module_comment(nodes[0])
        digest = hashlib.sha256(span.encode("utf-8", "surrogatepass")).hexdigest()
        found.append(
            Symbol(
                scope.qualified_name,
                scope.kind,
                scope.first_line,
                scope.last_line,
                signatures[number],
                comment,
                dedent(shortened),
                digest,
            )
        )
    return tuple(found)


def _carrier(node: Node) -> Node:
    """The definition with `export`, `const f =` and the like, where nothing else is defined in it."""
    whole = node
    while whole.parent is not None and whole.parent.type in _CARRIERS:
        declared = [child for child in whole.parent.named_children if child.type == "variable_declarator"]
        if len(declared) > 1:
            break
        whole = whole.parent
    return whole


def _first_line(node: Node) -> int:
    """Decorators stand before a method, and belong to it."""
    before = node.prev_named_sibling
    first = node
    while before is not None and before.type == "decorator":
        first, before = before, before.prev_named_sibling
    return first.start_point[0] + 1


def _signature(node: Node, carrier: Node) -> str:
    body = node.child_by_field_name("body")
    end = body.start_byte if body is not None and node.type != "type_alias_declaration" else carrier.end_byte
    source = (carrier.text or b"")[: end - carrier.start_byte][: _MAX_SIGNATURE * 4]
    line = " ".join(source.decode("utf-8", "replace").split())
    return line[:_MAX_SIGNATURE].removesuffix("=>").rstrip(" {;,")


def _comment(node: Node) -> str:
    """The comment right above a definition."""
    before = node.prev_named_sibling
    while before is not None and before.type == "decorator":
        before = before.prev_named_sibling
    if before is None or before.type != "comment" or before.end_point[0] + 1 < node.start_point[0]:
        return ""
    text = text_of(before)
    return _plain(text) if text.startswith("/*") else _line_comments(before)


def _line_comments(last: Node) -> str:
    lines: list[str] = []
    node: Node | None = last
    below = last.start_point[0] + 1
    while node is not None and node.type == "comment" and node.start_point[0] == below - 1:
        lines.insert(0, text_of(node).removeprefix("//").strip())
        below = node.start_point[0]
        node = node.prev_named_sibling
    return "\n".join(lines)


def _module_comment(root: Node) -> str:
    first = next((child for child in root.named_children if child.type != "hash_bang_line"), None)
    if first is None or first.type != "comment" or not text_of(first).startswith("/**"):
        return ""
    following = first.next_named_sibling
    alone = following is None or following.type in {"comment", "import_statement"} or "@file" in text_of(first)
    return _plain(text_of(first)) if alone or (following and following.start_point[0] > first.end_point[0] + 1) else ""


def _plain(comment: str) -> str:
    inner = comment.removeprefix("/*").removeprefix("*").removesuffix("*/")
    return _STARS.sub("", inner).strip()


def _without(lines: list[str], scope: Scope, members: list[tuple[Scope, str]]) -> str:
    """Each member as its signature."""
    kept: list[str] = []
    line = scope.first_line
    for member, signature in sorted(members, key=lambda each: (each[0].first_line, -each[0].last_line)):
        if member.first_line < line or member.last_line > scope.last_line:
            continue
        kept.extend(lines[line - 1 : member.first_line - 1])
        start = lines[member.first_line - 1]
        kept.append(start[: len(start) - len(start.lstrip())] + signature)
        line = member.last_line + 1
    kept.extend(lines[line - 1 : scope.last_line])
    return "\n".join(kept)
