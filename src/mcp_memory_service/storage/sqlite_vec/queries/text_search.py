"""The keyword signal: FTS5's BM25 over the texts of one namespace; each function runs inside one snapshot.

A namespace that has the store to itself is scored by FTS5. Among others it is scored by the same formula with its own
numbers, for those of FTS5 are those of the whole table.
"""

from collections.abc import Sequence
from typing import Any, cast

import apsw

from ....hybrid_search.bm25 import fts5_idf, idf
from ....models import Candidate, MemoryFilter, QueryTerms
from ..rows import condition
from ..text_index import TermWeights, tokens_like


def search_by_text(connection: apsw.Connection, terms: QueryTerms, limit: int, where: MemoryFilter) -> list[Candidate]:
    if not terms:
        return []
    matches, values = condition(where)
    score, weights = _score(connection, terms, where.namespace)
    sql = f"""
        SELECT m.content_hash, m.created_at, {score} AS score, m.session, m.sequence
        FROM memory_text CROSS JOIN memories m ON m.id = memory_text.rowid
        WHERE memory_text MATCH ? AND {matches}
        ORDER BY score DESC, m.created_at DESC, m.content_hash LIMIT ?
    """  # noqa: S608
    rows = connection.execute(sql, (*weights, _match_expression(terms), *values, limit))
    return list(map(Candidate._make, rows))


def phrase_scores(connection: apsw.Connection, phrase: Sequence[str], namespace: str) -> dict[int, float]:
    """What a phrase adds to the BM25 score of each memory of the namespace that has it, by its id."""
    terms = QueryTerms((), (), (tuple(phrase),))
    score, weights = _score(connection, terms, namespace)
    rows = connection.execute(
        f"""
        SELECT m.id, {score} FROM memory_text CROSS JOIN memories m ON m.id = memory_text.rowid
        WHERE memory_text MATCH ? AND m.namespace = ?
        """,  # noqa: S608
        (*weights, _match_expression(terms), namespace),
    )
    return dict(cast("list[tuple[int, float]]", rows.fetchall()))


def words_of_best(
    connection: apsw.Connection, found: Sequence[Candidate], terms: QueryTerms, namespace: str
) -> frozenset[str]:
    """Which of all words of the query the first of the found has."""
    if not found:
        return frozenset()
    texts = connection.execute(
        """
        SELECT w.labels, w.words FROM memories m JOIN memory_words w ON w.memory_id = m.id
        WHERE m.namespace = ? AND m.content_hash = ?
        """,
        (namespace, found[0].content_hash),
    ).fetchall()
    return frozenset(terms.all_words) & {word for row in texts for text in row for word in cast("str", text).split()}


def inverse_document_frequencies(connection: apsw.Connection, namespace: str, words: Sequence[str]) -> dict[str, float]:
    memories, _ = _corpus(connection, namespace)
    if _is_alone(connection, namespace):
        counted = "SELECT doc FROM memory_vocabulary WHERE term = ?"
        return {word: idf(memories, connection.execute(counted, (word,)).get or 0) for word in words}
    tokens = tokens_like(connection)
    return {
        # The vocabulary has no word that FTS5 cuts.
        word: idf(memories, _document_frequency(connection, namespace, _quoted(word)) if tokens(word) == [word] else 0)
        for word in words
    }


def _score(connection: apsw.Connection, terms: QueryTerms, namespace: str) -> tuple[str, tuple[Any, ...]]:
    """BM25 as an expression, with what it is to be bound to. FTS5's is better the lower it is."""
    if _is_alone(connection, namespace):
        return "-bm25(memory_text)", ()
    memories, tokens = _corpus(connection, namespace)
    frequencies = [_document_frequency(connection, namespace, each) for each in _alternatives(terms)]
    idfs = [fts5_idf(memories, frequency) for frequency in frequencies]
    weights = TermWeights(tokens / memories if tokens else 1.0, idfs)
    return "namespace_bm25(memory_text, ?)", (apsw.pyobject(weights),)


def _is_alone(connection: apsw.Connection, namespace: str) -> bool:
    """Whether no other namespace has memories."""
    others = "SELECT EXISTS (SELECT 1 FROM namespaces WHERE namespace != ?)"
    return not connection.execute(others, (namespace,)).get


def _corpus(connection: apsw.Connection, namespace: str) -> tuple[int, int]:
    """How many memories a namespace has, and how many tokens they have together."""
    counted = "SELECT memories, tokens FROM namespaces WHERE namespace = ?"
    return connection.execute(counted, (namespace,)).get or (0, 0)


def _document_frequency(connection: apsw.Connection, namespace: str, match: str) -> int:
    counted = """
        SELECT count(*) FROM memory_text CROSS JOIN memories m ON m.id = memory_text.rowid
        WHERE memory_text MATCH ? AND m.namespace = ?
    """
    return int(connection.execute(counted, (match, namespace)).get)


def _match_expression(terms: QueryTerms) -> str:
    """The terms as FTS5 alternatives."""
    in_text, names = _in_text(terms), _names(terms)
    parts = [f"{{labels words}} : ({' OR '.join(in_text)})"] if in_text else []
    parts += [f"names : ({' OR '.join(names)})"] if names else []
    return " OR ".join(parts)


def _alternatives(terms: QueryTerms) -> list[str]:
    """Each of the alternatives as an expression of its own, in the order in which FTS5 adds them up."""
    return [f"{{labels words}} : {each}" for each in _in_text(terms)] + [f"names : {each}" for each in _names(terms)]


def _in_text(terms: QueryTerms) -> list[str]:
    return [_quoted(word) for word in terms.words] + [_quoted(" ".join(phrase)) for phrase in terms.phrases]


def _names(terms: QueryTerms) -> list[str]:
    return [_quoted(name) for name in terms.names]


def _quoted(text: str) -> str:
    """Text of the user is never syntax."""
    return '"' + text.replace('"', '""') + '"'
