"""`Idempotency-Key` as clients see it, by REST and on the command line."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import Finished

Run = Callable[..., Finished]

KEY = {"Idempotency-Key": "1c9a4a3e-2f0b-4d5c-9a55-0e8c5f1d7b21"}


def stored_at(rest: TestClient, **fields: Any) -> str:
    answer = rest.post("/memories", json=fields)
    return f"/memories/{answer.json()['content_hash']}"


def test_a_delete_can_be_sent_again(rest: TestClient):
    url = stored_at(rest, content="tunnel")
    assert [rest.delete(url, headers=KEY).status_code for _ in range(2)] == [204, 204]
    assert rest.get(url).status_code == 404
    assert stored_at(rest, content="tunnel") == url
    assert rest.delete(url, headers=KEY).status_code == 204
    assert rest.get(url).status_code == 200
    assert rest.delete(url).status_code == 204
    assert rest.delete(url).status_code == 404
    assert rest.delete(url, headers=KEY).status_code == 204


def test_a_delete_of_nothing_stays_one(rest: TestClient):
    url = stored_at(rest, content="tunnel")
    rest.delete(url)
    assert rest.delete(url, headers=KEY).status_code == 404
    stored_at(rest, content="tunnel")
    assert rest.delete(url, headers=KEY).status_code == 404
    assert rest.get(url).status_code == 200


def test_an_update_can_be_sent_again(rest: TestClient):
    url = stored_at(rest, content="tunnel")
    first = rest.patch(url, json={"tags": ["ours"], "metadata": {"a": 1, "b": 2}}, headers=KEY)
    assert (first.status_code, first.json()["tags"]) == (200, ["ours"])
    theirs = rest.patch(url, json={"tags": ["theirs"]}).json()
    again = rest.patch(url, json={"metadata": {"b": 2, "a": 1}, "tags": ["ours"]}, headers=KEY)
    assert (again.status_code, again.json()) == (200, theirs)
    rest.delete(url)
    gone = rest.patch(url, json={"tags": ["ours"], "metadata": {"a": 1, "b": 2}}, headers=KEY)
    assert (gone.status_code, gone.json()["code"]) == (404, "memory_not_found")


def test_a_key_for_another_request_is_refused(rest: TestClient):
    url, other = stored_at(rest, content="tunnel", memory_type="fact"), stored_at(rest, content="bridge")
    assert rest.patch(url, json={"metadata": {"n": 1}}, headers=KEY).status_code == 200
    refused = [
        rest.delete(url, headers=KEY),
        rest.patch(other, json={"metadata": {"n": 1}}, headers=KEY),
        rest.patch(url, json={"metadata": {"n": 1.0}}, headers=KEY),
        rest.patch(url, json={"metadata": {"n": True}}, headers=KEY),
        rest.patch(url, json={"metadata": {"n": 1}, "memory_type": None}, headers=KEY),
        rest.patch(url, json={"metadata": {"n": 1}, "tags": []}, headers=KEY),
    ]
    assert {(answer.status_code, answer.json()["code"]) for answer in refused} == {(422, "idempotency_key_reused")}
    assert rest.get(url).json()["metadata"] == {"n": 1}
    assert rest.get(url).json()["memory_type"] == "fact"


@pytest.mark.parametrize("key", [b"", b"x" * 201, b"tab\there", "größe".encode("latin-1"), b"\x7f"])
def test_an_odd_key_is_refused_before_anything_is_done(rest: TestClient, key: bytes):
    url = stored_at(rest, content="tunnel")
    headers = {b"Idempotency-Key": key}
    for answer in (
        rest.request("DELETE", url, headers=headers),
        rest.patch(url, json={"tags": ["a"]}, headers=headers),
    ):
        assert (answer.status_code, answer.json()["code"]) == (422, "idempotency_key_invalid")
    assert rest.get(url).json()["tags"] == []


def test_a_key_may_have_two_hundred_characters_of_any_printable_kind(rest: TestClient):
    url = stored_at(rest, content="tunnel")
    key = "".join(map(chr, range(0x21, 0x7F))) + " " + "x" * 105
    assert [rest.delete(url, headers={"Idempotency-Key": key}).status_code for _ in range(2)] == [204, 204]


def test_neither_key_nor_patch_is_kept_as_text(rest: TestClient, tmp_path: Path):
    url = stored_at(rest, content="tunnel")
    rest.patch(url, json={"metadata": {"k": "hunter2"}}, headers={"Idempotency-Key": "private-words"})
    rest.delete(url)
    raw = apsw.Connection(str(tmp_path / "rest.db"))
    noted = str(raw.execute("SELECT * FROM idempotency_keys").fetchall())
    raw.close()
    assert len(noted) > 128
    assert "private-words" not in noted
    assert "hunter2" not in noted


def test_the_command_line_deletes_once(run_cli: Run):
    def store() -> str:
        return json.loads(run_cli("store", "tunnel", "--json").out)["content_hash"]

    chosen = store()
    for _ in range(2):
        done = run_cli("delete", chosen, "--idempotency-key", "k")
        assert (done.code, done.out) == (0, f"Deleted: {chosen[:12]}\n")
    assert store() == chosen
    assert run_cli("delete", chosen, "--idempotency-key", "k").code == 0
    assert chosen[:12] in run_cli("list").out
    reused = run_cli("delete", "0" * 64, "--idempotency-key", "k")
    assert (reused.code, "[idempotency_key_reused]" in reused.err) == (2, True)
    odd = run_cli("delete", chosen, "--idempotency-key", "")
    assert (odd.code, "[idempotency_key_invalid]" in odd.err) == (2, True)
