"""The edges of a folder of code, looked at without a store."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from ...code_reader_process import ReadCode, unpacked
from ...errors import InvalidInput
from ...indexing.code import CodeEdge, Project, language_of
from ...models import Certainty, EdgeKind, Progress
from ..sources.files import FoundFile, RefusedFile, found_files
from .code_files import CODE
from .known_project import without_collector
from .project_settings import ProjectFiles
from .readers import Readers
from .reading import Opened, opened


class ListedEdge(NamedTuple):
    """One place where a symbol refers to another."""

    caller: str
    callee: str
    path: str
    """Of the caller; relative to the folder, as the other one is."""
    callee_path: str
    line: int | None
    kind: EdgeKind
    certainty: Certainty


@dataclass(frozen=True, slots=True)
class Listing:
    edges: Sequence[ListedEdge]
    """In the order of paths and lines."""
    open_calls: int
    files: int
    refused: Sequence[RefusedFile]

    def of_kinds(self, kinds: Collection[str]) -> "Listing":
        """No kinds mean all."""
        return replace(self, edges=[each for each in self.edges if each.kind in kinds]) if kinds else self


def edges_below(path: Path, progress: Progress) -> Listing:
    """Of all code of a folder, or of one file by itself; references are resolved within it."""
    try:
        target = path.expanduser().resolve(strict=True)
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"{path} cannot be found.", reason="path_not_found", field="path") from error
    root = target if target.is_dir() else target.parent
    found = list(found_files(target, root, None, CODE))
    here = [each for each in found if isinstance(each, FoundFile)]
    code = [each for each in here if language_of(each.path.name) is not None]
    project_files = ProjectFiles.of((each for each in here if each not in code), root, ProjectFiles({}), root)
    config = project_files.config(root, {each.path.relative_to(root).as_posix() for each in code})
    looked_at = [opened(each, root, "") for each in code]
    texts = [(each.path, each.text) for each in looked_at if isinstance(each, Opened)]
    project, failed = Project(config), list[RefusedFile]()
    progress("Reading code", 0, len(texts))
    with Readers() as readers, without_collector():
        for (relative, _), read in zip(texts, readers.read(texts, config), strict=True):
            if isinstance(read, ReadCode):
                project.put(unpacked(read.packed))
            else:
                failed.append(RefusedFile((root / relative).as_posix(), read.reason, keeps_old=False))
        progress("Resolving references", 0, 1)
        resolved = project.resolve().files
    refused = [each for each in (*found, *looked_at) if isinstance(each, RefusedFile)]
    return Listing(
        sorted(
            (listed for found in resolved.values() for edge in found.edges for listed in _listed(edge)),
            key=lambda edge: (edge.path, edge.line or 0, edge.kind, edge.caller, edge.callee, edge.callee_path),
        ),
        sum(len(each.open_calls) for each in resolved.values()),
        len(texts) - len(failed),
        [*refused, *failed],
    )


def _listed(edge: CodeEdge) -> Iterator[ListedEdge]:
    for line in edge.lines or (None,):
        yield ListedEdge(
            edge.from_symbol, edge.to_symbol, edge.from_path, edge.to_path, line, edge.kind, edge.certainty
        )
