"""Small cases of calls with their truth: files of a project, and every call in it from a symbol to another one."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent
Call = tuple[str, str]
"""The qualified names of who calls and who is called."""


@dataclass(frozen=True, slots=True)
class Case:
    category: str
    title: str
    files: dict[str, str]
    calls: frozenset[Call]
    """All of them: whatever else is found is wrong."""
    never: frozenset[Call]
    """The mistakes that this case is for."""


def cases(language: str) -> list[Case]:
    """In the order of the files `<language>/<category>.cases`."""
    return [case for path in sorted((FOLDER / language).glob("*.cases")) for case in _read(path)]


def _read(path: Path) -> Iterator[Case]:
    for part in path.read_text().split("\n=== "):
        title, _, rest = part.removeprefix("=== ").partition("\n")
        yield _case(path.stem, title.strip(), rest)


def _case(category: str, title: str, text: str) -> Case:
    files: dict[str, str] = {}
    for part in f"\n{text}".split("\n--- ")[1:]:
        name, _, content = part.partition("\n")
        files[name.strip()] = content.rstrip("\n") + "\n"
    lines = [line for line in files.pop("calls").splitlines() if line.strip()]
    return Case(category, title, files, frozenset(_pairs(lines, " -> ")), frozenset(_pairs(lines, " -/> ")))


def _pairs(lines: list[str], arrow: str) -> Iterator[Call]:
    for line in lines:
        caller, found, callee = line.partition(arrow)
        if found:
            yield caller.strip(), callee.strip()
