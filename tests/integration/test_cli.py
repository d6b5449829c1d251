"""The command line, run for real: output, `--json`, exit codes."""

import json
import socket
from collections.abc import Callable
from pathlib import Path

import apsw
import pytest
from tests.integration.conftest import Finished

from mcp_memory_service.cli.main import LazyCommand, cli

Run = Callable[..., Finished]


def test_store_search_list_stats_delete(run_cli: Run, tmp_path: Path):
    stored = run_cli("store", "Rathole uses port 2333", "--tag", "rathole", "--type", "fact", "--metadata", '{"p": 1}')
    assert (stored.code, stored.err) == (0, "")
    content_hash = stored.out.split(": ")[1].strip()
    assert run_cli("store", "Rathole uses port 2333").out.startswith("Already known")
    found = run_cli("search", "which port does rathole use", "--debug")
    assert "Rathole uses port 2333" in found.out
    assert "vector #1, keyword #1, tag #1" in found.out
    assert "x recency" in found.out
    listed = json.loads(run_cli("list", "--tag", "RATHOLE", "--json").out)
    assert (listed["total"], listed["memories"][0]["metadata"]) == (1, {"p": 1})
    assert content_hash[:12] in run_cli("list").out
    assert json.loads(run_cli("stats", "--json").out)["memories"] == 1
    shown = run_cli("stats").out
    assert "all-MiniLM-L6-v2" in shown
    assert f"{tmp_path}/cli.db" in shown
    deleted = run_cli("delete", content_hash, "--json")
    assert json.loads(deleted.out)["content_hash"].startswith(content_hash)
    again = run_cli("delete", content_hash)
    assert (again.code, again.out) == (3, "")
    assert "[memory_not_found]" in again.err


def test_commas_part_tags_unless_a_backslash_is_before_them(run_cli: Run):
    assert run_cli("store", "x", "--tag", r"a, b,Krüger\, Anna,", "--tag", "c").code == 0
    (memory,) = json.loads(run_cli("list", "--tag", "none,B", "--json").out)["memories"]
    assert memory["tags"] == ["a", "b", "Krüger, Anna", "c"]
    assert json.loads(run_cli("search", "x", "--tag", r"krüger\, anna", "--json").out)["total"] == 1
    assert "None of the 1 memories matches." in run_cli("list", "--tag", "krüger").out


def test_a_memory_can_be_given_its_place_in_a_session(run_cli: Run):
    assert run_cli("store", "second", "--session", "monday", "--sequence", "2").code == 0
    (memory,) = json.loads(run_cli("list", "--json").out)["memories"]
    assert (memory["session"], memory["sequence"]) == ("monday", 2)


def test_an_empty_store_and_a_page_beyond_the_end_say_so(run_cli: Run):
    assert run_cli("import", "-", stdin="").code == 0, "there is a store"
    for command in (("list",), ("list", "--tag", "x"), ("search", "x")):
        assert run_cli(*command).out.startswith("Nothing is stored yet. ")
    assert run_cli("import", "-", stdin='{"content": "tea"}\n{"content": "cocoa"}').code == 0
    for command in ("list", "search"):
        query = ("tea",) if command == "search" else ()
        beyond = run_cli(command, *query, "--page", "7", "--limit", "1").out
        assert beyond == "Nothing on page 7: there are 2 pages, with 2 in all.\n"
    assert run_cli("search", "gibberish", "--mode", "keyword").out == "None of the 2 memories matches.\n"


def test_a_limit_beyond_a_page_of_the_service_pages_through(run_cli: Run):
    lines = "\n".join(json.dumps({"content": f"note {n} of many", "tags": ["many"]}) for n in range(260))
    assert run_cli("import", "-", stdin=lines).code == 0
    for command in (("list",), ("search", "note", "--tag", "many", "--mode", "keyword")):
        name = "memories" if command[0] == "list" else "results"
        pages = [
            json.loads(run_cli(*command, "--limit", "120", "--page", str(page), "--json").out) for page in (1, 2, 3)
        ]
        assert [len(page[name]) for page in pages] == [120, 120, 20]
        assert [page["has_more"] for page in pages] == [True, True, False]
        assert {(page["page_size"], page["total"], page["total_pages"]) for page in pages} == {(120, 260, 3)}
        whole = json.loads(run_cli(*command, "--limit", "1000", "--json").out)
        assert whole[name] == [row for page in pages for row in page[name]]
        assert len({(row.get("memory") or row)["content_hash"] for row in whole[name]}) == 260


def test_content_can_come_from_standard_input(run_cli: Run):
    assert run_cli("store", "-", stdin="from a pipe\n").code == 0
    assert json.loads(run_cli("list", "--json").out)["memories"][0]["content"] == "from a pipe\n"


@pytest.mark.parametrize(
    ("arguments", "code", "complaint"),
    [
        (("store", " "), 2, "[content_empty]"),
        (("store", "x", "--metadata", "{"), 2, "not valid JSON"),
        (("store", "x", "--metadata", "[1]"), 2, "metadata"),
        (("store", "x", "--metadata", '{"n": NaN}'), 2, "[number_not_finite]"),
        (("store", "x", "--created-at", "soon"), 2, "created_at"),
        (("store", "x", "--created-at", "2999-01-01"), 2, "[timestamp_in_future]"),
        (("search", ""), 2, "[query_empty]"),
        (("search", "x", "--page", "0"), 2, "page"),
        (("search", "x", "--limit", "1000000000"), 2, "--limit"),
        (("store", "x", "--tag", " ,"), 2, "[tag_empty]"),
        (("store", "x", "--sequence", "first"), 2, "--sequence"),
        (("search", "x", "--alpha", "7"), 2, "alpha"),
        (("search", "x", "--hybrid-alpha", "7"), 6, "MCP_MEMORY_HYBRID_ALPHA"),
        (("search", "x", "--tag-match", "some"), 2, "tag-match"),
        (("search", "x", "--no-tags", "--tag", "a"), 2, "exclude each other"),
        (("search", "x", "--alpha", "0.5", "--fts-weight", "0.5"), 2, "[alpha_and_weights]"),
        (("delete", "\udcff"), 3, "[memory_not_found]"),
        (("search",), 2, "QUERY"),
        (("dance",), 2, "dance"),
    ],
)
def test_bad_calls_say_why_and_exit_with_a_code(run_cli: Run, arguments: tuple[str, ...], code: int, complaint: str):
    assert run_cli("import", "-", stdin="").code == 0, "there is a store"
    done = run_cli(*arguments)
    assert (done.code, done.out) == (code, "")
    assert complaint in done.err
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("command", "variable", "value", "complaint"),
    [
        *(
            (
                command,
                "MCP_MEMORY_HYBRID_ALPHA",
                "1.5",
                "MCP_MEMORY_HYBRID_ALPHA: Input should be less than or equal to 1",
            )
            for command in ("serve", "mcp", "stats")
        ),
        ("serve", "MCP_MEMORY_HTTP_HOST", "0.0.0.0", "set MCP_MEMORY_API_KEY"),  # noqa: S104
    ],
)
def test_a_bad_setting_stops_the_start_with_one_line(
    run_cli: Run, command: str, variable: str, value: str, complaint: str
):
    done = run_cli(command, **{variable: value})
    assert (done.code, done.out) == (6, "")
    assert complaint in done.err
    assert len(done.err.strip().splitlines()) == 1


def test_a_taken_port_is_said_in_one_line(run_cli: Run, tmp_path: Path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        done = run_cli("serve", "--http-port", str(taken.getsockname()[1]))
    assert done.code == 6
    assert "MCP_MEMORY_HTTP_PORT" in done.err
    assert "Traceback" not in done.err


def test_a_store_of_another_program_is_refused(run_cli: Run, tmp_path: Path):
    other = apsw.Connection(str(tmp_path / "cli.db"))
    other.execute("CREATE TABLE theirs (x)")
    other.close()
    for command in ("stats", "serve", "mcp"):
        done = run_cli(command)
        assert (done.code, done.out) == (5, "")
        assert "another program" in done.err
        assert len(done.err.strip().splitlines()) == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ("search", "x"),
        ("search", "x", "--explain", "0" * 64),
        ("list",),
        ("stats",),
        ("delete", "0" * 64),
        ("purge", "0" * 64),
        ("feedback", "x", "0" * 64, "--useful"),
        ("doctor",),
        ("backup", "copy"),
        ("export",),
        ("eval", "tune"),
        ("eval", "rollback"),
    ],
    ids=" ".join,
)
def test_a_store_that_is_not_there_is_not_made_by_looking(run_cli: Run, tmp_path: Path, arguments: tuple[str, ...]):
    done = run_cli(*arguments)
    assert (done.code, done.out) == (5, "")
    assert f"There is no store at {tmp_path}/cli.db" in done.err
    assert list(tmp_path.iterdir()) == []


def test_an_empty_file_is_no_store_for_who_looks(run_cli: Run, tmp_path: Path):
    (tmp_path / "cli.db").touch()
    assert run_cli("stats").code == 5
    assert run_cli("store", "x").code == 0


def test_the_demo_shows_a_search_with_its_breakdown(run_cli: Run, tmp_path: Path):
    done = run_cli("demo")
    assert done.code == 0
    first = done.out.split("\n  1. ")[1].splitlines()
    assert first[0].startswith("Rathole")
    assert "x recency" in first[2]
    answer = json.loads(run_cli("demo", "--json").out)
    assert answer["total"] == 12
    assert not (tmp_path / "cli.db").exists()


def test_help_shows_an_example_for_every_command(run_cli: Run):
    overview = run_cli("--help").out
    for command in ("serve", "mcp", "store", "search", "list", "delete", "stats", "config", "demo"):
        assert f"\n  {command}" in overview
        assert "Example" in run_cli(command, "--help").out
    assert run_cli("--version").out.startswith("mcp-memory")


def test_the_overview_says_of_every_command_what_its_help_begins_with():
    for name, stand_in in cli.commands.items():
        assert isinstance(stand_in, LazyCommand)
        command = stand_in.load()
        assert (command.name, (command.help or "").split("\n\n")[0]) == (name, stand_in.help)


def test_modes_weights_and_explanations(run_cli: Run):
    stored = run_cli("store", "authenticate_user() checks the password", "--tag", "auth").out.split(": ")[1].strip()
    run_cli("store", "The bakery opens at seven")
    found = json.loads(run_cli("search", "authenticate_user", "--mode", "keyword", "--limit", "10", "--json").out)
    assert (found["mode"], found["total"]) == ("keyword", 1)
    weighed = json.loads(run_cli("search", "bakery", "--fts-weight", "0.3", "--vector-weight", "0.7", "--json").out)
    assert weighed["alpha_used"] == pytest.approx(0.7)
    explained = run_cli("search", "when does the bakery open", "--explain", stored)
    assert explained.code == 0
    assert "It is number 2 of 2." in explained.out
    assert "keyword   did not find it" in explained.out
    assert "1. The bakery opens at seven" in explained.out
    as_json = json.loads(run_cli("search", "bakery", "--explain", stored, "--type", "note", "--json").out)
    assert as_json["filtered_by"] == ["memory_type"]
    assert run_cli("search", "bakery", "--explain", "unknown").code == 3


HOSTILE = "\u202egnp.exe\u2066 \u200bzero"
ESCAPED = r"\u202egnp.exe\u2066 \u200bzero"


def test_invisible_characters_are_shown_and_json_is_exact(run_cli: Run):
    assert run_cli("store", HOSTILE, "--tag", HOSTILE, "--type", HOSTILE).code == 0
    for command in (("list",), ("search", "zero", "--debug"), ("stats",)):
        shown = run_cli(*command).out
        assert ESCAPED in shown
        assert not {"\u202e", "\u2066", "\u200b"} & set(shown)
    listed = run_cli("list", "--json").out
    assert json.loads(listed)["memories"][0]["content"] == HOSTILE
    assert "\u202e" not in listed


@pytest.mark.parametrize("command", ["restore", "import"])
def test_errors_repeat_nothing_that_a_terminal_obeys(run_cli: Run, command: str):
    done = run_cli(command, "\x1b[2J\u202e\nx")
    assert done.code != 0
    assert r"\x1b[2J\u202e\nx" in done.err
    assert done.err.count("\n") == 1
