"""The keyword signal: BM25 over the texts that a filter leaves; each function runs inside one snapshot.

FTS5 finds them. Its own `bm25()` has other constants, and the numbers of the whole table, so that scores are made by a
function of ours.
"""

import json
from collections.abc import Sequence
from typing import NamedTuple, cast

import apsw

from ....hybrid_search.bm25 import idf
from ....models import Candidate, CorpusStatistics, MemoryFilter, QueryTerms
from ..rows import condition
from ..text_index import TermWeights, tokens_like


def search_by_text(connection: apsw.Connection, terms: QueryTerms, limit: int, where: MemoryFilter) -> list[Candidate]:
    if not terms:
        return []
    matches, values = condition(where)
    sql = f"""
        SELECT m.content_hash, m.created_at, corpus_bm25(memory_text, ?) AS score, m.session, m.sequence
        FROM memory_text CROSS JOIN memories m ON m.id = memory_text.rowid
        WHERE memory_text MATCH ? AND {matches}
        ORDER BY score DESC, m.created_at DESC, m.content_hash LIMIT ?
    """  # noqa: S608
    weights = apsw.pyobject(_weights(connection, terms, where))
    rows = connection.execute(sql, (weights, _match_expression(terms), *values, limit))
    return list(map(Candidate._make, rows))


def phrase_scores(connection: apsw.Connection, phrase: Sequence[str], where: MemoryFilter) -> dict[int, float]:
    """What a phrase adds to the BM25 score of each memory of the corpus that has it, by its id."""
    terms = QueryTerms((), (), (tuple(phrase),))
    matches, values = condition(where.corpus)
    rows = connection.execute(
        f"""
        SELECT m.id, corpus_bm25(memory_text, ?) FROM memory_text CROSS JOIN memories m ON m.id = memory_text.rowid
        WHERE memory_text MATCH ? AND {matches}
        """,  # noqa: S608
        (apsw.pyobject(_weights(connection, terms, where)), _match_expression(terms), *values),
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


def corpus_statistics(
    connection: apsw.Connection, where: MemoryFilter, words: Sequence[str], tags: Sequence[str]
) -> CorpusStatistics:
    having_tag = _having_tags(connection, where, tags) if tags else {}
    if _is_whole_store(connection, where):
        counted = "SELECT doc FROM memory_vocabulary WHERE term = ?"
        having_word = {word: connection.execute(counted, (word,)).get or 0 for word in words}
        return CorpusStatistics(_of_namespace(connection, where.namespace)[0], having_word, having_tag)
    tokens = tokens_like(connection)
    whole = [word for word in words if tokens(word) == [word]]  # the vocabulary has no word that FTS5 cuts
    memories, _, having = _counted(connection, where, list(map(_quoted, whole)))
    return CorpusStatistics(memories, dict.fromkeys(words, 0) | dict(zip(whole, having, strict=True)), having_tag)


def _weights(connection: apsw.Connection, terms: QueryTerms, where: MemoryFilter) -> TermWeights:
    memories, tokens, having = _counted(connection, where, _alternatives(terms))
    weighed = zip(terms.weights, having, strict=True)
    return TermWeights(tokens / memories if tokens else 1.0, [weight * idf(memories, each) for weight, each in weighed])


def _is_whole_store(connection: apsw.Connection, where: MemoryFilter) -> bool:
    """Whether the corpus is all that the text index has."""
    others = "SELECT EXISTS (SELECT 1 FROM namespaces WHERE namespace != ?)"
    return where.has_whole_namespace and not connection.execute(others, (where.namespace,)).get


def _of_namespace(connection: apsw.Connection, namespace: str) -> tuple[int, int]:
    """How many memories a namespace has, and how many tokens they have together."""
    counted = "SELECT memories, tokens FROM namespaces WHERE namespace = ?"
    return connection.execute(counted, (namespace,)).get or (0, 0)


class _Counted(NamedTuple):
    """How much text a corpus has, and how many of its memories match each of several expressions."""

    memories: int
    tokens: int
    matching: list[int]


def _counted(connection: apsw.Connection, where: MemoryFilter, expressions: Sequence[str]) -> _Counted:
    """In one statement, which finds out once who passes: a filter may have to read every row."""
    if _is_whole_store(connection, where):
        matching = (
            "SELECT (SELECT count(*) FROM memory_text WHERE memory_text MATCH asked.value) FROM json_each(?) asked"
        )
        having = cast("list[tuple[int]]", connection.execute(matching, (json.dumps(expressions),)).fetchall())
        return _Counted(*_of_namespace(connection, where.namespace), [count for (count,) in having])
    matches, values = condition(where.corpus)
    # The plus keeps FTS5 from being asked about each memory by itself.
    sql = f"""
        WITH corpus AS MATERIALIZED (SELECT m.id FROM memories m WHERE {matches})
        SELECT count(*), coalesce(sum(w.tokens), 0) FROM corpus CROSS JOIN memory_words w ON w.memory_id = corpus.id
        UNION ALL
        SELECT asked.key, (
            SELECT count(*) FROM memory_text WHERE memory_text MATCH asked.value AND +rowid IN (SELECT id FROM corpus)
        ) FROM json_each(?) asked
    """  # noqa: S608
    rows = connection.execute(sql, (*values, json.dumps(expressions))).fetchall()
    first, *others = cast("list[tuple[int, int]]", rows)
    return _Counted(*first, [matching for _, matching in others])


def _having_tags(connection: apsw.Connection, where: MemoryFilter, tags: Sequence[str]) -> dict[str, int]:
    matches, values = condition(where.corpus)
    sql = f"""
        SELECT t.folded, count(*) FROM json_each(?) asked
        CROSS JOIN tags t ON t.namespace = ? AND t.folded = asked.value
        CROSS JOIN memory_tags mt ON mt.tag_id = t.id CROSS JOIN memories m ON m.id = mt.memory_id
        WHERE {matches} GROUP BY t.id
    """  # noqa: S608
    having = dict.fromkeys(tags, 0)
    rows = connection.execute(sql, (json.dumps(list(having)), where.namespace, *values)).fetchall()
    return having | dict(cast("list[tuple[str, int]]", rows))


def _match_expression(terms: QueryTerms) -> str:
    """The terms as FTS5 alternatives."""
    in_text, names = _in_text(terms), _names(terms)
    parts = [f"{{labels words}} : ({' OR '.join(in_text)})"] if in_text else []
    parts += [f"names : ({' OR '.join(names)})"] if names else []
    return " OR ".join(parts)


def _alternatives(terms: QueryTerms) -> list[str]:
    """Each of the alternatives as an expression of its own, in the order in which scores are summed."""
    return [f"{{labels words}} : {each}" for each in _in_text(terms)] + [f"names : {each}" for each in _names(terms)]


def _in_text(terms: QueryTerms) -> list[str]:
    return [_quoted(word) for word in terms.words] + [_quoted(" ".join(phrase)) for phrase in terms.phrases]


def _names(terms: QueryTerms) -> list[str]:
    return [_quoted(name) for name in terms.names]


def _quoted(text: str) -> str:
    """Text of the user is never syntax."""
    return '"' + text.replace('"', '""') + '"'
