"""Whether a store file is sound: the judge of all tests here."""

from pathlib import Path

from mcp_memory_service.storage.sqlite_vec.connection import connect


def problems_of(path: Path) -> list[str]:
    """What is wrong with the file, in words; nothing if it is sound."""
    connection = connect(path, read_only=False)
    try:
        found = [str(row) for (row,) in connection.execute("PRAGMA integrity_check") if row != "ok"]
        found += [f"orphan: {row}" for row in connection.execute("PRAGMA foreign_key_check")]
        connection.execute("INSERT INTO memory_text (memory_text, rank) VALUES ('integrity-check', 1)")
    finally:
        connection.close()
    return found
