"""The Python front end: a file in, its symbols and facts out."""

import re
from collections.abc import Iterator

from tree_sitter import Node

from ..code_file import CodeFile, ProjectConfig
from ..facts import FactsBuilder, Scope
from .builtin_names import BUILTIN_MEMBERS, BUILTIN_NAMES
from .calls import call
from .definitions import lambda_
from .expressions import EXPRESSIONS
from .flow import Frame
from .modules import module_name, module_paths
from .parsing import parser
from .reader import ExpressionReader, Reader
from .statements import STATEMENTS
from .symbols import Symbols

_EXPRESSIONS: dict[str, ExpressionReader] = {**EXPRESSIONS, "call": call, "lambda": lambda_}
_SHARED = re.compile(r"^[ \t]*(?:global|nonlocal)[ \t]+(.+)", re.MULTILINE)
_TEST_FILE = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.py$")


class PythonFrontEnd:
    builtin_names = BUILTIN_NAMES
    builtin_members = BUILTIN_MEMBERS
    function_methods: frozenset[str] = frozenset()
    passes_receiver = True
    constructors = ("__new__", "__init__")

    def read(self, path: str, text: str, config: ProjectConfig) -> CodeFile:
        module = module_name(path, config)
        root = parser().parse(text.encode("utf-8", "replace")).root_node
        symbols = Symbols(path, module, text)
        symbols.module_docstring(root)
        build = FactsBuilder()
        build.scope(Scope("module", module, 1, text.count("\n") + 1))
        reader = Reader(
            build,
            symbols,
            Frame(0, None),
            _EXPRESSIONS,
            STATEMENTS,
            is_test=_TEST_FILE.search(path) is not None,
            is_stub=path.endswith(".pyi"),
        )
        reader.ascii = text if text.isascii() else None
        _read_module(reader, root, text)
        problems = (_problem(root),) if root.has_error else ()
        return CodeFile(path, "python", module, symbols.all(), build.facts, problems)

    def module_name(self, path: str, config: ProjectConfig) -> str:
        return module_name(path, config)

    def module_paths(self, specifier: str, importer: str, config: ProjectConfig) -> Iterator[str]:
        return module_paths(specifier, importer, config)


def _read_module(reader: Reader, root: Node, text: str) -> None:
    if "global " in text or "nonlocal " in text:
        names = (found.group(1).split("#")[0].split(";")[0] for found in _SHARED.finditer(text))
        reader.shared_names = frozenset(name.strip() for line in names for name in line.split(","))
        for found in _SHARED.finditer(text):
            if found.group().split()[0] == "global":
                for name in found.group(1).split("#")[0].split(","):
                    reader.bind(name.strip(), 0)
    reader.block(root)
    module = reader.module
    reader.finish()
    names = {**module.lost, **module.names}
    reader.build.facts.scopes[0].members = {name: value for name, value in names.items() if name[:1] != "#"}


def _problem(root: Node) -> str:
    node = root
    while True:
        broken = next((child for child in node.children if child.has_error or child.is_error or child.is_missing), None)
        if broken is None:
            return f"syntax that is not understood near line {node.start_point[0] + 1}"
        node = broken


PYTHON = PythonFrontEnd()
