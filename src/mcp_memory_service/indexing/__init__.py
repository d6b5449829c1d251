"""Reading notes: text in, chunks, names and links out. No I/O, no clock, no settings."""

from .links import LinkResolver, LinkStatus, NoteNames, Resolution
from .mentions import TitleIndex
from .names import folded, heading_key
from .note import READER_VERSION, LinkForm, Note, NoteChunk, RawLink
from .reader import read_note, read_pages, read_plain_text
from .report import HUB_LINKS, HubNote, LinkProblem, VaultReport, check_notes
from .text import Unreadable, decoded

__all__ = [
    "HUB_LINKS",
    "READER_VERSION",
    "HubNote",
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
    "folded",
    "heading_key",
    "read_note",
    "read_pages",
    "read_plain_text",
]
