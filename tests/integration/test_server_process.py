"""A real server process: it keeps what it acknowledged, shares its file, and stops in order."""

import signal
from collections.abc import Callable
from pathlib import Path

import httpx
from tests.integration.conftest import Finished, server_process


def test_memories_survive_a_restart_and_other_processes_see_them(tmp_path: Path, run_cli: Callable[..., Finished]):
    with server_process(tmp_path) as server:
        stored = httpx.post(f"{server.url}/memories", json={"content": "kept", "tags": ["t"]}).json()
        path = str(tmp_path / "server.db")
        assert "kept" in run_cli("search", "kept", MCP_MEMORY_SQLITE_PATH=path).out
        assert run_cli("store", "by another process", MCP_MEMORY_SQLITE_PATH=path).code == 0
        found = httpx.post(f"{server.url}/memories/retrieve", json={"query": "by another process"}).json()
        assert found["results"][0]["memory"]["content"] == "by another process"
    with server_process(tmp_path) as server:
        assert httpx.get(f"{server.url}/memories/{stored['content_hash']}").json()["content"] == "kept"
        assert httpx.get(f"{server.url}/stats").json()["memories"] == 2


def test_a_killed_server_has_lost_nothing_it_acknowledged(tmp_path: Path):
    with server_process(tmp_path) as server:
        for i in range(20):
            assert httpx.post(f"{server.url}/memories", json={"content": f"memory {i}"}).status_code == 201
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with server_process(tmp_path) as server:
        assert httpx.get(f"{server.url}/stats").json()["memories"] == 20


def test_the_log_tells_of_a_misspelt_setting_and_holds_no_memory(tmp_path: Path):
    with server_process(tmp_path, "--log-level", "debug", MCP_MEMORY_HYBIRD_ALPHA="1") as server:
        httpx.post(f"{server.url}/memories", json={"content": "canary content", "tags": ["canary"]})
        httpx.post(f"{server.url}/memories/retrieve", json={"query": "canary query"})
        httpx.get(f"{server.url}/memories?tags=canary")
        httpx.post(f"{server.url}/memories", json={"content": "canary", "metadata": {"n": 2**80}})
    log = server.log.read_text()
    assert "MCP_MEMORY_HYBIRD_ALPHA is not a setting" in log
    assert "canary" not in log
