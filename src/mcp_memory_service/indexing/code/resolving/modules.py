"""Which file an import means, and which files are connected by imports: nothing flows between others."""

from collections.abc import Iterator, Mapping

from ..code_file import CodeFile, ProjectConfig
from ..facts import Op
from ..languages import FrontEnd, Language


class Modules:
    """Of all files of a project."""

    def __init__(
        self, files: Mapping[str, CodeFile], config: ProjectConfig, front_ends: Mapping[Language, FrontEnd]
    ) -> None:
        self._files = files
        self._config = config
        self._front_ends = front_ends
        self._by_name: dict[str, list[str]] = {}
        self._inside: dict[str, list[str]] = {}
        for path in sorted(files):
            module = files[path].module
            self._by_name.setdefault(module, []).append(path)
            parts = module.split(".")
            for i in range(1, len(parts)):
                self._inside.setdefault(".".join(parts[:i]), []).append(path)

    def find(self, specifier: str, importer: CodeFile) -> str | None:
        """The path of the file that an import means; None if it is none of the project."""
        for path in self._front_ends[importer.language].module_paths(specifier, importer.path, self._config):
            if path in self._files:
                return path
        same = self._by_name.get(specifier, [])
        return same[0] if len(same) == 1 else None

    def groups(self) -> list[tuple[str, ...]]:
        """The paths of files that are connected, each in order."""
        leader = {path: path for path in self._files}

        def lead(path: str) -> str:
            while leader[path] != path:
                leader[path] = leader[leader[path]]
                path = leader[path]
            return path

        for path, file in self._files.items():
            for other in self._imported(file):
                leader[lead(other)] = lead(path)
        groups: dict[str, list[str]] = {}
        for path in sorted(self._files):
            groups.setdefault(lead(path), []).append(path)
        return [tuple(paths) for paths in groups.values()]

    def _imported(self, file: CodeFile) -> Iterator[str]:
        """All that names of imports can lead to, modules in modules included."""
        seen: set[str] = set()
        for specifier in _specifiers(file):
            if specifier not in seen:
                seen.add(specifier)
                path = self.find(specifier, file)
                if path is not None:
                    yield path
                else:
                    yield from self._inside.get(specifier, ())


def _specifiers(file: CodeFile) -> Iterator[str]:
    yield from file.facts.scopes[0].stars
    for _, _, specifier, name in file.facts.imports:
        yield specifier
        if name not in ("", "*"):
            yield specifier + name if specifier.endswith(".") else f"{specifier}.{name}"
    for row in file.facts.exprs:
        if row[0] == Op.MODULE:
            yield row[1]
        elif row[0] == Op.MEMBER:
            yield row[1]
            yield row[1] + row[2] if row[1].endswith(".") else f"{row[1]}.{row[2]}"
