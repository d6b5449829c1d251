"""A folder of code through REST, MCP and the command line, and its edges without a store."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mcp import Client
from tests.integration.conftest import Finished, rest_client
from tests.support.fakes import WordEmbedder
from tests.support.mcp_answers import good_text
from tests.support.patience import HANG_SECONDS
from tests.support.vaults import write

from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.services import DocumentOptions, MemoryService
from mcp_memory_service.storage.memory import MemoryStore

CODE = {
    "pkg/__init__.py": "from .a import greet\n",
    "pkg/a.py": 'from .b import shout\n\n\ndef greet(name):\n    """Says hello."""\n    return shout(name)\n',
    "pkg/b.py": "def shout(text):\n    return text.upper()\n",
    "vendor/x.py": "x = 1\n",
}
Run = Callable[..., Finished]


def as_json(run_cli: Run, *command: str) -> Any:
    done = run_cli(*command, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_code_is_indexed_over_rest(tmp_path: Path):
    project = write(tmp_path / "project", CODE)
    with rest_client(tmp_path / "own" / "rest.db", index_roots=(str(project),)) as rest:
        answer = rest.post("/code/index", json={"path": str(project)})
        assert answer.status_code == 200, answer.text
        last = answer.json()["last"]
        assert (last["added"], last["refused"], last["files"]) == (3, 1, 3)
        assert last["code"]["languages"] == {"python": 3}
        assert last["code"]["left_out"] == {"a folder of what others wrote or programs made": 1}
        assert last["code"]["edges"]["calls"] == 1
        root = rest.get("/code/index").json()["roots"][0]
        assert (root["root"], root["files"], root["settled"]) == (project.as_posix(), 3, True)
        assert root["certainty"] == last["code"]["certainty"]
        looked = rest.post("/code/index", json={"path": str(project), "dry_run": True, "full_refresh": True}).json()
        assert (looked["last"]["dry_run"], looked["last"]["changed"]) == (True, 3)
        assert rest.get("/memories", params={"kinds": ["code"]}).json()["total"] == 0
        assert rest.get("/index").json()["roots"] == []
        assert rest.delete("/code/index", params={"path": str(project)}).json() == {"files": 3}
        assert rest.get("/code/index").json()["roots"] == []


def test_rest_reads_only_what_the_owner_allows(tmp_path: Path):
    project = write(tmp_path / "project", CODE)
    with rest_client(tmp_path / "own" / "rest.db", index_roots=(str(project),)) as rest:
        assert rest.post("/code/index", json={"path": str(tmp_path)}).status_code == 403
        missing = rest.post("/code/index", json={"path": str(project / "missing")})
        assert (missing.status_code, missing.json()["code"]) == (422, "path_not_found")
        assert rest.post("/code/index", json={"path": str(project), "ful_refresh": True}).status_code == 422
        assert rest.delete("/code/index", params={"path": "relative"}).status_code == 422


async def test_a_model_indexes_documents_and_code_with_one_call(store: MemoryStore, tmp_path: Path):
    project = write(tmp_path / "project", {**CODE, "README.md": "# Greeter\n\nGreets.\n"})
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions((project,)))
    async with Client(build_mcp_server(service, 20_000)) as client:
        said = good_text(await client.call_tool("index_directory", {"path": str(project)}))
        assert "1 documents" in said
        assert "symbols in 3 files" in said
        assert "Left out: 1, for a folder of what others wrote or programs made" in said
        write(project, {"pkg/b.py": "def shout(text):\n    return text\n", "README.md": "# Other\n"})
        said = good_text(await client.call_tool("index_file", {"path": str(project / "pkg/b.py")}))
        assert "1 changed" in said
        assert "symbols" in said
        said = good_text(await client.call_tool("index_directory", {"path": str(project), "what": "code"}))
        assert "documents" not in said
        said = good_text(await client.call_tool("index_directory", {"path": str(project), "what": "documents"}))
        assert "symbols" not in said
        assert "1 changed" in said
        assert (await client.call_tool("index_directory", {"path": str(project), "what": "all"})).is_error
        assert (await client.call_tool("index_directory", {"path": str(tmp_path)})).is_error


async def test_a_folder_without_code_says_nothing_of_it(store: MemoryStore, tmp_path: Path):
    notes = write(tmp_path / "notes", {"a.md": "# A\n"})
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions((notes,)))
    async with Client(build_mcp_server(service, 20_000)) as client:
        said = good_text(await client.call_tool("index_directory", {"path": str(notes)}))
        assert "1 documents" in said
        assert "symbols" not in said


def test_code_is_indexed_from_the_command_line(run_cli: Run, tmp_path: Path):
    project = write(tmp_path / "project", CODE)
    assert run_cli("code", "index", str(project), "--dry-run").out.startswith(f"Would read {project}: 3 added")
    report = as_json(run_cli, "code", "index", str(project))
    assert (report["added"], report["code"]["languages"]) == (3, {"python": 3})
    assert run_cli("code", "index", str(project)).out.startswith(f"Indexed {project}: 3 unchanged")
    assert "3 changed" in run_cli("code", "index", str(project), "--full-refresh", "--no-vectors").out
    shown = run_cli("code", "index").out
    assert "5 symbols in 3 files" in shown
    assert "0 of 5 symbols wait for vectors" in shown
    assert run_cli("code", "index", str(project), "--forget").out == "3 files taken out; they stay as they are.\n"
    assert run_cli("code", "index").out.startswith("No code is indexed.")
    assert run_cli("code", "index", str(tmp_path / "missing")).code == 2
    assert run_cli("code", "index", str(project), "--watch", "--dry-run").code == 2
    assert run_cli("code", "index", "--full-refresh").code == 2


def test_edges_are_listed_without_a_store(run_cli: Run, tmp_path: Path):
    project = write(tmp_path / "project", CODE)
    done = run_cli("code", "edges", str(project), "--json", "--kind", "calls")
    assert [json.loads(line) for line in done.out.splitlines()] == [
        {
            "caller": "pkg.a.greet",
            "callee": "pkg.b.shout",
            "path": "pkg/a.py",
            "line": 6,
            "kind": "calls",
            "class": "certain",
            "caller_path": "pkg/a.py",
            "callee_path": "pkg/b.py",
        }
    ]
    table = run_cli("code", "edges", str(project)).out
    assert "pkg/a.py:6" in table
    assert "pkg.a.greet -> pkg.b.shout" in table
    assert "left out" in table
    assert run_cli("code", "edges", str(project / "pkg/b.py"), "--json").code == 0
    assert run_cli("code", "edges", str(tmp_path / "missing")).code == 2
    assert not (tmp_path / ".mcp-memory").exists()


def test_each_call_site_has_a_line_of_its_own(run_cli: Run, tmp_path: Path):
    project = write(tmp_path / "project", {"a.py": "def f():\n    pass\n\n\ndef g():\n    f()\n    f()\n"})
    done = run_cli("code", "edges", str(project), "--json", "--kind", "calls")
    assert [json.loads(line)["line"] for line in done.out.splitlines()] == [6, 7]


def test_a_watched_folder_is_read_again_when_it_changes(tmp_path: Path):
    project = write(tmp_path / "project", CODE)
    environment = {**os.environ, "MCP_MEMORY_SQLITE_PATH": str(tmp_path / "own.db")}
    command = [
        sys.executable,
        "-c",
        "from mcp_memory_service.command import main; main()",
        "code",
        "index",
        str(project),
    ]
    watching = subprocess.Popen(
        [*command, "--watch", "--poll", "--no-vectors"], env=environment, stdout=subprocess.PIPE, text=True
    )
    assert watching.stdout is not None
    try:
        assert watching.stdout.readline().startswith(f"Indexed {project}: 3 added")
        deadline = time.monotonic() + HANG_SECONDS
        (project / "pkg/c.py").write_text("from .b import shout\n\n\ndef again():\n    return shout('c')\n")
        line = ""
        while "1 added" not in line:
            line = watching.stdout.readline()
            assert time.monotonic() < deadline
    finally:
        watching.send_signal(signal.SIGINT)
        watching.communicate(timeout=HANG_SECONDS)
