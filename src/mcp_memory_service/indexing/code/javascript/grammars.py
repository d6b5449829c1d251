"""The grammars, and what is looked for in a whole file before it is read in order."""

from dataclasses import dataclass, field
from functools import cache
from typing import Literal, TypeAlias

import tree_sitter_javascript
import tree_sitter_typescript
from tree_sitter import Language, Node, Parser, Query, QueryCursor, Tree

Grammar: TypeAlias = Literal["javascript", "typescript", "tsx"]

_FUNCTIONS = """
(function_declaration) @scope (generator_function_declaration) @scope (function_expression) @scope
(generator_function) @scope (arrow_function) @scope (method_definition) @scope (class_declaration) @scope (class) @scope
"""
_TYPES = """
(abstract_class_declaration) @scope (interface_declaration) @scope (enum_declaration) @scope (internal_module) @scope
(module) @scope (function_signature) @scope (method_signature) @scope (abstract_method_signature) @scope
(type_alias_declaration) @scope
"""
_WRITES = """
(assignment_expression left: (identifier) @write) (augmented_assignment_expression left: (identifier) @write)
(assignment_expression left: [(array_pattern) (object_pattern)] @pattern)
(assignment_expression left: (parenthesized_expression (identifier) @write))
(for_in_statement left: (identifier) @write) (update_expression argument: (identifier) @write)
(variable_declaration (variable_declarator) @var)
(for_in_statement kind: "var" left: (_) @loop_var)
"""

SIGNATURES = frozenset({"function_signature", "method_signature", "abstract_method_signature"})
_BODIES = {"function_signature": "function_declaration", "method_signature": "method_definition"}


def grammar_of(path: str) -> Grammar:
    if path.endswith(".tsx"):
        return "tsx"
    return "typescript" if path.endswith((".ts", ".mts", ".cts")) else "javascript"


@cache
def _language(grammar: Grammar) -> Language:
    if grammar == "javascript":
        return Language(tree_sitter_javascript.language())
    of = tree_sitter_typescript.language_tsx if grammar == "tsx" else tree_sitter_typescript.language_typescript
    return Language(of())


@cache
def _query(grammar: Grammar) -> Query:
    text = _FUNCTIONS + _WRITES + ("" if grammar == "javascript" else _TYPES)
    return Query(_language(grammar), text)


def parse(grammar: Grammar, source: bytes) -> Tree:
    return Parser(_language(grammar)).parse(source)


@dataclass(slots=True)
class Outline:
    """Where the scopes of a file begin, and what is assigned in which of them."""

    scopes: dict[int, int] = field(default_factory=dict[int, int])
    """By the ids of their nodes their numbers, in the order of the text; 0 is the module."""
    nodes: list[Node] = field(default_factory=list[Node])
    variables: dict[int, list[Node]] = field(default_factory=dict[int, list[Node]])
    """For each function the nodes that declare a `var` in it, at any depth."""
    writes: dict[str, list[tuple[int, int]]] = field(default_factory=dict[str, list[tuple[int, int]]])
    """By name the places of assignments, each with the number of the scope it is in."""
    places: list[tuple[int, str]] = field(default_factory=list[tuple[int, str]])
    """All of them, in order."""


def outline_of(grammar: Grammar, root: Node) -> Outline:
    """One pass of the query over the tree, then one over what it found."""
    found = QueryCursor(_query(grammar)).captures(root)
    outline = Outline(nodes=[root])
    marked = [(node.start_byte, -node.end_byte, label, node) for label, nodes in found.items() for node in nodes]
    marked.sort(key=lambda mark: (mark[0], mark[1], mark[2] != "scope"))
    around: list[tuple[int, int]] = [(root.end_byte + 1, 0)]
    for start, end, label, node in marked:
        while around[-1][0] <= start:
            around.pop()
        if label == "scope":
            if not _is_overload(node):
                outline.scopes[node.id] = len(outline.nodes)
                around.append((-end, len(outline.nodes)))
                outline.nodes.append(node)
        else:
            _note(outline, label, node, around[-1][1])
    outline.places.sort()
    return outline


def _note(outline: Outline, label: str, node: Node, scope: int) -> None:
    if label in {"var", "loop_var"}:
        outline.variables.setdefault(scope, []).append(node)
        written = node if label == "loop_var" else node.child_by_field_name("name")
        if label == "var" and node.child_by_field_name("value") is None:
            return
    else:
        written = node
    for name in bound_names(written) if written is not None else ():
        outline.writes.setdefault(name, []).append((node.start_byte, scope))
        outline.places.append((node.start_byte, name))


def bound_names(pattern: Node) -> list[str]:
    """The variables of a pattern, as they are declared or assigned."""
    found: list[str] = []
    waiting = [pattern]
    while waiting:
        node = waiting.pop()
        kind = node.type
        if kind in {"identifier", "shorthand_property_identifier_pattern"}:
            found.append((node.text or b"").decode("utf-8", "replace"))
        elif kind in {"assignment_pattern", "object_assignment_pattern", "for_in_statement"}:
            left = node.child_by_field_name("left")
            waiting.extend([left] if left is not None else [])
        elif kind == "pair_pattern":
            value = node.child_by_field_name("value")
            waiting.extend([value] if value is not None else [])
        elif kind in {"object_pattern", "array_pattern", "rest_pattern"}:
            waiting.extend(reversed(node.named_children))
    return found


def _is_overload(node: Node) -> bool:
    """Whether it only announces what stands below it with a body."""
    body = _BODIES.get(node.type)
    if body is None:
        return False
    name = node.child_by_field_name("name")
    after: Node | None = node
    if node.parent is not None and node.parent.type == "export_statement":
        after = node.parent
    while (after := after.next_named_sibling) is not None:
        inner = after
        if after.type == "export_statement":
            inner = after.child_by_field_name("declaration") or after
        other = inner.child_by_field_name("name")
        if other is None or name is None or other.text != name.text:
            return False
        if inner.type != node.type:
            return inner.type == body
    return False
