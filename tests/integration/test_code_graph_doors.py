"""The code graph through REST, MCP and the command line."""

import asyncio
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from tests.integration.conftest import COMMAND, Finished, rest_client
from tests.support.code_graph import Shop, store_shop
from tests.support.fakes import WordEmbedder
from tests.support.mcp_answers import good_text, shown_memories, text_of
from tests.support.tokens import tokens

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.config import load_settings
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.models import MemoryDraft
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore

Run = Callable[..., Finished]
BUDGET = 20_000
DECISION = "authenticate_user hashes with scrypt, because md5 was cracked"


@pytest.fixture
async def shop(store: MemoryStore, tmp_path: Path) -> Shop:
    return await store_shop(store, tmp_path / "project")


@pytest.fixture
def service(store: MemoryStore) -> MemoryService:
    return MemoryService(store, WordEmbedder())


async def asked(service: MemoryService, tool: str, **arguments: Any) -> str:
    async with Client(build_mcp_server(service, BUDGET, ("code",))) as client:
        return good_text(await client.call_tool(tool, arguments))


async def test_a_model_reads_callers_one_in_a_line(shop: Shop, service: MemoryService):
    told = await asked(service, "get_callers", symbol="authenticate_user")
    head, legend, *lines = told.split("\n")
    assert head == (
        "¶ Callers of shop.auth.authenticate_user @ shop/auth.py:1: 3."
        " 1 calls of authenticate_user in 1 functions are open and may be further ones."
        " Of other kinds: 1 references, 1 tests."
    )
    assert legend == "¶ Each: symbol file:lines of the call. What is not marked likely or guess is certain."
    assert set(lines) == {
        "¶ shop.web.Handler.login shop/web.py:3",
        "¶ tests.test_auth.test_login tests/test_auth.py:2",
        "¶ shop.web.AdminHandler.login shop/web.py:12 likely",
    }
    assert tokens(told) <= 160


async def test_a_model_pages_through_callers_of_callers(shop: Shop, service: MemoryService):
    told = await asked(service, "get_callers", symbol="authenticate_user", depth=3, limit=4)
    assert '¶ 2 away:\n¶ shop.web.Handler.run "shop/web.py:6,7" of login, "shop/web.py:6,7" of login' in told
    cursor = told.rpartition("cursor=")[2]
    rest = await asked(service, "get_callers", symbol="authenticate_user", depth=3, limit=4, cursor=cursor)
    assert rest.split("\n")[2:] == ["¶ 3 away:", "¶ shop.web.main shop/web.py:16 of run likely"]


async def test_stored_code_stays_in_its_fence(shop: Shop, service: MemoryService):
    told = await asked(service, "get_callers", symbol="authenticate_user", detail="code")
    assert "> def test_login():" in told
    assert all(line[:1] in {"¶", ">", ""} for line in told.split("\n"))
    short = await asked(service, "get_callers", symbol="authenticate_user", detail="signatures", max_tokens=50)
    assert "2 more are not shown." in short


async def test_a_model_sees_callees_and_chains(shop: Shop, service: MemoryService):
    assert "¶ shop.auth.check shop/auth.py:3" in await asked(service, "get_callees", symbol="authenticate_user")
    told = await asked(service, "call_chain", **{"from": "main", "to": "check"})
    assert told.startswith(
        "¶ From shop.web.main to shop.auth.check: 2 shortest chains of 4 calls. All shown, none open."
    )
    assert "¶ shop.web.main shop/web.py:16\n¶ shop.web.Handler.run" in told
    none = await asked(service, "call_chain", from_symbol="check", to_symbol="main")
    assert none == "¶ No chain of calls from shop.auth.check to shop.web.main within 6 steps. All shown, none open."


async def test_a_model_sees_what_was_decided_about_a_function(shop: Shop, service: MemoryService):
    await service.store_memory(MemoryDraft(DECISION, memory_type="decision", created_at=1_000))
    told = await asked(service, "memory_linked_search", symbol="authenticate_user")
    assert "> def authenticate_user(name, password)" in told
    assert "¶ Callers, 3 and 1 open calls: " in told
    assert [memory.content for memory in shown_memories(told)] == [DECISION]
    assert " 1970-01-01 decision (code changed 20" in told
    assert " of shop.auth.authenticate_user" in told
    nothing = await asked(service, "memory_linked_search", symbol="check")
    assert nothing.endswith("¶ Nothing that is remembered mentions it.")


async def test_a_model_sees_the_impact_of_a_change(shop: Shop, service: MemoryService):
    await service.store_memory(MemoryDraft(DECISION, memory_type="decision"))
    told = await asked(service, "impact", symbol="authenticate_user")
    assert told.startswith("¶ Changing shop.auth.authenticate_user @ shop/auth.py:1: risk ")
    assert "5 callers within 3 steps (+" in told
    assert "¶ Tests that reach it, 1: tests.test_auth.test_login tests/test_auth.py:2" in told
    assert [memory.content for memory in shown_memories(told)] == [DECISION]


async def test_a_model_sees_what_is_indexed(shop: Shop, service: MemoryService):
    told = await asked(service, "call_graph_stats")
    assert told.startswith("¶ 4 files, 17 symbols; 83% of the calls resolved.")
    assert "¶ calls: 7 certain, 3 likely" in told
    assert "¶ files as indexed: 4 fresh" in told
    (shop.root / "shop/auth.py").unlink()
    assert "1 stale_with_risk" in await asked(service, "call_graph_stats")


async def test_a_model_is_told_why_a_name_does_not_do(shop: Shop, service: MemoryService):
    async with Client(build_mcp_server(service, BUDGET, ("code",))) as client:
        several = text_of(await client.call_tool("get_callers", {"symbol": "run"}))
        nothing = text_of(await client.call_tool("get_callers", {"symbol": "authenticate_users"}))
    assert "shop.jobs.Store.run (shop/jobs.py:2), shop.web.Handler.run (shop/web.py:5)." in several
    assert several.endswith("[ambiguous_symbol]")
    assert "Near: shop.auth.authenticate_user (shop/auth.py:1)" in nothing


def stored(path: Path, folder: Path) -> Shop:
    async def store() -> Shop:
        async with open_backends(load_settings({"sqlite_path": path})) as (opened, _):
            return await store_shop(opened, folder)

    return asyncio.run(store())


def test_rest_answers_what_the_code_graph_knows(tmp_path: Path):
    shop = stored(tmp_path / "rest.db", tmp_path / "project")
    with rest_client(tmp_path / "rest.db") as rest:
        assert rest.post("/memories", json={"content": DECISION, "memory_type": "decision"}).status_code == 201

        def get(question: str, **params: Any) -> dict[str, Any]:
            answer = rest.get(f"/code/{question}", params=params)
            assert answer.status_code == 200, answer.text
            return answer.json()

        first = get("callers", symbol="authenticate_user", limit=1)
        second = get("callers", symbol="authenticate_user", limit=5, cursor=first["next_cursor"])
        found = [each["symbol"]["qualified_name"] for each in first["found"] + second["found"]]
        assert (first["total"], len(found), len(set(found)), second["next_cursor"]) == (3, 3, 3, None)
        assert first["symbols"][0]["freshness"] == "fresh"
        assert first["completeness"]["open_calls"] == {"sites": 1, "symbols": 1, "names": ["authenticate_user"]}
        code = get("callers", symbol="authenticate_user", detail="code", kinds=["references", "tests"])
        assert {each["sites"][0]["kind"] for each in code["found"]} == {"references", "tests"}
        assert all(each["symbol"]["content"] for each in code["found"])
        assert get("callees", symbol="shop/auth.py:2")["found"][0]["symbol"]["path"] == "shop/auth.py"
        chain = get("chain", **{"from": "main", "to": "check"})["chains"][0]
        assert [step["site"] and step["site"]["lines"] for step in chain][-2:] == [[3], None]
        linked = get("linked", symbol="where do we authenticate a user")
        assert linked["by_search"]
        assert get("linked", symbol="authenticate_user")["spoken"][0]["memory"]["content"] == DECISION
        impact = get("impact", symbol="authenticate_user")
        assert (impact["risk"]["score"] > 0, impact["history"], impact["tests_total"]) == (True, None, 1)
        assert get("stats")["edges"]["calls"] == {"certain": 7, "likely": 3}
        # What belongs to the code is found by nobody who does not ask for it.
        assert rest.get("/memories").json()["total"] == 1
        assert rest.get("/stats").json()["memories"] == 1
    assert (tmp_path / "project" / "shop").is_dir()
    assert shop.root.is_dir()


@pytest.mark.parametrize(
    ("path", "status", "code"),
    [
        ("callers?symbol=run", 409, "ambiguous_symbol"),
        ("callers?symbol=Nothing.at.all", 404, "symbol_not_found"),
        ("callers", 422, "validation_failed"),
        ("callers?symbol=main&symbol=check", 422, "parameter_repeated"),
        ("callers?symbol=main&deep=1", 422, "validation_failed"),
        ("callers?symbol=main&depth=11", 422, "validation_failed"),
        ("callers?symbol=main&cursor=x", 422, "cursor_invalid"),
        ("callers?symbol=%00", 404, "symbol_not_found"),
        ("chain?from=main", 422, "validation_failed"),
        ("impact?symbol=main&depth=7", 422, "validation_failed"),
    ],
)
def test_rest_says_what_is_wrong(refused_rest: Any, path: str, status: int, code: str):
    answer = refused_rest.get(f"/code/{path}")
    assert (answer.status_code, answer.json()["code"]) == (status, code), answer.text
    if code == "ambiguous_symbol":
        assert [each["field"] for each in answer.json()["errors"]] == ["symbol", "symbol"]


@pytest.fixture(scope="module")
def refused_rest(tmp_path_factory: pytest.TempPathFactory) -> Any:
    folder = tmp_path_factory.mktemp("refused")
    stored(folder / "rest.db", folder / "project")
    with rest_client(folder / "rest.db") as rest:
        yield rest


def test_the_command_line_answers_the_same(run_cli: Run, tmp_path: Path):
    stored(tmp_path / "cli.db", tmp_path / "project")
    assert run_cli("store", DECISION, "--type", "decision").code == 0

    def shown(*command: str) -> str:
        done = run_cli("code", *command)
        assert done.code == 0, done.err
        return done.out

    callers = shown("callers", "authenticate_user", "--depth", "2", "--min-certainty", "certain")
    assert callers.startswith("3 callers of shop.auth.authenticate_user (shop/auth.py:1)\n")
    assert "  2  shop.web.Handler.run  shop/web.py:6,7\n" in callers
    assert "1 less sure ones are left out." in callers
    assert "shop.auth.check  shop/auth.py:3" in shown("callees", "auth.py:1", "--detail", "signatures")
    assert "  shop.web.main  shop/web.py:16\n" in shown("chain", "main", "check")
    assert DECISION in shown("linked", "authenticate_user")
    assert shown("impact", "authenticate_user").startswith("Risk ")
    assert "4 files, 17 symbols" in shown("stats")
    for question in (("callers", "main"), ("callees", "main"), ("chain", "main", "check"), ("linked", "main"),
                     ("impact", "main"), ("stats",)):  # fmt: skip
        assert json.loads(shown(*question, "--json"))
    assert (run_cli("code", "callers", "run").code, run_cli("code", "callers", "nowhere.at.all").code) == (2, 3)
    assert run_cli("code", "callers", "main", "--depth", "99").code == 2


async def test_a_client_over_standard_input_and_output_asks_the_graph(tmp_path: Path):
    await asyncio.to_thread(stored, tmp_path / "stdio.db", tmp_path / "project")
    environment = {**os.environ, "MCP_MEMORY_SQLITE_PATH": str(tmp_path / "stdio.db")}
    parameters = StdioServerParameters(command=COMMAND, args=["mcp"], env=environment)
    async with Client(stdio_client(parameters)) as client:
        called = {"callers": "Callers of", "callees": "Called by"}
        for direction, begins in called.items():
            told = good_text(await client.call_tool(f"get_{direction}", {"symbol": "authenticate_user"}))
            assert told.startswith(f"¶ {begins} shop.auth.authenticate_user")
        chain = {"from_symbol": "main", "to_symbol": "check"}
        assert "2 shortest chains" in good_text(await client.call_tool("call_chain", chain))
        assert "17 symbols" in good_text(await client.call_tool("call_graph_stats", {}))
        await client.call_tool("store_memory", {"content": DECISION, "memory_type": "decision"})
        for tool in ("memory_linked_search", "impact"):
            told = good_text(await client.call_tool(tool, {"symbol": "authenticate_user"}))
            assert [memory.content for memory in shown_memories(told)] == [DECISION]
