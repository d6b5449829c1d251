"""The symbols of a Python file, as they are searched and shown: signature, docstring, text, hash of the span."""

import hashlib
from dataclasses import dataclass

from tree_sitter import Node

from ..model import Symbol, SymbolKind
from .reader import text_of


@dataclass(slots=True)
class _Found:
    kind: SymbolKind
    name: str
    first: int
    last: int
    signature: str
    docstring: str
    parent: int
    order: int


class Symbols:
    """Collects what a file defines; the number of a symbol is that of its scope."""

    def __init__(self, path: str, module: str, text: str) -> None:
        self._lines = text.split("\n")
        self._found = [_Found("module", module, 1, max(len(self._lines) - (not self._lines[-1]), 1), path, "", -1, 0)]

    def module_docstring(self, root: Node) -> None:
        self._found[0].docstring = docstring_of(root)

    def add(self, kind: SymbolKind, name: str, node: Node, parent: int) -> tuple[int, int]:
        """Gives the first and the last line; `node` is the whole definition with its decorators."""
        first, last = node.start_point[0] + 1, node.end_point[0] + 1
        definition = node.child_by_field_name("definition") or node
        body = definition.child_by_field_name("body")
        docstring = docstring_of(body) if body is not None and kind != "lambda" else ""
        signature = _signature(definition, body, kind)
        self._found.append(_Found(kind, name, first, last, signature, docstring, parent, node.start_byte))
        return first, last

    def all(self) -> tuple[Symbol, ...]:
        inside: dict[int, list[_Found]] = {}
        for found in self._found[1:]:
            if found.kind != "lambda":
                inside.setdefault(found.parent, []).append(found)
        symbols = [(each.order, i, self._symbol(each, inside.get(i, []))) for i, each in enumerate(self._found)]
        return tuple(symbol for _, _, symbol in sorted(symbols, key=lambda each: each[:2]))

    def _symbol(self, found: _Found, members: list[_Found]) -> Symbol:
        lines = self._lines[found.first - 1 : found.last]
        span = "\n".join(lines)
        text = self._without(found, members) if found.kind in ("module", "class") and members else span
        margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())] if lines else ""
        if margin:
            text = text.removeprefix(margin).replace("\n" + margin, "\n")
        digest = hashlib.sha256(span.encode("utf-8", "surrogatepass")).hexdigest()
        return Symbol(found.name, found.kind, found.first, found.last, found.signature, found.docstring, text, digest)

    def _without(self, found: _Found, members: list[_Found]) -> str:
        """Each member as its signature."""
        kept: list[str] = []
        line = found.first
        for member in sorted(members, key=lambda each: each.order):
            if member.first < line:
                continue
            kept.extend(self._lines[line - 1 : member.first - 1])
            start = self._lines[member.first - 1]
            kept.append(start[: len(start) - len(start.lstrip())] + member.signature)
            line = member.last + 1
        kept.extend(self._lines[line - 1 : found.last])
        return "\n".join(kept)


def docstring_of(block: Node) -> str:
    for child in block.named_children:
        if child.type == "comment":
            continue
        inner = child.named_children
        if child.type == "expression_statement" and len(inner) == 1 and inner[0].type == "string":
            text = "".join(text_of(part) for part in inner[0].named_children if part.type == "string_content")
            first, newline, rest = text.strip().partition("\n")
            return first + newline + dedent(rest)
        break
    return ""


def _signature(definition: Node, body: Node | None, kind: SymbolKind) -> str:
    whole = definition.text or b""
    end = body.start_byte - definition.start_byte if body is not None else len(whole)
    text = (
        " ".join(whole[:end].decode("utf-8", "replace").split("#")[0].split())
        if kind == "lambda"
        else _flat(whole[:end])
    )
    return text.rstrip(": ")


def _flat(head: bytes) -> str:
    lines = [line.strip() for line in head.decode("utf-8", "replace").split("\n")]
    joined = " ".join(line for line in lines if line and not line.startswith("#"))
    return joined.replace("( ", "(").replace(", )", ")").replace(",)", ")")


def dedent(text: str) -> str:
    """Without the indentation of the line that has the least."""
    lines = text.split("\n")
    margin = min((len(line) - len(line.lstrip()) for line in lines if line and not line.isspace()), default=0)
    return "\n".join(line[margin:] for line in lines) if margin else text
