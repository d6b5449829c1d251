"""The words of memories as FTS5 keeps them, and BM25 by the statistics of a part of them."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, cast

import apsw

from ...hybrid_search.bm25 import length_norm, term_weight
from ...models import IndexedText

TEXT_TOKENIZER = ("unicode61", ["remove_diacritics", "0", "categories", "L* M* N* P* S* C*"])
"""Of `memory_text` since version 2."""

Tokens = Callable[[str], list[str]]


def tokens_like(connection: apsw.Connection) -> Tokens:
    """Cuts indexed text as the text index of the database does."""
    tokenizer = connection.fts5_tokenizer(*TEXT_TOKENIZER)

    def tokens(text: str) -> list[str]:
        if text.isascii():  # then words of ours are words of FTS5
            return text.split()
        found = tokenizer(
            text.encode(), apsw.FTS5_TOKENIZE_DOCUMENT, None, include_offsets=False, include_colocated=False
        )
        return cast("list[str]", found)

    return tokens


def insert_words(connection: apsw.Connection, memory_id: int, text: IndexedText) -> None:
    parts = (text.labels, text.words, text.names)
    connection.execute(
        "INSERT INTO memory_words (memory_id, labels, words, names, tokens) VALUES (?, ?, ?, ?, ?)",
        (memory_id, *parts, token_count(connection, parts)),
    )


def token_count(connection: apsw.Connection, parts: Sequence[str]) -> int:
    """How long FTS5 takes a text of these parts to be."""
    tokens = tokens_like(connection)
    return sum(len(tokens(part)) for part in parts)


class TermWeights(NamedTuple):
    """What BM25 needs to know of a corpus, for one query."""

    mean_length: float
    idfs: Sequence[float]
    """Of each alternative of the query, in its order."""


def register_corpus_bm25(connection: apsw.Connection) -> None:
    """`corpus_bm25(memory_text, weights)`: of a text that FTS5 has found. In Python, it takes two to three times as
    long as FTS5's own `bm25()`."""
    connection.register_fts5_function("corpus_bm25", _corpus_bm25)


def _corpus_bm25(row: apsw.FTS5ExtensionApi, *arguments: Any) -> float:
    weights: TermWeights = arguments[0]
    norm = length_norm(float(row.column_size()), weights.mean_length)
    score = 0.0
    for phrase, idf in enumerate(weights.idfs):
        frequency = sum(map(len, row.phrase_locations(phrase)))
        if frequency:
            score += idf * term_weight(float(frequency), norm)
    return score
