"""`mcp-memory migrate`: open both stores, copy, say what came of it."""

import asyncio
from dataclasses import asdict
from urllib.parse import urlsplit

import click

from ...bootstrap import open_backends, open_existing
from ...config import EnvFile, Settings, load_settings
from ...errors import InvalidInput
from ...services import Migration, MigrationReport
from ..flags import JSON, STORAGE, chosen_env_file
from ..logs import log_to_stderr
from ..progress import ProgressLine
from ..rendering import show
from ..terminal import say


@click.command()
@click.option("--from", "source", required=True, metavar="STORE", help="The store to copy; it is not changed")
@click.option("--to", "target", required=True, metavar="STORE", help="Where to; made if missing")
@STORAGE["log_level"]
@JSON
def migrate(source: str, target: str, log_level: str | None, as_json: bool) -> None:
    """Copy all memories from one store to another, and check the copy.

    A STORE is sqlite:PATH, qdrant:URL/COLLECTION or qdrant:COLLECTION; what is left out comes from the settings. If it
    is interrupted, the same command goes on. Vectors are taken over if the configured embedding model made them.

    \b
    Example:
      mcp-memory migrate --from sqlite:memories.db --to qdrant:http://127.0.0.1:6333/memories
      mcp-memory migrate --from qdrant: --to sqlite:copy.db
    """
    env_file = chosen_env_file()
    from_settings, to_settings = (settings_at(address, log_level, env_file) for address in (source, target))
    log_to_stderr(to_settings, env_file)
    if _place(from_settings) == _place(to_settings):
        raise InvalidInput("--from and --to name the same store.", reason="same_store", field="to")
    try:
        report = asyncio.run(_migrate(from_settings, to_settings))
    except KeyboardInterrupt:
        say("\nInterrupted. Nothing is lost: the same command goes on where this one ended.", err=True)
        raise
    show(asdict(report), _summary(report, from_settings, to_settings), as_json=as_json)


def settings_at(address: str, log_level: str | None, env_file: EnvFile | None = None) -> Settings:
    """`sqlite:PATH`, `qdrant:URL/COLLECTION` or `qdrant:COLLECTION`; what is left out comes from the settings."""
    scheme, _, place = address.partition(":")
    if scheme == "sqlite":
        where = {"storage_backend": "sqlite_vec", "sqlite_path": place}
    elif scheme == "qdrant" and "://" in place:
        parts = urlsplit(place)
        where = {
            "storage_backend": "qdrant",
            "qdrant_url": f"{parts.scheme}://{parts.netloc}",
            "qdrant_collection": parts.path.strip("/"),
        }
    elif scheme == "qdrant":
        where = {"storage_backend": "qdrant", "qdrant_collection": place}
    else:
        raise InvalidInput(
            f"{address!r} names no store: write sqlite:PATH or qdrant:URL/COLLECTION.", reason="store_unknown"
        )
    given = {name: value or None for name, value in where.items()}
    return load_settings({"log_level": log_level} | given, env_file)


def _place(settings: Settings) -> str:
    """Where a store really is, whatever links lead to its file."""
    return settings.store if settings.storage_backend == "qdrant" else str(settings.sqlite_path.resolve())


async def _migrate(from_settings: Settings, to_settings: Settings) -> MigrationReport:
    async with open_existing(from_settings) as source, open_backends(to_settings) as (target, embedder):
        return await Migration(source, target, embedder, ProgressLine()).run()


def _summary(report: MigrationReport, from_settings: Settings, to_settings: Settings) -> str:
    vectors = "vectors taken over" if report.embeddings_reused else "embedded anew"
    return "\n".join(
        (
            f"From {from_settings.store}\n  to {to_settings.store}:",
            f"The source has {report.memories:,} memories; {report.copied:,} were stored now ({vectors}), and"
            f" nothing of them is missing. {report.verified:,} were compared with their vectors.",
            f"{report.feedback:,} notes of feedback were copied.",
        )
    )
