"""An index as a file: columns one after the other, each with a checksum, mapped into memory when they are used.

Mapped columns are shared by all processes on the same store, and the system may take their pages back when memory is
short. A file is never changed, only replaced: who has mapped the old one keeps it until letting go of it.
"""

import json
import math
import mmap
import os
import weakref
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass
from hashlib import blake2b
from pathlib import Path
from typing import Any, BinaryIO, cast

import numpy as np
from numpy.typing import NDArray

from .....private_files import new_private_file
from ...file.connection import real_path
from ..source import Position

FORMAT = 6
"""A file of another one is built anew, not read."""
COLUMNS: Mapping[str, str] = {
    "memory_ids": "<i8 documents",
    "hashes": "|u1 documents 32",
    "created_at": "<i8 documents",
    "namespaces": "<i4 documents",
    "memory_types": "<i4 documents",
    "kinds": "|i1 documents",
    "sessions": "<i4 documents",
    "sequences": "<i8 documents",
    "expires_at": "<i8 documents",
    "lengths": "<u4 documents",
    "session_names": "|u1 bytes",
    "session_starts": "<i8 sessions",
    "chunk_documents": "<i4 chunks",
    "chunk_stored": "|i1 chunks dimension",
    "chunk_scales": "<f4 chunks",
    "chunk_codes": "<u8 words chunks",
    "mean": "<f4 dimension",
    "term_keys": "<u8 terms",
    "term_starts": "<i8 starts",
    "term_documents": "<u4 postings",
    "term_frequencies": "|u1,<u2,<u4,<u8 postings",
    "changed_since": "<i8 changes",
}
"""Of each column its type, or those it may have, and its shape: what has one name is of one size."""
MAGIC = b"MMSINDEX"
ALIGNMENT = 64
CHUNK_BYTES = 1 << 20
MAX_LISTING_BYTES = 64 << 20
"""It has the names of all namespaces and types; a file that says more is not one of ours."""
POPULATE_READ = 22
"""Of madvise(2), which Python has no name for: all pages are mapped at once, not one by one by the first searches."""

Column = NDArray[Any]


class Unusable(Exception):
    """The file is not a whole index of this format; a new one is to be built."""


@dataclass(frozen=True, slots=True)
class Header:
    position: Position
    """All changes up to this one are in it, but for those of memories that the column `changed_since` names."""
    model_id: str
    salt: bytes
    """Of the digests of terms."""
    namespaces: tuple[str, ...]
    memory_types: tuple[str, ...]


class MappedFile:
    """The file behind columns that are mapped. We never change it: who writes to it changes what searches read, and who
    cuts it short ends every process that reads on (SIGBUS). So it is looked at before and after each search."""

    def __init__(self, file: BinaryIO) -> None:
        self._descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, self._descriptor)
        self._checked = os.fstat(self._descriptor)

    def is_unchanged(self) -> bool:
        """Since its checksums were compared. Takes about a microsecond."""
        now, checked = os.fstat(self._descriptor), self._checked
        if (now.st_size, now.st_mtime_ns) != (checked.st_size, checked.st_mtime_ns):
            return False
        # Nobody can set the time of the last change of any kind; it is also that of losing the name to another file.
        return now.st_nlink == 0 or now.st_ctime_ns == checked.st_ctime_ns


@dataclass(frozen=True, slots=True)
class SegmentData:
    header: Header
    columns: Mapping[str, Column]
    exact: bool = False
    """Whether vectors are kept as they are, not as bytes: never in a file, but in memory for a small store."""
    file: MappedFile | None = None


def index_file(store: Path) -> Path:
    """Beside the database itself, whatever links lead to it."""
    file = real_path(store)
    return file.with_name(f"{file.name}-index")


def write_segment_file(target: Path, data: SegmentData) -> None:
    """In the place of an older one, all at once. Not synced: after a power cut the checksums tell."""
    with new_private_file(target) as new:
        with new.open("r+b") as file:
            _write(file, data.header, data.columns)
        new.replace(target)


def _write(file: BinaryIO, header: Header, columns: Mapping[str, Column]) -> None:
    listed: list[dict[str, object]] = []
    # The list of columns comes last, when the checksums are known; the head says where.
    head_bytes = len(MAGIC) + 16
    file.write(bytes(head_bytes))
    for name, column in columns.items():
        file.write(bytes(-file.tell() % ALIGNMENT))
        start = file.tell()
        crc = 0
        for chunk in _chunks(np.ascontiguousarray(column)):
            crc = zlib.crc32(chunk, crc)
            file.write(chunk)
        listed.append({"name": name, "start": start, "type": column.dtype.str, "shape": column.shape, "crc": crc})
    described = asdict(header) | {"salt": header.salt.hex()}
    listing = json.dumps({"format": FORMAT, "header": described, "columns": listed}).encode()
    start = file.tell()
    file.write(listing)
    file.seek(0)
    file.write(MAGIC + start.to_bytes(8, "little") + zlib.crc32(listing).to_bytes(8, "little"))


def _chunks(column: Column) -> Iterator[memoryview]:
    data = memoryview(column.reshape(-1).view(np.uint8))
    return (data[start : start + CHUNK_BYTES] for start in range(0, len(data), CHUNK_BYTES))


def read_segment_file(path: Path) -> SegmentData:
    """Checked and mapped; Unusable if it is not there, damaged, or of another format."""
    try:
        with path.open("rb") as file:
            watched = MappedFile(file)
            listing = _listing(file)
            header = _header(listing["header"])
            _require_known(listing["columns"], os.fstat(file.fileno()).st_size)
            _require_intact(file, listing["columns"])
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        columns = {str(each["name"]): _column(mapped, each) for each in listing["columns"]}
    except FileNotFoundError as error:
        raise Unusable("there is none") from error
    except (OSError, ValueError, LookupError, TypeError, AttributeError, OverflowError, RecursionError) as error:
        raise Unusable(str(error)) from error
    with suppress(OSError, AttributeError):  # from Linux 5.14 on; elsewhere the first searches are slower
        mapped.madvise(POPULATE_READ)
    return SegmentData(header, columns, file=watched)


def _listing(file: BinaryIO) -> dict[str, Any]:
    head = file.read(len(MAGIC) + 16)
    if head[: len(MAGIC)] != MAGIC:
        raise ValueError("it has another beginning")
    file.seek(int.from_bytes(head[len(MAGIC) : len(MAGIC) + 8], "little"))
    text = file.read(MAX_LISTING_BYTES)
    if zlib.crc32(text) != int.from_bytes(head[len(MAGIC) + 8 :], "little"):
        raise ValueError("its list of columns is damaged")
    listing = cast("dict[str, Any]", json.loads(text))
    if listing["format"] != FORMAT:
        raise ValueError(f"it has the format {listing['format']}, not {FORMAT}")
    return listing


def _require_known(columns: list[dict[str, Any]], file_bytes: int) -> None:
    """Of a listing that may say anything."""
    if sorted(column["name"] for column in columns) != sorted(COLUMNS):
        raise ValueError("it has other columns")
    sizes: dict[str, int] = {}
    for column in columns:
        name, shape, start = column["name"], column["shape"], column["start"]
        types, *dimensions = COLUMNS[name].split()
        if column["type"] not in types.split(",") or len(shape) != len(dimensions):
            raise ValueError(f"its column {name} is of another kind")
        for dimension, size in zip(dimensions, shape, strict=True):
            expected = int(dimension) if dimension.isdecimal() else sizes.setdefault(dimension, size)
            if type(size) is not int or size < 0 or size != expected:
                raise ValueError(f"its column {name} is of another size")
        end = start + math.prod(shape) * np.dtype(column["type"]).itemsize
        if type(start) is not int or not 0 <= start <= end <= file_bytes:
            raise ValueError("it is cut off")


def _require_intact(file: BinaryIO, columns: list[dict[str, Any]]) -> None:
    """Read through the file, not through a map of it: pages of a map would count as memory of this process."""
    with suppress(AttributeError):  # not on every system
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_SEQUENTIAL)
    for column in columns:
        file.seek(column["start"])
        left, crc = math.prod(column["shape"]) * np.dtype(column["type"]).itemsize, 0
        while left:
            chunk = file.read(min(left, CHUNK_BYTES))
            if not chunk:
                raise ValueError("it is cut off")
            left -= len(chunk)
            crc = zlib.crc32(chunk, crc)
        if crc != column["crc"]:
            raise ValueError(f"its column {column['name']} is damaged")


def _column(mapped: mmap.mmap, column: dict[str, Any]) -> Column:
    shape = cast("list[int]", column["shape"])
    flat = np.frombuffer(mapped, np.dtype(column["type"]), count=math.prod(shape), offset=int(column["start"]))
    return flat.reshape(shape)


def _header(fields: dict[str, Any]) -> Header:
    sequence, mark = map(_int64, fields["position"])
    return Header(
        position=Position(sequence, mark),
        model_id=str(fields["model_id"]),
        salt=_salt(fields["salt"]),
        namespaces=tuple(map(str, fields["namespaces"])),
        memory_types=tuple(map(str, fields["memory_types"])),
    )


def _int64(number: object) -> int:
    if type(number) is not int or not -(2**63) <= number < 2**63:
        raise ValueError("it has a number that is none of ours")
    return number


def _salt(text: str) -> bytes:
    salt = bytes.fromhex(text)
    if len(salt) > blake2b.MAX_KEY_SIZE:
        raise ValueError("its salt is too long")
    return salt
