"""A real server process: it keeps what it acknowledged, shares its file, and stops in order."""

import asyncio
import json
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from mcp import Client
from tests.integration.conftest import Finished, server_process


def test_memories_survive_a_restart_and_other_processes_see_them(tmp_path: Path, run_cli: Callable[..., Finished]):
    with server_process(tmp_path) as server:
        stored = server.http.post("/memories", json={"content": "kept", "tags": ["t"]}).json()
        path = str(tmp_path / "server.db")
        assert "kept" in run_cli("search", "kept", MCP_MEMORY_SQLITE_PATH=path).out
        assert run_cli("store", "by another process", MCP_MEMORY_SQLITE_PATH=path).code == 0
        found = server.http.post("/memories/retrieve", json={"query": "by another process"}).json()
        assert found["results"][0]["memory"]["content"] == "by another process"
    with server_process(tmp_path) as server:
        assert server.http.get(f"/memories/{stored['content_hash']}").json()["content"] == "kept"
        assert server.http.get("/stats").json()["memories"] == 2


def test_a_killed_server_has_lost_nothing_it_acknowledged(tmp_path: Path):
    with server_process(tmp_path) as server:
        for i in range(20):
            assert server.http.post("/memories", json={"content": f"memory {i}"}).status_code == 201
        server.process.send_signal(signal.SIGKILL)
        server.process.wait()
    with server_process(tmp_path) as server:
        assert server.http.get("/stats").json()["memories"] == 20


def test_the_log_tells_of_a_misspelt_setting_and_holds_no_memory(tmp_path: Path):
    with server_process(tmp_path, "--log-level", "debug", MCP_MEMORY_HYBIRD_ALPHA="1") as server:
        server.http.post("/memories", json={"content": "canary content", "tags": ["canary"]})
        server.http.post("/memories/retrieve", json={"query": "canary query"})
        server.http.get("/memories?tags=canary")
        server.http.post("/memories", json={"content": "canary", "metadata": {"n": 2**80}})
        asyncio.run(_call_mcp(server.url))
    log = server.log.read_text()
    assert "MCP_MEMORY_HYBIRD_ALPHA is not a setting" in log
    assert "canary" not in log


async def _call_mcp(url: str) -> None:
    async with Client(f"{url}/mcp") as client:
        await client.call_tool("store_memory", {"content": "canary by MCP", "tags": ["canary"]})
        await client.call_tool("retrieve_memory", {"query": "canary"})


def test_a_tag_written_by_another_process_is_found_by_the_next_search(tmp_path: Path, run_cli: Callable[..., Finished]):
    with server_process(tmp_path) as server:
        query = {"query": "what about okapi"}
        assert server.http.post("/memories/retrieve", json=query).json()["keywords"] == []
        path = str(tmp_path / "server.db")
        assert run_cli("store", "Keys are rotated monthly", "--tag", "okapi", MCP_MEMORY_SQLITE_PATH=path).code == 0
        assert server.http.post("/memories/retrieve", json=query).json()["keywords"] == ["okapi"]


def test_four_processes_write_to_one_file_at_once_and_lose_nothing(tmp_path: Path, run_cli: Callable[..., Finished]):
    path = str(tmp_path / "shared.db")

    def store(number: int) -> int:
        return run_cli("store", f"memory {number}", "--tag", f"t{number}", MCP_MEMORY_SQLITE_PATH=path).code

    with ThreadPoolExecutor(4) as processes:
        assert list(processes.map(store, range(12))) == [0] * 12
    assert json.loads(run_cli("stats", "--json", MCP_MEMORY_SQLITE_PATH=path).out)["memories"] == 12
