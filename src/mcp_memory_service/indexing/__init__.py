"""Reading notes: text in, chunks, names and links out. No I/O, no clock, no settings."""

from .ignore import GITIGNORE, DocumentKind, IgnoreRules, document_kind
from .links import LinkResolver, LinkStatus, NoteNames, Resolution
from .mentions import TitleIndex
from .names import folded, heading_key
from .note import READER_VERSION, LinkForm, Note, NoteChunk, RawLink
from .reader import read_note, read_pages, read_plain_text
from .report import HUB_LINKS, HubNote, LinkProblem, VaultReport, check_notes
from .text import Unreadable, decoded

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
