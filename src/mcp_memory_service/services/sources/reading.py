"""Reading files: from bytes to documents, in a thread beside the event loop."""

import hashlib
import re
import time
from dataclasses import dataclass, replace
from pathlib import Path

from ...indexing import Note, Unreadable, decoded, read_note, read_pages, read_plain_text
from ...indexing.ignore import DocumentKind, document_kind
from .documents import Document, ReadDocument, fingerprint_of, read_document
from .files import FoundFile, RefusedFile, bytes_of, why
from .pdf import pdf_pages

MAX_NOTE_BYTES = 8 * 1024 * 1024
"""What is larger is no note: it would be thousands of chunks."""
MAX_PDF_BYTES = 64 * 1024 * 1024
RACY_SECONDS = 2
"""A file that was changed so shortly before it was read may change again without another date or size."""

# Tabs and line breaks are text; a page break is the end of a line.
_CONTROLS = re.compile("[\x00-\x08\x0b\x0e-\x1f\x7f-\x84\x86-\x9f]")


@dataclass(frozen=True, slots=True)
class Reading:
    """How the files of a root are read."""

    root: Path
    namespace: str
    mentions: bool

    def fingerprint(self, file: FoundFile) -> str:
        return fingerprint_of(file, self.root.as_posix(), mentions=self.mentions)

    def read(self, file: FoundFile, known: Document | None) -> ReadDocument | Document | RefusedFile:
        """What a file has become; the document that is known if its bytes are the same."""
        kind = document_kind(file.path.name)
        try:
            data, file = bytes_of(file.path, MAX_PDF_BYTES if kind == "pdf" else MAX_NOTE_BYTES)
            fingerprint = self.fingerprint(file)
            if time.time_ns() - file.modified_ns < RACY_SECONDS * 1_000_000_000:
                fingerprint += "?"  # looked at again by the next run
            digest = hashlib.sha256(data).hexdigest()
            if known is not None and known.digest == digest and known.is_read_like(fingerprint):
                return replace(known, fingerprint=fingerprint)
            note = _note_of(data, kind, file.path.stem)
        except FileNotFoundError:
            return RefusedFile(file.source, "it vanished while it was read", keeps_old=False)
        except OSError as error:
            return RefusedFile(file.source, why(error), keeps_old=True)
        except Unreadable as error:
            return RefusedFile(file.source, str(error), keeps_old=False)
        return read_document(note, file, self.root.as_posix(), self.namespace, digest, fingerprint)


def text_in(path: Path) -> str:
    """The text of a file as it is cut into chunks; Unreadable if it has none."""
    kind = document_kind(path.name)
    data, _ = bytes_of(path, MAX_PDF_BYTES if kind == "pdf" else MAX_NOTE_BYTES)
    return "\n".join(_pages(data)) if kind == "pdf" else _text_of(data)


def _text_of(data: bytes) -> str:
    return _CONTROLS.sub(" ", decoded(data))


def _pages(data: bytes) -> list[str]:
    return [_CONTROLS.sub(" ", page) for page in pdf_pages(data)]


def _note_of(data: bytes, kind: DocumentKind | None, stem: str) -> Note:
    if kind == "pdf":
        return read_pages(_pages(data), stem)
    return read_note(_text_of(data), stem) if kind == "note" else read_plain_text(_text_of(data), stem)
