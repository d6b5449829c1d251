"""Which `.env` file which command reads, run for real in a folder that somebody else has filled."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.integration.conftest import Finished, server_process

Run = Callable[..., Finished]

UNSET = {"MCP_MEMORY_SQLITE_PATH": ""}


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """The store that the `.env` of the current folder names."""
    (tmp_path / ".env").write_text(f"MCP_MEMORY_SQLITE_PATH={tmp_path}/planted.db\n")
    return tmp_path / "planted.db"


@pytest.mark.parametrize("arguments", [("store", "a secret"), ("mcp",), ("demo", "--json"), ("import", "-")])
def test_the_current_folder_redirects_no_command(run_cli: Run, planted: Path, arguments: tuple[str, ...]):
    done = run_cli(*arguments, stdin="", **UNSET)
    assert done.code == 0
    assert not planted.exists()
    assert len(done.err.strip().splitlines()) == 1
    assert f"{planted.parent}/.env has settings of this program and was not read" in done.err


def test_serve_reads_the_current_folder_and_says_so(tmp_path: Path):
    (tmp_path / ".env").write_text("MCP_MEMORY_MAX_CONTENT_CHARS=5\nMCP_MEMORY_LOG_LEVLE=DEBUG\n")
    with server_process(tmp_path) as server:
        refused = server.http.post("/memories", json={"content": "six letters"})
        log = server.log.read_text()
    assert refused.json()["code"] == "content_too_long"
    assert f"Settings are read from {tmp_path}/.env" in log
    assert f"MCP_MEMORY_LOG_LEVLE in {tmp_path}/.env is not a setting of this program" in log


def test_commands_read_the_config_folder_or_the_file_they_are_named(run_cli: Run, planted: Path, tmp_path: Path):
    assert run_cli("--env-file", ".env", "store", "asked for", **UNSET).err == ""
    assert planted.exists()
    (tmp_path / "config" / "mcp-memory").mkdir(parents=True)
    (tmp_path / "config" / "mcp-memory" / ".env").write_text(f"MCP_MEMORY_SQLITE_PATH={tmp_path}/mine.db\n")
    assert run_cli("store", "mine", **UNSET, XDG_CONFIG_HOME=str(tmp_path / "config")).code == 0
    assert (tmp_path / "mine.db").exists()
    missing = run_cli("--env-file", "missing.env", "stats")
    assert (missing.code, missing.out) == (6, "")
    assert "missing.env cannot be read" in missing.err


def test_config_shows_each_setting_with_its_origin(run_cli: Run, tmp_path: Path):
    secrets = tmp_path / "secrets"
    secrets.mkdir()
    (secrets / "mcp_memory_qdrant_api_key").write_text("of-qdrant")
    (tmp_path / "my.env").write_text(
        "MCP_MEMORY_HTTP_PORT=7\nMCP_MEMORY_EMBEDDING_URL=http://me:hidden@127.0.0.1:9/v1\nMCP_MEMORY_LOG_LEVEL=DEBUG\n"
        f"MCP_MEMORY_API_KEY={'k' * 16}\n"
    )
    where = {"MCP_MEMORY_SECRETS_DIR": str(secrets), "MCP_MEMORY_LOG_LEVEL": "ERROR"}
    command = ("--env-file", "my.env", "config", "--hybrid-alpha", "0.5")
    shown = json.loads(run_cli(*command, "--json", **where).out)
    assert (shown["store"], shown["store_exists"]) == (str(tmp_path / "cli.db"), False)
    expected = {
        "HYBRID_ALPHA": (0.5, "flag"),
        "SQLITE_PATH": (str(tmp_path / "cli.db"), "environment"),
        "LOG_LEVEL": ("ERROR", "environment"),
        "HTTP_PORT": (7, f"{tmp_path}/my.env"),
        "API_KEY": ("*" * 10, f"{tmp_path}/my.env"),
        "EMBEDDING_URL": ("http://**********@127.0.0.1:9/v1", f"{tmp_path}/my.env"),
        "QDRANT_API_KEY": ("*" * 10, f"{secrets}/mcp_memory_qdrant_api_key"),
        "RRF_K": (60, "default"),
    }
    settings = shown["settings"]
    for name, (value, origin) in expected.items():
        assert settings[f"MCP_MEMORY_{name}"] == {"value": value, "origin": origin}
    text = run_cli(*command, **where).out
    assert f"MCP_MEMORY_HTTP_PORT=7  [{tmp_path}/my.env]" in text
    for secret in ("k" * 16, "of-qdrant", "hidden"):
        assert secret not in text + json.dumps(shown)
    assert not (tmp_path / "cli.db").exists()


def test_config_shows_what_serve_would_read(run_cli: Run, planted: Path):
    assert json.loads(run_cli("config", "--json", **UNSET).out)["env_file"] is None
    assert json.loads(run_cli("config", "--serve", "--json", **UNSET).out)["store"] == str(planted)
