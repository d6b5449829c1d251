"""What `import` and `export` do: read or write JSON Lines, say what came of it."""

import asyncio
import json
import os
import sys
from collections.abc import Callable, Generator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO, TextIO

import click

from ..bootstrap import open_existing, open_service
from ..config import Settings
from ..errors import InvalidInput, MemoryServiceError
from ..private_files import atomic_new_file
from ..schemas import MemoryOut
from ..services import Import, ImportReport, every_memory
from .commands import settings_from
from .exit_codes import INCOMPLETE
from .lines import parts
from .progress import ProgressLine

STANDARD = Path("-")


def import_file(file: Path, options: dict[str, Any], *, skips_bad: bool, as_json: bool) -> None:
    settings = settings_from(options)
    with _readable(file) as stream:
        report = _imported(settings, stream, skips_bad, lambda report: _print_report(report, as_json=as_json))
    if report.failed:
        sys.exit(INCOMPLETE)


def _imported(
    settings: Settings, stream: BinaryIO, skips_bad: bool, print_report: Callable[[ImportReport], None]
) -> ImportReport:
    """Lines are read outside of the event loop, so that Ctrl-C ends the wait for a line at once."""
    with asyncio.Runner() as runner:
        opened = AsyncExitStack()
        service = runner.run(opened.enter_async_context(open_service(settings)))
        importing = Import(service, _tell_refused if skips_bad else None)
        progress = _file_progress(stream)
        try:
            for part in parts(stream):
                runner.run(importing.add(part))
                progress()
        except (MemoryServiceError, KeyboardInterrupt):
            print_report(importing.report)
            click.echo("Stopped. What is stored stays: the same command goes on where this one ended.", err=True)
            raise
        finally:
            runner.run(opened.aclose())
        print_report(importing.report)
        return importing.report


def _tell_refused(error: InvalidInput) -> None:
    click.echo(f"Left out. {error.message} [{error.reason}]", err=True)


def _file_progress(stream: BinaryIO) -> Callable[[], None]:
    """By bytes; nobody knows how much standard input holds."""
    if not stream.seekable():
        return lambda: None
    total, line = os.fstat(stream.fileno()).st_size, ProgressLine()
    line("Importing, bytes", 0, total)
    return lambda: line("Importing, bytes", min(stream.tell(), total), total)


def _print_report(report: ImportReport, *, as_json: bool) -> None:
    if as_json:
        click.echo(json.dumps(asdict(report), indent=2))
        return
    click.echo(f"{report.read:,} lines read: {report.created:,} stored, {report.known:,} known already.")
    if report.failed:
        numbers = ", ".join(map(str, report.failed_lines))
        more = ", …" if report.failed > len(report.failed_lines) else ""
        click.echo(f"{report.failed:,} could not be stored: line {numbers}{more}.")


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


def export_file(file: Path, options: dict[str, Any]) -> None:
    settings = settings_from(options)
    try:
        if file == STANDARD:
            count = asyncio.run(_export(settings, sys.stdout))
            sys.stdout.flush()
        else:
            count = _export_to(file, settings)
    except BrokenPipeError:  # who reads has enough, as in `export | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    click.echo(f"{count:,} memories of {settings.store} exported.", err=True)


def _export_to(file: Path, settings: Settings) -> int:
    """The file gets its name when it is whole, and is readable by its owner alone."""
    if file.exists():
        raise InvalidInput(f"{file} is there already: name a new file.", reason="file_exists", field="file")
    try:
        with atomic_new_file(file) as part, part.open("w", encoding="utf-8") as out:
            return asyncio.run(_export(settings, out))
    except OSError as error:
        raise InvalidInput(
            f"{file} cannot be written: {error.strerror}.", reason="file_not_writable", field="file"
        ) from None


async def _export(settings: Settings, out: TextIO) -> int:
    count = 0
    async with open_existing(settings) as storage:
        async for memory in every_memory(storage):
            out.write(f"{MemoryOut.of(memory).model_dump_json()}\n")
            count += 1
    return count
