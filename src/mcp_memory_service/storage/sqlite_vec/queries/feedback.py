"""What was learned about a corpus: feedback on results, and weights that were fitted to it."""

import json
from dataclasses import asdict, replace

import apsw

from ....models import Feedback, TunedWeights, Tuning
from ..rows import find_memory


def add_feedback(connection: apsw.Connection, namespace: str, feedback: Feedback) -> bool:
    found = find_memory(connection, namespace, feedback.content_hash)
    if found is None:
        return False
    memory_id, _ = found
    connection.execute(
        """
        INSERT INTO feedback (memory_id, query, useful, created_at) VALUES (?, ?, ?, ?)
        ON CONFLICT (memory_id, query) DO UPDATE SET useful = excluded.useful, created_at = excluded.created_at
        """,
        (memory_id, feedback.query, int(feedback.useful), feedback.created_at),
    )
    return True


def all_feedback(connection: apsw.Connection, namespace: str) -> list[Feedback]:
    rows = connection.execute(
        """
        SELECT f.query, m.content_hash, f.useful, f.created_at FROM feedback f JOIN memories m ON m.id = f.memory_id
        WHERE m.namespace = ? ORDER BY f.created_at, f.id
        """,
        (namespace,),
    )
    return [Feedback(query, content_hash, bool(useful), created_at) for query, content_hash, useful, created_at in rows]


def save_tuning(connection: apsw.Connection, namespace: str, tuning: Tuning) -> Tuning:
    version = connection.execute(
        """
        INSERT INTO tunings (namespace, created_at, weights, queries, before, after) VALUES (?, ?, ?, ?, ?, ?)
        RETURNING version
        """,
        (namespace, tuning.created_at, json.dumps(asdict(tuning.weights)), tuning.queries, tuning.before, tuning.after),
    ).get
    return replace(tuning, version=version)


def current_tuning(connection: apsw.Connection, namespace: str) -> Tuning | None:
    row = connection.execute(
        """
        SELECT weights, created_at, queries, before, after, version FROM tunings
        WHERE namespace = ? AND NOT rolled_back ORDER BY version DESC LIMIT 1
        """,
        (namespace,),
    ).fetchone()
    return Tuning(TunedWeights(**json.loads(row[0])), *row[1:]) if row else None


def roll_back_tuning(connection: apsw.Connection, namespace: str) -> Tuning | None:
    current = current_tuning(connection, namespace)
    if current is not None:
        connection.execute("UPDATE tunings SET rolled_back = 1 WHERE version = ?", (current.version,))
    return current
