"""Which file of the project an import means."""

import posixpath
from collections.abc import Iterator

from .project_files import Compiler, Package, Places, inside

SUFFIXES = (".ts", ".tsx", ".mts", ".cts", ".js", ".jsx", ".mjs", ".cjs", ".d.ts", ".d.mts", ".d.cts")
"""In the order they are tried: what runs before what only declares."""

_WRITTEN_AS = {
    ".js": (".ts", ".tsx", ".d.ts"),
    ".jsx": (".tsx",),
    ".mjs": (".mts", ".d.mts"),
    ".cjs": (".cts", ".d.cts"),
}
"""TypeScript names the file that it will be compiled to."""

_BUILT = ("dist", "build", "lib", "out", "esm", "cjs")
"""Folders that are made from `src` and seldom belong to the project."""


def module_paths(name: str, importer: str, places: Places) -> Iterator[str]:
    """The paths of files that an import of `name` in the file `importer` can mean, best first."""
    folder = posixpath.dirname(importer)
    if name.startswith(("./", "../")) or name in {".", ".."}:
        place = inside(folder, name)
        if place is not None:
            yield from _module_at(place, places)
        return
    for above in _folders_up(folder):
        for file in ("tsconfig.json", "jsconfig.json"):
            for compiler in _extended(posixpath.join(above, file), places):
                for place in _mapped(name, compiler):
                    yield from _module_at(place, places)
    yield from _in_package(name, folder, places)


def _files_of(place: str) -> Iterator[str]:
    """What a path without or with a suffix may mean, if it is no folder."""
    yield place
    stem, suffix = posixpath.splitext(place)
    for one in SUFFIXES:
        yield place + one
    for one in _WRITTEN_AS.get(suffix, ()):
        yield stem + one


def _index_of(folder: str) -> Iterator[str]:
    for suffix in SUFFIXES:
        yield posixpath.join(folder, f"index{suffix}")


def _module_at(place: str, places: Places) -> Iterator[str]:
    if place:
        yield from _files_of(place)
    package = places.package_at(place)
    if package is not None:
        yield from _entry(package, ".")
    yield from _index_of(place)


def _extended(path: str, places: Places) -> Iterator[Compiler]:
    """The settings of a file, then of those that it extends."""
    waiting, seen = [path], {path}
    while waiting:
        compiler = places.compiler_at(waiting.pop(0))
        if compiler is not None:
            yield compiler
            waiting.extend(one for one in compiler.extends if one not in seen)
            seen.update(compiler.extends)


def _in_package(name: str, folder: str, places: Places) -> Iterator[str]:
    if name.startswith("#"):
        owner = next((found for above in _folders_up(folder) if (found := places.package_at(above))), None)
        if owner is not None:
            yield from _entry(owner, name)
        return
    parts = name.split("/")
    length = 2 if name.startswith("@") else 1
    package = places.package_named("/".join(parts[:length]))
    if package is None:
        return
    subpath = "/".join([".", *parts[length:]])
    yield from _entry(package, subpath)
    if subpath == ".":
        yield from _index_of(package.folder)
        yield from _index_of(posixpath.join(package.folder, "src"))


def _entry(package: Package, subpath: str) -> Iterator[str]:
    for pattern, targets in package.entries:
        star = _star(pattern, subpath)
        for target in targets if star is not None else ():
            yield from _target(package.folder, target.replace("*", star or ""))
    if subpath not in {".", ""} and not subpath.startswith("#"):
        yield from _target(package.folder, subpath)


def _target(folder: str, target: str) -> Iterator[str]:
    """A file of a package: itself, or the source that it is built from."""
    place = inside(folder, target)
    if place is None or place == folder:
        return
    below = posixpath.relpath(place, folder or ".").split("/")
    for one in (place, posixpath.join(folder, "src", *below[1:])) if below[0] in _BUILT else (place,):
        yield from _files_of(one)
        if one.endswith(".d.ts"):
            yield from _files_of(one.removesuffix(".d.ts"))
        yield from _index_of(one)


def _mapped(name: str, compiler: Compiler) -> Iterator[str]:
    matching = [
        (pattern, places, star) for pattern, places in compiler.paths if (star := _star(pattern, name)) is not None
    ]
    for _, places, star in sorted(matching, key=lambda match: -len(match[0].partition("*")[0])):
        for place in places:
            yield place.replace("*", star)
    if compiler.base_folder is not None and (place := inside(compiler.base_folder, name)):
        yield place


def _star(pattern: str, name: str) -> str | None:
    """What the star of a pattern stands for in a name; empty if it has none and is equal, none if it does not match."""
    before, star, after = pattern.partition("*")
    if not star:
        return "" if name == pattern else None
    matches = name.startswith(before) and name.endswith(after) and len(name) >= len(before) + len(after)
    return name[len(before) : len(name) - len(after)] if matches else None


def _folders_up(folder: str) -> Iterator[str]:
    while True:
        yield folder
        if not folder:
            return
        folder = posixpath.dirname(folder)
