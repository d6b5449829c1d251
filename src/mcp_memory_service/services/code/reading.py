"""Reading files of code: from what was found to memories, in a thread beside the event loop."""

import hashlib
import time
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from ...code_reader_process import ReadCode
from ...indexing import Unreadable
from ...indexing.code import ProjectConfig
from ...models import Memory
from ..sources.files import FoundFile, RefusedFile, bytes_of, why
from .code_files import MAX_CODE_BYTES, TOO_LARGE, code_in
from .known_files import KnownFile, fingerprint_of
from .known_project import without_collector
from .readers import Readers
from .stored_symbols import Place, stored_symbols

RACY_SECONDS = 2
"""A file that was changed so shortly before it was read may change again without another date or size."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    """A file that was just read."""

    file: KnownFile
    memories: Sequence[Memory]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Opened:
    """A file whose text is to be read."""

    file: FoundFile
    path: str
    """Relative to its root."""
    fingerprint: str
    digest: str
    text: str


def opened(
    file: FoundFile, root: Path, project: str, known: KnownFile | None = None
) -> Opened | KnownFile | RefusedFile:
    """What a file has become; the one that is known if its bytes are the same."""
    if file.size > MAX_CODE_BYTES:
        return RefusedFile(file.source, TOO_LARGE, keeps_old=False)
    try:
        data, file = bytes_of(file.path, MAX_CODE_BYTES)
        fingerprint, digest = fingerprint_now(file, project), hashlib.sha256(data).hexdigest()
        if known is not None and known.digest == digest and known.is_of(project):
            return replace(known, fingerprint=fingerprint)
        text = code_in(file.path.name, data)
    except FileNotFoundError:
        return RefusedFile(file.source, "it vanished while it was read", keeps_old=True)
    except OSError as error:
        return RefusedFile(file.source, why(error), keeps_old=True)
    except Unreadable as error:
        return RefusedFile(file.source, error.reason, keeps_old=False)
    return Opened(file, file.path.relative_to(root).as_posix(), fingerprint, digest, text)


@dataclass(frozen=True, slots=True)
class CodeReading:
    """How the files of a root are read."""

    place: Place
    readers: Readers

    def read(
        self,
        files: Sequence[FoundFile],
        known: Mapping[str, KnownFile],
        reread: Container[str],
        moved: Mapping[str, str],
        config: ProjectConfig,
    ) -> list[ReadFile | KnownFile | RefusedFile]:
        """What each has become; the one that is known if its bytes are the same, unless it is to be read in any case.
        `moved` are the sources of files that are gone, by the digest of their bytes."""
        root, project = Path(self.place.root), self.place.project
        known_now = {source: None if source in reread else file for source, file in known.items()}
        looked_at = [opened(file, root, project, known_now.get(file.source)) for file in files]
        texts = [(each.path, each.text) for each in looked_at if isinstance(each, Opened)]
        with without_collector():
            results = iter(self.readers.read(texts, config))
            found: list[ReadFile | KnownFile | RefusedFile] = []
            for each in looked_at:
                if not isinstance(each, Opened):
                    found.append(each)
                    continue
                result, source = next(results), each.file.source
                before = known.get(source) or known.get(moved.get(each.digest, ""))
                if isinstance(result, ReadCode):
                    found.append(self._made(each, result, before))
                else:
                    found.append(RefusedFile(source, result.reason, keeps_old=False))
        return found

    def _made(self, read_from: Opened, read: ReadCode, before: KnownFile | None) -> ReadFile:
        memories, symbols = stored_symbols(read, read_from.file, self.place, before.symbols if before else ())
        file = KnownFile(
            read_from.file.source,
            read_from.fingerprint,
            read_from.digest,
            read_from.path,
            read.module,
            tuple(symbols),
            read.packed,
        )
        return ReadFile(file, memories, read.problems)


def fingerprint_now(file: FoundFile, project: str) -> str:
    """Of a file that was just opened."""
    is_racy = time.time_ns() - file.modified_ns < RACY_SECONDS * 1_000_000_000
    return fingerprint_of(file, project) + ("?" if is_racy else "")  # such a one is looked at again by the next run
