"""What each table is for: the one description that delete, doctor, repair, salvage and backup follow."""

from typing import Literal, NamedTuple, TypeAlias

Role: TypeAlias = Literal["truth", "kept", "derived"]
"""truth: a store that has lost some of it is not repaired, but restored. kept: a repair takes over what it can read.
derived: a repair makes it again."""


class Table(NamedTuple):
    name: str
    role: Role
    owner: str | None = None
    """The column that says which memory a row goes with."""
    made_from: str | None = None
    """What a repair makes it again from."""
    counted: bool = False
    """Whether doctor and backups say how many rows it has."""


TABLES: tuple[Table, ...] = (
    Table("store_info", "truth"),
    Table("memories", "truth", counted=True),
    Table("memory_tags", "truth", owner="memory_id"),
    Table("memory_names", "truth", owner="memory_id"),
    Table("edges", "truth", owner="memory_id"),
    Table("vectors", "kept", owner="memory_id", made_from="the texts, by the model", counted=True),
    Table("feedback", "kept", owner="memory_id"),
    Table("tunings", "kept"),
    Table("sources", "kept"),
    Table("idempotency_keys", "kept"),
    Table("tags", "derived", made_from="memory_tags", counted=True),
    Table("memory_words", "derived", owner="memory_id", made_from="the texts"),
    Table("memory_text", "derived", made_from="memory_words"),
    Table("memory_vocabulary", "derived", made_from="memory_text"),
    Table("namespaces", "derived", made_from="memories, memory_words and store_info"),
    Table("changes", "derived", made_from="nothing: the log begins anew"),
)
"""In an order in which rows can be inserted. What FTS5 keeps for `memory_text` and SQLite for itself is theirs."""

TRUTH = frozenset(table.name for table in TABLES if table.role == "truth")
KEPT = tuple(table.name for table in TABLES if table.role == "kept")
OWNED = tuple((table.name, table.owner) for table in TABLES if table.owner is not None)
"""Tables with rows of memories, and the columns that say of which."""
COUNTED = tuple(table.name for table in TABLES if table.counted)
