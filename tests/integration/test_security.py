"""Who may call: host, origin, size and key, on REST and MCP alike."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import rest_client

from mcp_memory_service.api.security import MAX_BODY_BYTES, AccessRules

KEY = "0123456789abcdef-key"
PATHS = ("/memories", "/mcp", "/health", "/openapi.json", "/nowhere")


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Generator[TestClient, None, None]:
    with rest_client(tmp_path_factory.mktemp("open") / "a.db") as client:
        yield client


@pytest.fixture(scope="module")
def locked(tmp_path_factory: pytest.TempPathFactory) -> Generator[TestClient, None, None]:
    with rest_client(tmp_path_factory.mktemp("locked") / "a.db", api_key=KEY) as client:
        yield client


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "evil.example:8000",
        "localhost.evil.example",
        "",
        "[",
        "192.168.0.1",
        "evil@127.0.0.1",
        "127.0.0.1/evil",
        "loopback",
        "<loopback>",
    ],
)
def test_a_foreign_host_is_misdirected(rest: TestClient, path: str, host: str):
    answer = rest.get(path, headers={"host": host})
    assert (answer.status_code, answer.json()["code"]) == (421, "host_not_allowed")


@pytest.mark.parametrize("host", ["localhost", "localhost:8000", "127.0.0.1:1", "[::1]:8000", "LOCALHOST:8000"])
def test_loopback_names_are_served(rest: TestClient, host: str):
    assert rest.get("/health", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://localhost:3000", "https://[", "file://", ""])
def test_a_foreign_origin_is_forbidden(rest: TestClient, path: str, origin: str):
    answer = rest.post(path, headers={"origin": origin}, json={})
    assert (answer.status_code, answer.json()["code"]) == (403, "origin_not_allowed")


@pytest.mark.parametrize("origin", ["http://127.0.0.1:8000", "http://localhost:8000", "http://[::1]:8000"])
def test_the_own_origin_is_served(rest: TestClient, origin: str):
    assert rest.get("/health", headers={"origin": origin}).status_code == 200


def test_hosts_and_origins_can_be_allowed():
    rules = AccessRules("10.0.0.5", ("memory.lan",), ("http://localhost:6274/",))
    assert rules.allows_host("Memory.LAN:80")
    assert rules.allows_host("10.0.0.5")
    assert not rules.allows_host("other.lan")
    assert AccessRules("0.0.0.0", ("*",)).allows_host("anything")  # noqa: S104
    assert rules.allows_origin("http://localhost:6274", "memory.lan")
    assert rules.allows_origin("http://memory.lan", "memory.lan")
    assert not rules.allows_origin("http://memory.lan:81", "memory.lan")


@pytest.mark.parametrize("path", ["/memories", "/memories/retrieve", "/mcp"])
def test_a_body_over_4_mib_is_too_large_announced_or_not(rest: TestClient, path: str):
    headers = {"content-type": "application/json"}
    announced = rest.post(path, content=b" " * (MAX_BODY_BYTES + 1), headers=headers)

    def chunks() -> Iterator[bytes]:
        for _ in range(5):
            yield b" " * (MAX_BODY_BYTES // 4)

    for answer in (announced, rest.post(path, content=chunks(), headers=headers)):
        assert (answer.status_code, answer.json()["code"]) == (413, "body_too_large")


def test_a_body_of_just_4_mib_is_read(rest: TestClient):
    answer = rest.post("/memories", content=b" " * MAX_BODY_BYTES, headers={"content-type": "application/json"})
    assert answer.json()["code"] == "malformed_json"


@pytest.mark.parametrize("path", ["/memories", "/mcp", "/stats", "/metrics", "/openapi.json", "/nowhere"])
@pytest.mark.parametrize(
    "authorization", [None, "", "Bearer", "Bearer wrong", f"Basic {KEY}", KEY, "Bearer ключ", "Bearer ÿÿ"]
)
def test_without_the_key_nothing_is_told(locked: TestClient, path: str, authorization: str | None):
    headers = [] if authorization is None else [(b"authorization", authorization.encode())]
    answer = locked.get(path, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (401, "api_key_required")
    assert answer.headers["www-authenticate"].startswith("Bearer resource_metadata=")


def test_with_the_key_all_is_served_and_probes_need_none(locked: TestClient):
    assert locked.get("/memories", headers={"authorization": f"bearer {KEY}"}).status_code == 200
    assert locked.get("/health").status_code == 200
    assert locked.get("/ready").status_code == 200


def test_a_text_body_is_not_taken_for_json(rest: TestClient):
    """A web page can send text/plain without asking first; it must not be able to store memories."""
    answer = rest.post("/memories", content='{"content": "planted"}', headers={"content-type": "text/plain"})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")
    assert rest.get("/memories").json()["total"] == 0


def test_logs_hold_no_memories(tmp_path: Path, caplog: pytest.LogCaptureFixture):
    caplog.set_level("DEBUG")
    with rest_client(tmp_path / "a.db") as client:
        client.post("/memories", json={"content": "canary-content", "tags": ["canary-tag"]})
        client.post("/memories/retrieve", json={"query": "canary-query"})
        client.get("/memories?tags=canary-tag")
        client.post("/memories", json={"content": "canary-content", "metadata": {"canary": 2**70}})
        client.post("/memories", json={"content": ["canary"]})
    ours = [record for record in caplog.records if record.name.startswith("mcp_memory_service")]
    assert "canary" not in "".join(record.getMessage() for record in ours)


def test_two_hosts_or_origins_are_one_too_many(rest: TestClient):
    for name, good, status in (("host", "127.0.0.1:8000", 421), ("origin", "http://127.0.0.1:8000", 403)):
        answer = rest.get("/health", headers=[(name, good), (name, "http://evil.example")])
        assert answer.status_code == status


MCP_HEADERS = (
    "authorization", "content-type", "last-event-id", "mcp-method", "mcp-name", "mcp-protocol-version",
    "mcp-session-id", "x-namespace",
)  # fmt: skip


def test_an_allowed_origin_may_ask_first_and_read_the_answer(tmp_path: Path):
    origin = "http://localhost:6274"
    with rest_client(tmp_path / "a.db", api_key=KEY, allowed_origins=(origin,)) as client:
        asked = {
            "origin": origin,
            "access-control-request-method": "POST",
            "access-control-request-headers": ", ".join(MCP_HEADERS),
        }
        preflight = client.options("/mcp", headers=asked)
        assert (preflight.status_code, preflight.headers["access-control-allow-origin"]) == (200, origin)
        answer = client.get("/stats", headers={"origin": origin, "authorization": f"Bearer {KEY}"})
        assert (answer.status_code, answer.headers["access-control-allow-origin"]) == (200, origin)
        assert client.get("/stats", headers={"origin": origin}).status_code == 401
        assert client.options("/mcp", headers={**asked, "origin": "http://evil.example"}).status_code == 403
