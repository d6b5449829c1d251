"""Long texts cut into overlapping chunks that fit the model, so that a search finds their ends as well."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple, TypeAlias

from ..models import Vector
from .base import Embedder

# all-MiniLM-L6-v2 reads 256 tokens including two marks; the estimate below is rough, so some room is left. A model that
# reads more is given no longer ones.
CHUNK_TOKENS = 220
CHUNK_SHARE = CHUNK_TOKENS / 256
OVERLAP_TOKENS = 30
# English words of prose take 1.2 tokens on average; names, numbers and code about one for every four characters.
_CHARACTERS_PER_TOKEN = 4

_PIECE = re.compile(r"\s*(\S{1,32})")

HeadedText: TypeAlias = tuple[str, str]
"""A heading, or nothing, and the text that stands under it."""


class _Piece(NamedTuple):
    """A word, or a part of a very long one: where it stands in the text."""

    start: int
    end: int
    tokens: int


def text_chunks(text: str, size: int = CHUNK_TOKENS, overlap: int = OVERLAP_TOKENS) -> list[str]:
    """The text itself if it fits, else chunks of about `size` tokens that cover all of it in order."""
    return [text[start:end] for start, end in chunk_spans(text, size, overlap)]


def chunk_spans(text: str, size: int = CHUNK_TOKENS, overlap: int = OVERLAP_TOKENS) -> list[tuple[int, int]]:
    """Where the chunks of a text start and end. Stored vectors were made of these cuts: others would not fit them."""
    if len(text) <= size:  # a token has at least one character
        return [(0, len(text))]
    pieces = [_Piece(*match.span(1), _estimated_tokens(match.group(1))) for match in _PIECE.finditer(text)]
    if sum(piece.tokens for piece in pieces) <= size:
        return [(0, len(text))]
    return list(_spans(pieces, size, overlap))


def chunk_tokens(max_tokens: int | None) -> int:
    """How long the chunks are for a model that reads so many tokens of a text."""
    return CHUNK_TOKENS if max_tokens is None else max(1, min(CHUNK_TOKENS, int(max_tokens * CHUNK_SHARE)))


def estimated_tokens(text: str) -> int:
    return sum(_estimated_tokens(match.group(1)) for match in _PIECE.finditer(text))


async def embed_chunks(embedder: Embedder, texts: Sequence[HeadedText]) -> list[tuple[Vector, ...]]:
    """The vectors of each text, one for each of its chunks, all made in one call. The heading stands before every
    chunk, and the cuts are those of the text alone: passages are found by them."""
    # Every word is looked at: a large batch would hold the event loop for most of a second.
    size = chunk_tokens(embedder.max_tokens)
    chunks = await asyncio.to_thread(lambda: [_headed_chunks(heading, text, size) for heading, text in texts])
    vectors = iter(await embedder.embed([chunk for of_text in chunks for chunk in of_text]))
    return [tuple(next(vectors) for _ in of_text) for of_text in chunks]


def _headed_chunks(heading: str, text: str, size: int) -> list[str]:
    chunks = text_chunks(text, size)
    return [f"{heading}\n\n{chunk}" for chunk in chunks] if heading else chunks


def _spans(pieces: list[_Piece], size: int, overlap: int) -> Iterator[tuple[int, int]]:
    start = 0
    while start < len(pieces):
        end, used = start, 0
        while end < len(pieces) and (end == start or used + pieces[end].tokens <= size):
            used += pieces[end].tokens
            end += 1
        yield pieces[start].start, pieces[end - 1].end
        if end == len(pieces):
            return
        start = _next_start(pieces, start, end, overlap)


def _next_start(pieces: list[_Piece], start: int, end: int, overlap: int) -> int:
    """`overlap` tokens before the end of this chunk, but always after its start."""
    shared = 0
    while end - 1 > start and shared + pieces[end - 1].tokens <= overlap:
        shared += pieces[end - 1].tokens
        end -= 1
    return end


def _estimated_tokens(word: str) -> int:
    """Tokens that a tokenizer will make of a word; beyond ASCII each character may become one."""
    beyond_ascii = 0 if word.isascii() else sum(1 for character in word if not character.isascii())
    return max(1, beyond_ascii + -(-(len(word) - beyond_ascii) // _CHARACTERS_PER_TOKEN))
