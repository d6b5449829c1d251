"""The front end of JavaScript and TypeScript: a file in, its symbols and facts out."""

import posixpath
import re
from collections.abc import Iterator
from functools import lru_cache

from tree_sitter import Node

from ..code_file import CodeFile, ProjectConfig
from ..facts import FactsBuilder, Op, Scope, Trait
from ..languages import Language
from .assignments import assign_member, assignment
from .builtin_names import BUILTIN_MEMBERS, BUILTIN_NAMES
from .calls import call_expression, jsx_element, jsx_expression, super_value
from .classes import class_expression
from .exports import close_exports
from .expressions import EXPRESSIONS
from .functions import anonymous_name, hoist_variables
from .global_objects import new_expression
from .grammars import Outline, grammar_of, outline_of, parse
from .module_paths import SUFFIXES, module_paths
from .reader import Parts, Reader, text_of
from .statements import STATEMENTS, hoist
from .symbols import symbols_of
from .variables import Frame

_PARTS = Parts(
    {
        **EXPRESSIONS,
        "assignment_expression": assignment,
        "augmented_assignment_expression": assignment,
        "call_expression": call_expression,
        "new_expression": new_expression,
        "super": super_value,
        "class": class_expression,
        "jsx_element": jsx_element,
        "jsx_self_closing_element": jsx_element,
        "jsx_expression": jsx_expression,
    },
    STATEMENTS,
    hoist,
    assign_member,
)
_TEST_FILE = re.compile(r"(?:^|/)(?:__tests__|tests?|spec)/|\.(?:test|spec)\.[cm]?[jt]sx?$")
_SUFFIXES = tuple(sorted(SUFFIXES, key=len, reverse=True))


class JavaScriptFrontEnd:
    builtin_names = BUILTIN_NAMES
    builtin_members = BUILTIN_MEMBERS
    function_methods: frozenset[str] = frozenset()  # calls by them are read as calls of the function itself
    passes_receiver = False
    constructors = ("constructor",)

    def __init__(self, language: Language) -> None:
        self._language: Language = language

    def read(self, path: str, text: str, config: ProjectConfig) -> CodeFile:
        module = self.module_name(path, config)
        grammar = grammar_of(path)
        source = text.encode("utf-8", "replace")
        root = parse(grammar, source).root_node
        outline = outline_of(grammar, root)
        build = FactsBuilder()
        build.scope(Scope("module", module, 1, text.count("\n") + 1))
        for node in outline.nodes[1:]:
            build.scope(Scope("lambda", "", node.start_point[0] + 1, node.end_point[0] + 1))
        reader = _read(build, outline, root, path)
        if _TEST_FILE.search(path):
            for scope in build.facts.scopes[1:]:
                scope.traits |= Trait.TEST
        symbols = symbols_of(path, text, outline.nodes, build.facts.scopes)
        problems = [*reader.problems, *((_problem(root),) if root.has_error else ())]
        return CodeFile(path, self._language, module, symbols, build.facts, tuple(problems))

    def module_name(self, path: str, config: ProjectConfig) -> str:
        suffix = next((one for one in _SUFFIXES if path.endswith(one)), "")
        return path.removesuffix(suffix).replace(".", "_").replace("/", ".")

    def module_paths(self, specifier: str, importer: str, config: ProjectConfig) -> Iterator[str]:
        return iter(_paths(specifier, posixpath.dirname(importer), config))


@lru_cache(maxsize=20_000)
def _paths(specifier: str, folder: str, config: ProjectConfig) -> tuple[str, ...]:
    return tuple(dict.fromkeys(module_paths(specifier, posixpath.join(folder, "importer"), config.places)))


def _read(build: FactsBuilder, outline: Outline, root: Node, path: str) -> Reader:
    frame = Frame(0, build.facts.scopes[0].qualified_name, None)
    reader = Reader(build, outline, frame, root.end_byte + 1, _PARTS)
    reader.own_specifier = f"./{posixpath.basename(path)}"
    frame.this = build.expr(Op.MODULE, reader.own_specifier)
    hoist_variables(reader, 0)
    reader.statement_list(root)
    reader.finish()
    _read_forgotten(reader)
    close_exports(reader)
    _forget_unused_this(reader)
    return reader


def _forget_unused_this(reader: Reader) -> None:
    """What a function is called on matters only if it reads `this`."""
    for scope in reader.build.facts.scopes:
        if scope.this >= 0 and reader.slot_value(scope.this) not in reader.uses_this:
            scope.this = -1


def _read_forgotten(reader: Reader) -> None:
    """What stands where nothing looks for it, such as within broken syntax."""
    for node in reader.outline.nodes[1:]:
        number = reader.outline.scopes[node.id]
        scope = reader.scope(number)
        if scope.qualified_name:
            continue
        if node.type in reader.parts.expressions:
            reader.value(node)
        else:
            reader.statement(node)
        if not scope.qualified_name:
            name = text_of(node.child_by_field_name("name"))
            scope.qualified_name = f"{reader.module.path}.{name}" if name else anonymous_name(reader)
            scope.parent = 0
        reader.finish()


def _problem(root: Node) -> str:
    node = root
    while True:
        broken = next((child for child in node.children if child.has_error or child.is_error or child.is_missing), None)
        if broken is None:
            return f"syntax that is not understood near line {node.start_point[0] + 1}"
        node = broken


JAVASCRIPT = JavaScriptFrontEnd("javascript")
TYPESCRIPT = JavaScriptFrontEnd("typescript")
