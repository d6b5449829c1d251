"""What a disk may hold after a power cut: all that was synced, and of the rest any part."""

import random
from collections.abc import Mapping, Sequence
from itertools import pairwise

from tests.reliability.recording_vfs import Created, Deleted, Entry, Synced, Truncated, Written

SECTOR = 512


def disk_after_cut(
    record: Sequence[Entry], durable: Mapping[str, bytes], keep: float, chance: random.Random
) -> dict[str, bytes]:
    """The files after a cut at the end of the record; what was not synced is kept with the probability `keep`."""
    contents = _contents(record, durable, keep, chance)
    return {name: bytes(contents[file]) for name, file in _folder(record, durable, keep, chance).items()}


def _contents(
    record: Sequence[Entry], durable: Mapping[str, bytes], keep: float, chance: random.Random
) -> dict[int, bytearray]:
    """Of each file by its number; each sector of a write that was not synced is there or not, for itself."""
    contents = {number: bytearray(content) for number, content in enumerate(durable.values())}
    safe_until = {entry.file: position for position, entry in enumerate(record) if isinstance(entry, Synced)}
    for position, entry in enumerate(record):
        match entry:
            case Created():
                contents[entry.file] = bytearray()
            case Written() if position < safe_until.get(entry.file, -1):
                _write(contents[entry.file], entry.offset, entry.data)
            case Written():
                for offset, sector in _sectors(entry):
                    if chance.random() < keep:
                        _write(contents[entry.file], offset, sector)
            case Truncated():
                if position < safe_until.get(entry.file, -1) or chance.random() < keep:
                    del contents[entry.file][entry.size :]
            case _:
                pass
    return contents


def _sectors(entry: Written) -> list[tuple[int, bytes]]:
    """The write in pieces that end where the sectors of the disk do."""
    end = entry.offset + len(entry.data)
    borders = [entry.offset, *range((entry.offset // SECTOR + 1) * SECTOR, end, SECTOR), end]
    return [(start, entry.data[start - entry.offset : stop - entry.offset]) for start, stop in pairwise(borders)]


def _write(content: bytearray, offset: int, data: bytes) -> None:
    if len(content) < offset:
        content.extend(bytes(offset - len(content)))
    content[offset : offset + len(data)] = data


def _folder(
    record: Sequence[Entry], durable: Mapping[str, bytes], keep: float, chance: random.Random
) -> dict[str, int]:
    """The folder's names, each with its file; a later change of a name is never kept without the earlier ones."""
    names = {name: number for number, name in enumerate(durable)}
    safe_until = max((position for position, entry in enumerate(record) if _syncs_folder(entry)), default=-1)
    lost: set[str] = set()
    for position, entry in enumerate(record):
        if not isinstance(entry, Created | Deleted):
            continue
        if position > safe_until and (entry.name in lost or chance.random() >= keep):
            lost.add(entry.name)
        elif isinstance(entry, Created):
            names[entry.name] = entry.file
        else:
            names.pop(entry.name, None)
    return names


def _syncs_folder(entry: Entry) -> bool:
    return (isinstance(entry, Synced) and entry.folder_too) or (isinstance(entry, Deleted) and entry.folder_synced)
