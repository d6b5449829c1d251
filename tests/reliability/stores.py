"""The store under test: where it lies, how it is opened, and the one thing that is done to it past its interface."""

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from tests.reliability.random_operations import DIMENSION

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

MODEL = "m"
_MEMORY_DISK = Path("/dev/shm")  # noqa: S108 - a sync that takes no time; nothing here needs a true one


@contextmanager
def temporary_folder() -> Generator[Path, None, None]:
    place = _MEMORY_DISK if _MEMORY_DISK.is_dir() else None
    with tempfile.TemporaryDirectory(prefix="mcp-memory-reliability-", dir=place) as folder:
        yield Path(folder)


async def open_store(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, MODEL, DIMENSION, indexed_text)


async def on_writer(store: SqliteVecStorage, pragma: str) -> None:
    """What SQLite does by itself after a thousand pages, at a moment that the test chooses."""
    await store.connections.outside_transaction(lambda connection: connection.execute(pragma).fetchall())
