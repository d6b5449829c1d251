"""The documents tell the truth: commands run, generated files are current, links lead somewhere."""

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from importlib import import_module, util
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.integration.conftest import COMMAND, server_process
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.product_names import DISTRIBUTION, OTHER_DISTRIBUTION

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()

CLIENTS = ("Claude Code", "Claude Desktop", "Cursor", "VS Code", "Codex", "Gemini CLI", "Zed", "opencode", "Windsurf")


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", README, flags=re.DOTALL)


def generated_files() -> dict[str, str]:
    spec = util.spec_from_file_location("docs_generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = util.module_from_spec(spec)
    spec.loader.exec_module(module)
    generate: Callable[[], dict[str, str]] = module.generated_files
    return generate()


def test_generated_files_are_current():
    for name, text in generated_files().items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"{name} is stale: run `make docs`"


def test_the_two_commands_are_in_the_first_screen_and_in_the_makefile():
    first_screen = README.splitlines()[:25]
    for target in ("run", "test"):
        assert any(line.startswith(f"make {target}") for line in first_screen)
        subprocess.run(["make", "--dry-run", target], cwd=ROOT, check=True, capture_output=True)
    assert len(README.splitlines()) < 150
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_commands_of_the_readme_run(tmp_path: Path):
    commands = [block for block in blocks("bash") if not block.startswith("make ")]
    assert len(commands) == 4
    (tmp_path / "notes").mkdir()  # the home of the tests is this folder
    (tmp_path / "notes" / "Backups.md").write_text("# Backups\n\nWe back up every night, see [[Nowhere]].\n")
    with server_process(tmp_path) as server:
        curl, cli, notes, keys = commands
        script = curl.replace("http://127.0.0.1:8000", server.url).replace("curl -s", "curl -sf")
        stored, found = (json.loads(answer) for answer in _run(script, tmp_path).replace("}{", "}\n{").splitlines())
        assert stored["created"] is True
        assert found["results"][0]["memory"]["content_hash"] == stored["content_hash"]
        output = _run(cli.replace(".venv/bin/mcp-memory", COMMAND), tmp_path)
        indexed = _run(notes.replace(".venv/bin/mcp-memory", COMMAND), tmp_path)
        assert "Backups.md:1-3" in indexed
        assert "1 links broken" in indexed
        made = _run(keys.replace(".venv/bin/mcp-memory", COMMAND), tmp_path)
        key = made.splitlines()[0]
        assert "alice" in made
        assert server.http.get("/memories").status_code == 401
        assert server.http.get("/memories", headers={"authorization": f"Bearer {key}"}).status_code == 200
    assert "Stored: " in output
    assert "Deploys go out on Tuesdays" in output
    assert "Rathole" in output


def _run(script: str, folder: Path) -> str:
    environment = {**os.environ, "MCP_MEMORY_SQLITE_PATH": str(folder / "server.db")}
    done = subprocess.run(
        ["bash", "-euo", "pipefail", "-c", script],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        timeout=HANG_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


async def test_the_mcp_configurations_of_the_readme_work(tmp_path: Path):
    stdio, http = (json.loads(block)["mcpServers"]["memory"] for block in blocks("json"))
    assert Path(stdio["command"]).name == Path(COMMAND).name
    environment = {**os.environ, "MCP_MEMORY_SQLITE_PATH": str(tmp_path / "stdio.db")}
    await _lists_tools(stdio_client(StdioServerParameters(command=COMMAND, args=stdio["args"], env=environment)))
    with server_process(tmp_path) as server:
        await _lists_tools(http["url"].replace("http://127.0.0.1:8000", server.url))


async def _lists_tools(target: Any) -> None:
    async with Client(target) as client:
        for tool in (await client.list_tools()).tools:
            assert f"`{tool.name}`" in README


def test_the_configurations_of_the_clients_can_be_read_and_name_our_command():
    document = (ROOT / "docs" / "clients.md").read_text()
    servers = [
        server
        for language, block in re.findall(r"```(json|toml)\n(.*?)```", document, flags=re.DOTALL)
        for servers in (json.loads(block) if language == "json" else tomllib.loads(block)).values()
        for server in servers.values()
    ]
    for server in servers:
        address = server.get("url") or server.get("httpUrl") or server.get("serverUrl")
        command = server.get("command")
        arguments = server.get("args", [])
        assert address == "http://127.0.0.1:8000/mcp" or ["/path/to/mcp-memory", "mcp"] in (
            command,
            [command, *arguments],
        )
    for client in CLIENTS:
        assert f"\n## {client}\n" in document
        assert client in README


def test_what_is_installed_is_named_as_the_documents_say():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["name"] == DISTRIBUTION
    assert f"uvx --from {DISTRIBUTION} mcp-memory mcp" in README
    module, function = project["scripts"]["mcp-memory"].split(":")
    assert callable(getattr(import_module(module), function))
    for document in (ROOT / "README.md", *ROOT.glob("docs/**/*.md")):
        installed = re.findall(r"(?:pip install|--from|pipx install) ([\w.-]+)", document.read_text())
        others = {OTHER_DISTRIBUTION} if document.name == "names.md" else set[str]()
        assert {name for name in installed if "memory" in name} <= {DISTRIBUTION, *others}


@pytest.mark.parametrize(
    "document", sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/**/*.md")), ids=lambda p: p.name
)
def test_relative_links_lead_somewhere(document: Path):
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text()):
        assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_the_lock_names_no_index_and_pins_by_hash():
    for lock in sorted((ROOT / "requirements").glob("*.lock")):
        text = lock.read_text()
        assert "://" not in text
        assert text.count("--hash=sha256:") > text.count("==")


def test_the_bench_runs(tmp_path: Path):
    figures = tmp_path / "figures.json"
    command = [
        sys.executable,
        str(ROOT / "bench" / "retrieve.py"),
        "--memories",
        "60",
        "--queries",
        "5",
        "--json",
        str(figures),
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=HANG_SECONDS)
    report = json.loads(figures.read_text())
    assert report["memories"] == 60
    assert report["hybrid"]["p95_ms"] > 0


def test_make_bench_measures_engine_and_server_and_reports_them(tmp_path: Path):
    bench = ROOT / "bench"
    few = "--sizes 40 --queries 5 --peers none --seconds 1 --load-seconds 0.5 --idle-seconds 0".split()
    folders = ["--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "out")]
    subprocess.run(
        [sys.executable, str(bench / "run.py"), *few, *folders], check=True, capture_output=True, timeout=HANG_SECONDS
    )
    document = tmp_path / "benchmarks.md"
    document.write_text("before\n<!-- bench:begin -->\nstale figures\n<!-- bench:end -->\nafter\n")
    report = [sys.executable, str(bench / "report.py"), str(tmp_path / "out"), "--docs", str(document)]
    subprocess.run(report, check=True, capture_output=True, timeout=HANG_SECONDS)
    text = document.read_text()
    assert "| recall@10 of vectors against exact, 40 | at least 0.98 | 1.000 | yes |" in text
    assert "| 40 | REST, 32 at once |" in text
    assert "| 40 | 0 s without a request |" in text
    assert "stale figures" not in text
    assert (tmp_path / "img" / "bench-search.svg").read_text().startswith("<svg ")


def test_the_bench_of_embedding_runs():
    command = [sys.executable, str(ROOT / "bench" / "embedding.py"), "--texts", "40", "--rounds", "1"]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=HANG_SECONDS)
    assert "| LocalEmbedder.embed |" in done.stdout
    assert "| 32 |" in done.stdout
    assert "| stored again |" in done.stdout
