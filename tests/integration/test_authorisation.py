"""Who may go through which door: every door of the table, for every kind of caller, on both stores."""

import asyncio
import base64
import json
import time
from collections.abc import Generator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, ClassVar

import jwt
import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from jwt.algorithms import ECAlgorithm
from starlette.testclient import TestClient
from tests.integration.conftest import rest_client
from tests.support.qdrant_target import collection_of

from mcp_memory_service.access import limits
from mcp_memory_service.access.caller import Scope
from mcp_memory_service.access.doors import DOORS, require_declared
from mcp_memory_service.access.keys import KeyRing, NewKey, derived_token
from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.errors import QuotaExceeded
from mcp_memory_service.models import MemoryDraft, content_hash
from mcp_memory_service.services import MemoryService
from mcp_memory_service.timestamps import MICROSECONDS_PER_SECOND, now_microseconds

OURS, THEIRS = "The tunnel forwards port 2333", "The tunnel of the others is red"
OUR_ID, THEIR_ID = content_hash(OURS), content_hash(THEIRS)
HOUR = 3_600 * MICROSECONDS_PER_SECOND

BODIES: dict[str, dict[str, Any]] = {
    "POST /memories": {"content": "A new thought"},
    "POST /memories/batch": {"memories": [{"content": "Another thought"}]},
    "POST /memories/retrieve": {"query": "tunnel"},
    "POST /memories/explain": {"query": "tunnel", "content_hash": THEIR_ID},
    "POST /memories/feedback": {"query": "tunnel", "content_hash": THEIR_ID, "useful": True},
    "POST /memories/purge": {"content_hashes": [THEIR_ID]},
    "PATCH /memories/{content_hash}": {"tags": ["stolen"]},
    "POST /memories/delete": {"tags": ["tunnel"]},
    "POST /memories/retag": {"tags": ["tunnel"], "add_tags": ["stolen"]},
    "POST /memories/context": {"query": "tunnel"},
}
ARGUMENTS: dict[str, dict[str, Any]] = {
    "store_memory": {"content": "A thought of an agent"},
    "update_memory": {"id": THEIR_ID, "tags": ["stolen"]},
    "delete_memory": {"id": THEIR_ID},
    "get_memory": {"id": THEIR_ID},
    "explain_memory": {"query": "tunnel", "id": THEIR_ID},
    "recall_context": {"query": "tunnel"},
    "memory_history": {"id": THEIR_ID},
    "restore_memory": {"id": THEIR_ID},
    "delete_memories": {"tags": ["theirs"], "expected_count": 1},
    "retag_memories": {"tags": ["theirs"], "remove": ["theirs"], "expected_count": 1},
    "rate_memory": {"query": "tunnel", "id": THEIR_ID, "useful": True},
    "retrieve_memory": {"query": "tunnel"},
    "hybrid_search": {"query": "tunnel"},
    "semantic_search": {"query": "tunnel"},
    "keyword_search": {"query": "tunnel"},
    "recall": {"topic": "tunnel"},
}


@dataclass(frozen=True)
class Kind:
    """A kind of caller, and what they may do in the namespace `ours`."""

    authorization: str | None
    scope: Scope | None
    """None: nobody."""
    by_tags: bool = False


@dataclass(frozen=True)
class Walled:
    client: TestClient
    kinds: dict[str, Kind]

    def send(self, door: str, kind: str, **headers: str) -> Any:
        authorization = self.kinds[kind].authorization
        if authorization is not None:
            headers["authorization"] = f"Bearer {authorization}"
        method, path = door.split(" ")
        if method in {"tool", "prompt", "resource"}:
            return self._send_message(method, path, headers)
        path = path.replace("{content_hash}", THEIR_ID)
        return self.client.request(method, path, headers=headers, json=BODIES.get(door))

    def _send_message(self, kind: str, name: str, headers: dict[str, str]) -> Any:
        method, params = {
            "tool": ("tools/call", {"name": name, "arguments": ARGUMENTS.get(name, {})}),
            "prompt": ("prompts/get", {"name": name, "arguments": ARGUMENTS.get(name, {})}),
            "resource": ("resources/read", {"uri": name.replace("{id}", THEIR_ID)}),
        }[kind]
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        return self.client.post(
            "/mcp", json=message, headers={"accept": "application/json, text/event-stream", **headers}
        )


@pytest.fixture(scope="module", params=["sqlite_vec", "qdrant"])
def walled(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, qdrant_url: str
) -> Generator[Walled, None, None]:
    folder = tmp_path_factory.mktemp("walled")
    ring = KeyRing(folder / "keys.json", now_microseconds)
    kinds = {"none": Kind(None, None), "wrong": Kind("mmk_aaaaaaaa_bbbb", None)}
    for scope in Scope:
        _, written = ring.create(NewKey(scope.name.lower(), ("ours",), scope))
        kinds[scope.name.lower()] = Kind(written, scope)
    _, other = ring.create(NewKey("other", ("theirs",), Scope.ADMIN))
    revoked, written = ring.create(NewKey("revoked", ("ours",), Scope.ADMIN))
    ring.revoke(revoked.id)
    kinds["revoked"] = Kind(written, None)
    _, short = ring.create(NewKey("expired", ("ours",), Scope.ADMIN, expires_at=now_microseconds() + 1_000))
    kinds["expired"] = Kind(short, None)
    soon = now_microseconds() + HOUR
    admin = kinds["admin"].authorization or ""
    kinds["derived"] = Kind(derived_token(admin, namespace="ours", scope=Scope.WRITE, expires_at=soon), Scope.WRITE)
    held = derived_token(admin, namespace="ours", scope=Scope.READ, expires_at=soon, tags=["shared"])
    kinds["held to tags"] = Kind(held, Scope.READ, by_tags=True)
    past = derived_token(admin, namespace="ours", scope=Scope.READ, expires_at=now_microseconds() - HOUR)
    kinds["derived, expired"] = Kind(past, None)
    settings: dict[str, Any] = {"keys_file": folder / "keys.json"}
    if request.param == "qdrant":
        settings |= {"storage_backend": "qdrant", "qdrant_url": qdrant_url, "qdrant_collection": collection_of(folder)}
    with pytest.MonkeyPatch.context() as patched, rest_client(folder / "walled.db", **settings) as client:
        for limit in ("FREE_GUESSES", "MAX_GUESSES"):  # hundreds of wrong keys are tried here, from one address
            patched.setattr(limits, limit, 1_000_000)
        stored = client.post("/memories", json={"content": OURS}, headers={"authorization": f"Bearer {admin}"})
        assert stored.status_code == 201
        theirs = {"content": THEIRS, "tags": ["theirs"]}
        stored = client.post("/memories", json=theirs, headers={"authorization": f"Bearer {other}"})
        assert stored.status_code == 201
        yield Walled(client, kinds)
        seen = client.get(f"/memories/{THEIR_ID}", headers={"authorization": f"Bearer {other}"})
        assert seen.json()["tags"] == ["theirs"]  # whatever was tried


@pytest.mark.parametrize("door", DOORS)
def test_the_matrix_of_doors_and_callers(walled: Walled, door: str):
    for name, kind in walled.kinds.items():
        answer = walled.send(door, name)
        assert answer.status_code != 500, (name, answer.text)
        assert THEIRS not in answer.text, name
        needed = DOORS[door].scope
        if needed is None:
            assert answer.status_code in {200, 503}, name
        elif kind.scope is None:
            assert answer.status_code == 401, name
            assert "resource_metadata=" in answer.headers["www-authenticate"]
        elif kind.scope < needed:
            assert (answer.status_code, answer.json()["code"]) == (403, "insufficient_scope"), name
            assert f'scope="{" ".join(needed.names)}"' in answer.headers["www-authenticate"]
        elif DOORS[door].every_namespace or (kind.by_tags and DOORS[door].whole_namespace):
            assert answer.status_code == 403 or "[forbidden]" in answer.text, name
        else:
            assert answer.status_code not in {401, 403}, (name, answer.text)
            assert "[forbidden]" not in answer.text


@pytest.mark.parametrize("door", [door for door, entry in DOORS.items() if entry.scope is not None])
def test_another_namespace_is_not_to_be_had_by_asking_for_it(walled: Walled, door: str):
    answer = walled.send(door, "admin", **{"x-namespace": "theirs"})
    if door.endswith("/openapi.json"):  # tells nothing of any namespace
        return
    assert answer.status_code == 403 or "[namespace_not_allowed]" in answer.text
    assert THEIRS not in answer.text


@pytest.mark.parametrize(
    "door",
    [
        "GET /memories/{content_hash}",
        "PATCH /memories/{content_hash}",
        "DELETE /memories/{content_hash}",
        "POST /memories/explain",
    ],
)
def test_the_id_of_another_is_not_there(walled: Walled, door: str):
    assert walled.send(door, "admin").status_code == 404


def test_a_door_that_nobody_declared_stops_the_start():
    with pytest.raises(LookupError, match="GET /forgotten"):
        require_declared(["GET /health", "GET /forgotten"])


def test_nothing_is_told_of_versions_without_a_key(walled: Walled):
    assert walled.client.get("/health").json() == {"status": "ok"}
    assert "version" in walled.send("GET /health", "read").json()
    assert set(walled.client.get("/ready").json()) == {"ready", "can_store", "can_search", "problems"}


def test_prompts_and_resources_are_for_who_may_read_them(walled: Walled):
    recalled = walled.send("prompt recall", "read").json()["result"]["messages"]
    assert [(message["role"], OURS in message["content"]["text"]) for message in recalled] == [("user", True)]
    assert walled.send("resource memory://{id}", "read").json()["error"]["code"] == -32002
    assert OURS not in walled.send("prompt recall", "held to tags").text
    assert "[forbidden]" in walled.send("resource memory://overview", "held to tags").json()["error"]["message"]


def test_a_token_held_to_tags_sees_memories_with_them_alone(walled: Walled):
    tagged = {"content": "The shared tunnel is blue", "tags": ["Shared", "blue"]}
    headers = {"authorization": f"Bearer {walled.kinds['admin'].authorization}"}
    stored = walled.client.post("/memories", json=tagged, headers=headers).json()["content_hash"]
    held = {"authorization": f"Bearer {walled.kinds['held to tags'].authorization}"}
    found = walled.client.post("/memories/retrieve", json={"query": "tunnel"}, headers=held).json()
    assert [hit["memory"]["content_hash"] for hit in found["results"]] == [stored]
    told = walled.client.post("/memories/retrieve", json={"query": "theirs blue shared"}, headers=held).json()
    assert (told["keywords"], told["evidence"]) == (["shared"], None)
    assert [memory["content_hash"] for memory in walled.client.get("/memories", headers=held).json()["memories"]] == [
        stored
    ]
    assert walled.client.get(f"/memories/{stored}", headers=held).status_code == 200
    assert walled.client.get(f"/memories/{OUR_ID}", headers=held).status_code == 404
    both = walled.client.get("/memories?tags=blue&tags=red", headers=held)
    assert (both.status_code, both.json()["code"]) == (422, "tag_match_all_only")


@pytest.fixture
def ring(tmp_path: Path) -> KeyRing:
    return KeyRing(tmp_path / "a.db-keys.json", now_microseconds)


def test_the_first_key_closes_a_running_service_and_revoking_it_does_not_open_it(tmp_path: Path, ring: KeyRing):
    with rest_client(tmp_path / "a.db") as client:
        assert client.get("/memories").status_code == 200
        key, written = ring.create(NewKey("first", ("default",), Scope.READ))
        assert client.get("/memories").status_code == 401
        assert client.get("/memories", headers={"authorization": f"Bearer {written}"}).status_code == 200
        ring.revoke(key.id)
        assert client.get("/memories", headers={"authorization": f"Bearer {written}"}).status_code == 401
        assert client.get("/memories").status_code == 401


def test_keys_that_cannot_be_read_let_nobody_in(tmp_path: Path, ring: KeyRing):
    _, written = ring.create(NewKey("first", ("default",), Scope.READ))
    with rest_client(tmp_path / "a.db") as client:
        (tmp_path / "a.db-keys.json").write_text("{")
        answer = client.get("/memories", headers={"authorization": f"Bearer {written}"})
        assert (answer.status_code, answer.json()["code"]) == (503, "keys_unreadable")
        assert client.get("/health").json() == {"status": "ok"}


def test_a_key_may_ask_so_often_and_have_so_much(tmp_path: Path, ring: KeyRing):
    new = NewKey("small", ("default",), Scope.WRITE, requests_per_minute=4, max_memories=2)
    headers = {"authorization": f"Bearer {ring.create(new)[1]}"}
    with rest_client(tmp_path / "a.db") as client:
        for content, status in (("one", 201), ("two", 201), ("two", 200), ("three", 429)):
            answer = client.post("/memories", json={"content": content}, headers=headers)
            assert answer.status_code == status
        assert answer.json()["code"] == "quota_exceeded"
        answer = client.get("/memories", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (429, "too_many_requests")
        assert int(answer.headers["retry-after"]) >= 1


async def test_a_quota_holds_for_batches_at_the_same_moment(tmp_path: Path):
    settings = load_settings({"sqlite_path": tmp_path / "a.db", "max_memories": 20})
    async with open_service(settings) as service:
        batches = [[MemoryDraft(f"{batch} and {number}") for number in range(18)] for batch in range(4)]
        held = [service.held_to(max_memories=30) for _ in batches]
        stored = await asyncio.gather(*map(MemoryService.store_batch, held, batches), return_exceptions=True)
        assert sorted(isinstance(outcome, QuotaExceeded) for outcome in stored) == [False, True, True, True]
        assert (await service.stats()).memories == 18


def test_a_key_for_many_namespaces_names_one_where_it_is_used(tmp_path: Path, ring: KeyRing):
    headers = {"authorization": f"Bearer {ring.create(NewKey('team', ('team/*',), Scope.WRITE))[1]}"}
    with rest_client(tmp_path / "a.db") as client:
        for arguments, told in (({"namespace": "team/a"}, "0memories"), ({}, "namespace_required")):
            params = {"name": "list_memories", "arguments": arguments}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
            accept = {"accept": "application/json, text/event-stream"}
            assert told in client.post("/mcp", json=message, headers=headers | accept).text.replace(" ", "")


def test_a_header_that_decides_is_sent_once(tmp_path: Path, ring: KeyRing):
    good = f"Bearer {ring.create(NewKey('one', ('default',), Scope.READ))[1]}"
    with rest_client(tmp_path / "a.db") as client:
        for twice in ([("authorization", good), ("authorization", "Bearer x")], [("x-namespace", "default")] * 2):
            answer = client.get("/memories", headers=twice)
            assert (answer.status_code, answer.json()["code"]) == (400, "header_repeated")


def test_nobody_holds_a_stream_for_ever(walled: Walled):
    headers = {"authorization": f"Bearer {walled.kinds['read'].authorization}"}
    assert walled.client.get("/mcp", headers=headers).status_code == 405
    listen: dict[str, Any] = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "subscriptions/listen",
        "params": {"notifications": {}},
    }
    headers |= {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2026-07-28"}
    assert walled.client.post("/mcp", json=listen, headers=headers).status_code >= 400


def test_every_namespace_may_have_so_much(tmp_path: Path):
    with rest_client(tmp_path / "a.db", max_memories=1) as client:
        assert client.post("/memories", json={"content": "one"}).status_code == 201
        assert client.post("/memories", json={"content": "two"}).json()["code"] == "quota_exceeded"
        assert client.post("/memories", json={"content": "two"}, headers={"x-namespace": "b"}).status_code == 201


def test_a_key_in_the_address_is_no_key(walled: Walled):
    written = walled.kinds["admin"].authorization
    for name in ("access_token", "key", "token", "api_key"):
        assert walled.client.get(f"/memories?{name}={written}").status_code == 401


def test_it_is_said_who_issues_tokens(tmp_path: Path):
    issuer = {
        "oauth_issuer": "https://id.example",
        "oauth_audience": "https://m.example",
        "oauth_jwks_url": "https://id.example/k",
    }
    with rest_client(tmp_path / "a.db", public_url="https://m.example/", **issuer) as client:
        for path in ("", "/mcp"):
            told = client.get(f"/.well-known/oauth-protected-resource{path}").json()
            assert told["resource"] == f"https://m.example{path}"
            assert told["authorization_servers"] == ["https://id.example"]
            assert told["scopes_supported"] == ["read", "write", "admin"]
        assert client.get("/memories").status_code == 401


class Keys(BaseHTTPRequestHandler):
    """The keys of an authorization server."""

    private: ClassVar[ec.EllipticCurvePrivateKey] = ec.generate_private_key(ec.SECP256R1())

    def do_GET(self) -> None:
        key = ECAlgorithm.to_jwk(self.private.public_key(), as_dict=True)
        body = json.dumps({"keys": [{**key, "kid": "one", "use": "sig", "alg": "ES256"}]}).encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name that the library gives it
        pass


@pytest.fixture
def issuer() -> Generator[str, None, None]:
    server = HTTPServer(("127.0.0.1", 0), Keys)
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_tokens_of_an_authorization_server_are_taken(tmp_path: Path, issuer: str):
    claims = {
        "iss": issuer,
        "aud": "https://memory.example",
        "sub": "alice",
        "exp": int(time.time()) + 600,
        "scope": "openid read",
        "namespace": "team/alice",
    }

    def status(change: dict[str, Any], method: str = "GET", **made: Any) -> int:
        signed: dict[str, Any] = {"algorithm": "ES256", "headers": {"kid": "one"}, "key": Keys.private, **made}
        payload = {name: value for name, value in {**claims, **change}.items() if value is not None}
        headers = {"authorization": f"Bearer {jwt.encode(payload, **signed)}"}
        return client.request(method, "/memories", headers=headers, json={"content": "x"}).status_code

    settings = {"oauth_issuer": issuer, "oauth_audience": "https://memory.example", "oauth_jwks_url": f"{issuer}/jwks"}
    with rest_client(tmp_path / "a.db", **settings) as client:
        assert status({}) == 200
        assert status({}, "POST") == 403
        assert status({"scope": "read write", "namespace": ["team/*", "team/alice"]}, "POST") == 201
        for wrong in (
            {"aud": "https://another.example"},
            {"iss": "https://another.example"},
            {"exp": int(time.time()) - 600},
            {"exp": None},
            {"scope": "openid"},
            {"scope": None},
            {"namespace": None},
            {"namespace": "../x"},
            {"namespace": 7},
        ):
            assert status(wrong) == 401, wrong
        assert status({}, key=ec.generate_private_key(ec.SECP256R1())) == 401
        assert status({}, algorithm="HS256", key="a secret that is long enough for a test") == 401
        head, body = (
            base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=")
            for part in ({"alg": "none"}, claims)
        )
        unsigned = client.get("/memories", headers={"authorization": f"Bearer {head}.{body}."})
        assert unsigned.status_code == 401
