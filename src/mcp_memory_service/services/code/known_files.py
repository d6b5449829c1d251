"""What an index run knows of a file of code, and the record by which the next one knows it again."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from ...indexing.code import FileEdges
from ...models import SourceRecord
from ..sources.changes import REFUSAL
from ..sources.files import FoundFile
from .stored_symbols import StoredSymbol

READER_VERSION = 1
"""Every file is read once more by a program that reads or resolves in another way."""


@dataclass(frozen=True, slots=True)
class KnownFile:
    """A file that was read."""

    source: str
    fingerprint: str
    digest: str
    """Of its bytes."""
    path: str
    """Relative to its root."""
    module: str
    symbols: tuple[StoredSymbol, ...]
    packed: str
    """What its edges are resolved from, see `code_reader_process`."""
    edges: str = ""
    """A digest of those that the store has of it."""

    @property
    def record(self) -> SourceRecord:
        details = {
            "digest": self.digest,
            "path": self.path,
            "module": self.module,
            "symbols": [list(symbol) for symbol in self.symbols],
            "packed": self.packed,
            "edges": self.edges,
        }
        return SourceRecord(self.source, self.fingerprint, details)

    @classmethod
    def of(cls, record: SourceRecord) -> "KnownFile":
        details = cast("Mapping[str, Any]", record.details)
        return cls(
            record.source,
            record.fingerprint,
            details["digest"],
            details["path"],
            details["module"],
            tuple(StoredSymbol(*symbol) for symbol in details["symbols"]),
            details["packed"],
            details["edges"],
        )

    def is_of(self, project: str) -> bool:
        """Whether it was read as a file of that project is read by this program."""
        return self.fingerprint.startswith(_reader(project))


def fingerprint_of(file: FoundFile, project: str) -> str:
    """Equal as long as the file was not touched, and would be read in the same way. Another root gives its symbols
    other names."""
    return f"{_reader(project)}{file.size}:{file.modified_ns}"


def _reader(project: str) -> str:
    return f"code{READER_VERSION}:{project}:"


def refusal(source: str, fingerprint: str, reason: str) -> SourceRecord:
    """Of a file that was opened and is not to be read."""
    return SourceRecord(source, f"{fingerprint}{REFUSAL}{reason}", {"refused": reason})


def is_known(record: SourceRecord) -> bool:
    """Whether a record says all of a file that was read: one without details was begun and not completed."""
    return "packed" in record.details


def digest_of(edges: FileEdges) -> str:
    """Equal as long as the edges are; all that is stored of them is in it."""
    said: Sequence[object] = [
        [(edge.from_symbol, edge.to_symbol, edge.kind, edge.lines, edge.certainty) for edge in edges.edges],
        [(call.from_symbol, call.name, call.lines) for call in edges.open_calls],
    ]
    return hashlib.sha256(json.dumps(said, separators=(",", ":")).encode()).hexdigest()
