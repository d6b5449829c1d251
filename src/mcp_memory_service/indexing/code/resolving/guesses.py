"""What a call may mean when nothing but its name is known: the last resort, over all files of a project."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from ..code_file import CodeFile
from ..facts import Trait
from ..languages import FrontEnd, Language

Candidate: TypeAlias = tuple[str, str]
"""The path of a file, and the qualified name of a symbol in it."""

_CALLABLE = ("class", "function", "method")


@dataclass(frozen=True, slots=True)
class Unresolved:
    """A call of which only the name is known."""

    from_symbol: str
    line: int
    name: str
    is_method: bool
    is_test: bool


class Guesses:
    def __init__(self, files: Mapping[str, CodeFile], front_ends: Mapping[Language, FrontEnd]) -> None:
        self._front_ends = front_ends
        self._bodies: dict[tuple[str, bool, bool], dict[Candidate, None]] = {}
        self._declarations: dict[tuple[str, bool, bool], dict[Candidate, None]] = {}
        for path in sorted(files):
            for name, is_method, is_declared, candidate in _callables(files[path]):
                known = self._declarations if is_declared else self._bodies
                known.setdefault((name, is_method, files[path].language == "python"), {})[candidate] = None

    def candidates(self, file: CodeFile, call: Unresolved) -> list[Candidate]:
        """Of the same kind of language. What is only declared, by an interface or a stub, stands for what does it."""
        key = (call.name, call.is_method, file.language == "python")
        return list(self._bodies.get(key) or self._declarations.get(key) or ())

    def is_guessable(self, file: CodeFile, call: Unresolved) -> bool:
        """Names that built-in types have mean those, more often than not."""
        return call.name not in self._front_ends[file.language].builtin_members and not call.name.startswith("__")


def _callables(file: CodeFile) -> Iterable[tuple[str, bool, bool, Candidate]]:
    is_open = file.language == "python" or _is_script(file)
    for scope in file.facts.scopes:
        is_method = scope.kind == "method"
        if scope.kind in _CALLABLE and not scope.traits & Trait.OVERLOAD and (is_method or is_open):
            name = scope.qualified_name.rpartition(".")[2]
            yield name, is_method, bool(scope.traits & Trait.ABSTRACT), (file.path, scope.qualified_name)


def _is_script(file: CodeFile) -> bool:
    """Whether what the file defines is there for all others: it neither exports nor imports anything."""
    return not file.facts.imports and not file.facts.scopes[0].members and not file.facts.scopes[0].stars
