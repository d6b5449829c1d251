"""What one body of 4 MiB can cost the others: CPU time, memory and bytes of the answer, by REST and MCP."""

import json
from collections.abc import Generator

import pytest
from tests.integration.conftest import Server, server_process
from tests.support.process_cost import can_be_measured, cost_of

from mcp_memory_service.api.bounds import MAX_PARTS, MAX_REFUSAL_BYTES, MAX_VALUES
from mcp_memory_service.api.security import MAX_BODY_BYTES

pytestmark = pytest.mark.skipif(not can_be_measured(), reason="memory is read from /proc")

MAX_CPU_SECONDS = 1.0
MAX_GROWTH = 50 * 1024**2
HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
# Texts of this length leave room for what is around them.
LONG = MAX_BODY_BYTES - 1_000
ESCAPED = "\\u0001"
MEMORY = '{"content": "x", %s}'
WRONG_MEMORY = {
    **dict.fromkeys(("content", "memory_type", "metadata", "created_at", "source", "session"), 1),
    **dict.fromkeys((f"unknown{number}" for number in range(20)), 1),
}


def items(item: str, count: int) -> str:
    return ",".join([item] * count)


def as_many(item: str) -> str:
    """As many of an item as fit into a body."""
    return items(item, LONG // (len(item) + 1))


HOSTILE: dict[str, tuple[str, str]] = {
    "numbers as tags": ("POST /memories", MEMORY % f'"tags": [{as_many("1")}]'),
    "numbers as tags, few enough": ("POST /memories", MEMORY % f'"tags": [{items("1", MAX_VALUES)}]'),
    "a million tags": ("POST /memories", MEMORY % f'"tags": [{as_many(json.dumps("a"))}]'),
    "tags, few enough": ("POST /memories", MEMORY % f'"tags": [{items(json.dumps("a" * 10), MAX_VALUES)}]'),
    "numbers as memories": ("POST /memories/batch", f'{{"memories": [{as_many("1")}]}}'),
    "empty memories": ("POST /memories/batch", f'{{"memories": [{as_many("{}")}]}}'),
    "wrong memories": ("POST /memories/batch", f'{{"memories": [{items(json.dumps(WRONG_MEMORY), 500)}]}}'),
    "unknown fields": ("POST /memories", "{" + ",".join(f'"{number:x}":1' for number in range(400_000)) + "}"),
    "unknown fields, few enough": (
        "POST /memories",
        "{" + ",".join(f'"{number:060}":1' for number in range(MAX_PARTS - 1_000)) + "}",
    ),
    "a long field name": ("POST /memories", f'{{"{"k" * LONG}": 1}}'),
    "long field names to escape": (
        "POST /memories",
        "{" + ",".join(f'"{number}{ESCAPED * 30_000}": 1' for number in range(20)) + "}",
    ),
    "nested lists": ("POST /memories", "[" * LONG),
    "lists in lists": ("POST /memories", MEMORY % f'"metadata": {{"k": [{as_many("[]")}]}}'),
    "lists in lists, few enough": ("POST /memories", MEMORY % f'"metadata": {{"k": [{items("[]", MAX_PARTS - 10)}]}}'),
    "a long number": ("POST /memories", MEMORY % f'"sequence": {"9" * LONG}'),
    "many long numbers": ("POST /memories", MEMORY % f'"metadata": {{"k": [{as_many("9" * 4_000)}]}}'),
    "wide characters": ("POST /memories", MEMORY % f'"source": "😀{"a" * LONG}"'),
    "a long query": ("POST /memories/retrieve", f'{{"query": "{"a " * (LONG // 2)}"}}'),
    "a long mode": ("POST /memories/retrieve", f'{{"query": "x", "mode": "{"a" * LONG}"}}'),
    "a long id to explain": ("POST /memories/explain", f'{{"query": "x", "content_hash": "{"a" * LONG}"}}'),
    "a long id to rate": (
        "POST /memories/feedback",
        f'{{"query": "x", "useful": true, "content_hash": "{ESCAPED * (LONG // 6)}"}}',
    ),
    "numbers to purge": ("POST /memories/purge", f'{{"content_hashes": [{items("1", MAX_VALUES)}]}}'),
    "a list as a patch": ("PATCH /memories/abc", f"[{as_many('1')}]"),
}


def call(tool: str, arguments: str, message_id: str = "1") -> str:
    head = f'"jsonrpc": "2.0", "id": {message_id}, "method": "tools/call"'
    return f'{{{head}, "params": {{"name": "{tool}", "arguments": {arguments}}}}}'


HOSTILE_MESSAGES: dict[str, str] = {
    "numbers as tags": call("store_memory", MEMORY % f'"tags": [{items("1", MAX_VALUES)}]'),
    "tags": call("store_memory", MEMORY % f'"tags": [{items(json.dumps("a" * 10), MAX_VALUES)}]'),
    "lists as text": call("store_memory", MEMORY % f'"tags": "[{as_many("[]")}]"'),
    "lists as short text": call("store_memory", MEMORY % f'"metadata": "[{items("[]", 43_000)}]"'),
    "unknown arguments": call(
        "store_memory", "{" + ",".join(f'"{number:060}":1' for number in range(MAX_PARTS - 1_000)) + "}"
    ),
    "a long argument": call("store_memory", f'{{"{"k" * LONG}": 1}}'),
    "a long id": call("store_memory", "{}", f'"{"k" * LONG}"'),
    "a long tool": call("k" * LONG, "{}"),
    "a long method": f'{{"jsonrpc": "2.0", "id": 1, "method": "{"k" * LONG}"}}',
    "a long resource": (
        f'{{"jsonrpc": "2.0", "id": 1, "method": "resources/read", "params": {{"uri": "x:{"k" * LONG}"}}}}'
    ),
    "a long id to read": call("get_memory", f'{{"id": "{"k" * LONG}"}}'),
    "many messages": f"[{as_many('{}')}]",
    "nested lists": "[" * LONG,
}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Generator[Server, None, None]:
    with server_process(tmp_path_factory.mktemp("cost")) as server:
        server.http.post("/memories", json={"content": "warm"})
        server.http.post("/memories/retrieve", json={"query": "warm"})
        server.http.post("/mcp", content=call("memory_overview", "{}"), headers=HEADERS)
        yield server


@pytest.mark.parametrize(("route", "body"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_body_costs_little_and_its_refusal_is_short(server: Server, route: str, body: str):
    method, path = route.split()
    assert len(body.encode()) <= MAX_BODY_BYTES
    with cost_of(server.process.pid) as cost:
        answer = server.http.request(method, path, content=body.encode(), headers=HEADERS)
    assert (answer.status_code // 100, answer.headers["content-type"]) == (4, "application/problem+json")
    assert len(answer.content) <= MAX_REFUSAL_BYTES
    assert len(answer.json().get("errors", [])) <= 20
    assert cost.cpu_seconds < MAX_CPU_SECONDS
    assert cost.peak_bytes < MAX_GROWTH


@pytest.mark.parametrize("version", [{}, {"mcp-protocol-version": "2026-07-28"}], ids=["handshake", "2026"])
@pytest.mark.parametrize("message", HOSTILE_MESSAGES.values(), ids=HOSTILE_MESSAGES.keys())
def test_a_hostile_message_costs_little_and_its_answer_is_short(server: Server, message: str, version: dict[str, str]):
    assert len(message.encode()) <= MAX_BODY_BYTES
    with cost_of(server.process.pid) as cost:
        answer = server.http.post("/mcp", content=message.encode(), headers=HEADERS | version)
    assert answer.status_code < 500
    assert len(answer.content) <= MAX_REFUSAL_BYTES
    assert cost.cpu_seconds < MAX_CPU_SECONDS
    assert cost.peak_bytes < MAX_GROWTH


def test_a_large_body_of_texts_full_of_marks_is_not_taken_for_a_complex_one(server: Server):
    texts = [f"{number}: " + '[{"a,b":1}],' * 1_500 for number in range(40)] + [""]
    table = json.dumps({"memories": [{"content": text} for text in texts]})
    assert table.count("[") > MAX_PARTS
    answer = server.http.post("/memories/batch", content=table.encode(), headers=HEADERS).json()
    assert (answer["code"], answer["errors"][0]["field"]) == ("content_empty", "memories.40.content")


def test_a_refusal_says_how_many_errors_it_leaves_out(server: Server):
    unknown = {f"unknown{number}": 1 for number in range(25)}
    answer = server.http.post("/memories", json={"content": "x", **unknown}).json()
    assert len(answer["errors"]) == 20
    assert answer["detail"].endswith("and 5 more errors")
