"""What reading a file of code needs to know of the others: which folders are packages, and what the files say that tell
where modules are, such as `package.json`."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import cast

from ...indexing import Unreadable, decoded
from ...indexing.code import ProjectConfig
from ...models import JsonValue
from ..sources.files import FoundFile, bytes_of

MAX_PROJECT_FILE_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class ProjectFiles:
    """Those of a root that say where modules are: their dates and sizes by their paths."""

    files: Mapping[str, str]

    @classmethod
    def of(cls, found: Iterable[FoundFile], root: Path, known: "ProjectFiles", target: Path) -> "ProjectFiles":
        """What there is at or below the target, and what was known of the rest of the root."""
        inside = "" if target == root else target.relative_to(root).as_posix()
        rest = {path: said for path, said in known.files.items() if inside and not f"{path}/".startswith(f"{inside}/")}
        here = {file.path.relative_to(root).as_posix(): f"{file.size}:{file.modified_ns}" for file in found}
        return cls(dict(sorted({**rest, **here}.items())))

    @classmethod
    def said_in(cls, said: Mapping[str, JsonValue]) -> "ProjectFiles":
        return cls(cast("Mapping[str, str]", said.get("project_files", {})))

    def config(self, root: Path, paths: Collection[str]) -> ProjectConfig:
        """With the paths of all code of the root; what cannot be read says nothing."""
        texts: dict[str, str] = {}
        for path in self.files:
            try:
                texts[path] = decoded(bytes_of(root / path, MAX_PROJECT_FILE_BYTES)[0])
            except (OSError, Unreadable):
                continue
        return ProjectConfig.of(paths, texts)


def config_digest(config: ProjectConfig) -> str:
    return hashlib.sha256(repr((sorted(config.packages), config.places)).encode()).hexdigest()[:16]
