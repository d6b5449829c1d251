"""One file of code, read: its symbols, and the facts its edges are resolved from."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .facts import Facts
from .javascript.project_files import Places
from .languages import Language
from .model import Symbol
from .python.modules import packages


@dataclass(frozen=True, slots=True)
class ProjectConfig:
    """What reading one file needs to know of the others. A file whose answer of `module_name` changes is to be read
    again."""

    packages: frozenset[str] = frozenset()
    """Folders that are packages of Python, relative to the project, with forward slashes; '' for the project itself."""
    places: Places = field(default_factory=Places)
    """What `package.json` and `tsconfig.json` files say about where modules are."""

    @classmethod
    def of(cls, paths: Iterable[str], project_files: Mapping[str, str] = MappingProxyType({})) -> "ProjectConfig":
        """From the paths of all files of a project, and the texts of those that `is_project_file` names."""
        return cls(packages(paths), Places.of(project_files))


@dataclass(frozen=True, slots=True)
class CodeFile:
    path: str
    """Relative to the project, with forward slashes."""
    language: Language
    module: str
    """Its dotted name; the qualified names of its symbols begin with it."""
    symbols: tuple[Symbol, ...]
    """In the order of the text, the module first. Empty if the file comes from its record: see `to_json`."""
    facts: Facts
    problems: tuple[str, ...] = ()
    """What could not be read, in words; the rest of the file was."""

    def to_json(self) -> list[Any]:
        """What resolving needs. The symbols themselves, with their texts, are not in it."""
        return [self.path, self.language, self.module, self.facts.to_json(), list(self.problems)]

    @classmethod
    def from_json(cls, row: list[Any]) -> "CodeFile":
        path, language, module, facts, problems = row
        return cls(path, language, module, (), Facts.from_json(facts), tuple(problems))
