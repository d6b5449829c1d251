"""The queries that an index answers, with what it asks the database for."""

from collections.abc import Sequence

import apsw

from .....models import Candidate, MemoryFilter, QueryTerms, Vector
from ...queries import reads
from .. import IndexReader
from ..source import tokens_like
from . import search as searching


def nearest(
    connection: apsw.Connection, reader: IndexReader, query_vector: Vector, limit: int, where: MemoryFilter
) -> Sequence[Candidate]:
    return searching.nearest(
        reader, query_vector, limit, where, lambda memory_ids: reads.similarities(connection, query_vector, memory_ids)
    )


def matching(
    connection: apsw.Connection, reader: IndexReader, terms: QueryTerms, limit: int, where: MemoryFilter
) -> Sequence[Candidate]:
    """An index knows no places of words: phrases are asked of the text index, each by itself."""
    words, names = _as_indexed(connection, terms.words), _as_indexed(connection, terms.names)
    if words is None or names is None:
        return reads.matching(connection, terms, limit, where)
    phrases = [reads.phrase_scores(connection, phrase) for phrase in terms.phrases]
    return searching.matching(reader, QueryTerms(words, names), phrases, limit, where)


def _as_indexed(connection: apsw.Connection, terms: Sequence[str]) -> tuple[str, ...] | None:
    """The terms as the text index has them; None if it cuts one of them into several."""
    if all(term.isascii() for term in terms):
        return tuple(terms)
    tokens = tokens_like(connection)
    cut = [tokens(term) for term in terms]
    return tuple(segments[0] for segments in cut) if all(len(segments) == 1 for segments in cut) else None
