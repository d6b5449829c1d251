"""Chunks of notes: by headings, near their size, and nothing lost or repeated."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.indexing import Note, NoteChunk, read_note, read_pages, read_plain_text
from mcp_memory_service.indexing.chunks import MAX_LINE_CHARS, MAX_WHOLE_CHARS, MIN_CHARS, TARGET_CHARS

SENTENCE = "The heron stands in the reeds by the water. "
PARAGRAPH = SENTENCE * 10 + "\n"
"""441 characters."""


def paths(note: Note) -> list[tuple[str, ...]]:
    return [chunk.heading_path for chunk in note.chunks]


def test_a_note_that_fits_is_one_chunk():
    text = "\n\n# Birds\n\nA heron.\n\n## Owls\n\nAn owl.\n\n"
    (chunk,) = read_note(text, "stem").chunks
    assert chunk == NoteChunk(("Birds",), text.strip(), 3, 9, keys=("birds", "owls"))


def test_sections_that_fit_stay_whole_and_others_are_taken_apart():
    note = read_note(
        f"Before.\n\n# Birds\n\n{PARAGRAPH}\n## Owls\n\n{PARAGRAPH}\n### Barn owl\n\n{PARAGRAPH}\n"
        f"## Herons\n\n{PARAGRAPH * 3}\n### Grey\n\n{PARAGRAPH}",
        "stem",
    )
    assert paths(note) == [
        ("Birds",),
        ("Birds",),
        ("Birds", "Owls"),
        ("Birds", "Herons"),
        ("Birds", "Herons", "Grey"),
    ]
    assert [chunk.text.splitlines()[0] for chunk in note.chunks] == [
        "Before.",
        "# Birds",
        "## Owls",
        "## Herons",
        "### Grey",
    ]
    assert "### Barn owl" in note.chunks[2].text


def test_the_title_comes_first_in_the_path_and_is_not_repeated():
    text = f"# Birds\n\n{PARAGRAPH * 2}\n## Owls\n\n{PARAGRAPH * 2}"
    assert paths(read_note(text, "stem")) == [("Birds",), ("Birds", "Owls")]
    assert paths(read_note(f"---\ntitle: BIRDS\n---\n{text}", "stem")) == [("BIRDS",), ("BIRDS", "Owls")]
    titled = read_note(f"---\ntitle: Zoo\n---\n{text}", "stem")
    assert paths(titled) == [("Zoo", "Birds"), ("Zoo", "Birds", "Owls")]
    assert [chunk.first_line for chunk in titled.chunks] == [4, 9]


def test_levels_may_be_left_out_and_underlined():
    text = f"{PARAGRAPH * 3}\n### Deep\n\n{PARAGRAPH}\nUpper\n---\n\n{PARAGRAPH}\nTop\n===\n\n{PARAGRAPH}"
    assert paths(read_note(text, "stem")) == [("Top",), ("Top", "Deep"), ("Top", "Upper"), ("Top",)]


def test_a_heading_without_text_joins_what_comes_after_it():
    text = f"# Birds\n\n## Owls\n\n### Barn owl\n\n{PARAGRAPH * 3}\n### Snowy owl\n\n{PARAGRAPH}"
    note = read_note(text, "stem")
    assert paths(note) == [("Birds", "Owls", "Barn owl"), ("Birds", "Owls", "Snowy owl")]
    assert note.chunks[0].text.startswith("# Birds\n\n## Owls\n\n### Barn owl\n\nThe heron")
    assert note.chunks[0].keys == ("birds", "owls", "barn-owl")


def test_a_long_section_is_cut_between_paragraphs_near_the_target():
    note = read_note(f"# Birds\n\n{(PARAGRAPH + chr(10)) * 8}", "stem")
    assert paths(note) == [("Birds",)] * 3
    assert all(chunk.text.endswith("water. ") and len(chunk.text) <= TARGET_CHARS for chunk in note.chunks)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("by the water.", "and then"),
        ("by the water", "---"),
        ("by the water.", "- an item"),
        ("by the water.\n", "and then"),
        ("by the water.\n", "```\n" + "code\n" * 80 + "```"),
    ],
    ids=["sentence", "rule", "list item", "paragraph", "code"],
)
def test_the_best_place_near_the_target_is_taken(before: str, after: str):
    line = "and the bittern hides among them where nobody goes\n"
    first, second = read_note(f"{line * 25}{before}\n{after}\n{line * 20}", "stem").chunks
    assert first.text == f"{line * 25}{before}".rstrip()
    assert second.text.startswith(after)


@pytest.mark.parametrize(
    ("before", "block"),
    [
        ("", "```python\n" + "value = compute(value)  # a line of code\n\n" * 60 + "```"),
        ("", "| bird | place |\n|---|---|\n" + "| heron | reeds |\n" * 200),
        ("", "    indented = code\n" * 150),
        ("- item", "  ~~~\n" + "  value = compute(value)\n" * 100 + "  ~~~"),
    ],
    ids=["fence", "table", "indented", "fence in a list"],
)
def test_code_blocks_and_tables_stay_whole(before: str, block: str):
    note = read_note(f"# Birds\n\n{PARAGRAPH * 3}\n{before}\n\n{block}\n\n{PARAGRAPH * 3}", "stem")
    assert TARGET_CHARS < len(block) < MAX_WHOLE_CHARS
    assert sum(block.strip() in chunk.text for chunk in note.chunks) == 1


def test_a_few_words_stay_with_the_code_that_they_introduce():
    code = "```\n" + "x = 1\n" * 400 + "```"
    note = read_note(f"# Birds\n\n{PARAGRAPH * 3}\n## Code\n\nFor example:\n\n{code}\n", "stem")
    assert note.chunks[-1].text == f"## Code\n\nFor example:\n\n{code}"


def test_a_very_long_block_is_cut_between_its_lines():
    line = "value = compute(value)"
    note = read_note("```\n" + f"{line}\n" * 1_000 + "```\n", "stem")
    assert len(note.chunks) > 10
    assert {each for chunk in note.chunks for each in chunk.text.split("\n")} == {line, "```"}


def test_a_very_long_line_is_cut_between_its_sentences():
    line = SENTENCE * 200
    note = read_note(f"First [[a]].\n{line}[[b]]\nLast.\n", "stem")
    assert "".join(chunk.text for chunk in note.chunks[1:-1]) == f"{line}[[b]]"
    assert all(chunk.text.startswith("The heron") for chunk in note.chunks[1:-1])
    assert {(chunk.first_line, chunk.last_line) for chunk in note.chunks[1:-1]} == {(2, 2)}
    assert [[link.target for link in chunk.links] for chunk in note.chunks if chunk.links] == [["a"], ["b"]]
    assert note.chunks[-2].links[0].line == 2


def test_tags_links_and_keys_are_with_the_chunk_they_stand_in():
    note = read_note(f"[[a]] #one\n\n{PARAGRAPH * 2}\n# Birds ^b1\n\n[[b]] #two\n\n{PARAGRAPH * 2}", "stem")
    assert [([link.target for link in chunk.links], chunk.tags, chunk.keys) for chunk in note.chunks] == [
        (["a"], ("one",), ()),
        (["b"], ("two",), ("birds", "^b1")),
    ]


def test_plain_text_has_no_structure():
    (chunk,) = read_plain_text("# not a heading\n[[no link]] #no_tag\n\ntitle: x\n", "My file").chunks
    assert chunk == NoteChunk(("My file",), "# not a heading\n[[no link]] #no_tag\n\ntitle: x", 1, 4)


def test_pages_are_chunks_of_their_own():
    note = read_pages(["First page.", "", "Third page,\n\ntwo lines.", PARAGRAPH * 5], "Report")
    assert [(chunk.heading_path, chunk.keys, chunk.first_line, chunk.last_line) for chunk in note.chunks] == [
        (("Report", "Page 1"), ("page-1",), 1, 1),
        (("Report", "Page 3"), ("page-3",), 3, 5),
        (("Report", "Page 4"), ("page-4",), 6, 8),
        (("Report", "Page 4"), ("page-4",), 9, 10),
    ]


LINES = [
    *("# One", "## Two", "### Three", "Under\n===", "Under\n---", "", "", "   ", "\t", "\u00a0", "---", "***"),
    *("```", "~~~", "    code", "- item", "  - nested", "1. first", "> quote", "> # quoted", "| a | b |", "|---|---|"),
    *("<!--", "-->", "%%", "<div>", "</div>", "[[a]] #b ^c", "[a](b.md)", "[a]: b.md", "`", "$$", "\x0c", "é日😀"),
    *(SENTENCE, SENTENCE * 20, SENTENCE * 80, "x" * 700, "x" * 3_500, "日本語。" * 300),
]
markdown_texts = st.lists(st.sampled_from(LINES), max_size=60).map("\n".join)
signs = st.text(alphabet="#-=`~>|[]()*_%<! \n\ta1é", max_size=400)
any_text = st.text(alphabet=st.characters(exclude_categories=["Cs"])) | signs


@given(markdown_texts | any_text)
def test_no_line_is_lost_or_repeated(text: str):
    text = "\n" + text  # without front matter
    for note in (read_note(text, "stem"), read_plain_text(text, "stem")):
        check_lines(note, text.split("\n"))
        check_sizes(note)


def check_lines(note: Note, lines: list[str]) -> None:
    covered: set[int] = set()
    parts: dict[int, str] = {}
    for chunk in note.chunks:
        there = lines[chunk.first_line - 1 : chunk.last_line]
        if len(there) == 1 and len(there[0]) > MAX_LINE_CHARS:
            parts[chunk.first_line] = parts.get(chunk.first_line, "") + chunk.text
        else:
            assert chunk.text == "\n".join(there)
            assert not covered & set(range(chunk.first_line, chunk.last_line + 1))
        covered |= set(range(chunk.first_line, chunk.last_line + 1))
    assert all(lines[number - 1] == text for number, text in parts.items())
    assert covered >= {number for number, line in enumerate(lines, start=1) if line.strip()}
    assert all(low.last_line <= high.first_line for low, high in pairwise(note.chunks))


def check_sizes(note: Note) -> None:
    for chunk in note.chunks:
        assert chunk.text.strip()
        assert len(chunk.text) <= MAX_WHOLE_CHARS + TARGET_CHARS + MIN_CHARS
        assert chunk.heading_path[0] == note.title
        assert all(chunk.first_line <= link.line <= chunk.last_line for link in chunk.links)


@given(markdown_texts)
def test_reading_is_repeatable(text: str):
    assert read_note(text, "stem") == read_note(text, "stem")
