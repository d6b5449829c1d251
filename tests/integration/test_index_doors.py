"""A folder of notes through REST, MCP and the command line; links between notes count in each."""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from tests.integration.conftest import Finished, rest_client
from tests.support.fakes import WordEmbedder
from tests.support.mcp_answers import good_text, text_of
from tests.support.vaults import write

from mcp_memory_service.mcp_server import build_mcp_server
from mcp_memory_service.services import DocumentOptions, MemoryService
from mcp_memory_service.storage.memory import MemoryStore

NOTES = {
    "Backups.md": "---\ntags: [infra]\n---\n# Backups\n\n## Nightly run\n\nRestic runs every night, see [[Server]].\n",
    "hardware/Server.md": "# Server\n\nA small box in the cellar.\n",
    "broken.md": "# Broken\n\n[[Nowhere]]\n",
}
Run = Callable[..., Finished]


def as_json(run_cli: Run, *command: str) -> Any:
    done = run_cli(*command, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def test_a_folder_is_indexed_and_found_over_rest(tmp_path: Path):
    vault = write(tmp_path / "vault", NOTES)
    with rest_client(tmp_path / "own" / "rest.db", index_roots=(str(vault),)) as rest:
        answer = rest.post("/index", json={"path": str(vault)})
        assert answer.status_code == 200, answer.text
        last = answer.json()["last"]
        assert (last["added"], last["links"]) == (3, {"resolved": 1, "broken": 1})
        found = rest.post("/memories/retrieve", json={"query": "restic night", "kinds": ["note"]}).json()
        first = found["results"][0]["memory"]
        assert first["kind"] == "note"
        assert first["place"] == {
            "path": "Backups.md",
            "title": "Backups",
            "heading_path": ["Backups"],
            "first_line": 4,
            "last_line": 8,
            "link": "[[Backups]]",
            "freshness": "fresh",
        }
        status = rest.get("/index").json()
        assert [(root["root"], root["documents"], root["settled"]) for root in status["roots"]] == [
            (vault.as_posix(), 3, True)
        ]
        assert 0.0 <= status["embedding_coverage"] <= 1.0
        assert rest.get("/memories").json()["total"] == 0
        assert rest.get("/memories", params={"kinds": ["note"]}).json()["total"] == 3
        assert rest.delete(f"/memories/{first['content_hash']}").json()["code"] == "content_of_a_source"
        for change in ({"content": "x"}, {"tags": ["x"]}, {"metadata": {"lines": None}}, {"pinned": True}):
            refused = rest.patch(f"/memories/{first['content_hash']}", json=change)
            assert (refused.status_code, refused.json()["code"]) == (422, "content_of_a_source")
        assert rest.delete("/index", params={"path": str(vault)}).json() == {"documents": 3}
        assert rest.post("/memories/retrieve", json={"query": "restic night"}).json()["total"] == 0


def test_rest_refuses_what_the_owner_does_not_allow(tmp_path: Path):
    vault = write(tmp_path / "vault", NOTES)
    with rest_client(tmp_path / "own" / "rest.db") as rest:
        refused = rest.post("/index", json={"path": str(vault)})
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        assert rest.post("/index", json={"path": str(vault), "wath": True}).status_code == 422
    with rest_client(tmp_path / "own" / "rest.db", index_roots=(str(vault),)) as rest:
        assert rest.post("/index", json={"path": str(tmp_path)}).status_code == 403
        missing = rest.post("/index", json={"path": str(vault / "missing")})
        assert (missing.status_code, missing.json()["code"]) == (422, "path_not_found")
        endless = rest.post("/index", json={"path": str(vault / ("x" * 300))})
        assert (endless.status_code, endless.json()["code"]) == (422, "path_not_found")
        assert rest.post("/memories/retrieve", json={"query": "x", "kinds": ["nonsense"]}).status_code == 422


def test_a_path_that_is_not_absolute_is_told_from_one_outside(tmp_path: Path):
    vault = write(tmp_path / "vault", NOTES)
    with rest_client(tmp_path / "own" / "rest.db", index_roots=(str(vault),)) as rest:
        for path in ("vault", ""):
            refused = rest.post("/index", json={"path": path})
            assert (refused.status_code, refused.json()["code"]) == (422, "path_invalid")


@pytest.mark.skipif(os.geteuid() == 0, reason="root looks everywhere")
def test_a_path_that_may_not_be_looked_at_is_not_said_to_be_missing(run_cli: Run, tmp_path: Path):
    hidden = write(tmp_path / "vault", NOTES) / "hardware"
    hidden.chmod(0)
    done = run_cli("index", str(hidden / "Server.md"))
    hidden.chmod(0o700)
    assert (done.code, "[path_unreadable]" in done.err) == (2, True)


async def test_a_model_indexes_a_folder_and_sees_where_its_passages_stand(store: MemoryStore, tmp_path: Path):
    vault = write(tmp_path / "vault", NOTES)
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions((vault,)))
    async with Client(build_mcp_server(service, 20_000)) as client:
        said = good_text(await client.call_tool("index_directory", {"path": str(vault)}))
        assert "3 added" in said
        assert "1 broken" in said
        found = good_text(await client.call_tool("retrieve_memory", {"query": "restic night"}))
        assert "@ Backups.md:4 Backups" in found
        assert "file:line headings" in found
        narrowed = {"query": "restic night", "scope": str(vault / "Backups.md")}
        assert "1 found" in good_text(await client.call_tool("retrieve_memory", narrowed))
        refused = await client.call_tool("retrieve_memory", narrowed | {"scope": "Backups.md"})
        assert refused.is_error
        assert "must be absolute: get_memory shows the source" in text_of(refused)
        write(vault, {"Backups.md": "Borg now."})
        said = good_text(await client.call_tool("index_file", {"path": str(vault / "Backups.md")}))
        assert "1 changed" in said
        write(vault, {"Backups.md": "---\na: [\n---\nBorg still.", "photo.md": b"\x00"})
        said = good_text(await client.call_tool("index_directory", {"path": str(vault)}))
        assert f'Left out: "{vault / "photo.md"}" ("it is a binary file: it has NUL characters")' in said
        assert f'Read in part: "{vault / "Backups.md"}" ("its front matter cannot be read: line 3:' in said
        refused = await client.call_tool("index_directory", {"path": str(tmp_path)})
        assert refused.is_error


def test_a_folder_is_indexed_from_the_command_line(run_cli: Run, tmp_path: Path):
    vault = write(tmp_path / "vault", NOTES)
    assert run_cli("index", str(vault), "--dry-run").out.startswith(f"Would index {vault}: 3 added")
    report = as_json(run_cli, "index", str(vault))
    assert (report["added"], report["unchanged"]) == (3, 0)
    assert run_cli("index", str(vault)).out.startswith(f"Indexed {vault}: 3 unchanged")
    found = run_cli("search", "restic night", "--kind", "note", "--limit", "1").out
    assert "Backups.md:4-8 Backups" in found
    assert as_json(run_cli, "search", "restic night", "--scope", "vault/hardware")["total"] == 1
    shown = run_cli("index").out
    assert "3 documents" in shown
    assert "embedding coverage 100.0%" in shown
    assert run_cli("index", str(vault / "hardware"), "--forget").out.startswith("1 documents taken out")
    assert "(not settled: the next run looks at all of it again)" in run_cli("index").out
    assert run_cli("index", str(vault)).out.startswith(f"Indexed {vault}: 1 added, 2 unchanged")
    assert run_cli("index", str(vault), "--forget").out == "3 documents taken out; the files stay as they are.\n"
    assert run_cli("index").out.startswith("No folder is indexed.")
    assert run_cli("index", str(vault), "--forget").out == f"No document of {vault} is indexed.\n"
    for refused in ({"photo.png": b"\x89PNG"}, {"photo.md": b"\x00"}):
        done = run_cli("index", str(write(tmp_path / "photos", refused) / next(iter(refused))))
        assert (done.code, "1 refused" in done.out) == (2, True)
    assert run_cli("index").out.startswith("No folder is indexed.")
    assert run_cli("index", str(tmp_path / "missing")).code == 2
    assert run_cli("index", str(vault), "--watch", "--dry-run").code == 2


def test_links_are_checked_without_a_store(run_cli: Run, tmp_path: Path):
    vault = write(tmp_path / "vault", {**NOTES, "alone.md": "Nobody links here."})
    out = run_cli("notes", "check", str(vault)).out
    assert "Nowhere" in out
    assert "alone.md" in out
    report = as_json(run_cli, "notes", "check", str(vault))
    assert [(each["path"], each["line"]) for each in report["broken"]] == [("broken.md", 3)]
    assert not (tmp_path / ".mcp-memory").exists()


# A note that answers the question and shares no word with it, linked from the one that does.
LINKED = {
    "projects/Meridian.md": "# Meridian\n\nThe project Meridian is led by the [[Keeper|keeper of the depot]].\n",
    "people/Keeper.md": "# Ingrid Solberg\n\nRoom 4, Troms\u00f8, phone 1177.\n",
    **{
        f"plans/{number}.md": f"Project plan of Meridian, milestone {number}: cables and crates.\n"
        for number in range(1, 7)
    },
    **{f"projects/{name}.md": f"Project {name} is led by whoever its charter names.\n" for name in ("Aster", "Dune")},
    **{f"floors/{number}.md": f"Floor {number}: printers, keys and fire doors.\n" for number in range(1, 30)},
}
QUESTION = "who is the lead of project Meridian"


def test_the_linked_note_is_found_over_rest_and_from_the_command_line(
    run_cli: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    vault = write(tmp_path / "vault", LINKED)
    assert as_json(run_cli, "index", str(vault))["links"] == {"resolved": 1}
    with rest_client(tmp_path / "cli.db") as rest:
        found = rest.post("/memories/retrieve", json={"query": QUESTION}).json()["results"]
    hits = {hit["memory"]["place"]["path"]: hit for hit in found}
    assert next(iter(hits)) == "projects/Meridian.md"
    graph = hits["people/Keeper.md"]["provenance"]["graph"]
    through = {"content_hash": found[0]["memory"]["content_hash"], "kind": "link", "direction": "out"}
    assert (graph["distance_in_graph"], graph["through"]) == (1, through)
    assert "people/Keeper.md" in run_cli("search", QUESTION, "--limit", "8").out
    monkeypatch.setenv("MCP_MEMORY_GRAPH_WEIGHT", "0")
    assert "people/Keeper.md" not in run_cli("search", QUESTION, "--limit", "8").out


async def test_a_model_finds_the_linked_note(store: MemoryStore, tmp_path: Path):
    vault = write(tmp_path / "vault", LINKED)
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions((vault,)))
    async with Client(build_mcp_server(service, 20_000)) as client:
        await client.call_tool("index_directory", {"path": str(vault)})
        await service.sources.embed()
        found = good_text(await client.call_tool("retrieve_memory", {"query": QUESTION, "page_size": 5}))
    assert "@ people/Keeper.md" in found
    assert "link from" in found


def test_a_limit_beyond_a_page_has_every_chunk_of_a_document(run_cli: Run, tmp_path: Path):
    long = "".join(f"## Part {part}\n\n{f'The heron has feather {part}. ' * 60}\n\n" for part in range(30))
    (tmp_path / "birds").mkdir()
    (tmp_path / "birds" / "heron.md").write_text(f"# Heron\n\n{long}")
    assert run_cli("index", str(tmp_path / "birds"), "--no-vectors").code == 0
    query = ("search", "heron feather", "--mode", "keyword", "--limit", "101", "--json")
    answer = json.loads(run_cli(*query).out)
    chunks = {hit["memory"]["content_hash"] for hit in answer["results"]}
    assert len(chunks) == len(answer["results"]) == answer["total"] == 30
    assert not answer["has_more"]
