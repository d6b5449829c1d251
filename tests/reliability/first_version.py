"""A store file of schema version 1 with memories in it, as an early release left it behind."""

import json
import random
from pathlib import Path

import apsw
from tests.reliability.expectations import State, Store
from tests.reliability.random_operations import DIMENSION, RandomOperations
from tests.reliability.stores import MODEL

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory
from mcp_memory_service.storage.sqlite_vec import schema
from mcp_memory_service.storage.sqlite_vec.file import connection
from mcp_memory_service.storage.sqlite_vec.queries import writes

MEMORIES = 12


def write_first_version(path: Path, *, with_wal: bool) -> tuple[dict[Path, bytes], State]:
    """The files as they are on the disk, and what they hold; with a WAL they are those of a process that was killed."""
    operations = RandomOperations(random.Random("first version"), prefix="old")
    items = tuple(operations.new_item() for _ in range(MEMORIES))
    connection.create_store_file(path)
    raw = connection.connect(path, read_only=False)
    schema.prepare(raw, path, MODEL, DIMENSION, indexed_text, schema.MIGRATIONS[:1])
    for item in items:
        with connection.immediate_transaction(raw):
            _insert(raw, item)
    wal = path.with_name(path.name + "-wal")
    contents = {file: file.read_bytes() for file in (path, wal)}
    raw.close()
    if not with_wal:
        contents = {path: path.read_bytes()}
    for file, content in contents.items():
        file.write_bytes(content)
    state: State = {}
    Store(items).apply(state)
    return contents, state


def _insert(raw: apsw.Connection, item: EmbeddedMemory) -> None:
    """The inserts of the first release; those of today need the tables of today."""
    stored = item.memory
    memory_id = raw.execute(
        "INSERT INTO memories (namespace, content_hash, created_at, updated_at, metadata, content)"
        " VALUES (?, ?, ?, ?, ?, ?) RETURNING id",
        (
            stored.namespace,
            stored.content_hash,
            stored.created_at,
            stored.updated_at,
            json.dumps(stored.metadata),
            stored.content,
        ),
    ).get
    raw.executemany(
        "INSERT INTO vectors (memory_id, embedding) VALUES (?, ?)",
        [(memory_id, each.tobytes()) for each in item.vectors],
    )
    for position, tag in enumerate(stored.tags):
        writes.add_tag(raw, memory_id, stored.namespace, position, tag)
