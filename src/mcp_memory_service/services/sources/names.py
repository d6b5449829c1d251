"""What chunks of documents are called, and by what they are known again."""

import hashlib

from ...models import MemoryKind

KIND: MemoryKind = "note"
NEVER_INDEXED = frozenset({".git", ".obsidian", ".trash"})
"""Folders that are not taken in even if somebody asks for them, as may be done for other hidden ones."""
CONTEXT_FILE = "_context.md"
"""Says what is in its folder; comes along with what is found there."""


def document_name(source: str, key: str | None = None) -> str:
    """What all chunks of a document are called; with a key, those that have that heading or block."""
    return f"note:{source}#{key}" if key else f"note:{source}"


def context_name(folder: str) -> str:
    """What says something about all that is in a folder is called this."""
    return f"context:{folder}"


def span_of(text: str) -> str:
    """By which it is seen whether a file still has the text of a chunk."""
    return hashlib.sha256(text.encode()).hexdigest()
