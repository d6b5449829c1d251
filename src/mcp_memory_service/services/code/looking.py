"""What an index run of code finds, before any file of code is opened."""

from collections.abc import Mapping, Set
from dataclasses import dataclass
from pathlib import Path

from ...indexing.code import ProjectConfig, language_of
from ...models import JsonValue, SourceRecord, in_scope
from ..sources.changes import Changes, changes_among
from ..sources.files import FoundFile, RefusedFile, found_files
from ..sources.order import RunOrder
from .code_files import CODE
from .known_files import fingerprint_of
from .project_settings import ProjectFiles, config_digest


@dataclass(frozen=True, slots=True)
class Look:
    target: Path
    """What was asked for, or the whole root where a change concerns all files."""
    changes: Changes
    project_files: ProjectFiles
    config: ProjectConfig | None
    """None if nothing has changed."""


def look(
    order: RunOrder, project: str, known: Mapping[str, SourceRecord], said: Mapping[str, JsonValue], *, settled: bool
) -> Look:
    """`known` is what was read of the whole root, `said` what was said of it when it was last settled."""
    before = ProjectFiles.said_in(said)
    changes, project_files = _found(order, order.target, project, known, before)
    is_same = not changes.files and not changes.gone and project_files == before
    if is_same and settled:
        return Look(order.target, changes, project_files, None)
    config = project_files.config(order.root, _paths(order.root, known, changes))
    if order.target == order.root or config_digest(config) == said.get("config"):
        return Look(order.target, changes, project_files, config)
    changes, project_files = _found(order, order.root, project, known, before)
    config = project_files.config(order.root, _paths(order.root, known, changes))
    return Look(order.root, changes, project_files, config)


def _found(
    order: RunOrder, target: Path, project: str, known: Mapping[str, SourceRecord], before: ProjectFiles
) -> tuple[Changes, ProjectFiles]:
    found = list(found_files(target, order.root, order.options.own_folder, CODE))
    code: list[FoundFile | RefusedFile] = []
    others: list[FoundFile] = []
    for each in found:
        if isinstance(each, FoundFile) and language_of(each.path.name) is None:
            others.append(each)
        else:
            code.append(each)
    anew = order.anew and target == order.target
    changes = changes_among(code, known, target, lambda file: fingerprint_of(file, project), anew=anew)
    return changes, ProjectFiles.of(others, order.root, before, target)


def _paths(root: Path, known: Mapping[str, SourceRecord], changes: Changes) -> Set[str]:
    """Of all code of a root, relative to it."""
    sources = {*known, *(file.source for file in changes.files)}.difference(changes.gone)
    return {Path(source).relative_to(root).as_posix() for source in sources if in_scope(source, root.as_posix())}
