"""What is read from the text of a note: headings, links, tags and block ids, and what is none of them."""

import pytest

from mcp_memory_service.indexing import Note, RawLink, read_note


def read(text: str) -> Note:
    return read_note(text, "stem")


def links(text: str) -> list[tuple[str, str, str]]:
    return [(link.target, link.anchor, link.form) for link in read(text).links]


def tags(text: str) -> list[str]:
    return [tag for chunk in read(text).chunks for tag in chunk.tags]


def keys(text: str) -> list[str]:
    return [key for chunk in read(text).chunks for key in chunk.keys]


@pytest.mark.parametrize(
    ("text", "link"),
    [
        ("[[Note]]", ("Note", "", "wikilink")),
        ("[[ folder/Note.md |shown]]", ("folder/Note.md", "", "wikilink")),
        ("[[Note#A heading|shown]]", ("Note", "A heading", "wikilink")),
        ("[[Note#Above#Below]]", ("Note", "Above#Below", "wikilink")),
        ("[[Note#^block-1]]", ("Note", "^block-1", "wikilink")),
        ("[[#A heading]]", ("", "A heading", "wikilink")),
        ("![[Note]]", ("Note", "", "embed")),
        ("![[picture.png|300]]", ("picture.png", "", "embed")),
        ("[[Note: a colon]]", ("Note: a colon", "", "wikilink")),
        ("[[日本語のノート]]", ("日本語のノート", "", "wikilink")),
        ("**[[Note]]**,", ("Note", "", "wikilink")),
        ("> quoted [[Note]]", ("Note", "", "wikilink")),
        ("- [ ] a task [[Note]]", ("Note", "", "wikilink")),
        ("## A heading with [[Note]]", ("Note", "", "wikilink")),
        ("| a | b |\n|---|---|\n| [[Note\\|shown]] | c |", ("Note", "", "wikilink")),
        ("[^1]: [[Note]]", ("Note", "", "wikilink")),
        ("[shown](a%20b.md#frag%20ment)", ("a b.md", "frag ment", "markdown")),
        ('[shown](<a b.md> "title")', ("a b.md", "", "markdown")),
        ("[shown](a_(b).md 'title')", ("a_(b).md", "", "markdown")),
        ("[shown](a\\_b.md?raw=1)", ("a_b.md", "", "markdown")),
        ("[shown](a&amp;b.md)", ("a&b.md", "", "markdown")),
        ("[shown](..\\folder\\a.md)", ("../folder/a.md", "", "markdown")),
        ("[shown](#a-heading)", ("", "a-heading", "markdown")),
        ("[a `b` *c*](d.md)", ("d.md", "", "markdown")),
        ("[two\nlines](d.md)", ("d.md", "", "markdown")),
        ("![alt](picture.png)", ("picture.png", "", "markdown")),
        ("[shown][ref]\n\n[Ref]: a.md 'Title'", ("a.md", "", "markdown")),
        ("[ref][]\n\n[ref]: <a b.md>", ("a b.md", "", "markdown")),
        ("[ref]\n\n[ref]: a.md#x", ("a.md", "x", "markdown")),
    ],
)
def test_a_link_is_read(text: str, link: tuple[str, str, str]):
    assert links(text) == [link]


@pytest.mark.parametrize(
    "text",
    [
        "`[[Note]]`",
        "``a ` [[Note]] ``",
        "```\n[[Note]]\n[a](b.md)\n```",
        "~~~\n[[Note]]\n~~~",
        "- item\n  ```\n  [[Note]]\n  ```",
        "> ```\n> [[Note]]\n> ```",
        "```\nnever closed\n\n[[Note]]",
        "text\n\n    [[Note]]",
        "<!-- [[Note]] -->",
        "text <!-- [[Note]]\n[[Note]] --> text",
        "<!--\n[[Note]]\n\n# [[Note]]\n-->",
        "%% [[Note]] %%",
        "text %%[[Note]]%% text",
        "%%\n[[Note]]\n\n- [[Note]]\n%%",
        "<div>\n[[Note]]\n</div>",
        "$[[Note]]$ and $$\n[[Note]]\n$$",
        "\\[[Note]]",
        "[[]] [[ ]] [[|shown]]",
        "[[two\nlines]]",
        "[[https://example.org]]",
        "[shown](https://example.org/a.md) [shown](mailto:a@b.c) [shown](//example.org) [shown](obsidian://open?file=a)",
        "[shown]() [shown](#) [shown](a b.md) [shown] (a.md)",
        "[shown]\n\n[other]: a.md",
        "[^1]\n\n[^1]: a.md",
        "---\nup: '[[Note]]'\n---\n",
    ],
)
def test_what_is_no_link_is_none(text: str):
    assert links(text) == []


def test_a_percent_sign_alone_hides_nothing():
    text = "100%% sure of [[a]].\n\nAnother 50%% of [[b]].\n\n%%\n\n[[c]]"
    assert [target for target, _, _ in links(text)] == ["a", "b", "c"]


def test_links_keep_their_order_and_lines():
    text = "---\ntitle: T\n---\n\n[[a]] and [b](b.md)\n[[c]]\n\n| x |\n|---|\n| [[d]] |\n\n[![alt](e.png)](f.md)\n"
    assert read(text).links == (
        RawLink("a", "", "wikilink", 5),
        RawLink("b.md", "", "markdown", 5),
        RawLink("c", "", "wikilink", 6),
        RawLink("d", "", "wikilink", 10),
        RawLink("f.md", "", "markdown", 12),
        RawLink("e.png", "", "markdown", 12),
    )


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("#one and #two/three, (#four) *#five*", ["one", "two/three", "four", "five"]),
        ("#día #日本語 #идея #🔥 #a1 #1a #y-2026_x", ["día", "日本語", "идея", "🔥", "a1", "1a", "y-2026_x"]),
        ("#One #one", ["One"]),
        ("# A heading #tagged", ["tagged"]),
        ("- [ ] #task\n> #quoted\n\n| a |\n|---|\n| #cell |", ["task", "quoted", "cell"]),
        ("#tag.", ["tag"]),
        ("[#12] #cafe", ["cafe"]),
    ],
)
def test_a_tag_is_read(text: str, found: list[str]):
    assert tags(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "# Heading\n\n## Other ##",
        "#fff #c0ffee #FF00FF80",
        "#12 #2026-05 #1/2",
        "C# a#b PR#12 \\#escaped ##double",
        "https://example.org/#fragment https://example.org/(#other) <https://example.org/#x>",
        "[see #this](a.md) [see #this][ref] [[a#that]]\n\n[ref]: b.md",
        "`#code`\n\n```\n#code\n```\n\n<!-- #comment --> %% #comment %%",
        "<a href=\"#place\">x</a> <font color='#red'>",
        "## Title {#own-id}",
        "#" + "x" * 201,
        "# ",
        "#!/bin/sh",
    ],
)
def test_what_is_no_tag_is_none(text: str):
    assert tags(text) == []


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# One & Two\n\nThree `code`!\n===\n\nFour\n---", ["one-two", "three-code", "four"]),
        ("# *One* [two](three.md) [[four|five]] [[six]] #", ["one-two-five-six"]),
        ("## Methods ^m1\n\n## Own {#my-id}", ["methods", "^m1", "own", "my-id"]),
        ("# Ünïcode ÄÖ", ["ünïcode-äö"]),
        ("A finding. ^find-1\n\n- item ^Item2\n- other\n^list", ["^find-1", "^item2", "^list"]),
        ("> quote\n> ^q1\n\n```\ncode ^no\n```\n^code1", ["^q1", "^code1"]),
        ("| a |\n|---|\n| b |\n^table1", ["^table1"]),
        ("x^2 and ^not at the end\n`^code`\n10^3", []),
        ("> # In a quote\n\n- # In a list", []),
        ("%%\n# Hidden\n%%\n\n<!--\n# Hidden\n-->\n\n    # code\n\n#no\n\n# !", []),
    ],
)
def test_headings_and_blocks_have_keys(text: str, found: list[str]):
    assert keys(text) == found


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("---\ntitle: From the front\n---\n# Other", "From the front"),
        ("---\ntitle: 2026\n---\n", "2026"),
        ("---\ntitle: [a]\n---\n## Two\n\n# First *one*\n\n# Second", "First one"),
        ("Underlined\n===\n", "Underlined"),
        ("## Only a second level", "stem"),
        ("", "stem"),
        ("# \n\ntext", "stem"),
        ("> # Quoted", "stem"),
    ],
)
def test_the_title_is_that_of_the_front_matter_else_the_first_heading_else_the_file(text: str, title: str):
    assert read(text).title == title


def test_an_empty_note_has_names_but_no_chunk():
    note = read_note("---\naliases: [other]\n---\n\n", "stem")
    assert (note.title, note.aliases, note.chunks) == ("stem", ("other",), ())


def test_letters_beyond_ascii_move_nothing():
    plain, wide = "<ab [[a]] #b ^c1\n\n# D\n\n[[e]]", "<éb [[ü]] #日 ^c1\n\n# Ð\n\n[[😀]]"
    shapes = [
        [(chunk.first_line, len(chunk.links), len(chunk.tags), len(chunk.keys)) for chunk in read(text).chunks]
        for text in (plain, wide)
    ]
    assert shapes[0] == shapes[1] == [(1, 2, 1, 2)]
