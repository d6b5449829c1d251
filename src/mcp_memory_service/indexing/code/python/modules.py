"""How a Python file and what it imports get their module names."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..code_file import ProjectConfig

# Folders that hold modules or scripts, but are no packages by themselves, and files that are run but import none.
_ROOTS = frozenset({"src", "lib", "libs", "python", "bin", "scripts", "test", "tests", "examples", "docs", "tools"})
_RUN_BY_TOOLS = frozenset({"setup.py", "conftest.py", "noxfile.py", "tasks.py", "fabfile.py"})


def packages(paths: Iterable[str]) -> frozenset[str]:
    """Folders with an `__init__.py`; and those without one that lie beside modules, which import them all the same."""
    names: dict[str, set[str]] = {}
    for path in paths:
        if path.endswith((".py", ".pyi")):
            folder, _, name = path.rpartition("/")
            names.setdefault(folder, set()).add(name)
    found = {folder for folder, inside in names.items() if inside & {"__init__.py", "__init__.pyi"}}
    for folder in names.keys() - found:
        around, _, last = folder.rpartition("/")
        if last.isidentifier() and last not in _ROOTS and names.get(around, set()) - _RUN_BY_TOOLS:
            found.add(folder)
    return frozenset(found)


def module_name(path: str, config: "ProjectConfig") -> str:
    """From the topmost folder without an `__init__.py`: `src/pkg/mod.py` is `pkg.mod`."""
    folder, _, name = path.rpartition("/")
    stem = name.rpartition(".")[0]
    parts = [] if stem == "__init__" and folder else [stem]
    while folder and folder in config.packages:
        folder, _, last = folder.rpartition("/")
        parts.insert(0, last)
    return ".".join(parts) or stem


def module_paths(specifier: str, importer: str, config: "ProjectConfig") -> Iterator[str]:
    """Relative ones from the folder of the importer; others from its import root and the folders around that, and last
    from the folder that a script is run in."""
    folder = importer.rpartition("/")[0]
    dotted = specifier.lstrip(".")
    levels = len(specifier) - len(dotted)
    if levels:
        for _ in range(levels - 1):
            folder = folder.rpartition("/")[0]
        yield from _files(folder, dotted)
        return
    own = folder
    while folder and folder in config.packages:
        folder = folder.rpartition("/")[0]
    while True:
        yield from _files(folder, dotted)
        if not folder:
            break
        folder = folder.rpartition("/")[0]
    yield from _files(own, dotted)


def _files(folder: str, dotted: str) -> Iterator[str]:
    path = "/".join(part for part in (folder, dotted.replace(".", "/")) if part)
    start = path + "/" if path else ""
    yield start + "__init__.py"
    if dotted:
        yield path + ".py"
        yield path + ".pyi"
    yield start + "__init__.pyi"
