"""All files of a project: what they say is put in, edges come out."""

from collections.abc import Mapping
from dataclasses import dataclass

from .code_file import CodeFile, ProjectConfig
from .model import CodeEdge, OpenCall
from .reading import FRONT_ENDS
from .resolving.edges import FileRelations, join
from .resolving.guesses import Guesses
from .resolving.modules import Modules
from .resolving.names import is_test_path
from .resolving.solving import solve


@dataclass(frozen=True, slots=True)
class FileEdges:
    """What begins in one file. Ordered; equal for equal projects, whatever was put or removed before."""

    edges: tuple[CodeEdge, ...] = ()
    open_calls: tuple[OpenCall, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolved:
    files: Mapping[str, FileEdges]
    """By path, of all files of the project."""
    changed_paths: frozenset[str]
    """Whose edges or open calls are not those of the last time; files that were put, and those that went, included."""


class Project:
    """Not for more than one thread at a time."""

    def __init__(self, config: ProjectConfig | None = None) -> None:
        self._config = config or ProjectConfig()
        self._files: dict[str, CodeFile] = {}
        self._groups: dict[tuple[str, ...], dict[str, FileRelations]] = {}
        self._resolved: dict[str, FileEdges] = {}
        self._touched: set[str] = set()

    def put(self, file: CodeFile) -> None:
        """Adds a file, or replaces that of its path."""
        self._files[file.path] = file
        self._touched.add(file.path)

    def remove(self, path: str) -> None:
        """Forgets a file; nothing happens if there is none."""
        if self._files.pop(path, None) is not None:
            self._touched.add(path)

    def resolve(self) -> Resolved:
        """The edges of all files; only those are resolved again that what was put and removed can have changed: files
        that imports connect with these, and calls of which nothing but the name is known."""
        modules = Modules(self._files, self._config, FRONT_ENDS)
        known, self._groups = self._groups, {}
        for paths in modules.groups():
            found = known.get(paths) if self._touched.isdisjoint(paths) else None
            if found is None:
                found = solve([self._files[path] for path in paths], modules, FRONT_ENDS)
            self._groups[paths] = found
        guesses = Guesses(self._files, FRONT_ENDS)
        resolved = {
            path: _edges(self._files[path], relations, guesses)
            for group in self._groups.values()
            for path, relations in group.items()
        }
        paths = resolved.keys() | self._resolved.keys()
        changed = {path for path in paths if resolved.get(path) != self._resolved.get(path)} | self._touched
        self._resolved, self._touched = resolved, set()
        return Resolved(resolved, frozenset(changed))


def _edges(file: CodeFile, relations: FileRelations, guesses: Guesses) -> FileEdges:
    edges = dict(relations.edges)
    open_calls = dict(relations.open_calls)
    for call in relations.unresolved:
        candidates = guesses.candidates(file, call)
        if len(candidates) == 1 and guesses.is_guessable(file, call):
            path, symbol = candidates[0]
            join(edges, (call.from_symbol, symbol, path, "calls"), "guess", (call.line,))
            if call.is_test and not is_test_path(path):
                join(edges, (call.from_symbol, symbol, path, "tests"), "guess", (call.line,))
        elif candidates:
            key = (call.from_symbol, call.name, len(candidates))
            open_calls[key] = open_calls.get(key, frozenset()) | {call.line}
    return FileEdges(
        tuple(
            CodeEdge(from_, to, file.path, to_path, kind, tuple(sorted(lines)), certainty)
            for (from_, to, to_path, kind), (certainty, lines) in sorted(edges.items(), key=lambda each: each[0])
        ),
        tuple(
            OpenCall(from_, file.path, name, tuple(sorted(lines)), candidates)
            for (from_, name, candidates), lines in sorted(open_calls.items())
        ),
    )
