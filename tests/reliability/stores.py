"""The store under test, and the one thing that is done to it past its interface."""

from pathlib import Path

from tests.reliability.random_operations import DIMENSION

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, connection

MODEL = "m"


async def open_store(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, MODEL, DIMENSION, indexed_text)


async def on_writer(store: SqliteVecStorage, pragma: str) -> None:
    """What SQLite does by itself after a thousand pages, at a moment that the test chooses."""
    threads = store._threads

    def execute() -> None:
        with connection.translated_errors():
            threads._writer.execute(pragma).fetchall()

    await threads._run(threads._writer_thread, execute)
