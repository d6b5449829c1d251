"""Long texts cut into overlapping windows that fit the model, so that their ends are found as well as their heads."""

import asyncio
import re
from collections.abc import Iterator, Sequence

from ..models import Vector
from .base import Embedder

# all-MiniLM-L6-v2 reads 256 word pieces including two marks; the estimate below is rough, so some room is left.
WINDOW_PIECES = 220
OVERLAP_PIECES = 30
# English words of prose take 1.2 pieces on average; names, numbers and code about one for every four characters.
_CHARACTERS_PER_PIECE = 4

_PIECE = re.compile(r"\s*\S{1,32}")


def text_chunks(text: str, size: int = WINDOW_PIECES, overlap: int = OVERLAP_PIECES) -> list[str]:
    """The text itself if it fits, else windows of about `size` word pieces that cover all of it in order."""
    if len(text) <= size:  # a piece has at least one character
        return [text]
    chunks = [(match.group(), _estimated_pieces(match.group().strip())) for match in _PIECE.finditer(text)]
    if sum(pieces for _, pieces in chunks) <= size:
        return [text]
    return list(_windows(chunks, size, overlap))


async def embed_chunks(embedder: Embedder, texts: Sequence[str]) -> list[tuple[Vector, ...]]:
    """The vectors of each text, one for each of its windows, all made in one call."""
    # Every word is looked at: a large batch would hold the event loop for most of a second.
    windows = await asyncio.to_thread(lambda: [text_chunks(text) for text in texts])
    vectors = iter(await embedder.embed([window for parts in windows for window in parts]))
    return [tuple(next(vectors) for _ in parts) for parts in windows]


def _windows(chunks: list[tuple[str, int]], size: int, overlap: int) -> Iterator[str]:
    start = 0
    while start < len(chunks):
        end, used = start, 0
        while end < len(chunks) and (end == start or used + chunks[end][1] <= size):
            used += chunks[end][1]
            end += 1
        yield "".join(chunk for chunk, _ in chunks[start:end]).strip()
        if end == len(chunks):
            return
        start = _step_back(chunks, start, end, overlap)


def _step_back(chunks: list[tuple[str, int]], start: int, end: int, overlap: int) -> int:
    """Where the next window starts: `overlap` pieces before the end of this one, but always further on."""
    shared = 0
    while end - 1 > start and shared + chunks[end - 1][1] <= overlap:
        shared += chunks[end - 1][1]
        end -= 1
    return end


def _estimated_pieces(word: str) -> int:
    """Word pieces that a tokenizer will make of a word; beyond ASCII each character may become one."""
    beyond_ascii = 0 if word.isascii() else sum(1 for character in word if not character.isascii())
    return max(1, beyond_ascii + -(-(len(word) - beyond_ascii) // _CHARACTERS_PER_PIECE))
