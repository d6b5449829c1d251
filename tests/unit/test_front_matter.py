"""Front matter as people write it: whatever it is, the note is read."""

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.indexing import Note, read_note
from mcp_memory_service.timestamps import to_microseconds


def note(front_matter: str) -> Note:
    return read_note(f"---\n{front_matter}\n---\nBody.\n", "stem")


def test_values_of_every_kind_become_json():
    read = note(
        "title: A note\ncount: 3\nratio: 0.5\ndone: yes\nnothing:\nday: 2026-05-04\nat: 2026-05-04 10:00:00+02:00\n"
        "many: [1, two, {three: 4}]\nno number: .nan\nendless: -.inf\nlarge: 99999999999999999999\n"
        "bytes: !!binary aGk=\n"
        'any: !!set {b, a}\ntext: "\\0"'
    )
    assert read.front_matter == {
        "title": "A note",
        "count": 3,
        "ratio": 0.5,
        "done": True,
        "nothing": None,
        "day": "2026-05-04",
        "at": "2026-05-04T10:00:00+02:00",
        "many": [1, "two", {"three": 4}],
        "no number": "nan",
        "endless": "-inf",
        "large": "99999999999999999999",
        "bytes": "aGk=",
        "any": ["a", "b"],
        "text": "\ufffd",
    }
    assert read.problems == ()


def test_keys_that_are_no_strings_become_strings():
    assert note("12: a\nno: b\n2026-05-04: c\n1.5: d\n~: e").front_matter == {
        "12": "a",
        "false": "b",
        "2026-05-04": "c",
        "1.5": "d",
        "null": "e",
    }


@pytest.mark.parametrize(
    "broken",
    [
        "title: a: b",
        "a: [1, 2",
        'a: "open',
        "a:\n\t- tab",
        "title: {{title}}",
        "date: 2026-13-45",
        "a: !python/object:os.system x",
        "a: !!int " + "9" * 5_000,
        "a: *unknown",
        "a: " + "[" * 30 + "]" * 30,
        "a: &a [*a]",
        "a: &a [x]\nb: [*a, *a, *a, *a, *a]",
        "a: " + "x" * 70_000,
        "a: !!bool maybe",
        "a: !!int ''",
        "a: !!timestamp soon",
    ],
    ids=[
        *(
            "colon",
            "open list",
            "open string",
            "tab",
            "template",
            "no date",
            "object",
            "endless number",
            "unknown alias",
        ),
        *("deep", "recursive", "aliases", "long", "no boolean", "no number", "no moment"),
    ],
)
def test_what_cannot_be_read_leaves_no_values_and_a_problem(broken: str):
    read = note(broken)
    assert read.front_matter == {}
    (problem,) = read.problems
    assert problem.startswith("its front matter cannot be read: ")
    assert len(problem) < 300
    assert [chunk.text for chunk in read.chunks] == ["Body."]


def test_a_problem_names_the_line_of_the_file():
    (problem,) = note("title: [broken\n  foo: : :").problems
    assert problem == "its front matter cannot be read: line 3: did not find expected ',' or ']'"


def test_a_few_aliases_are_followed():
    assert note("a: &a [x]\nb: *a").front_matter == {"a": ["x"], "b": ["x"]}


@pytest.mark.parametrize(
    ("written", "aliases"),
    [
        ("aliases: Zeta register", ("Zeta register",)),
        ("alias: one, two words ,three", ("one", "two words", "three")),
        ("aliases: [one two, 'a, b', 7]", ("one two", "a, b", "7")),
        ("aliases:\n- one\n- One\n-\n- [nested]", ("one",)),
        ("aliases: [a]\nalias: b", ("a", "b")),
        ("aliases: {a: b}", ()),
    ],
)
def test_aliases_are_a_string_or_a_list(written: str, aliases: tuple[str, ...]):
    assert note(written).aliases == aliases


@pytest.mark.parametrize(
    ("written", "tags"),
    [
        ("tags: one two, three", ("one", "two", "three")),
        ("tags: '#one #two'", ("one", "two")),
        ("tags: ['#one', two words, 2026, One]", ("one", "two words", "2026")),
        ("tag: a/b", ("a/b",)),
        ("tags:", ()),
    ],
)
def test_tags_are_a_string_or_a_list(written: str, tags: tuple[str, ...]):
    assert note(written).tags == tags


@pytest.mark.parametrize(
    ("written", "moment"),
    [
        ("date: 2026-05-04", datetime(2026, 5, 4, tzinfo=UTC)),
        ("created: 2020-01-01\nupdated: 2026-05-04T10:00:00+02:00", datetime(2026, 5, 4, 8, tzinfo=UTC)),
        ("created: 2020-01-01\ndate modified: '2026-05-04 10:00'", datetime(2026, 5, 4, 10, tzinfo=UTC)),
        ("updated: soon\nCreated: 2020-01-01", datetime(2020, 1, 1, tzinfo=UTC)),
        ("date: 0001-01-01T00:00:00+12:00\ncreated: 2020-01-01", datetime(2020, 1, 1, tzinfo=UTC)),
    ],
)
def test_a_note_has_the_date_of_its_last_change(written: str, moment: datetime):
    assert note(written).dated == to_microseconds(moment)


@pytest.mark.parametrize("written", ["updated: soon", "date: 2026", "date: [2026-05-04]", "other: 2026-05-04"])
def test_what_is_no_date_is_none(written: str):
    assert note(written).dated is None


def test_toml_is_read_too():
    read = read_note(
        '+++\ntitle = "A note"\ndate = 2026-05-04\nat = 10:00:00\ntags = ["a"]\n[more]\nx = 1\n+++\nBody.', "s"
    )
    assert read.front_matter == {
        "title": "A note",
        "date": "2026-05-04",
        "at": "10:00:00",
        "tags": ["a"],
        "more": {"x": 1},
    }
    assert (read.title, read.tags) == ("A note", ("a",))
    assert read.dated == to_microseconds(datetime(2026, 5, 4, tzinfo=UTC))
    assert read.chunks[0].first_line == 9


@pytest.mark.parametrize("broken", ["title = ", "a = " + "[" * 300, "a = " + "9" * 5_000, "a." * 30_000 + "b = 1"])
def test_broken_toml_is_a_problem(broken: str):
    read = read_note(f"+++\n{broken}\n+++\nBody.", "s")
    assert len(read.problems) == 1
    assert read.chunks[0].text == "Body."


@pytest.mark.parametrize(
    "text",
    [
        "---\nA paragraph between two rules.\n---\nBody.",
        "---\n- a\n- list\n---\nBody.",
        "---\n# Heading\n---\nBody.",
        "---\ntitle: never closed\nBody.",
        "\n---\ntitle: not on the first line\n---\nBody.",
        "----\ntitle: four\n----\nBody.",
        "+++ a\nBody.",
    ],
)
def test_rules_are_no_front_matter(text: str):
    read = read_note(text, "stem")
    assert (read.front_matter, read.problems) == ({}, ())
    assert "".join(chunk.text for chunk in read.chunks) == text.strip()


@pytest.mark.parametrize("text", ["---\n---\nBody.", "---\n\n...\nBody.", "---\n# a comment\ntitle:\n---  \nBody."])
def test_front_matter_may_be_nearly_empty(text: str):
    assert [chunk.text for chunk in read_note(text, "stem").chunks] == ["Body."]


PARTS = [*"b[]{}'#\\é\n", '"', "a: ", "- ", "  ", "&x ", "*x", "!!set ", "2026-05-04", "1e9", ": "]


@given(st.text() | st.lists(st.sampled_from(PARTS), max_size=30).map("".join), st.sampled_from(["---", "+++"]))
def test_any_front_matter_leaves_json_and_the_body(front_matter: str, border: str):
    read = read_note(f"{border}\n{front_matter}\n{border}\nBody.", "stem")
    json.dumps(dict(read.front_matter), allow_nan=False).encode()
    assert read.chunks[-1].text.endswith("Body.")
    assert read.title
