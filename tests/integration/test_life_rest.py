"""The life of a memory over REST: edited, superseded, deleted, brought back, changed with many others."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from tests.integration.conftest import rest_client
from tests.support.qdrant_target import collection_of


@pytest.fixture(params=["sqlite_vec", "qdrant"])
def client(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TestClient]:
    settings: dict[str, Any] = {}
    if request.param == "qdrant":
        url = request.getfixturevalue("qdrant_url")
        settings = {"storage_backend": "qdrant", "qdrant_url": url, "qdrant_collection": collection_of(tmp_path)}
    with rest_client(tmp_path / "store.db", **settings) as opened:
        yield opened


def stored(client: TestClient, content: str, **fields: Any) -> str:
    answer = client.post("/memories", json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    return answer.json()["content_hash"]


def found(client: TestClient, query: str, **asked: Any) -> list[str]:
    answer = client.post("/memories/retrieve", json={"query": query, **asked})
    assert answer.status_code == 200, answer.text
    return [hit["memory"]["content"] for hit in answer.json()["results"]]


def test_a_stale_fact_is_superseded_and_kept(client: TestClient):
    old = [stored(client, f"Deploys go out on Tuesdays, says the {who}") for who in ("wiki", "lead", "calendar")]
    new = stored(client, "Deploys go out on Thursdays", supersedes=[each[:12] for each in old])
    assert found(client, "when do deploys go out") == ["Deploys go out on Thursdays"]
    assert len(found(client, "when do deploys go out", include_superseded=True)) == 4
    assert client.get(f"/memories/{old[0][:8]}").json()["content_hash"] == new
    versions = client.get(f"/memories/{new}/history").json()["versions"]
    assert [version["ended_at"] is None for version in versions] == [True, False, False, False]
    assert client.get("/memories").json()["total"] == 1
    assert client.get("/memories?include_superseded=true").json()["total"] == 4
    unknown = client.post("/memories", json={"content": "x", "supersedes": ["0" * 12]})
    assert (unknown.status_code, unknown.json()["code"]) == (422, "superseded_unknown")


def test_an_edit_keeps_the_memory_and_its_history(client: TestClient):
    old = stored(client, "The gate is red", tags=["gate"], metadata={"n": 1}, pinned=True)
    before = client.get(f"/memories/{old}").json()
    edited = client.patch(f"/memories/{old[:10]}", json={"content": "The gate is green"}).json()
    kept = ("created_at", "tags", "metadata", "pinned")
    assert {name: edited[name] for name in kept} == {name: before[name] for name in kept}
    assert edited["edited_at"] is not None
    assert client.get(f"/memories/{old}").json() == edited
    assert found(client, "gate", as_of=before["created_at"]) == ["The gate is red"]
    assert found(client, "gate") == ["The gate is green"]
    for bad in ({"content": ""}, {"content": None, "pinned": "maybe"}, {"expires_at": "soon"}):
        assert client.patch(f"/memories/{old}", json=bad).status_code == 422


def test_a_deleted_memory_comes_back_with_one_call(client: TestClient):
    kept = stored(client, "precious", tags=["t"])
    assert client.delete(f"/memories/{kept[:9]}").status_code == 204
    assert (client.get(f"/memories/{kept}").status_code, found(client, "precious")) == (404, [])
    assert [memory["content"] for memory in client.get("/trash").json()["memories"]] == ["precious"]
    restored = client.post(f"/memories/{kept[:12]}/restore")
    assert (restored.status_code, restored.json()["ended_at"]) == (200, None)
    assert found(client, "precious") == ["precious"]
    assert client.post(f"/memories/{kept}/restore").status_code == 404
    purged = client.post("/memories/purge", json={"content_hashes": [kept[:12]]})
    assert purged.json()["not_found"] == []
    assert client.get("/overview").json()["stats"]["memories"] == 0


def test_many_are_deleted_once_their_number_is_confirmed(client: TestClient):
    for number in range(3):
        stored(client, f"scratch {number}", tags=["scratch"])
    stored(client, "kept")
    asked = {"tags": ["scratch"]}
    assert client.post("/memories/delete", json=asked).json()["matched"] == 3
    wrong = client.post("/memories/delete", json={**asked, "expected_count": 2})
    assert (wrong.status_code, wrong.json()["code"]) == (409, "count_changed")
    done = client.post("/memories/delete", json={**asked, "expected_count": 3}).json()
    assert (done["matched"], done["changed"]) == (3, 3)
    assert [memory["content"] for memory in client.get("/memories").json()["memories"]] == ["kept"]
    tagged = {"pinned": False, "add_tags": ["new"], "expected_count": 1}
    assert client.post("/memories/retag", json=tagged).json()["changed"] == 1
    assert client.get("/tags").json()["tags"] == [{"tag": "new", "memories": 1}]
    assert client.post("/memories/retag", json={"pinned": False}).json()["code"] == "no_tags_given"
    assert client.post("/memories/delete", json={"expected_count": 1}).json()["code"] == "filter_required"


def test_filters_are_the_same_in_bodies_and_addresses(client: TestClient):
    stored(client, "note one", session="s", source="cli", memory_type="fix", metadata={"project": "a", "n": 1})
    stored(client, "note two", session="t", source="agent", memory_type="fact", metadata={"project": "b", "n": True})
    for body, address, expected in (
        ({"session": "s"}, "session=s", "note one"),
        ({"source": "agent"}, "source=agent", "note two"),
        ({"types": ["fix", "plan"]}, "types=fix&types=plan", "note one"),
        ({"metadata": {"project": "b"}}, 'metadata={"project":"b"}', "note two"),
        ({"metadata": {"n": 1}}, 'metadata={"n":1}', "note one"),
    ):
        assert found(client, "note", **body) == [expected]
        listed = client.get(f"/memories?{address}").json()
        assert [memory["content"] for memory in listed["memories"]] == [expected]
    for bad in ("metadata=[1]", "metadata={", 'metadata={"n":[1]}', "types=", "session="):
        assert client.get(f"/memories?{bad}").status_code == 422, bad
    many = {"metadata": {str(number): 1 for number in range(21)}}
    assert client.post("/memories/retrieve", json={"query": "x", **many}).status_code == 422


def test_what_has_expired_is_listed_only_when_asked_for(client: TestClient):
    brief = stored(client, "the code is 1234")
    client.patch(f"/memories/{brief}", json={"expires_at": "2020-01-01T00:00:00Z"})
    assert (found(client, "code"), client.get("/memories").json()["total"]) == ([], 0)
    assert client.get("/memories?expired=true").json()["memories"][0]["expires_at"] == "2020-01-01T00:00:00Z"
    late = client.post("/memories", json={"content": "x", "expires_at": "2020-01-01T00:00:00Z"})
    assert (late.status_code, late.json()["code"]) == (422, "already_expired")
    assert client.get("/overview").json()["expired"] == 1


def test_context_is_what_is_pinned_and_what_is_asked(client: TestClient):
    stored(client, "always use tabs", pinned=True)
    stored(client, "the tunnel is up")
    context = client.post("/memories/context", json={"query": "tunnel"}).json()
    assert [memory["content"] for memory in context["pinned"]] == ["always use tabs"]
    assert [hit["memory"]["content"] for hit in context["found"]["results"]] == ["the tunnel is up"]
    context = client.post("/memories/context", json={}).json()
    assert (context["found"], [memory["content"] for memory in context["recent"]]) == (None, ["the tunnel is up"])
    assert [memory["content"] for memory in client.get("/memories?pinned=true").json()["memories"]] == [
        "always use tabs"
    ]
