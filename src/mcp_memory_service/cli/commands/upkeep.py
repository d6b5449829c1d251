"""`doctor`, `backup` and `restore`: work on the store file, say what came of it."""

import asyncio
import os
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ...access.error_table import ExitCode
from ...bootstrap import open_embedder, store_upkeep
from ...config import Settings
from ...embeddings.chunks import embed_chunks
from ...errors import InvalidInput
from ...models.upkeep import DATABASE_DAMAGED, ONE_MEMORY_ONLY, Finding, Repaired
from ..flags import PLAIN_JSON, with_settings
from ..progress import ProgressLine
from ..rendering import show
from ..terminal import say


@click.command()
@click.option("--repair", is_flag=True, help="Rebuild what is wrong, after a copy of the file was made")
@PLAIN_JSON
@with_settings()
def doctor(repair: bool, settings: Settings, as_json: bool) -> None:
    """Check every part of the SQLite file: pages, schema, texts, vectors, tags, text index; and the search index.

    Exit code 0 if it is sound, 8 if something is wrong, 5 if there is no store. Services may go on meanwhile; writes
    wait while the text index is compared. Of a backup (--sqlite-path FILE.backup) it verifies the checksum.

    \b
    Example:
      mcp-memory doctor
      mcp-memory doctor --repair
    """
    if repair:
        done = asyncio.run(_repaired(settings))
    else:
        found = store_upkeep(settings, ProgressLine()).inspect()
        done = Repaired(found, found, None)
    show(_as_json(settings, done), _diagnosis(settings, done, repair=repair), as_json=as_json)
    if not done.after.sound:
        sys.exit(ExitCode.PROBLEMS_FOUND)


@click.command()
@click.argument("target")
@PLAIN_JSON
@with_settings()
def backup(target: str, settings: Settings, as_json: bool) -> None:
    """Copy the SQLite store to the new file TARGET, or into the folder TARGET, and verify the copy.

    Services go on meanwhile; the copy is of one moment. In a folder it gets a name with the time in it; a folder
    that is not there yet is made if TARGET ends in a slash.

    \b
    Example:
      mcp-memory backup ~/backups/
      mcp-memory backup memories.backup
    """
    if not target:
        raise InvalidInput("TARGET is empty: name a file or a folder.", reason="target_empty", field="target")
    path, manifest = store_upkeep(settings, ProgressLine()).back_up(
        _expanded(Path(target)), into_folder=target.endswith(("/", os.sep))
    )
    text = f"{path}: {manifest.memories:,} memories of {settings.store}, read back and verified."
    show({"backup": str(path), **asdict(manifest)}, text, as_json=as_json)


@click.command()
@click.argument("source", metavar="BACKUP", type=click.Path(path_type=Path))
@PLAIN_JSON
@with_settings()
def restore(source: Path, settings: Settings, as_json: bool) -> None:
    """Put what BACKUP holds in the place of what the SQLite store holds.

    The backup is verified first, and what the store holds is kept as a backup beside it. Services that have the file
    open see the restored memories with their next query.

    \b
    Example:
      mcp-memory restore memories.backup
    """
    restored = store_upkeep(settings, ProgressLine()).restore(_expanded(source))
    manifest, kept = restored.manifest, restored.copy
    asyncio.run(_warn_of_another_model(settings, manifest.embedding_model))
    text = (
        f"{settings.store} now holds the {manifest.memories:,} memories of {manifest.created_at}, with vectors of the"
        f" model {manifest.embedding_model}."
    )
    text += f"\nWhat it held before is in {kept}." if kept else ""
    out = {"store": settings.store, "copy": str(kept) if kept else None, **asdict(manifest)}
    show(out, text, as_json=as_json)


async def _warn_of_another_model(settings: Settings, model_id: str) -> None:
    async with open_embedder(settings) as embedder:
        configured = embedder.model_id
    if model_id != configured:
        say(
            f"Note: its vectors are of the model {model_id}, but {configured} is configured: services refuse the store"
            " until the MCP_MEMORY_EMBEDDING_* variables name that model.",
            err=True,
        )


def _expanded(path: Path) -> Path:
    try:
        return path.expanduser()
    except RuntimeError as error:
        raise InvalidInput(f"{path} cannot be found: {error}", reason="path_unknown") from error


async def _repaired(settings: Settings) -> Repaired:
    upkeep = store_upkeep(settings, ProgressLine())
    async with open_embedder(settings) as embedder:
        return await upkeep.repair(embedder.model_id, lambda texts: embed_chunks(embedder, texts))


def _as_json(settings: Settings, done: Repaired) -> dict[str, Any]:
    return {
        "store": settings.store,
        "sound": done.after.sound,
        **{name: value for name, value in asdict(done.after).items() if name != "is_older"},
        "repaired": [finding.code for finding in done.mended],
        "copy": str(done.copy) if done.copy else None,
    }


def _diagnosis(settings: Settings, done: Repaired, *, repair: bool) -> str:
    found = done.after
    lines = [f"{settings.store}: {found.memories:,} memories, {found.vectors:,} vectors, {found.tags:,} tags."]
    if any(finding.code == DATABASE_DAMAGED for finding in found.findings):
        lines = [f"{settings.store}: damaged, so its memories cannot be counted."]
    if found.awaiting_vectors:
        lines.append(f"{found.awaiting_vectors:,} memories wait for their vectors, which a running service makes.")
    lines += [f"Repaired: {_described(finding)}" for finding in done.mended]
    if done.copy:
        lines.append(f"The file as it was is kept in {done.copy}.")
    if found.is_older:
        lines.append(f"Of schema version {found.schema_version}: only its pages were checked. Opening it upgrades it.")
    lines += [f"Wrong: {_described(finding)}" for finding in found.findings]
    lines += [
        f"Warning: {_described(finding)} Searches are slower until a service builds it anew, which"
        " mcp-memory doctor --repair makes way for."
        for finding in found.warnings
    ]
    if found.sound:
        lines.append("Sound.")
    elif not repair and any(finding.rebuildable for finding in found.findings):
        lines.append("mcp-memory doctor --repair rebuilds what can be rebuilt from the rows.")
    if {finding.code for finding in found.findings} & ONE_MEMORY_ONLY:
        lines.append("A memory that is not as it was stored can be deleted and stored again, or comes with a backup.")
    elif not all(finding.rebuildable for finding in found.findings):
        lines.append("Something is lost that no row has: restore a backup (mcp-memory restore).")
    return "\n".join(lines)


def _described(finding: Finding) -> str:
    return f"{finding.message} [{finding.code}]"
