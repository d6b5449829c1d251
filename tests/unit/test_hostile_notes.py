"""Notes that nobody would write: each is read, nothing is lost, and nothing is found that is not there."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mcp_memory_service.indexing import LinkResolver, Note, NoteNames, TitleIndex, read_note

CHARS = 30_000
UNITS = {
    "open wikilinks": "[[",
    "brackets": "[",
    "hashes": "#",
    "empty headings": "# \n",
    "underlined headings": "a\n=\n",
    "headings of every level": "# a\n###### b\n### c\n",
    "backticks": "`",
    "text and backticks": "a `",
    "backticks and brackets": "[a `",
    "comments": "<!--",
    "comments in text": "a <!--\n\n",
    "percent signs": "%%",
    "percent signs and links": "%% [[\n",
    "quotes": ">",
    "lists": "- ",
    "quotes and lists": "> - ",
    "empty items": "-\n",
    "fences": "```\n",
    "fences of two kinds": "```\n~~~\n",
    "tildes": "a ~",
    "pipes": "|",
    "open links": "[a](",
    "open titles": '[a](b "',
    "open tags of HTML": "<a ",
    "angles": "<",
    "dollars": "$a ",
    "addresses": "a://",
    "escapes": "\\",
    "carets": " ^a",
    "one word": "a",
    "footnotes": "[^1]: a\n",
    "definitions": "[a]: b.md\n",
    "rules": "a\n\n---\n",
    "letters beyond ASCII": "<é",
    "control characters": "\x00\x0c",
}


@pytest.mark.parametrize("unit", UNITS.values(), ids=UNITS.keys())
def test_nothing_is_lost_and_nothing_found(unit: str):
    text = unit * (CHARS // len(unit))
    note = read_note(text, "stem")
    assert "".join("".join(chunk.text.split()) for chunk in note.chunks) == "".join(text.split())
    assert note.links == ()
    assert [tag for chunk in note.chunks for tag in chunk.tags] == []
    assert TitleIndex([("a.md", ["another name"])]).mentioned(text) == []


@pytest.mark.parametrize("unit", ["[[a]] ", "[a](b.md) ", "[[a]]\n\n", "- [[a]]\n", "> [[a]]\n>\n", "# [[a]]\n\n"])
def test_each_of_many_links_is_found(unit: str):
    assert len(read_note(unit * 5_000, "stem").links) == 5_000


def test_links_around_links_are_one_link():
    assert len(read_note("[" * 5_000 + "a" + "](b.md)" * 5_000, "stem").links) == 1
    assert len(read_note("![" * 5_000 + "a" + "](b.png)" * 5_000, "stem").links) == 5_000


def test_many_tags_are_one_tag():
    note = read_note("#a " * 10_000, "stem")
    assert {chunk.tags for chunk in note.chunks} == {("a",)}


@pytest.mark.parametrize("opening", ["> ", "- ", "1. ", "  - x\n"])
def test_a_link_behind_deep_nesting_is_found(opening: str):
    text = opening * 2_000 + "[[a]]"
    assert [link.target for link in read_note(text, "stem").links] == ["a"]


def test_a_long_heading_is_cut_short_in_the_path():
    note = read_note("# " + "long " * 5_000 + "\n\ntext\n", "stem")
    assert all(len(part) <= 200 for chunk in note.chunks for part in chunk.heading_path)


def test_a_link_of_any_length_is_resolved():
    resolver = LinkResolver([NoteNames("a.md", "a")])
    for text in ("[[" + "../" * 10_000 + "a]]", "[[" + "a/" * 10_000 + "a]]", "[[a#" + "b#" * 10_000 + "]]"):
        (link,) = read_note(text, "stem").links
        assert resolver.resolve("log.md", link).status in {"external", "broken", "missing_anchor"}


def test_notes_are_read_the_same_on_several_threads():
    texts = [f"# Note {number}\n\n[[{number}]] #tag{number}\n\n```\ncode\n```\n" * 20 for number in range(40)]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(read, texts)) == [read(text) for text in texts]


def read(text: str) -> Note:
    return read_note(text, "stem")
