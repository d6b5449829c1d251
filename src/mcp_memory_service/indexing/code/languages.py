"""The languages that are read: how a file of each is known, and how each finds a module by what an import says."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    from .code_file import CodeFile, ProjectConfig

Language: TypeAlias = Literal["python", "javascript", "typescript"]

_BY_SUFFIX: dict[str, Language] = {
    ".py": "python",
    ".pyi": "python",
    ".js": "javascript",
    ".jsx": "javascript",
    ".mjs": "javascript",
    ".cjs": "javascript",
    ".ts": "typescript",
    ".tsx": "typescript",
    ".mts": "typescript",
    ".cts": "typescript",
}


def language_of(name: str) -> Language | None:
    """By the suffix of a file name; None if such files are not read."""
    _, dot, suffix = name.rpartition(".")
    return _BY_SUFFIX.get(dot + suffix.casefold())


class FrontEnd(Protocol):
    """What a new language brings. One object for each language, without state of its own."""

    builtin_names: frozenset[str]
    """Names that are there without an import: `len`, `Promise`."""
    builtin_members: frozenset[str]
    """Names of methods of built-in types: never guessed, for most calls of `get` or `append` mean those."""

    function_methods: frozenset[str]
    """Methods that functions have by themselves and that call them: `call`, `apply`, `bind`."""
    passes_receiver: bool
    """Whether the object of a method is its first parameter (`self`)."""
    constructors: tuple[str, ...]
    """The methods that are called when an object of a class is made."""

    def read(self, path: str, text: str, config: "ProjectConfig") -> "CodeFile":
        """The facts and symbols of one file. Never fails for what is in the text."""
        ...

    def module_name(self, path: str, config: "ProjectConfig") -> str:
        """The dotted name of the module that a file is."""
        ...

    def module_paths(self, specifier: str, importer: str, config: "ProjectConfig") -> Iterator[str]:
        """The paths that an import in the file `importer` can mean, best first. The first that the project has is
        taken; if it has none, the only file of that dotted name is."""
        ...
