"""What is done before a store file is used: it is recognised, made or brought up to date."""

from contextlib import closing
from pathlib import Path

from ...errors import StoreRefused
from ..ports import TextAnalyzer
from .file.connection import connect, create_store_file, make_store_private, translated_errors
from .file.connections import ConnectionPool, writer_queue
from .schema import is_current, pinned_embedding, prepare, require_ours, require_own_parts, schema_version


def pinned_in(path: Path) -> tuple[str, int | None]:
    """The model and dimension of the store in this file; StoreRefused if there is none."""
    if not path.is_file():
        raise StoreRefused(f"There is no store at {path}.")
    with translated_errors():
        require_ours(path)
        with closing(connect(path, read_only=True)) as connection:
            require_own_parts(connection, path)
            model_id, dimension = pinned_embedding(connection) if schema_version(connection) else (None, None)
    if model_id is None:
        raise StoreRefused(f"There is no store at {path}: the file is empty.")
    return model_id, dimension


def prepared_pool(path: Path, model_id: str, dimension: int | None, analyze: TextAnalyzer) -> ConnectionPool:
    """Create or migrate the file, and connect to it."""
    create_store_file(path)
    with translated_errors():
        require_ours(path)
        with closing(connect(path, read_only=False)) as connection:
            require_own_parts(connection, path)
            if not is_current(connection, model_id, dimension):  # the common case waits for no writer
                with writer_queue(path).turn():
                    prepare(connection, path, model_id, dimension, analyze)
            if not connection.readonly("main"):
                make_store_private(path)
        return ConnectionPool(path)
