"""All files of a root that were read, and how they refer to each other."""

import gc
from collections import Counter
from collections.abc import Generator, Mapping, Set
from contextlib import contextmanager
from dataclasses import dataclass, field

from ...code_reader_process import unpacked
from ...indexing.code import FileEdges, Project, ProjectConfig, language_of, module_name
from .known_files import KnownFile


@dataclass
class KnownProject:
    config: ProjectConfig
    files: dict[str, KnownFile] = field(default_factory=dict[str, KnownFile])
    """By source."""
    resolved: Mapping[str, FileEdges] = field(default_factory=dict[str, FileEdges])
    """By path, as they were when edges were last resolved."""
    settled_as: str = ""
    """The fingerprint that the record of the root has as long as nobody else has changed anything."""
    _project: Project | None = None
    _waiting: dict[str, str] = field(default_factory=dict[str, str])
    """What the project is still to be given: packed, by path."""

    def put(self, file: KnownFile) -> None:
        """In the place of what was known of it."""
        before = self.files.get(file.source)
        self.files[file.source] = file
        if before is None or before.packed != file.packed:
            self._waiting[file.path] = file.packed

    def remove(self, source: str) -> None:
        file = self.files.pop(source, None)
        if file is not None:
            self._waiting.pop(file.path, None)
            if self._project is not None:
                self._project.remove(file.path)

    def configure(self, config: ProjectConfig) -> None:
        """Another config may lead every import elsewhere."""
        if config != self.config:
            self.config, self._project = config, None
            self._waiting = {file.path: file.packed for file in self.files.values()}

    def renamed_modules(self) -> list[str]:
        """The sources of files whose module has another name by now: they are to be read again."""
        return [source for source, file in self.files.items() if module_name(file.path, self.config) != file.module]

    def resolve(self) -> Set[str]:
        """The paths whose edges may be others than before. It takes seconds: not for the event loop."""
        with without_collector():
            is_first = self._project is None
            project = self._project = self._project or Project(self.config)
            for packed in self._waiting.values():
                project.put(unpacked(packed))
            self._waiting = {}
            now = project.resolve()
        self.resolved = now.files
        return self.resolved.keys() if is_first else now.changed_paths

    def edges_of(self, file: KnownFile) -> FileEdges:
        return self.resolved.get(file.path, FileEdges())

    @property
    def symbols(self) -> int:
        return sum(len({symbol.id for symbol in file.symbols}) for file in self.files.values())

    @property
    def edges_by_kind(self) -> dict[str, int]:
        kinds = Counter(edge.kind for found in self.resolved.values() for edge in found.edges)
        return dict(sorted(kinds.items()))

    @property
    def edges_by_certainty(self) -> dict[str, int]:
        """Without those that only say what stands in what."""
        edges = (edge for found in self.resolved.values() for edge in found.edges if edge.kind != "contains")
        counts: Counter[str] = Counter(edge.certainty for edge in edges)
        counts["open"] = sum(len(found.open_calls) for found in self.resolved.values())
        return {name: counts[name] for name in ("certain", "likely", "guess", "open")}

    @property
    def languages(self) -> dict[str, int]:
        counts = Counter(str(language_of(file.path)) for file in self.files.values())
        return dict(sorted(counts.items()))


@contextmanager
def without_collector() -> Generator[None, None, None]:
    """While so much is made that stays, looking for what could go takes several times as long as making it."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
