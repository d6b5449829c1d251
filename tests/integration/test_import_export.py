"""`mcp-memory import` and `export` for real: there and back, killed half-way, bad lines, full pipes."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.contract.memories import memory
from tests.integration.conftest import COMMAND, Finished
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_target import collection_of

from mcp_memory_service.cli.lines import PART_LINES
from mcp_memory_service.embeddings.minilm import MODEL_ID
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import EmbeddedMemory
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

Run = Callable[..., Finished]

RICH: list[dict[str, Any]] = [
    {"content": "Rathole uses port 2333\n", "tags": ["Rathole", "vps"], "memory_type": "fact", "source": "wiki"},
    {"content": "Ein Satz über Öl 🛢", "metadata": {"n": 1, "f": 1.0, "deep": {"list": [None, "ü"]}}},
    {"content": "first", "session": "talk", "sequence": 0, "created_at": "2024-02-29T12:00:00.123456Z"},
    {"content": "second", "session": "talk", "sequence": 1, "created_at": "0001-01-01T00:00:00Z"},
]


def as_lines(memories: list[dict[str, Any]]) -> str:
    return "".join(f"{json.dumps(memory)}\n" for memory in memories)


def exported(text: str) -> list[dict[str, Any]]:
    return sorted(map(json.loads, text.splitlines()), key=lambda memory: memory["content_hash"])


def test_what_is_exported_and_imported_is_the_same_in_every_store(run_cli: Run, tmp_path: Path, qdrant_url: str):
    qdrant = {
        "MCP_MEMORY_STORAGE_BACKEND": "qdrant",
        "MCP_MEMORY_QDRANT_URL": qdrant_url,
        "MCP_MEMORY_QDRANT_COLLECTION": collection_of(tmp_path),
    }
    assert run_cli("import", "-", stdin=as_lines(RICH)).out == "4 lines read: 4 stored, 0 known already.\n"
    file = tmp_path / "memories.jsonl"
    assert "4 memories of" in run_cli("export", str(file)).err
    assert file.stat().st_mode & 0o777 == 0o600
    first = exported(file.read_text(encoding="utf-8"))
    assert [{name: memory[name] for name in given} for given in RICH for memory in first
            if memory["content"] == given["content"]] == RICH  # fmt: skip
    for settings in ({"MCP_MEMORY_SQLITE_PATH": str(tmp_path / "other.db")}, qdrant):
        done = run_cli("import", str(file), "--json", **settings)
        assert json.loads(done.out) == {"read": 4, "created": 4, "known": 0, "failed": 0, "failed_lines": []}
        again = run_cli("import", str(file), **settings)
        assert again.out == "4 lines read: 0 stored, 4 known already.\n"
        assert exported(run_cli("export", **settings).out) == first


SHARED: list[dict[str, Any]] = [
    {"content": "the tunnel", "tags": ["ours"]},
    {"content": "the tunnel", "tags": ["theirs"], "namespace": "team/ops"},
    {"content": "the port", "namespace": "team/ops"},
]


def test_namespaces_travel_with_their_memories(run_cli: Run, tmp_path: Path):
    done = run_cli("import", "-", stdin=as_lines(SHARED))
    assert (done.code, done.out) == (0, "3 lines read: 3 stored, 0 known already.\n")
    whole = run_cli("export").out
    other = {"MCP_MEMORY_SQLITE_PATH": str(tmp_path / "other.db")}
    assert run_cli("import", "-", stdin=whole, **other).code == 0
    assert run_cli("export", **other).out == whole
    theirs = exported(run_cli("export", "--namespace", "team/ops").out)
    assert {(line["namespace"], line["content"]) for line in theirs} == {
        ("team/ops", "the tunnel"),
        ("team/ops", "the port"),
    }


def test_an_import_can_choose_the_namespace(run_cli: Run):
    done = run_cli("import", "-", "--namespace", "elsewhere", "--json", stdin=as_lines(SHARED))
    assert json.loads(done.out)["known"] == 1, "two of them are the same text"
    assert {line["namespace"] for line in exported(run_cli("export").out)} == {"elsewhere"}
    refused = run_cli("import", "-", stdin=as_lines([{"content": "x", "namespace": "team/*"}]))
    assert (refused.code, refused.err.splitlines()[-1][:19]) == (2, "mcp-memory: Line 1:")


async def test_a_memory_from_a_clock_that_was_ahead_is_imported_as_it_was_exported(run_cli: Run, tmp_path: Path):
    store = await SqliteVecStorage.open(tmp_path / "cli.db", MODEL_ID, 384, indexed_text)
    await store.store_batch(
        [EmbeddedMemory(memory("from 2999", at=32_472_144_000_000_000), (np.ones(384, np.float32),))]
    )
    await store.close()
    whole = run_cli("export").out
    assert '"created_at":"2999-01-01T00:00:00Z"' in whole
    other = {"MCP_MEMORY_SQLITE_PATH": str(tmp_path / "other.db")}
    done = run_cli("import", "-", stdin=whole, **other)
    assert (done.code, done.err) == (0, "")
    assert run_cli("export", **other).out == whole
    by_hand = run_cli("import", "-", stdin='{"content": "x", "created_at": "2999-01-01T00:00:00Z"}', **other)
    assert (by_hand.code, "[timestamp_in_future]" in by_hand.err) == (2, True)


@contextmanager
def importing(folder: Path) -> Generator[subprocess.Popen[bytes], None, None]:
    """An import that waits for more lines."""
    # Tests that run in the background may ignore Ctrl-C, and what they start inherits that.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = subprocess.Popen(
        [COMMAND, "import", "-", "--json"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "MCP_MEMORY_SQLITE_PATH": str(folder / "cli.db")},
    )
    signal.signal(signal.SIGINT, before)
    try:
        yield process
    finally:
        process.kill()
        process.communicate(timeout=HANG_SECONDS)


def memories(run_cli: Run) -> int:
    done = run_cli("stats", "--json")
    return 0 if "There is no store" in done.err else json.loads(done.out)["memories"]


@pytest.mark.parametrize(("sent", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130)])
def test_an_import_that_is_interrupted_goes_on(run_cli: Run, tmp_path: Path, sent: signal.Signals, code: int):
    notes = [f'{{"content": "note {number}", "tags": ["n{number % 7}"]}}\n' for number in range(3 * PART_LINES)]
    with importing(tmp_path) as process:
        assert process.stdin is not None
        process.stdin.write("".join(notes[: 2 * PART_LINES + 50]).encode())
        process.stdin.flush()
        deadline = time.monotonic() + HANG_SECONDS
        while memories(run_cli) < 2 * PART_LINES:
            assert time.monotonic() < deadline
        process.send_signal(sent)
        assert process.wait(HANG_SECONDS) == code
        if sent is signal.SIGINT:
            assert process.stdout is not None
            assert process.stderr is not None
            told = json.loads(process.stdout.read())
            assert told["created"] in {PART_LINES, 2 * PART_LINES}  # it may be interrupted before it counts
            assert b"the same command goes on where this one ended." in process.stderr.read()
    done = json.loads(run_cli("import", "-", "--json", stdin="".join(notes)).out)
    assert done == {"read": 300, "created": 100, "known": 200, "failed": 0, "failed_lines": []}
    assert len(exported(run_cli("export").out)) == 300


BAD = '{"content": "one", "tags": ["a"]}\n\n{"content": "two"}\n{"content": " "}\nnonsense\n{"content": "last"}\n'


def test_a_bad_line_stops_an_import_and_is_named(run_cli: Run):
    stopped = run_cli("import", "-", stdin=BAD)
    assert stopped.code == 2
    assert stopped.out == "3 lines read: 2 stored, 0 known already.\n1 could not be stored: line 4.\n"
    assert stopped.err.splitlines()[-1] == "mcp-memory: Line 4: content is empty. [content_empty]"
    skipped = run_cli("import", "-", "--on-error", "skip", stdin=BAD)
    assert skipped.code == 7
    assert skipped.out == "5 lines read: 1 stored, 2 known already.\n2 could not be stored: line 4, 5.\n"
    assert min(skipped.err.splitlines()) == "Left out. Line 4: content is empty. [content_empty]"
    mended = run_cli("import", "-", stdin=BAD.replace('" "', '"x"').replace("nonsense", ""))
    assert (mended.code, mended.out) == (0, "4 lines read: 1 stored, 3 known already.\n")


def test_files_that_cannot_be_used_are_said_in_one_line(run_cli: Run, tmp_path: Path):
    run_cli("store", "one")
    (tmp_path / "there.jsonl").write_text("mine")
    for arguments, code, complaint in (
        (("import", "missing.jsonl"), 2, "missing.jsonl cannot be read: No such file or directory."),
        (("export", str(tmp_path / "there.jsonl")), 2, "is there already"),
        (("export", str(tmp_path / "no" / "folder.jsonl")), 2, "cannot be written: No such file or directory."),
        (("export", "--sqlite-path", str(tmp_path / "none.db")), 5, "There is no store at"),
    ):
        said = run_cli(*arguments)
        assert complaint in said.err, said.err
        assert (said.code, said.out, said.err.count("\n")) == (code, "", 1)
    assert (tmp_path / "there.jsonl").read_text() == "mine"
    assert not list(tmp_path.glob(".*.part*"))


def test_an_export_ends_quietly_when_nobody_reads_on(run_cli: Run, tmp_path: Path):
    run_cli("import", "-", stdin=as_lines([{"content": f"{n} " + "x" * 5000} for n in range(60)]))
    environment = {**os.environ, "MCP_MEMORY_SQLITE_PATH": str(tmp_path / "cli.db")}
    piped = ["bash", "-c", f"{COMMAND} export | head -c 10"]
    done = subprocess.run(piped, env=environment, capture_output=True, text=True, timeout=HANG_SECONDS, check=True)
    assert (done.stdout, done.stderr) == ('{"content"', "")
