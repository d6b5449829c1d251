"""What changed among the files of a root since they were read, by name, size and date alone: no file is opened."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...models import SourceRecord, in_scope
from .files import FoundFile, RefusedFile

REFUSAL = "!"
"""In a fingerprint, before the reason why a file was left out when it was opened: it is not opened again for that."""


@dataclass(frozen=True, slots=True)
class Changes:
    files: Sequence[FoundFile]
    """New, or touched since they were read."""
    gone: Sequence[str]
    refused: Sequence[RefusedFile]
    unchanged: Sequence[str]


def changes_among(
    found: Iterable[FoundFile | RefusedFile],
    known: Mapping[str, SourceRecord],
    target: Path,
    fingerprint: Callable[[FoundFile], str],
    *,
    anew: bool = False,
) -> Changes:
    """`found` is what there is at or below the target, `known` what was read of the whole root. With `anew` every file
    is to be read again."""
    files: list[FoundFile] = []
    refused: list[RefusedFile] = []
    there: set[str] = set()
    unchanged: list[str] = []
    for each in found:
        if isinstance(each, RefusedFile):
            refused.append(each)
            there |= {source for source in known if each.keeps_old and in_scope(source, each.source)}
            continue
        there.add(each.source)
        record = known.get(each.source)
        before, _, reason = record.fingerprint.partition(REFUSAL) if record else ("", "", "")
        if anew or before != fingerprint(each):
            files.append(each)
        elif reason:
            refused.append(RefusedFile(each.source, reason, keeps_old=True))
        else:
            unchanged.append(each.source)
    gone = [source for source in known if source not in there and in_scope(source, target.as_posix())]
    return Changes(files, gone, refused, unchanged)
