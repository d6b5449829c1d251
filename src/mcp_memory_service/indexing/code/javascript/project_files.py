"""What `package.json` and `tsconfig.json` say about where modules are."""

import json
import posixpath
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

MAX_TARGETS = 20
"""Of one entry of `exports`: conditions are nested, and only the first files that are in the project matter."""

_NOT_JSON = re.compile(r'("(?:[^"\\]|\\.)*")|//[^\n]*|/\*.*?\*/|,(?=\s*(?://[^\n]*\s*|/\*.*?\*/\s*)*[}\]])', re.DOTALL)


@dataclass(frozen=True, slots=True)
class Package:
    """A folder that has a `package.json`."""

    folder: str
    name: str
    entries: tuple[tuple[str, tuple[str, ...]], ...]
    """Subpaths as they are imported (`.`, `./tool`, `./parts/*`, `#own`), each with the files it may mean, best first,
    relative to the folder."""


@dataclass(frozen=True, slots=True)
class Compiler:
    """A `tsconfig.json` or `jsconfig.json`: its folder, and other names for folders."""

    path: str
    folder: str
    base_folder: str | None
    """Where names without a dot in front are looked up first, if anywhere."""
    paths: tuple[tuple[str, tuple[str, ...]], ...]
    """Patterns with at most one star, each with places from the root of the project."""
    extends: tuple[str, ...]
    """Paths of other such files; what they say counts if this one does not say it."""


@dataclass(frozen=True, slots=True)
class Places:
    """Where the modules of a project are, by what its project files say."""

    packages: tuple[Package, ...] = ()
    compilers: tuple[Compiler, ...] = ()

    @classmethod
    def of(cls, files: Mapping[str, str]) -> "Places":
        """From the texts of the project files, by their paths."""
        packages = [read_package(path, text) for path, text in sorted(files.items()) if path.endswith("package.json")]
        compilers = [
            read_compiler(path, text) for path, text in sorted(files.items()) if "config" in path.rpartition("/")[2]
        ]
        return cls(tuple(filter(None, packages)), tuple(filter(None, compilers)))

    def package_at(self, folder: str) -> Package | None:
        return next((package for package in self.packages if package.folder == folder), None)

    def package_named(self, name: str) -> Package | None:
        return next((package for package in self.packages if package.name == name), None)

    def compiler_at(self, path: str) -> Compiler | None:
        return next((compiler for compiler in self.compilers if compiler.path == path), None)


def is_project_file(path: str) -> bool:
    name = posixpath.basename(path)
    return name == "package.json" or re.fullmatch(r"[tj]sconfig[\w.-]*\.json", name) is not None


def read_package(path: str, text: str) -> Package | None:
    content = _object(text)
    if content is None:
        return None
    name = content.get("name")
    return Package(posixpath.dirname(path), name if isinstance(name, str) else "", tuple(_entries(content)))


def read_compiler(path: str, text: str) -> Compiler | None:
    content = _object(text)
    if content is None:
        return None
    folder = posixpath.dirname(path)
    options = _mapping(content.get("compilerOptions"))
    base = options.get("baseUrl")
    base_folder = inside(folder, base) if isinstance(base, str) else None
    start = folder if base_folder is None else base_folder
    paths = tuple(
        (pattern, tuple(place for one in _texts(places) if (place := inside(start, one)) is not None))
        for pattern, places in _mapping(options.get("paths")).items()
    )
    extends = (
        inside(folder, one if one.endswith(".json") else f"{one}.json") for one in _texts(content.get("extends"))
    )
    return Compiler(path, folder, base_folder, paths, tuple(one for one in extends if one is not None))


def inside(folder: str, name: str) -> str | None:
    """The path of a name seen from a folder, none if it leaves the project."""
    path = posixpath.normpath(posixpath.join(folder, name))
    return None if path.startswith(("..", "/")) else "" if path == "." else path


def _entries(content: Mapping[str, Any]) -> list[tuple[str, tuple[str, ...]]]:
    exports = content.get("exports")
    found: dict[str, list[str]] = {}
    if isinstance(exports, Mapping) and any(key.startswith(".") for key in cast("Mapping[str, Any]", exports)):
        for subpath, target in cast("Mapping[str, Any]", exports).items():
            found.setdefault(subpath, []).extend(_targets(target))
    elif exports is not None:
        found["."] = _targets(exports)
    mains = [content[key] for key in ("source", "module", "main", "types", "typings") if key in content]
    found.setdefault(".", []).extend(main for main in mains if isinstance(main, str))
    for own, target in _mapping(content.get("imports")).items():
        found.setdefault(own, []).extend(_targets(target))
    return [(subpath, tuple(dict.fromkeys(targets))[:MAX_TARGETS]) for subpath, targets in found.items()]


def _targets(target: Any) -> list[str]:
    """The files of an entry, whatever its conditions are."""
    found: list[str] = []
    waiting = [target]
    while waiting and len(found) < MAX_TARGETS:
        one = waiting.pop()
        if isinstance(one, str):
            found.append(one)
        elif isinstance(one, Mapping):
            waiting.extend(reversed(list(cast("Mapping[str, Any]", one).values())))
        elif isinstance(one, list):
            waiting.extend(reversed(cast("list[Any]", one)))
    return found


def _object(text: str) -> Mapping[str, Any] | None:
    """JSON as these files have it: with comments, and commas before a closing bracket."""
    try:
        content = json.loads(_NOT_JSON.sub(lambda match: match.group(1) or "", text.removeprefix("\ufeff")))
    except (ValueError, RecursionError):
        return None
    return cast("Mapping[str, Any]", content) if isinstance(content, dict) else None


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, dict) else {}


def _texts(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [one for one in cast("list[Any]", value) if isinstance(one, str)] if isinstance(value, list) else []
