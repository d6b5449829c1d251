"""MCP with the official client: in this process, over stdio, over HTTP."""

import asyncio
import json
import re
import sys
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp.server import MCPServer
from mcp.types import CallToolResult, Tool
from tests.integration.conftest import COMMAND, server_process
from tests.reliability.oracle import problems_of
from tests.support.mcp_answers import contents_of, good_text, ids_of, shown_memories, stored_id, text_of
from tests.support.tokens import tokens

from mcp_memory_service.config import load_settings
from mcp_memory_service.config.settings import TOOLSETS as SETTABLE_TOOLSETS
from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.mcp_server.server import TOOLSETS
from mcp_memory_service.models import MemoryDraft, content_hash
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore

CORE = {
    "store_memory", "retrieve_memory", "get_memory", "list_memories", "update_memory", "delete_memory",
    "memory_overview",
}  # fmt: skip
SEARCH = {"hybrid_search", "semantic_search", "keyword_search", "explain_memory"}
LIFE = {"recall_context", "memory_history", "restore_memory", "delete_memories", "retag_memories"}
FEEDBACK = {"rate_memory"}
NOTES = {"index_directory", "index_file"}
TOOLS = CORE | SEARCH | LIFE | FEEDBACK | NOTES
WRITING = {
    "store_memory", "update_memory", "delete_memory", "restore_memory", "delete_memories", "retag_memories",
    "rate_memory", "index_directory", "index_file",
}  # fmt: skip
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


async def test_every_tool_says_what_it_is_for_and_what_it_does(client: InMemoryClient):
    tools = {tool.name: tool for tool in await client.tools()}
    assert set(tools) == TOOLS
    for tool in tools.values():
        assert tool.description
        assert len(tool.description) > 60
        assert tool.description == " ".join(tool.description.split())
        assert tool.output_schema is None
        assert tool.annotations is not None
        assert tool.annotations.open_world_hint is False
        assert tool.annotations.read_only_hint is (tool.name not in WRITING)
    hints = tools["delete_memory"].annotations
    assert hints is not None
    assert hints.destructive_hint is True


async def test_store_find_update_delete(client: InMemoryClient):
    stored = await client.call_tool("store_memory", {"content": "Rathole uses port 2333", "tags": ["Rathole"]})
    assert good_text(stored) == f"¶ Stored: id {stored_id(stored)}."
    again = await client.call_tool("store_memory", {"content": "Rathole uses port 2333", "memory_type": "fact"})
    assert good_text(again) == f"¶ Already known, tags and metadata united: id {stored_id(stored)}."
    (hit,) = shown_memories(good_text(await client.call_tool("retrieve_memory", {"query": "rathole port"})))
    assert (hit.id, hit.content) == (stored_id(stored), "Rathole uses port 2333")
    assert re.fullmatch(r"¶ [0-9a-f]{12} [01]?\.\d\d \d{4}-\d\d-\d\d fact: Rathole", hit.head)
    target = {"id": content_hash("Rathole uses port 2333")}
    updated = await client.call_tool("update_memory", {**target, "tags": ["tunnel"], "memory_type": ""})
    assert good_text(updated) == f"¶ Updated: id {stored_id(stored)}."
    (listed,) = shown_memories(good_text(await client.call_tool("list_memories", {"tags": ["tunnel"]})))
    assert re.fullmatch(r"¶ [0-9a-f]{12} \d{4}-\d\d-\d\d: tunnel", listed.head)
    (read,) = shown_memories(good_text(await client.call_tool("get_memory", target)))
    assert (read.content, read.notes) == ("Rathole uses port 2333", ())
    assert good_text(await client.call_tool("delete_memory", target)).startswith("¶ Deleted: id ")
    gone = await client.call_tool("get_memory", target)
    assert gone.is_error
    assert "[memory_not_found]" in text_of(gone)


@pytest.mark.parametrize(
    ("tool", "arguments", "complaint"),
    [
        ("store_memory", {"content": " "}, "content is empty. [content_empty]"),
        ("store_memory", {"content": "\x1b[0m\x00"}, "[content_empty]"),
        ("store_memory", {"content": "a", "tags": ["b\x00"]}, "[control_character]"),
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
        ("update_memory", {"id": "unknown"}, "[memory_not_found]"),
        ("store_memory", {"content": "x", "tag": ["a"]}, "has no argument 'tag'; it takes: content, tags,"),
        ("retrieve_memory", {"query": "x", "top": 1}, "[unknown_argument]"),
        ("retrieve_memory", {"query": "x", "limit": 1, "page_size": 2}, "limit is another name of page_size"),
        ("store_memory", {"content": "x", "tags": "['a', 'b']"}, "tags: this is neither a list nor names"),
        ("get_memory", {"content_hash": "\u0000"}, "[memory_not_found]"),
        ("keyword_search", {"query": " "}, "[query_empty]"),
        ("hybrid_search", {"query": "x", "fts_weight": 0, "vector_weight": 0}, "[weights_all_zero]"),
    ],
)
async def test_bad_arguments_reach_the_model_as_a_sentence(
    client: InMemoryClient, tool: str, arguments: dict[str, Any], complaint: str
):
    result = await client.call_tool(tool, arguments)
    assert result.is_error
    assert complaint in text_of(result)
    assert "0 memories, 0 tags." in good_text(await client.call_tool("memory_overview", {}))


async def test_answers_respect_the_budget_and_say_what_was_cut(client: InMemoryClient, service: MemoryService):
    await service.store_batch([MemoryDraft(f"long {i} " + "words and more words " * 400) for i in range(30)])
    for tool, arguments in (("retrieve_memory", {"query": "long words"}), ("list_memories", {})):
        text = good_text(await client.call_tool(tool, {**arguments, "page_size": 30}))
        shown = shown_memories(text)
        assert len(text) <= BUDGET
        assert len(shown) >= 5
        assert f"{30 - len(shown)} more do not fit: smaller page_size." in text
        for memory in shown:
            assert len(memory.content) >= 150
            (hint,) = memory.notes
            assert f"goes on: get_memory(id={memory.id}, offset={len(memory.content)})" in hint


async def test_one_long_memory_among_others_is_cut_at_a_screenful(service: MemoryService):
    client = InMemoryClient(build_mcp_server(service, 100_000))
    await service.store_memory(MemoryDraft("long " * 2_000))
    (shown,) = shown_memories(good_text(await client.call_tool("list_memories", {})))
    assert len(shown.content) == 1_500


async def test_short_texts_of_several_lines_are_shown_whole(client: InMemoryClient, service: MemoryService):
    texts = {
        'Deploy steps:\n1. make build\n\n2. restart "api"\n3. tell #ops',
        "line1\nline2\n",
        "a\ttab and a \\ backslash",
    }
    await service.store_batch([MemoryDraft(text) for text in texts])
    for tool, arguments in (("retrieve_memory", {"query": "deploy line tab"}), ("list_memories", {})):
        result = await client.call_tool(tool, arguments)
        assert set(contents_of(result)) == texts
        assert "goes on" not in text_of(result)


async def test_a_long_memory_is_read_in_parts(client: InMemoryClient, service: MemoryService):
    content = "".join(f"line {i}\n" for i in range(2_000))
    stored = await service.store_memory(MemoryDraft(content))
    read = ""
    while len(read) < len(content):
        part = await client.call_tool("get_memory", {"id": stored.memory.content_hash, "offset": len(read)})
        assert len(text_of(part)) <= BUDGET
        (shown,) = shown_memories(good_text(part))
        read += shown.content
        assert any(f"offset={len(read)})" in note for note in shown.notes) is (len(read) < len(content))
    assert read == content
    beyond = await client.call_tool("get_memory", {"id": stored.memory.content_hash, "offset": len(content)})
    assert f"The text has {len(content)} characters: there is none at {len(content)}." in good_text(beyond)


async def exercise(target: Any) -> None:
    async with Client(target) as client:
        assert {tool.name for tool in (await client.list_tools()).tools} == TOOLS
        stored = await client.call_tool("store_memory", {"content": "The kettle is on the second shelf"})
        found = await client.call_tool("retrieve_memory", {"query": "where is the kettle"})
        assert ids_of(found)[0] == stored_id(stored)
        kettle = content_hash("The kettle is on the second shelf")
        assert good_text(await client.call_tool("delete_memory", {"id": kettle})).startswith("¶ Deleted: id ")
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
                listed = await client.call_tool("list_memories", {"page_size": 100})
                assert set(contents_of(listed)) == set(contents)
            # What one has just stored, the next one finds.
            for number, client in enumerate(clients):
                name = f"okapi{number}"
                await client.call_tool("store_memory", {"content": f"the {name} sleeps", "tags": [name]})
                found = await clients[number - 1].call_tool("retrieve_memory", {"query": name})
                assert contents_of(found)[0] == f"the {name} sleeps"
    assert problems_of(tmp_path / "server.db") == []


async def test_over_http(tmp_path: Path):
    with server_process(tmp_path) as server:
        await exercise(f"{server.url}/mcp")
        await exercise(f"{server.url}/mcp")


async def test_the_search_tools_ask_their_signals(client: InMemoryClient, service: MemoryService):
    await service.store_batch([MemoryDraft("authenticate_user checks"), MemoryDraft("the bakery")])
    keyword = await client.call_tool("keyword_search", {"query": "authenticate_user"})
    assert contents_of(keyword) == ["authenticate_user checks"]
    semantic = await client.call_tool("semantic_search", {"query": "bakery", "threshold": 0.3})
    assert contents_of(semantic) == ["the bakery"]
    hybrid = await client.call_tool("hybrid_search", {"query": "bakery", "fts_weight": 0.5, "vector_weight": 0.5})
    assert contents_of(hybrid)[0] == "the bakery"


async def test_a_model_is_told_why_a_memory_is_where_it_is(client: InMemoryClient, service: MemoryService):
    await service.store_batch([MemoryDraft("the bakery opens at six"), MemoryDraft("the mill", tags=("bakery",))])
    mill = {"query": "bakery opens", "id": content_hash("the mill")}
    told = good_text(await client.call_tool("explain_memory", mill))
    assert told.startswith("¶ It is number 2 of 2.")
    assert [memory.content for memory in shown_memories(told)] == ["the bakery opens at six"]
    left_out = await client.call_tool("explain_memory", {**mill, "memory_type": "fact"})
    assert "¶ It is left out by: memory_type." in good_text(left_out)


async def test_how_scores_came_about_is_said_when_it_is_asked_for(client: InMemoryClient, service: MemoryService):
    await service.store_memory(MemoryDraft("the bakery", tags=("Bakery",)))
    plain = good_text(await client.call_tool("retrieve_memory", {"query": "bakery"}))
    assert "debug" not in plain
    debug = good_text(await client.call_tool("retrieve_memory", {"query": "bakery", "debug": True}))
    (hit,) = shown_memories(debug)
    (note,) = hit.notes
    placed = json.loads(note.removeprefix("¶ debug "))
    assert {"vector_score", "vector_rank", "vector_rrf", "tag_boost", "recency_factor", "final_score"} <= placed.keys()
    assert placed["tag_matches"] == ["Bakery"]


async def test_the_overview_says_what_there_is(client: InMemoryClient, service: MemoryService):
    await service.store_batch(
        [MemoryDraft(f"fact {i}", tags=("facts", f"t{i}"), memory_type="fact", created_at=i) for i in range(1, 8)]
    )
    told = good_text(await client.call_tool("memory_overview", {}))
    assert "¶ 7 memories, 8 tags, from 1970-01-01 to 1970-01-01." in told
    assert "¶ Types: fact 7" in told
    assert "¶ Tags: facts 7, t1 1" in told
    assert [memory.content for memory in shown_memories(told)] == [f"fact {i}" for i in (7, 6, 5, 4, 3)]


@pytest.mark.parametrize(
    ("toolsets", "tools"),
    [
        (("core",), CORE),
        (("search",), SEARCH),
        (("core", "search"), CORE | SEARCH),
        (("core", "feedback"), CORE | FEEDBACK),
        (("life",), LIFE),
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
    rating = {"query": "rathole port", "id": stored.memory.content_hash, "useful": True}
    assert text_of(await client.call_tool("rate_memory", rating)) == "Noted."
    (said,) = await store.list_feedback("default")
    assert (said.query, said.content_hash, said.useful) == ("rathole port", stored.memory.content_hash, True)
    unknown = await client.call_tool("rate_memory", rating | {"id": "0" * 64})
    assert unknown.is_error


async def test_quotes_and_long_metadata_keep_the_budget_too(client: InMemoryClient, service: MemoryService):
    stored = await service.store_memory(
        MemoryDraft(
            '"quoted"\u202e\n' * 3_000,
            tags=tuple(f"{i:03d}" + "t" * 190 for i in range(90)),
            metadata={"k": "v" * 60_000},
        )
    )
    await service.store_batch([MemoryDraft(f"short {i}") for i in range(9)])
    for tool, arguments in (
        ("list_memories", {}),
        ("retrieve_memory", {"query": "quoted"}),
        ("get_memory", {"id": stored.memory.content_hash}),
        ("memory_overview", {}),
    ):
        assert len(good_text(await client.call_tool(tool, arguments))) <= BUDGET
    assert len(ids_of(await client.call_tool("list_memories", {}))) == 10


async def test_a_changed_fact_takes_the_place_of_the_old_one(client: InMemoryClient):
    old = stored_id(await client.call_tool("store_memory", {"content": "Deploys go out on Tuesdays"}))
    await client.call_tool("store_memory", {"content": "Deploys go out on Thursdays", "supersedes": [old]})
    found = await client.call_tool("retrieve_memory", {"query": "when do deploys go out"})
    assert contents_of(found) == ["Deploys go out on Thursdays"]
    both = await client.call_tool("retrieve_memory", {"query": "when do deploys go out", "include_superseded": True})
    assert set(contents_of(both)) == {"Deploys go out on Thursdays", "Deploys go out on Tuesdays"}
    (ended,) = (memory for memory in shown_memories(good_text(both)) if "Tuesdays" in memory.content)
    assert re.search(r"\(until \d{4}-\d\d-\d\d\)", ended.head)
    history = await client.call_tool("memory_history", {"id": ids_of(found)[0]})
    assert contents_of(history) == ["Deploys go out on Thursdays", "Deploys go out on Tuesdays"]


async def test_a_text_is_corrected_under_its_id(client: InMemoryClient):
    old = stored_id(await client.call_tool("store_memory", {"content": "Port 2332", "tags": ["ports"]}))
    new = stored_id(await client.call_tool("update_memory", {"id": old, "content": "Port 2333", "pinned": True}))
    assert new != old
    (read,) = shown_memories(good_text(await client.call_tool("get_memory", {"id": old})))
    assert (read.id, read.content) == (new, "Port 2333")
    assert "pinned" in read.head


async def test_what_was_deleted_can_be_restored(client: InMemoryClient):
    kept = {"id": stored_id(await client.call_tool("store_memory", {"content": "Worth keeping"}))}
    deleted = good_text(await client.call_tool("delete_memory", kept))
    assert deleted == f"¶ Deleted: id {kept['id']}. restore_memory brings it back."
    assert contents_of(await client.call_tool("list_memories", {})) == []
    assert good_text(await client.call_tool("restore_memory", kept)) == f"¶ Restored: id {kept['id']}."
    assert contents_of(await client.call_tool("list_memories", {})) == ["Worth keeping"]


async def test_many_are_changed_only_when_their_number_is_confirmed(client: InMemoryClient, service: MemoryService):
    await service.store_batch([MemoryDraft(f"note {i}", tags=("old",)) for i in range(3)])
    asked = {"tags": ["old"], "remove": ["old"], "add": ["new"]}
    assert "3 would be retagged; nothing is changed yet." in good_text(await client.call_tool("retag_memories", asked))
    wrong = await client.call_tool("retag_memories", {**asked, "expected_count": 2})
    assert wrong.is_error
    assert good_text(await client.call_tool("retag_memories", {**asked, "expected_count": 3})).startswith(
        "¶ 3 retagged: "
    )
    again = {"tags": ["new"], "add": ["new"], "expected_count": 3}
    assert good_text(await client.call_tool("retag_memories", again)) == "¶ 0 retagged."
    assert "3 would be deleted" in good_text(await client.call_tool("delete_memories", {"tags": ["new"]}))
    done = await client.call_tool("delete_memories", {"tags": ["new"], "expected_count": 3})
    assert good_text(done).startswith("¶ 3 deleted: ")
    assert contents_of(await client.call_tool("list_memories", {})) == []


async def test_a_model_cannot_delete_everything_or_very_many(client: InMemoryClient, service: MemoryService):
    await service.store_batch([MemoryDraft(f"note {i}", tags=("old",)) for i in range(101)])
    everything = await client.call_tool("delete_memories", {"expected_count": 101})
    assert everything.is_error
    many = await client.call_tool("delete_memories", {"tags": ["old"]})
    assert good_text(many) == "¶ 101 match, and at most 100 can be deleted at once: narrow the filters."
    assert "[filter_required]" in text_of(await client.call_tool("delete_memories", {}))
    assert (await service.stats()).memories == 101


async def test_context_is_what_is_pinned_and_what_fits_or_came_last(client: InMemoryClient, service: MemoryService):
    await service.store_memory(MemoryDraft("Answer in German", pinned=True))
    await service.store_batch([MemoryDraft("the bakery opens at six"), MemoryDraft("the mill is closed")])
    fitting = await client.call_tool("recall_context", {"query": "bakery"})
    assert contents_of(fitting)[:2] == ["Answer in German", "the bakery opens at six"]
    newest = await client.call_tool("recall_context", {})
    assert set(contents_of(newest)) == {"Answer in German", "the bakery opens at six", "the mill is closed"}


async def test_the_tools_cost_a_model_little(service: MemoryService):
    """In every conversation, before the first word of it."""
    core = await InMemoryClient(build_mcp_server(service, BUDGET, ("core",))).tools()
    assert sum(map(cost_of, core)) <= 1_200
    every = await InMemoryClient(build_mcp_server(service, BUDGET)).tools()
    assert sum(map(cost_of, every)) / len(every) <= 150
    searching = await InMemoryClient(build_mcp_server(service, BUDGET, ("core", "search"))).tools()
    listed = [tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in searching]
    assert len(json.dumps(listed)) < 12_000


def cost_of(tool: Tool) -> int:
    """Of what a model is told of it."""
    return tokens(f"{tool.name} {tool.description} {json.dumps(tool.input_schema, separators=(',', ':'))}")


async def test_a_schema_says_what_a_call_needs_and_no_more(client: InMemoryClient):
    schemas = {tool.name: tool.input_schema for tool in await client.tools()}
    assert schemas["get_memory"] == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "As shown, 8 digits or more"},
            "offset": {"type": "integer", "description": "Character to start from"},
        },
        "required": ["id"],
    }
    found = schemas["retrieve_memory"]["properties"]
    assert found["min_confidence"] == {
        "enum": ["high", "low", "none"],
        "description": "Nothing, if less sure than this",
    }
    assert found["tags"]["items"] == {"type": "string"}
    assert found["page_size"]["default"] == 10
