"""Names of notes in running text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.indexing import TitleIndex

INDEX = TitleIndex(
    [
        ("heron.md", ["Grey heron", "Ardea cinerea"]),
        ("grey.md", ["Grey"]),
        ("nest.md", ["Grey heron nest"]),
        ("cpp.md", ["C++ in practice"]),
        ("owl.md", ["Owl"]),
        ("todo.md", ["Todo"]),
        ("day.md", ["2026-05-04"]),
        ("pool.md", ["接続プール"]),
        ("one.md", ["Marsh"]),
        ("two.md", ["marsh", "Reed bed"]),
        ("both.md", ["Lake", "LAKE"]),
    ]
)


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("The grey heron and Ardea cinerea.", ["heron.md"]),
        ("A GREY\nheron's food", ["heron.md"]),
        ("grey-heron", ["heron.md"]),
        ("Grey is the grey heron.", ["grey.md", "heron.md"]),
        ("a grey heron nest", ["nest.md"]),
        ("greyheron, Greys, grey herons", ["grey.md"]),
        ("C in practice", ["cpp.md"]),
        ("設定の接続プールが枯渇", ["pool.md"]),
        ("the lake", ["both.md"]),
    ],
)
def test_a_name_is_found_by_whole_words(text: str, paths: list[str]):
    assert INDEX.mentioned(text) == paths


@pytest.mark.parametrize(
    "text",
    [
        "An owl and a todo on 2026-05-04.",
        "the marsh",
        "[[Grey heron]] ![[Lake]] [Grey heron](x.md) `grey heron` https://example.org/grey/heron",
        "```\ngrey heron\n```\n\n~~~\nlake\n~~~",
        "reed\n\nbed",
        "reed [[x]] bed",
        "",
    ],
)
def test_what_is_short_common_ambiguous_linked_or_code_is_no_mention(text: str):
    assert INDEX.mentioned(text) == []


WORDS = st.lists(st.sampled_from(["grey", "heron", "nest", "lake", "x"]), min_size=1, max_size=4).map(" ".join)


@given(st.lists(st.tuples(st.sampled_from(["a", "b", "c"]), st.lists(WORDS, max_size=3)), max_size=6), WORDS)
def test_the_order_of_the_notes_does_not_matter(titles: list[tuple[str, list[str]]], text: str):
    found = TitleIndex(titles).mentioned(text)
    assert TitleIndex(titles[::-1]).mentioned(text) == found
    assert len(set(found)) == len(found)
    assert all(any(name in text for path, names in titles if path == each for name in names) for each in found)
