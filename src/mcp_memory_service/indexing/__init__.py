"""Reading notes: text in, chunks, names and links out. No I/O, no clock, no settings.

A name is imported when it is asked for: processes that read code come through here, and need no parser of notes.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .ignore import GITIGNORE, DocumentKind, IgnoreRules, document_kind
    from .links import LinkResolver, LinkStatus, NoteNames, Resolution
    from .mentions import TitleIndex
    from .names import folded, heading_key
    from .note import READER_VERSION, LinkForm, Note, NoteChunk, RawLink
    from .reader import read_note, read_pages, read_plain_text
    from .report import HUB_LINKS, HubNote, LinkProblem, VaultReport, check_notes
    from .text import Unreadable, decoded

_MODULES = {
    "DocumentKind": "ignore",
    "GITIGNORE": "ignore",
    "HUB_LINKS": "report",
    "HubNote": "report",
    "IgnoreRules": "ignore",
    "LinkForm": "note",
    "LinkProblem": "report",
    "LinkResolver": "links",
    "LinkStatus": "links",
    "Note": "note",
    "NoteChunk": "note",
    "NoteNames": "links",
    "READER_VERSION": "note",
    "RawLink": "note",
    "Resolution": "links",
    "TitleIndex": "mentions",
    "Unreadable": "text",
    "VaultReport": "report",
    "check_notes": "report",
    "decoded": "text",
    "document_kind": "ignore",
    "folded": "names",
    "heading_key": "names",
    "read_note": "reader",
    "read_pages": "reader",
    "read_plain_text": "reader",
}

__all__ = [
    "GITIGNORE",
    "HUB_LINKS",
    "READER_VERSION",
    "DocumentKind",
    "HubNote",
    "IgnoreRules",
    "LinkForm",
    "LinkProblem",
    "LinkResolver",
    "LinkStatus",
    "Note",
    "NoteChunk",
    "NoteNames",
    "RawLink",
    "Resolution",
    "TitleIndex",
    "Unreadable",
    "VaultReport",
    "check_notes",
    "decoded",
    "document_kind",
    "folded",
    "heading_key",
    "read_note",
    "read_pages",
    "read_plain_text",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
