"""MCP with the official client: in this process, over stdio, over HTTP."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import MCPServer
from mcp.shared.exceptions import MCPError
from mcp.types import INVALID_PARAMS, CallToolResult, TextContent, Tool
from tests.integration.conftest import COMMAND, server_process
from tests.reliability.oracle import problems_of

from mcp_memory_service.config import load_settings
from mcp_memory_service.config.settings import TOOLSETS as SETTABLE_TOOLSETS
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.mcp_server.server import TOOLSETS
from mcp_memory_service.models import MemoryDraft
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore

CORE = {
    "store_memory", "retrieve_memory", "list_memories", "get_memory", "update_memory", "delete_memory", "get_stats",
}  # fmt: skip
SEARCH = {"hybrid_search", "semantic_search", "keyword_search"}
FEEDBACK = {"rate_memory"}
TOOLS = CORE | SEARCH | FEEDBACK
WRITING = {"store_memory", "update_memory", "delete_memory", "rate_memory"}
BUDGET = 5_000


class InMemoryClient:
    """The official client, connected anew for each call: its connection must end in the task that made it."""

    def __init__(self, server: MCPServer[Any]) -> None:
        self._server = server

    async def call_tool(self, name: str, arguments: dict[str, Any]) -> CallToolResult:
        async with Client(self._server) as client:
            return await client.call_tool(name, arguments)

    async def tools(self) -> list[Tool]:
        async with Client(self._server) as client:
            return (await client.list_tools()).tools


@pytest.fixture
def client(service: MemoryService) -> InMemoryClient:
    return InMemoryClient(build_mcp_server(service, BUDGET))


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


def data_of(result: CallToolResult) -> dict[str, Any]:
    assert not result.is_error, result.content
    assert result.structured_content is not None
    return result.structured_content


async def test_every_tool_says_what_it_is_for_and_what_it_does(client: InMemoryClient):
    tools = {tool.name: tool for tool in await client.tools()}
    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool.description
        assert len(tool.description) > 60
        assert (tool.output_schema is None) is (tool.name in FEEDBACK)
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.read_only_hint is (tool.name not in WRITING)
        assert all("description" in field for field in tool.input_schema["properties"].values())
    hints = tools["delete_memory"].annotations
    assert hints is not None
    assert hints.destructive_hint is True


async def test_store_find_update_delete(client: InMemoryClient):
    stored = data_of(await client.call_tool("store_memory", {"content": "Rathole uses port 2333", "tags": ["Rathole"]}))
    assert stored["created"] is True
    again = await client.call_tool("store_memory", {"content": "Rathole uses port 2333", "memory_type": "fact"})
    assert data_of(again)["created"] is False
    found = await client.call_tool("retrieve_memory", {"query": "rathole port", "debug": True})
    hit = data_of(found)["results"][0]
    assert hit["memory"]["content"] == "Rathole uses port 2333"
    assert hit["debug"]["tag_matches"] == ["Rathole"]
    assert "Rathole uses port 2333" in text_of(found)
    assert stored["content_hash"] in text_of(found)
    target = {"content_hash": stored["content_hash"]}
    updated = data_of(await client.call_tool("update_memory", {**target, "tags": ["tunnel"], "memory_type": ""}))
    assert (updated["tags"], updated["memory_type"]) == (["tunnel"], None)
    listed = data_of(await client.call_tool("list_memories", {"tags": ["tunnel"]}))
    assert [memory["content_hash"] for memory in listed["memories"]] == [stored["content_hash"]]
    read = data_of(await client.call_tool("get_memory", target))
    assert (read["memory"]["content"], read["next_offset"]) == ("Rathole uses port 2333", None)
    assert data_of(await client.call_tool("get_stats", {}))["memories"] == 1
    assert data_of(await client.call_tool("delete_memory", target)) == {**target, "deleted": True}
    gone = await client.call_tool("get_memory", target)
    assert gone.is_error
    assert "[memory_not_found]" in text_of(gone)


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("store_memory", {"content": " "}, "content is empty. [content_empty]"),
        ("store_memory", {"content": "a\x00"}, "[control_character]"),
        ("store_memory", {"content": "x", "metadata": {"n": 2**70}}, "[integer_out_of_range]"),
        ("store_memory", {"content": "x", "created_at": "2999-01-01"}, "[timestamp_in_future]"),
        ("store_memory", {}, "content"),
        ("retrieve_memory", {"query": ""}, "[query_empty]"),
        (
            "retrieve_memory",
            {"query": "x", "page": 0},
            "page: Input should be greater than or equal to 1 [validation_failed]",
        ),
        ("retrieve_memory", {"query": "x", "page_size": 10**9}, "page_size"),
        ("list_memories", {"tags": [""]}, "[tag_empty]"),
        ("update_memory", {"content_hash": "unknown"}, "[memory_not_found]"),
        ("store_memory", {"content": "x", "tag": ["a"]}, "has no argument 'tag'; it takes: content, tags,"),
        ("retrieve_memory", {"query": "x", "limit": 1}, "[unknown_argument]"),
        ("get_memory", {"content_hash": "\u0000"}, "[memory_not_found]"),
        ("keyword_search", {"query": " "}, "[query_empty]"),
        ("hybrid_search", {"query": "x", "fts_weight": 0, "vector_weight": 0}, "[weights_all_zero]"),
        ("no_such_tool", {}, "no_such_tool"),
    ],
)
async def test_bad_arguments_reach_the_model_as_a_sentence(
    client: InMemoryClient, tool: str, arguments: dict[str, Any], complaint: str
):
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert complaint in text_of(result)
    assert data_of(await client.call_tool("get_stats", {}))["memories"] == 0


async def test_a_prompt_that_is_not_there_is_the_fault_of_who_asks(
    service: MemoryService, caplog: pytest.LogCaptureFixture
):
    async with Client(build_mcp_server(service, BUDGET)) as client:
        with pytest.raises(MCPError) as refused:
            await client.get_prompt("no such prompt")
    assert refused.value.error.code == INVALID_PARAMS
    assert caplog.text == ""


async def test_answers_respect_the_budget_and_say_what_was_cut(client: InMemoryClient, service: MemoryService):
    await service.store_batch([MemoryDraft(f"long {i} " + "words and more words " * 400) for i in range(8)])
    await service.store_memory(MemoryDraft("short", metadata={"k": "v" * 3_000}))
    for tool, arguments in (("retrieve_memory", {"query": "long words"}), ("list_memories", {})):
        result = await client.call_tool(tool, {**arguments, "page_size": 9})
        data = data_of(result)
        memories = [hit["memory"] for hit in data["results"]] if "results" in data else data["memories"]
        assert len(text_of(result)) <= BUDGET
        assert len(memories) >= 1
        assert len(memories) + data["omitted"] == 9
        assert all(memory["content_cut"] > 0 for memory in memories if memory["content"].startswith("long"))
        assert "more characters: get_memory]" in text_of(result)


async def test_short_texts_of_several_lines_are_shown_whole(client: InMemoryClient, service: MemoryService):
    texts = {
        'Deploy steps:\n1. make build\n2. restart "api"\n3. tell #ops',
        "line1\nline2\n",
        "a\ttab and a \\ backslash",
    }
    await service.store_batch([MemoryDraft(text) for text in texts])
    for tool, arguments in (("retrieve_memory", {"query": "deploy line tab"}), ("list_memories", {})):
        result = await client.call_tool(tool, arguments)
        data = data_of(result)
        memories = [hit["memory"] for hit in data["results"]] if "results" in data else data["memories"]
        assert {memory["content"] for memory in memories} == texts
        assert "more characters" not in text_of(result)


async def test_a_long_memory_is_read_in_parts(client: InMemoryClient, service: MemoryService):
    content = "".join(f"line {i}\n" for i in range(2_000))
    stored = await service.store_memory(MemoryDraft(content))
    read, offset = "", 0
    while offset is not None:
        part = await client.call_tool("get_memory", {"content_hash": stored.memory.content_hash, "offset": offset})
        assert len(text_of(part)) <= BUDGET
        read += data_of(part)["memory"]["content"]
        offset = data_of(part)["next_offset"]
    assert read == content


async def exercise(target: Any) -> None:
    async with Client(target) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        stored = data_of(await client.call_tool("store_memory", {"content": "The kettle is on the second shelf"}))
        found = data_of(await client.call_tool("retrieve_memory", {"query": "where is the kettle"}))
        assert found["results"][0]["memory"]["content_hash"] == stored["content_hash"]
        assert data_of(await client.call_tool("delete_memory", {"content_hash": stored["content_hash"]}))["deleted"]
        refused = await client.call_tool("retrieve_memory", {"query": " "})
        assert refused.is_error


async def test_over_stdio(tmp_path: Path):
    parameters = StdioServerParameters(command=COMMAND, args=["mcp", "--sqlite-path", str(tmp_path / "stdio.db")])
    await exercise(stdio_client(parameters, errlog=sys.stderr))


async def test_several_agents_and_a_server_share_one_file(tmp_path: Path):
    with server_process(tmp_path) as server:
        command = StdioServerParameters(command=COMMAND, args=["mcp", "--sqlite-path", str(tmp_path / "server.db")])
        async with AsyncExitStack() as agents:
            clients = [
                await agents.enter_async_context(Client(stdio_client(command, errlog=sys.stderr))) for _ in range(3)
            ]
            clients.append(await agents.enter_async_context(Client(f"{server.url}/mcp")))
            contents = [f"agent {number} knows fact {fact}" for fact in range(5) for number in range(len(clients))]
            stored = await asyncio.gather(
                *(
                    client.call_tool("store_memory", {"content": content, "tags": ["shared"]})
                    for client, content in zip(clients * 5, contents, strict=True)
                )
            )
            assert not any(result.is_error for result in stored)
            for client in clients:
                listed = data_of(await client.call_tool("list_memories", {"page_size": 100}))
                assert {memory["content"] for memory in listed["memories"]} == set(contents)
            # What one has just stored, the next one finds.
            for number, client in enumerate(clients):
                name = f"okapi{number}"
                await client.call_tool("store_memory", {"content": f"the {name} sleeps", "tags": [name]})
                found = data_of(await clients[number - 1].call_tool("retrieve_memory", {"query": name}))
                assert found["results"][0]["memory"]["content"] == f"the {name} sleeps"
    assert problems_of(tmp_path / "server.db") == []


async def test_over_http(tmp_path: Path):
    with server_process(tmp_path) as server:
        await exercise(f"{server.url}/mcp")
        await exercise(f"{server.url}/mcp")


async def test_the_search_tools_ask_their_signals(client: InMemoryClient, service: MemoryService):
    await service.store_batch([MemoryDraft("authenticate_user checks"), MemoryDraft("the bakery")])
    keyword = data_of(await client.call_tool("keyword_search", {"query": "authenticate_user"}))
    assert [hit["memory"]["content"] for hit in keyword["results"]] == ["authenticate_user checks"]
    assert keyword["page_size"] == 20
    semantic = data_of(await client.call_tool("semantic_search", {"query": "bakery", "threshold": 0.3}))
    assert semantic["mode"] == "semantic"
    assert [hit["memory"]["content"] for hit in semantic["results"]] == ["the bakery"]
    hybrid = data_of(
        await client.call_tool("hybrid_search", {"query": "bakery", "fts_weight": 0.5, "vector_weight": 0.5})
    )
    assert hybrid["alpha_used"] == pytest.approx(0.5)
    assert hybrid["results"][0]["memory"]["content"] == "the bakery"


@pytest.mark.parametrize(
    ("toolsets", "tools"),
    [
        (("core",), CORE),
        (("search",), SEARCH),
        (("core", "search"), CORE | SEARCH),
        (("core", "feedback"), CORE | FEEDBACK),
        (("all",), TOOLS),
    ],
)
async def test_toolsets_can_be_switched_off(service: MemoryService, toolsets: tuple[str, ...], tools: set[str]):
    client = InMemoryClient(build_mcp_server(service, BUDGET, toolsets))
    assert {tool.name for tool in await client.tools()} == tools


def test_every_toolset_can_be_named_in_the_setting():
    assert set(TOOLSETS) <= set(SETTABLE_TOOLSETS)
    assert load_settings().mcp_toolsets == ("all",)


async def test_an_agent_can_rate_what_it_found(service: MemoryService, store: MemoryStore):
    client = InMemoryClient(build_mcp_server(service, BUDGET, ("feedback",)))
    stored = await service.store_memory(MemoryDraft("Rathole forwards port 2333"))
    rating = {"query": "rathole port", "content_hash": stored.memory.content_hash, "useful": True}
    assert text_of(await client.call_tool("rate_memory", rating)) == "Noted."
    (said,) = await store.list_feedback("default")
    assert (said.query, said.content_hash, said.useful) == ("rathole port", stored.memory.content_hash, True)
    unknown = await client.call_tool("rate_memory", rating | {"content_hash": "0" * 64})
    assert unknown.is_error


async def test_quotes_and_long_metadata_keep_the_budget_too(client: InMemoryClient, service: MemoryService):
    stored = await service.store_memory(
        MemoryDraft(
            '"quoted"\n' * 3_000, tags=tuple(f"{i:03d}" + "t" * 190 for i in range(90)), metadata={"k": "v" * 60_000}
        )
    )
    await service.store_batch([MemoryDraft(f"short {i}") for i in range(9)])
    for tool, arguments in (
        ("list_memories", {}),
        ("retrieve_memory", {"query": "quoted"}),
        ("get_memory", {"content_hash": stored.memory.content_hash}),
    ):
        result = await client.call_tool(tool, arguments)
        assert len(text_of(result)) <= BUDGET
        assert len(json.dumps(data_of(result))) <= BUDGET
    listed = data_of(await client.call_tool("list_memories", {}))
    assert listed["omitted"] == 0 or len(listed["memories"]) >= 5
