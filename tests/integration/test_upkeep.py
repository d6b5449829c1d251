"""doctor, backup, restore and purge as a user runs them, and a service whose store is not well."""

import asyncio
import http.client
import json
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import Finished, rest_client, server_process
from tests.reliability.oracle import problems_of, unseen
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.errors import StorageReadOnly
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage, StoreUpkeep
from mcp_memory_service.storage.sqlite_vec.file.connection import connect

Cli = Callable[..., Finished]


def test_doctor_says_sound_or_what_is_wrong_and_mends_it(run_cli: Cli, tmp_path: Path):
    assert run_cli("doctor").code == 5, "there is no store yet"
    for content in ("the tunnel", "the harbour"):
        assert run_cli("store", content, "--tag", "t").code == 0
    sound = run_cli("doctor")
    assert (sound.code, "Sound." in sound.out, sound.err) == (0, True, "")
    raw = connect(tmp_path / "cli.db", read_only=False)
    raw.execute("DELETE FROM vectors")
    raw.execute("UPDATE tags SET memories = 9")
    raw.close()

    found = run_cli("doctor", "--json")
    told = json.loads(found.out)
    assert (found.code, told["sound"]) == (8, False)
    assert {finding["code"] for finding in told["findings"]} == {"vectors_missing", "tag_counts_wrong"}
    assert "doctor --repair" in run_cli("doctor").out

    mended = run_cli("doctor", "--repair", "--json")
    told = json.loads(mended.out)
    assert (mended.code, told["sound"], set(told["repaired"])) == (0, True, {"vectors_missing", "tag_counts_wrong"})
    assert Path(told["copy"]).is_file()
    first = json.loads(run_cli("search", "the tunnel", "--mode", "semantic", "--json").out)["results"][0]
    assert first["memory"]["content"] == "the tunnel"


def test_backup_and_restore(run_cli: Cli, tmp_path: Path):
    run_cli("store", "kept", "--tag", "t")
    made = run_cli("backup", str(tmp_path / "a.backup"))
    assert (made.code, "1 memories" in made.out, made.err) == (0, True, "")
    assert run_cli("backup", f"{tmp_path}/new folder/").code == 0
    assert [file.suffix for file in (tmp_path / "new folder").iterdir()] == [".backup"]
    assert run_cli("backup", "").code == 2
    again = run_cli("backup", str(tmp_path / "a.backup"))
    assert (again.code, "exists already" in again.err) == (2, True)
    run_cli("store", "written after the backup")

    restored = json.loads(run_cli("restore", str(tmp_path / "a.backup"), "--json").out)
    assert restored["memories"] == 1
    assert [memory["content"] for memory in json.loads(run_cli("list", "--json").out)["memories"]] == ["kept"]
    assert run_cli("restore", restored["copy"]).code == 0
    assert json.loads(run_cli("stats", "--json").out)["memories"] == 2

    damaged = tmp_path / "b.backup"
    data = bytearray((tmp_path / "a.backup").read_bytes())
    data[len(data) // 2] ^= 1
    damaged.write_bytes(data)
    refused = run_cli("restore", str(damaged))
    assert (refused.code, "[backup_damaged]" in refused.err) == (5, True)
    assert json.loads(run_cli("stats", "--json").out)["memories"] == 2


def test_a_backup_is_no_store_and_doctor_verifies_it(run_cli: Cli, tmp_path: Path):
    run_cli("store", "kept")
    backup = tmp_path / "a.backup"
    run_cli("backup", str(backup))
    before = backup.read_bytes()
    for command in (("list",), ("store", "x"), ("stats",)):
        refused = run_cli(*command, "--sqlite-path", str(backup))
        assert (refused.code, "is a backup" in refused.err) == (5, True)
    sound = run_cli("doctor", "--sqlite-path", str(backup))
    assert (sound.code, "1 memories" in sound.out, "Sound." in sound.out) == (0, True, True)
    assert backup.read_bytes() == before
    backup.write_bytes(before[:5000] + bytes([before[5000] ^ 1]) + before[5001:])
    assert run_cli("doctor", "--sqlite-path", str(backup)).code == 8


def test_a_restore_of_another_model_is_noted(run_cli: Cli, tmp_path: Path):
    run_cli("store", "kept")
    run_cli("backup", str(tmp_path / "a.backup"))
    another = {"MCP_MEMORY_EMBEDDING_BACKEND": "http", "MCP_MEMORY_EMBEDDING_URL": "http://127.0.0.1:9"}
    restored = run_cli("restore", str(tmp_path / "a.backup"), MCP_MEMORY_EMBEDDING_MODEL="another", **another)
    assert (restored.code, "services refuse the store" in restored.err) == (0, True)


def test_upkeep_of_qdrant_is_refused_with_advice(run_cli: Cli, tmp_path: Path):
    for command in (("doctor",), ("backup", str(tmp_path / "x")), ("restore", str(tmp_path / "x"))):
        refused = run_cli(*command, "--storage-backend", "qdrant")
        assert (refused.code, "[sqlite_only]" in refused.err) == (2, True)


def test_purge_by_command(run_cli: Cli, tmp_path: Path):
    run_cli("store", "a zebracanary passes", "--tag", "zebracanary", "--metadata", '{"k": "zebracanary"}')
    run_cli("store", "stays")
    assert b"zebracanary" in (tmp_path / "cli.db").read_bytes()
    purged = run_cli("purge", content_hash("a zebracanary passes"), "--json")
    assert (purged.code, json.loads(purged.out)) == (0, {"not_found": [], "memories": 1, "state": "erased"})
    assert all(b"zebracanary" not in file.read_bytes() for file in tmp_path.glob("cli.db*"))
    again = run_cli("purge", content_hash("a zebracanary passes"))
    assert (again.code, f"Not there: {content_hash('a zebracanary passes')}" in again.out) == (3, True)
    assert run_cli("purge").code == 0
    assert run_cli("purge", "nonsense").code == 2
    assert run_cli("purge", "--sqlite-path", str(tmp_path / "none.db")).code == 5
    assert not (tmp_path / "none.db").exists()
    assert json.loads(run_cli("stats", "--json").out)["memories"] == 1


@pytest.mark.parametrize("deleted", [False, True])
def test_a_purge_by_command_takes_the_bytes_of_all_versions(run_cli: Cli, tmp_path: Path, deleted: bool):
    first, last = content_hash("a zebracanary passes"), content_hash("a lioncanary passes")
    run_cli("store", "a zebracanary passes", "--tag", "zebracanary")
    assert run_cli("edit", first[:12], "a lioncanary passes").code == 0
    if deleted:
        assert run_cli("delete", last).code == 0
    assert run_cli("doctor").code == 0
    assert run_cli("purge", last[:12]).code == 0
    held = b"".join(file.read_bytes() for file in tmp_path.glob("cli.db*"))
    assert [word for word in (b"zebracanary", b"lioncanary", first.encode(), last.encode()) if word in held] == []


COPY_UNTIL_KILLED = """
import os, signal, sys
from pathlib import Path
from mcp_memory_service.private_files import atomic_new_file

with atomic_new_file(Path(sys.argv[1])) as part:
    part.write_text(sys.argv[2])
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_purge_takes_what_a_killed_backup_or_export_left_behind(run_cli: Cli, tmp_path: Path):
    run_cli("store", "a zebracanary passes")
    export = tmp_path / "cli.jsonl"
    subprocess.run([sys.executable, "-c", COPY_UNTIL_KILLED, export, "a zebracanary passes"], check=False)
    assert len(list(tmp_path.glob(".*.part"))) == 1
    assert run_cli("purge", content_hash("a zebracanary passes")).code == 0
    assert all(b"zebracanary" not in file.read_bytes() for file in tmp_path.iterdir() if file.is_file())


def test_an_answer_tells_nobody_where_the_store_lies(rest: TestClient, tmp_path: Path):
    stored = rest.post("/memories", json={"content": "kept"}).json()["content_hash"]
    next_in_line = tmp_path / "rest.db-next"
    next_in_line.unlink()
    next_in_line.mkdir()
    answers = [rest.post("/memories", json={"content": "not stored"})]
    (tmp_path / "rest.db").rename(tmp_path / "moved.db")
    answers += [rest.post("/memories", json={"content": "nor this"}), rest.get(f"/memories/{stored}")]
    answers += [rest.get("/stats"), rest.post("/memories/retrieve", json={"query": "kept"}), rest.get("/ready")]
    assert [answer.status_code for answer in answers] == [503] * len(answers)
    assert [answer.text for answer in answers if str(tmp_path) in answer.text] == []


def test_a_purge_that_a_reader_holds_up_is_pending_and_the_next_write_ends_it(rest: TestClient, tmp_path: Path):
    stored = rest.post("/memories", json={"content": "a zebracanary passes"}).json()
    reader = connect(tmp_path / "rest.db", read_only=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM memories").fetchall()
    purged = rest.post("/memories/purge", json={"content_hashes": [stored["content_hash"]]})
    assert (purged.status_code, purged.json()) == (200, {"not_found": [], "memories": 1, "state": "pending"})
    assert rest.get(f"/memories/{stored['content_hash']}").status_code == 404
    reader.execute("ROLLBACK")
    reader.close()
    rest.post("/memories", json={"content": "something else"})
    assert all(b"zebracanary" not in file.read_bytes() for file in tmp_path.glob("rest.db*"))
    assert rest.post("/memories/purge", json={"content_hashes": []}).json()["state"] == "erased"


@pytest.mark.parametrize("hashes", [["nonsense"], ["0" * 63 + "G"]])
def test_a_purge_of_what_is_no_hash_is_refused(rest: TestClient, hashes: list[str]):
    answer = rest.post("/memories/purge", json={"content_hashes": hashes})
    assert (answer.status_code, answer.json()["code"]) == (422, "content_hash_invalid")


def test_ready_tells_of_a_store_that_was_moved_away(rest: TestClient, tmp_path: Path):
    (tmp_path / "rest.db").rename(tmp_path / "moved.db")
    answer = rest.get("/ready")
    assert (answer.status_code, answer.headers["retry-after"]) == (503, "5")
    assert answer.json() == {
        "ready": False, "can_store": False, "can_search": False, "problems": ["storage_unavailable"],
    }  # fmt: skip
    assert rest.get("/health").status_code == 200


def test_a_page_that_went_bad_is_told_and_no_empty_answer(tmp_path: Path):
    path = tmp_path / "rest.db"
    with rest_client(path) as rest:
        rest.post("/memories", json={"content": "a memory", "tags": ["kept"]})
    raw = connect(path, read_only=True)
    page = raw.execute("SELECT rootpage FROM sqlite_schema WHERE name = 'memories'").get
    raw.close()
    data = bytearray(path.read_bytes())
    data[(page - 1) * 8192 : page * 8192] = b"\xff" * 8192
    path.write_bytes(data)
    with rest_client(path) as rest:
        answer = rest.get("/memories")
        assert (answer.status_code, answer.json()["code"]) == (503, "store_corrupt")
        assert "retry-after" not in answer.headers
        assert rest.post("/memories/retrieve", json={"query": "memory"}).status_code == 503
        assert rest.get("/ready").json()["problems"] == ["store_corrupt"]
        assert rest.get("/tags").json()["tags"] == [{"tag": "kept", "memories": 1}], "what can be read is read"


def _use_as_nobody(path: Path, told: "multiprocessing.Queue[str]") -> None:
    """Root may write what is read-only: another user is asked."""
    if os.geteuid() == 0:
        os.seteuid(65534)

    async def use() -> None:
        store = await SqliteVecStorage.open_existing(path, indexed_text)
        told.put(str(await store.count_all_memories("default")))
        await store.check_search()
        told.put(str(StoreUpkeep(path, indexed_text, unseen).inspect().findings))
        for write in (store.check_write(), store.delete("default", content_hash("kept"))):
            try:
                await write
            except StorageReadOnly as error:
                told.put(error.code)
        await store.close()

    asyncio.run(use())


@pytest.mark.skipif(sys.platform == "win32", reason="other permissions")
def test_a_read_only_file_is_read_and_says_that_it_cannot_be_written(run_cli: Cli):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memories.db"
        assert run_cli("store", "kept", "--sqlite-path", str(path)).code == 0
        Path(folder).chmod(0o777)
        path.chmod(0o444)
        context = multiprocessing.get_context("spawn")
        told: multiprocessing.Queue[str] = context.Queue()
        process = context.Process(target=_use_as_nobody, args=(path, told))
        process.start()
        said = [told.get(timeout=HANG_SECONDS) for _ in range(4)]
        assert said == ["1", "()", "storage_read_only", "storage_read_only"]
        process.join(HANG_SECONDS)
        assert process.exitcode == 0


def test_a_server_that_is_stopped_finishes_what_it_accepted(tmp_path: Path):
    batch = {"memories": [{"content": f"memory {i}: " + "some words to embed " * 40} for i in range(20)]}
    with server_process(tmp_path) as server:
        host, port = server.url.removeprefix("http://").split(":")
        connection = http.client.HTTPConnection(host, int(port), timeout=HANG_SECONDS)
        connection.request("POST", "/memories/batch", json.dumps(batch), {"content-type": "application/json"})
        for _ in range(2):  # the batch came before these, so it is accepted once they are answered
            assert server.http.get("/health").status_code == 200
        server.process.send_signal(signal.SIGTERM)
        assert connection.getresponse().status == 200
        connection.close()
        assert server.process.wait(HANG_SECONDS) in {0, -signal.SIGTERM}
    assert problems_of(tmp_path / "server.db") == []
    raw = connect(tmp_path / "server.db", read_only=True)
    assert raw.execute("SELECT count(*) FROM memories").get == 20
    raw.close()
