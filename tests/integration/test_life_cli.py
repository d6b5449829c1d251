"""The life of a memory from the command line, run for real."""

import json
from collections.abc import Callable
from typing import Any

from tests.integration.conftest import Finished

from mcp_memory_service.models import content_hash

Run = Callable[..., Finished]


def as_json(run_cli: Run, *command: str) -> Any:
    done = run_cli(*command, "--json")
    assert done.code == 0, done.err
    return json.loads(done.out)


def stored(run_cli: Run, *command: str) -> str:
    return as_json(run_cli, "store", *command)["content_hash"]


def test_a_memory_is_edited_and_its_history_shown(run_cli: Run):
    old = stored(run_cli, "Deploys go out on Tuesdays", "--tag", "deploy", "--pinned")
    edited = run_cli("edit", old[:12], "Deploys go out on Thursdays")
    new = content_hash("Deploys go out on Thursdays")
    assert (edited.code, edited.out) == (0, f"Changed: {new[:12]}\n")
    shown = run_cli("get", old[:8]).out
    assert "Deploys go out on Thursdays" in shown
    assert "pinned    yes" in shown
    versions = as_json(run_cli, "history", old[:12])["versions"]
    assert [version["content"] for version in versions] == ["Deploys go out on Thursdays", "Deploys go out on Tuesdays"]
    assert "holds now" in run_cli("history", new[:12]).out
    assert as_json(run_cli, "list", "--include-superseded")["total"] == 2
    then = versions[1]["created_at"]
    (hit,) = as_json(run_cli, "search", "deploys", "--as-of", then)["results"]
    assert hit["memory"]["content"] == "Deploys go out on Tuesdays"
    assert run_cli("edit", old).code == 2
    assert run_cli("edit", "0" * 12, "x").code == 3


def test_a_store_supersedes_what_it_names(run_cli: Run):
    old = stored(run_cli, "old")
    stored(run_cli, "new", "--supersedes", old[:12])
    assert [memory["content"] for memory in as_json(run_cli, "list")["memories"]] == ["new"]
    assert run_cli("store", "x", "--supersedes", "0" * 12).code == 2


def test_what_is_deleted_is_in_the_trash_and_comes_back(run_cli: Run):
    gone = stored(run_cli, "precious")
    assert "The trash is empty." in run_cli("trash").out
    assert run_cli("delete", gone[:10]).code == 0
    assert "precious" in run_cli("trash").out
    assert run_cli("trash", "--restore", gone[:12]).out == f"Restored: {gone[:12]}\n"
    assert as_json(run_cli, "list")["total"] == 1
    assert run_cli("trash", "--restore", gone).code == 3


def test_many_are_deleted_and_tagged_once_their_number_is_confirmed(run_cli: Run):
    lines = "\n".join(json.dumps({"content": f"note {n}", "tags": ["k8s"], "source": "importer"}) for n in range(3))
    assert run_cli("import", "-", stdin=lines).code == 0
    assert run_cli("retag", "--source", "importer", "--add", "new").out.startswith(
        "3 memories match; nothing was tagged"
    )
    assert run_cli("retag", "--source", "importer", "--add", "new", "--expect", "2").code == 2
    assert run_cli("retag", "--source", "importer", "--add", "new", "--expect", "3").out == "3 of 3 memories tagged.\n"
    assert run_cli("tags", "rename", "k8s", "kubernetes", "--dry-run").out == "3 memories would change.\n"
    assert run_cli("tags", "merge", "k8s", "new", "--into", "kubernetes").out == "3 memories changed.\n"
    assert run_cli("tags", "list").out.split() == ["3", "kubernetes"]
    assert run_cli("delete", "--tag", "kubernetes").out.endswith("--expect 3\n")
    assert run_cli("delete", "--tag", "kubernetes", "--expect", "3").out == "3 of 3 memories deleted.\n"
    for wrong in (("delete",), ("delete", "0" * 12, "--tag", "x"), ("delete", "--expect", "3")):
        assert run_cli(*wrong).code == 2
    assert as_json(run_cli, "trash")["total"] == 3


def test_filters_by_session_source_type_and_metadata(run_cli: Run):
    stored(run_cli, "one", "--session", "s", "--type", "fix", "--metadata", '{"n": 1, "who": "ann"}')
    stored(run_cli, "two", "--source", "cli", "--type", "fact", "--metadata", '{"n": "1"}')
    for flags, expected in (
        (("--session", "s"), ["one"]),
        (("--source", "cli"), ["two"]),
        (("--type", "fix", "--type", "plan"), ["one"]),
        (("--metadata", "n=1"), ["one"]),
        (("--metadata", 'n="1"'), ["two"]),
        (("--metadata", "who=ann"), ["one"]),
        (("--metadata", "n"), ["two", "one"]),
    ):
        assert [memory["content"] for memory in as_json(run_cli, "list", *flags)["memories"]] == expected, flags


def test_what_has_expired_is_counted_listed_and_erased_on_demand(run_cli: Run):
    brief = stored(run_cli, "brief", "--expires-at", "2999-01-01T00:00:00Z")
    assert run_cli("edit", brief[:12], "--expires-at", "2020-01-01T00:00:00Z").code == 0
    assert as_json(run_cli, "list")["total"] == 0
    assert as_json(run_cli, "list", "--expired")["total"] == 1
    assert run_cli("expire").out.startswith("1 memories have expired.")
    assert run_cli("expire", "--purge").code == 0
    assert as_json(run_cli, "list", "--expired")["total"] == 0


def test_recall_shows_what_is_pinned_first(run_cli: Run):
    stored(run_cli, "always use tabs", "--pinned")
    stored(run_cli, "the tunnel is up")
    lines = run_cli("recall").out.splitlines()
    assert (lines[0], lines[1]) == ("Pinned:", "  always use tabs")
    assert "the tunnel is up" in run_cli("recall", "tunnel").out


def test_an_export_has_what_holds_now_and_comes_back_whole(run_cli: Run, tmp_path: Any):
    old = stored(run_cli, "old", "--pinned", "--expires-at", "2999-01-01T00:00:00Z")
    assert run_cli("edit", old, "new").code == 0
    stored(run_cli, "gone")
    assert run_cli("delete", content_hash("gone")).code == 0
    lines = run_cli("export").out
    (line,) = lines.splitlines()
    again = tmp_path / "again.db"
    assert run_cli("import", "-", "--sqlite-path", str(again), stdin=lines).code == 0
    assert run_cli("export", "--sqlite-path", str(again)).out == lines
    assert json.loads(line)["pinned"]
