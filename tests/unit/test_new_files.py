"""A new file that several processes open at the same moment."""

import threading
from pathlib import Path

import apsw

from mcp_memory_service.storage.sqlite_vec.file.connection import connect


def test_who_comes_second_to_a_new_file_waits(tmp_path: Path):
    path = tmp_path / "store.db"
    path.touch()
    first = apsw.Connection(str(path))
    first.execute("BEGIN IMMEDIATE")
    threading.Timer(0.2, lambda: first.execute("COMMIT")).start()
    second = connect(path, read_only=False)
    assert second.execute("PRAGMA journal_mode").get == "wal"
    second.close()
    first.close()
