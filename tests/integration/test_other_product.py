"""The other product of a similar name: what is said where its package, its settings or its store is in our way."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.integration.conftest import Finished
from tests.support.patience import HANG_SECONDS

ROOT = Path(__file__).parents[2]
Run = Callable[..., Finished]


def installed(folder: Path, *scripts: str) -> Path:
    """A folder of packages in which something is installed under the name of the other product."""
    info = folder / "mcp_memory_service-12.4.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mcp-memory-service\nVersion: 12.4.0\n")
    (info / "entry_points.txt").write_text("[console_scripts]\n" + "\n".join(scripts))
    return folder


@pytest.mark.parametrize(
    ("scripts", "code"),
    [
        (("memory = mcp_memory_service.cli.main:main", "mcp-memory-server = mcp_memory_service.mcp_server:main"), 6),
        (("mcp-memory = mcp_memory_service.cli:main",), 0),
    ],
    ids=["the other product", "this program under its earlier name"],
)
def test_its_package_in_the_same_environment_is_refused_in_one_line(
    tmp_path: Path, scripts: tuple[str, ...], code: int
):
    packages = f"{installed(tmp_path, *scripts)}{os.pathsep}{ROOT / 'src'}"
    run = "import sys; sys.argv = ['mcp-memory', 'config']; from mcp_memory_service.command import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", run],
        env={**os.environ, "PYTHONPATH": packages},
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == code, done.stderr
    if code:
        assert done.stdout == ""
        assert "pip uninstall mcp-memory-service, then install mcp-memory-backend again" in done.stderr
        assert done.stderr.count("\n") == 1


def test_its_settings_are_named_by_every_command(run_cli: Run, tmp_path: Path):
    env_file = tmp_path / "work.env"
    env_file.write_text("MCP_MEMORY_BACKUPS_PATH=/backups\n")
    done = run_cli("--env-file", str(env_file), "config", MCP_MEMORY_CHROMA_PATH="/chroma", MCP_API_KEY="k" * 16)
    assert done.code == 0
    for name in ("MCP_MEMORY_BACKUPS_PATH", "MCP_MEMORY_CHROMA_PATH", "MCP_API_KEY"):
        assert f"{name} is a setting of another product of a similar name" in done.err
    assert "it has no effect here, MCP_MEMORY_API_KEY has." in done.err
    assert "misspelt" not in done.err
    refused = run_cli("config", MCP_MEMORY_STORAGE_BACKEND="cloudflare")
    assert refused.code == 6
    assert "cloudflare is a backend of another product" in refused.err


def store_of_other_product(path: Path) -> Path:
    """As its release 12.4.0 makes it, as far as it is looked at."""
    database = apsw.Connection(str(path))
    database.execute(
        "CREATE TABLE memories (id INTEGER PRIMARY KEY AUTOINCREMENT, content_hash TEXT UNIQUE NOT NULL,"
        " content TEXT NOT NULL, tags TEXT, memory_type TEXT, metadata TEXT, created_at REAL, updated_at REAL,"
        " created_at_iso TEXT, deleted_at REAL DEFAULT NULL, superseded_by TEXT);"
        "CREATE TABLE memory_embeddings (rowid INTEGER PRIMARY KEY, content_embedding BLOB);"
        "INSERT INTO memories (content_hash, content, tags, memory_type, metadata, created_at, deleted_at,"
        " superseded_by) VALUES"
        " ('a', 'Deploys go out on \"Tuesdays\"', 'process, proj:\"web\"', 'decision', '{\"source\": \"cli\"}',"
        " 1794886354.95, NULL, NULL), ('b', 'No tags', '', NULL, NULL, 1794886355.5, NULL, ''),"
        " ('c', 'Gone', 'x', NULL, '{}', 1.5, 2.5, NULL), ('d', 'Replaced', 'x', NULL, '{}', 1.5, NULL, 'a')"
    ).fetchall()
    database.close()
    return path


def test_its_store_is_refused_with_the_way_to_bring_it_over(run_cli: Run, tmp_path: Path):
    store = store_of_other_product(tmp_path / "cli.db")
    before = store.read_bytes()
    for command in ("stats", "serve", "doctor"):
        done = run_cli(command)
        assert (done.code, done.out) == (5, "")
        assert "looks like a store of another product of a similar name" in done.err
        assert "mcp-memory import" in done.err
        assert len(done.err.strip().splitlines()) == 1
    assert store.read_bytes() == before


def test_the_documented_query_brings_its_memories_over(run_cli: Run, tmp_path: Path):
    (query,) = re.findall(r"```sql\n(.*?)```", (ROOT / "docs" / "names.md").read_text(), flags=re.DOTALL)
    database = apsw.Connection(str(store_of_other_product(tmp_path / "theirs.db")))
    lines = "\n".join(str(row[0]) for row in database.execute(query))
    database.close()
    done = run_cli("import", "-", stdin=lines)
    assert done.code == 0, done.err
    memories = {each["content"]: each for each in json.loads(run_cli("list", "--json").out)["memories"]}
    assert set(memories) == {'Deploys go out on "Tuesdays"', "No tags"}
    moved = memories['Deploys go out on "Tuesdays"']
    assert (moved["tags"], moved["memory_type"], moved["metadata"]) == (
        ["process", 'proj:"web"'],
        "decision",
        {"source": "cli"},
    )
    assert moved["created_at"].startswith("2026-11-17T03:32:34")
    assert memories["No tags"]["tags"] == []
