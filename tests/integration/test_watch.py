"""A folder or a file is watched: who changes a document starts an index run."""

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

from tests.integration.conftest import COMMAND
from tests.support.patience import HANG_SECONDS
from tests.support.vaults import write

from mcp_memory_service.services.sources.watch import changes_below

OFTEN_SECONDS = 0.5
"""Nobody says when watching has begun: a change is made again until it was seen."""


def replace(file: Path, text: str) -> None:
    """As editors write."""
    draft = write(file.parent, {f".{file.name}.swp": text}) / f".{file.name}.swp"
    draft.replace(file)


async def told(changes: AsyncGenerator[int, None], file: Path) -> int:
    async with asyncio.timeout(HANG_SECONDS):
        burst = asyncio.ensure_future(anext(changes))
        while not burst.done():
            replace(file, "Changed.")
            await asyncio.wait({burst}, timeout=OFTEN_SECONDS)
        return burst.result()


async def test_a_folder_tells_of_its_documents_alone(tmp_path: Path):
    vault = write(tmp_path / "vault", {"a.md": "one", ".git/index.md": "x", "picture.png": "x"})
    async with aclosing(changes_below(vault)) as changes:
        assert await told(changes, vault / "a.md") >= 1
        write(vault, {".git/index.md": "y", "picture.png": "y"})
        assert await told(changes, vault / "sub.md") >= 1


async def test_a_file_that_is_replaced_again_and_again_is_heard_of(tmp_path: Path):
    vault = write(tmp_path / "vault", {"a.md": "one", "b.md": "another"})
    async with aclosing(changes_below(vault / "a.md")) as changes:
        for _ in range(3):
            assert await told(changes, vault / "a.md") == 1


async def test_the_command_line_indexes_what_changes(tmp_path: Path):
    vault = write(tmp_path / "vault", {"a.md": "one"})
    process = await asyncio.create_subprocess_exec(
        *(COMMAND, "index", str(vault), "--watch", "--no-vectors", "--json"),
        *("--sqlite-path", str(tmp_path / "own" / "x.db")),
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        async with asyncio.timeout(HANG_SECONDS):
            assert (await _report(process.stdout))["added"] == 1
            report = asyncio.ensure_future(_report(process.stdout))
            while not report.done():
                write(vault, {"b.md": "two"})
                await asyncio.wait({report}, timeout=OFTEN_SECONDS)
            assert report.result()["added_files"] == [(vault / "b.md").as_posix()]
    finally:
        process.kill()
        await process.wait()


async def _report(lines: asyncio.StreamReader) -> Any:
    """The next JSON value, however many lines it has."""
    text = ""
    while True:
        text += (await lines.readline()).decode()
        try:
            return json.loads(text)
        except json.JSONDecodeError:
            continue
