"""`import` and `export`: read or write JSON Lines, say what came of it."""

import asyncio
import os
import sys
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO, Literal, TextIO

import click

from ...access.error_table import ExitCode
from ...bootstrap import open_existing
from ...config import Settings
from ...errors import InvalidInput, MemoryServiceError
from ...private_files import atomic_new_file
from ...schemas import ExportOut
from ...services import Import, ImportReport, every_memory
from ..flags import PLAIN_JSON, STORAGE, with_settings
from ..lines import parts
from ..local_service import open_local
from ..progress import ProgressLine
from ..rendering import show
from ..terminal import say

STANDARD = Path("-")
WHERE = {name: flag for name, flag in STORAGE.items() if name != "namespace"}
"""Without --namespace these commands are for all of them."""


@click.command("import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True, dir_okay=False))
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a bad line: stop (exit code 2), or leave it out and go on (exit code 7 at the end)",
)
@click.option("--namespace", help="Where all of them go; without it, each goes where its line says, or to default")
@PLAIN_JSON
@with_settings(WHERE)
def import_memories(
    file: Path, on_error: Literal["stop", "skip"], namespace: str | None, settings: Settings, as_json: bool
) -> None:
    """Store every line of FILE (JSON Lines; - is standard input).

    A line is a memory as for POST /memories, or as `export` writes it. What is there already is recognised and only
    united with what the line brings: if an import is interrupted, the same command goes on where it ended.

    \b
    Example:
      mcp-memory import memories.jsonl
      echo '{"content": "Deploys go out on Tuesdays", "tags": ["process"]}' | mcp-memory import -
    """
    # Lines are read outside of the event loop, so that Ctrl-C ends the wait for a line at once.
    with _readable(file) as stream, asyncio.Runner() as runner:
        opened = AsyncExitStack()
        service = runner.run(opened.enter_async_context(open_local(settings, may_create=True)))
        importing = Import(service, _tell_refused if on_error == "skip" else None, namespace)
        progress = _file_progress(stream)
        try:
            for part in parts(stream):
                runner.run(importing.add(part))
                progress()
        except (MemoryServiceError, KeyboardInterrupt):
            _show_report(importing.report, as_json=as_json)
            say("Stopped. What is stored stays: the same command goes on where this one ended.", err=True)
            raise
        finally:
            runner.run(opened.aclose())
        _show_report(importing.report, as_json=as_json)
    if importing.report.failed:
        sys.exit(ExitCode.INCOMPLETE)


def _tell_refused(error: InvalidInput) -> None:
    say(f"Left out. {error.message} [{error.code}]", err=True)


def _file_progress(stream: BinaryIO) -> Callable[[], None]:
    """By bytes; nobody knows how much standard input holds."""
    if not stream.seekable():
        return lambda: None
    total, line = os.fstat(stream.fileno()).st_size, ProgressLine()
    line("Importing, bytes", 0, total)
    return lambda: line("Importing, bytes", min(stream.tell(), total), total)


def _show_report(report: ImportReport, *, as_json: bool) -> None:
    text = f"{report.read:,} lines read: {report.created:,} stored, {report.known:,} known already."
    if report.failed:
        numbers = ", ".join(map(str, report.failed_lines))
        more = ", …" if report.failed > len(report.failed_lines) else ""
        text += f"\n{report.failed:,} could not be stored: line {numbers}{more}."
    show(asdict(report), text, as_json=as_json)


@contextmanager
def _readable(file: Path) -> Generator[BinaryIO, None, None]:
    if file == STANDARD:
        yield sys.stdin.buffer
        return
    try:
        stream = file.open("rb")
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be read: {error.strerror}.", reason="file_unreadable", field="file"
        ) from None
    with stream:
        yield stream


@click.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@click.option("--namespace", help="Only the memories of this one; without it, those of all")
@with_settings(WHERE)
def export(file: Path, namespace: str | None, settings: Settings) -> None:
    """Write all memories as JSON Lines to the new file FILE, or to standard output.

    Each line says its namespace. Vectors, feedback and tuned weights are not in it: `backup` keeps everything.

    \b
    Example:
      mcp-memory export memories.jsonl
      mcp-memory export | gzip > memories.jsonl.gz
    """
    try:
        if file == STANDARD:
            count = asyncio.run(_export(settings, namespace, sys.stdout))
            sys.stdout.flush()
        else:
            count = _export_to(file, settings, namespace)
    except BrokenPipeError:  # who reads has enough, as in `export | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    say(f"{count:,} memories of {settings.store} exported.", err=True)


def _export_to(file: Path, settings: Settings, namespace: str | None) -> int:
    """The file gets its name when it is whole, and is readable by its owner alone."""
    if file.exists():
        raise InvalidInput(f"{file} is there already: name a new file.", reason="file_exists", field="file")
    try:
        with atomic_new_file(file) as part, part.open("w", encoding="utf-8") as out:
            return asyncio.run(_export(settings, namespace, out))
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}.", reason="file_not_writable", field="file"
        ) from None


async def _export(settings: Settings, namespace: str | None, out: TextIO) -> int:
    count = 0
    async with open_existing(settings) as storage:
        async for memory in every_memory(storage, namespace):
            out.write(f"{ExportOut.of(memory).model_dump_json()}\n")
            count += 1
    return count
