"""The recorded requests, one list for each door."""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from tests.recorded.corpus import memories, queries

from mcp_memory_service.models import content_hash

UNKNOWN = "0" * 64
DECISION = "which decision did the rathole project take about its port"
JSON = {"content-type": "application/json"}
FIRST_KEY = {"Idempotency-Key": "k1"}
HASHES = [content_hash(memory["content"]) for memory in memories()]
FIRST, TALK, LONG, HEADING = HASHES[0], HASHES[-3], HASHES[-6], HASHES[-9]


class RestCall(NamedTuple):
    method: str
    path: str
    json: Any = None
    headers: Mapping[str, str] = MappingProxyType({})
    body: str | None = None
    """In place of `json`, for what is none."""


class ToolCall(NamedTuple):
    tool: str
    arguments: dict[str, Any]


class Command(NamedTuple):
    arguments: tuple[str, ...]
    stdin: str = ""


def searches() -> Iterator[RestCall]:
    """Asked twice: of a store that searches its rows, and of one with an index."""
    for number, query in enumerate(queries()):
        body: dict[str, Any] = {"query": query, "page_size": 3}
        yield _retrieve(body | {"debug": True})
        yield _retrieve(body | ({"mode": "semantic"}, {"mode": "keyword"}, {"alpha": 0.3}, {"page": 2})[number % 4])
        yield RestCall("POST", "/memories/explain", {"query": query, "content_hash": HASHES[number * 5]})
    all_options: tuple[dict[str, Any], ...] = (
        {"tags": ["rathole"]},
        {"tags": []},
        {"tags": ["project", "decision"], "tag_match": "all"},
        {"tags": ["project", "decision"], "tag_match": "any"},
        {"memory_type": "decision"},
        {"after": "2005-09-01T00:00:00Z"},
        {"before": "2005-09-01T00:00:00Z"},
        {"after": "2005-07-01T00:00:00Z", "before": "2005-12-01T00:00:00Z", "memory_type": "note"},
        {"min_similarity": 0.5},
        {"vector_threshold": 0.3},
        {"alpha": 0},
        {"alpha": 1},
        {"alpha": 0.5, "debug": True},
        {"fts_weight": 0.9, "vector_weight": 0.1, "debug": True},
        {"fts_weight": 0, "vector_weight": 1},
        {"page": 2, "page_size": 50},
        {"page": 100_000},
        {"mode": "semantic", "min_similarity": 0.99},
        {"mode": "keyword", "tags": ["nobody has this"]},
    )
    for options in all_options:
        yield _retrieve({"query": DECISION, "page_size": 4} | options)
    for query in (
        "部署",
        "größe",
        "c++",
        "parseHTTPResponse",
        "http_client.rs",
        '"home lab"',
        '"same words" kestrel',
        "the and of",
        "which port?",
        "kestrels in a long text word150",
        "Deploy heading",
        "!!! ???",
        "zzzz qqqq",
        "same words",
    ):
        yield _retrieve({"query": query, "page_size": 5, "debug": True})
    yield RestCall("POST", "/memories/explain", {"query": "which port?", "content_hash": TALK, "page_size": 1})
    yield RestCall("POST", "/memories/explain", {"query": "tunnel", "content_hash": TALK, "tags": ["rathole"]})
    yield RestCall("POST", "/memories/explain", {"query": "x", "content_hash": UNKNOWN})
    yield RestCall("POST", "/memories/explain", {"query": "tunnel", "content_hash": LONG, "mode": "semantic"})


def reads_and_writes() -> Iterator[RestCall]:
    yield RestCall("GET", "/health")
    yield RestCall("GET", "/ready")
    yield RestCall("GET", "/tags")
    yield RestCall("GET", "/stats")
    for path in (
        "/memories",
        "/memories?page=2&page_size=5",
        "/memories?tags=rathole&tags=project&tag_match=all",
        "/memories?memory_type=decision&page_size=2",
        "/memories?after=2005-09-01T00:00:00Z&before=2005-10-01T00:00:00Z",
        "/memories?page=0",
        "/memories?page_size=1000",
        "/memories?unknown=1",
        "/memories?after=yesterday",
        "/memories?after=1234567",
        f"/memories/{FIRST}",
        f"/memories/{LONG}",
        f"/memories/{UNKNOWN}",
        "/memories/nonsense",
        "/nowhere",
    ):
        yield RestCall("GET", path)
    yield RestCall("POST", "/memories", {"content": "a new one", "tags": ["New", "new", "other"]})
    yield RestCall("POST", "/memories", {"content": " a new one ", "tags": ["OTHER", "more"], "metadata": {"a": 1}})
    yield RestCall("POST", "/memories/batch", {"memories": [{"content": "one of two"}, {"content": "a new one"}]})
    new = content_hash("a new one")
    yield RestCall("PATCH", f"/memories/{new}", {"tags": ["renamed"], "memory_type": "fact", "metadata": {"b": [1]}})
    yield RestCall(
        "PATCH", f"/memories/{new}", {"memory_type": None, "metadata": {"b": None}}, {"Idempotency-Key": "k1"}
    )
    yield RestCall(
        "PATCH", f"/memories/{new}", {"memory_type": None, "metadata": {"b": None}}, {"Idempotency-Key": "k1"}
    )
    yield RestCall("PATCH", f"/memories/{new}", {"memory_type": "other"}, {"Idempotency-Key": "k1"})
    yield RestCall("PATCH", f"/memories/{new}", {"content": "another text"})
    yield RestCall("PATCH", f"/memories/{UNKNOWN}", {"tags": []})
    yield _retrieve({"query": "a new one renamed", "page_size": 2, "debug": True})
    yield RestCall("POST", "/memories/feedback", {"query": "new", "content_hash": new, "useful": True})
    yield RestCall("POST", "/memories/feedback", {"query": "new", "content_hash": UNKNOWN, "useful": True})
    yield RestCall("DELETE", f"/memories/{new}", None, {"Idempotency-Key": "k2"})
    yield RestCall("DELETE", f"/memories/{new}", None, {"Idempotency-Key": "k2"})
    yield RestCall("DELETE", f"/memories/{new}")
    yield RestCall("DELETE", f"/memories/{new}", None, {"Idempotency-Key": "\x7f"})
    yield _retrieve({"query": "a new one renamed", "page_size": 2})
    yield RestCall("POST", "/memories/purge", {"content_hashes": [content_hash("one of two"), UNKNOWN]})
    yield RestCall("POST", "/memories/purge", {"content_hashes": ["nonsense"]})
    yield RestCall("POST", "/memories/purge", {"content_hashes": [UNKNOWN] * 501})


def bad_requests() -> Iterator[RestCall]:
    for body in (
        {},
        {"content": ""},
        {"content": " \n"},
        {"content": "a\x00b"},
        {"content": "x" * 100_001},
        {"content": 7},
        {"content": "x", "tags": "one"},
        {"content": "x", "tags": [""]},
        {"content": "x", "tags": ["a\nb"]},
        {"content": "x", "tags": ["t"] * 101},
        {"content": "x", "tags": ["t" * 201]},
        {"content": "x", "memory_type": " "},
        {"content": "x", "memory_type": "t" * 201},
        {"content": "x", "metadata": [1]},
        {"content": "x", "metadata": {"n": 2**64}},
        {"content": "x", "metadata": {"n": "y" * 70_000}},
        {"content": "x", "created_at": "soon"},
        {"content": "x", "created_at": 12},
        {"content": "x", "created_at": "2999-01-01T00:00:00Z"},
        {"content": "x", "sequence": -1},
        {"content": "x", "sequence": "1"},
        {"content": "x", "colour": "red"},
    ):
        yield RestCall("POST", "/memories", body)
    for body in (
        {},
        {"query": ""},
        {"query": "x" * 10_001},
        {"query": "x", "page": 0},
        {"query": "x", "page_size": 101},
        {"query": "x", "alpha": 2},
        {"query": "x", "alpha": 0.5, "fts_weight": 0.5},
        {"query": "x", "fts_weight": 0, "vector_weight": 0},
        {"query": "x", "min_similarity": -2},
        {"query": "x", "mode": "magic"},
        {"query": "x", "tag_match": "some"},
        {"query": "x", "memory_type": ""},
        {"query": "a\x07b"},
        {"query": "x", "limit": 3},
    ):
        yield _retrieve(body)
    yield RestCall("POST", "/memories/batch", {"memories": []})
    yield RestCall("POST", "/memories/batch", {"memories": [{"content": "good"}, {"content": ""}]})
    yield RestCall("POST", "/memories/batch", {"memories": [{"content": "good"}, {"content": 3}]})
    yield RestCall("POST", "/memories/explain", {"query": "x"})
    yield RestCall("POST", "/memories", None, JSON, "{")
    yield RestCall("POST", "/memories", None, JSON, '{"content": "x", "metadata": {"n": NaN}}')
    yield RestCall("POST", "/memories", None, JSON, '{"content": "\\ud800"}')
    yield RestCall("POST", "/memories", None, {"content-type": "text/plain"}, "content")
    yield RestCall("PUT", "/memories", {})
    yield RestCall("GET", "/health", None, {"Host": "elsewhere.example"})
    yield RestCall("GET", "/tags", None, {"Origin": "http://elsewhere.example"})


def tool_calls() -> Iterator[ToolCall]:
    for number, query in enumerate(queries()[:20]):
        tool = ("retrieve_memory", "hybrid_search", "semantic_search", "keyword_search")[number % 4]
        yield ToolCall(tool, {"query": query, ("page_size" if tool == "retrieve_memory" else "limit"): 3})
    retrieved: tuple[dict[str, Any], ...] = (
        {"query": "rathole port", "debug": True, "page_size": 2},
        {"query": "rathole port", "tags": [], "page_size": 2},
        {"query": "rathole port", "mode": "keyword", "page_size": 2},
        {"query": "rathole port", "after": "2005-09-01T00:00:00Z", "page_size": 2},
        {"query": ""},
        {"query": "x", "page": 0},
        {"query": "x", "colour": "red"},
        {"query": "kestrels in a long text", "page_size": 20},
    )
    for arguments in retrieved:
        yield ToolCall("retrieve_memory", arguments)
    yield ToolCall("hybrid_search", {"query": "rathole", "fts_weight": 1, "vector_weight": 0, "limit": 2})
    yield ToolCall("semantic_search", {"query": "rathole", "threshold": 0.9, "limit": 2})
    yield ToolCall("list_memories", {"page_size": 3})
    yield ToolCall("list_memories", {"tags": ["rathole"], "page_size": 2})
    yield ToolCall("list_memories", {"tags": [""]})
    yield ToolCall("get_memory", {"id": LONG})
    yield ToolCall("get_memory", {"id": LONG, "offset": 5000})
    yield ToolCall("get_memory", {"id": UNKNOWN})
    yield ToolCall("memory_overview", {})
    yield ToolCall("store_memory", {"content": "told by a tool", "tags": ["tool"], "session": "s", "sequence": 1})
    yield ToolCall("store_memory", {"content": "told by a tool", "tags": ["again"]})
    yield ToolCall("store_memory", {"content": " "})
    yield ToolCall("store_memory", {})
    told = content_hash("told by a tool")
    yield ToolCall("update_memory", {"id": told, "tags": ["new"], "memory_type": "fact"})
    yield ToolCall("update_memory", {"id": told, "memory_type": ""})
    yield ToolCall("update_memory", {"id": UNKNOWN, "tags": []})
    yield ToolCall("rate_memory", {"query": "told", "id": told, "useful": True})
    yield ToolCall("rate_memory", {"query": "told", "id": UNKNOWN, "useful": True})
    yield ToolCall("delete_memory", {"id": told})
    yield ToolCall("delete_memory", {"id": told})


def commands() -> Iterator[Command]:
    for name in (
        "serve", "mcp", "store", "search", "list", "delete", "purge", "feedback", "stats", "doctor", "backup",
        "restore", "migrate", "import", "export", "demo", "eval",
    ):  # fmt: skip
        yield Command((name, "--help"))
    for name in ("run", "sweep", "tune", "rollback"):
        yield Command(("eval", name, "--help"))
    yield Command(("--help",))
    yield Command(("search", "rathole port", "--limit", "3"))
    yield Command(("search", "rathole port", "--limit", "3", "--debug"))
    yield Command(("search", "rathole port", "--limit", "2", "--json"))
    yield Command(("search", "rathole port", "--limit", "2", "--no-tags", "--mode", "keyword"))
    yield Command(("search", "rathole port", "--explain", FIRST))
    yield Command(("search", "rathole port", "--explain", FIRST, "--json", "--alpha", "0.2"))
    yield Command(("search", "rathole port", "--tag", "rathole", "--no-tags"))
    yield Command(("search", "", "--limit", "2"))
    yield Command(("search", "x", "--limit", "1000"))
    yield Command(("search", "x", "--hybrid-alpha", "7"))
    yield Command(("list", "--tag", "rathole", "--limit", "2"))
    yield Command(("list", "--limit", "1", "--json", "--after", "2005-09-01"))
    yield Command(("list", "--after", "soon"))
    yield Command(("stats",))
    yield Command(("stats", "--json"))
    yield Command(("store", "typed in", "--tag", "cli", "--metadata", '{"a": 1}', "--created-at", "2004-05-01"))
    yield Command(("store", "-", "--tag", "piped", "--json", "--created-at", "2004-05-01"), "typed in")
    yield Command(("store", "x", "--metadata", "{"))
    yield Command(("store", " "))
    typed = content_hash("typed in")
    yield Command(("feedback", "typed", typed, "--useful"))
    yield Command(("feedback", "typed", UNKNOWN, "--useful"))
    yield Command(("delete", typed, "--idempotency-key", "k"))
    yield Command(("delete", typed, "--idempotency-key", "k", "--json"))
    yield Command(("delete", typed))
    yield Command(("purge", UNKNOWN))
    yield Command(("purge", "nonsense"))
    yield Command(("doctor",))
    yield Command(("doctor", "--json"))
    yield Command(
        ("import", "-", "--json"), '{"content": "imported", "created_at": "2004-05-02T00:00:00Z"}\n{"content": 1}\n'
    )
    yield Command(("import", "-", "--on-error", "skip"), '{"content": 1}\nno json\n{"content": "imported too"}\n')
    yield Command(("export", "no-such-folder/out.jsonl"))
    yield Command(("migrate", "--from", "nothing", "--to", "sqlite:other.db"))
    yield Command(("backup", ""))
    yield Command(("restore", "no-such-backup"))
    yield Command(("no-such-command",))


def _retrieve(body: dict[str, Any]) -> RestCall:
    return RestCall("POST", "/memories/retrieve", body)
