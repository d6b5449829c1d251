"""The forms in which models send arguments, through the official client in this process."""

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.types import CallToolResult, TextContent

from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.mcp_server.arguments import taken_arguments, without_controls
from mcp_memory_service.models import ListRequest, Memory, MemoryDraft
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.write.checks import check_text

BUDGET = 5_000


async def call(service: MemoryService, tool: str, arguments: dict[str, Any]) -> CallToolResult:
    async with Client(build_mcp_server(service, BUDGET, ("core", "search", "feedback"))) as client:
        result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.content
    return result


def text_of(result: CallToolResult) -> str:
    (block,) = result.content
    assert isinstance(block, TextContent)
    return block.text


async def only_memory(service: MemoryService) -> Memory:
    (memory,) = (await service.list_memories(ListRequest())).memories
    return memory


@pytest.mark.parametrize(
    ("sent", "tags"),
    [
        (["homelab", "vps"], ("homelab", "vps")),
        ('["homelab", "vps"]', ("homelab", "vps")),
        ("homelab, vps,", ("homelab", "vps")),
        ("homelab", ("homelab",)),
        ('"homelab"', ("homelab",)),
        ("2026", ("2026",)),
        ("", ()),
        ("null", ()),
        (["one, and a half"], ("one, and a half",)),
    ],
)
async def test_tags_are_taken_as_a_list_as_json_and_with_commas(
    service: MemoryService, sent: object, tags: tuple[str, ...]
):
    await call(service, "store_memory", {"content": "Rathole uses port 2333", "tags": sent})
    assert (await only_memory(service)).tags == tags


@pytest.mark.parametrize("name", ["page_size", "limit"])
@pytest.mark.parametrize("tool", ["retrieve_memory", "list_memories", "keyword_search"])
async def test_how_many_is_page_size_or_limit_and_a_number_or_its_digits(service: MemoryService, tool: str, name: str):
    await service.store_batch([MemoryDraft(f"kettle {number}") for number in range(4)])
    query = {} if tool == "list_memories" else {"query": "kettle"}
    for number in (2, "2", 2.0):
        shown = text_of(await call(service, tool, {**query, name: number}))
        assert len(re.findall(r"kettle \d", shown)) == 2


@pytest.mark.parametrize("name", ["content_hash", "id"])
async def test_a_memory_is_named_by_id_or_content_hash(service: MemoryService, name: str):
    stored = await service.store_memory(MemoryDraft("Rathole uses port 2333"))
    identity = stored.memory.content_hash
    assert "2333" in text_of(await call(service, "get_memory", {name: identity, "offset": "0"}))
    await call(service, "rate_memory", {"query": "port", name: identity, "useful": "true"})
    await call(service, "update_memory", {name: identity, "tags": "tunnel", "metadata": '{"port": 2333}'})
    changed = await only_memory(service)
    assert (changed.tags, changed.metadata) == (("tunnel",), {"port": 2333})
    await call(service, "delete_memory", {"id": identity, "content_hash": identity})
    assert (await service.list_memories(ListRequest())).paging.total == 0


async def test_what_a_terminal_obeys_is_left_out_and_it_is_said(service: MemoryService):
    pasted = "\x1b]0;title\x07\x1b[1;31mFAILED\x1b[0m test_login\x08\x00\n\ttook 3s\r\n"
    stored = await call(service, "store_memory", {"content": pasted})
    assert text_of(stored).endswith("\n¶ Removed 5 control characters.")
    assert (await only_memory(service)).content == "FAILED test_login\n\ttook 3s\r\n"
    found = await call(service, "retrieve_memory", {"query": "test_login\x1b[0m"})
    assert text_of(found).endswith("\n¶ Removed 1 control character.")
    assert "Removed" not in text_of(await call(service, "retrieve_memory", {"query": "test_login"}))


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("\x1b]8;;https://example.org\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("\x1b(Bplain\x1b=", "plain"),
        ("Ä\x9brest", "Ärest"),  # a letter that was decoded wrongly, and no sequence
        ("\x1b]0;cut off\nthe next line\x07", "0;cut off\nthe next line"),
        ("tab\tand\r\nbreaks", "tab\tand\r\nbreaks"),
    ],
)
def test_only_what_a_terminal_obeys_is_left_out(text: str, left: str):
    assert without_controls(text)[0] == left


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_what_is_left_of_any_text_can_be_stored(text: str):
    left, removed = without_controls(text)
    check_text(left, "content", len(text))
    assert (removed == 0) == (left == text)


@given(st.dictionaries(st.sampled_from(["id", "content_hash", "tags", "limit", "query"]), st.text() | st.floats()))
def test_no_argument_is_lost_or_made_up(sent: dict[str, str | float]):
    known = {"id": {"type": "string"}, "query": {"type": "string"}, "tags": {"type": "string"}, "page_size": {}}
    sent = {name: value for name, value in sent.items() if name != "content_hash" or "id" not in sent}
    taken = taken_arguments("tool", sent, known).values
    own = {"content_hash": "id", "limit": "page_size"}
    assert taken.keys() == {own.get(name, name) for name in sent}
    assert all(taken[own.get(name, name)] is value for name, value in sent.items() if name != "query")
