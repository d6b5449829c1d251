"""Where links lead: as in Obsidian and Foam, and never by a guess."""

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.indexing import LinkForm, LinkResolver, LinkStatus, NoteNames, RawLink, Resolution, read_note

VAULT = [
    NoteNames("index.md", "Home"),
    NoteNames("Birds/Heron.md", "Grey heron", ["Ardea cinerea", "Wader"], ["food", "in-the-reeds", "^h1", "2-eggs"]),
    NoteNames("Birds/Owl.md", "Owl", ["Wader"]),
    NoteNames("Birds/index.md", "All birds"),
    NoteNames("Birds/Rare/Ibis.md", "Ibis"),
    NoteNames("Places/Lake.md", "The lake", ["todo"]),
    NoteNames("Places/Lakes/README.md", "Lakes of the north"),
    NoteNames("Places/Old/Lake.md", "An old lake"),
    NoteNames("Plans/todo.md", "Plans"),
    NoteNames("Work/todo.md", "Work"),
    NoteNames("Work/house/todo.md", "House"),
    NoteNames("Work/a b (c).markdown", "Brackets"),
    NoteNames("Work/report.pdf", "report", (), ["page-3"]),
    NoteNames("Work/report.md", "Report"),
    NoteNames("Work/v1.2.md", "Version"),
]


def resolved(link: str, from_path: str = "Work/log.md", form: LinkForm = "wikilink") -> Resolution:
    target, _, anchor = link.partition("#")
    return LinkResolver(VAULT).resolve(from_path, RawLink(target, anchor, form, 1))


@pytest.mark.parametrize(
    ("link", "from_path", "path"),
    [
        ("todo", "Work/log.md", "Work/todo.md"),
        ("todo", "Plans/log.md", "Plans/todo.md"),
        ("todo.md", "Work/house/log.md", "Work/house/todo.md"),
        ("house/todo", "Work/log.md", "Work/house/todo.md"),
        ("house/todo", "log.md", "Work/house/todo.md"),
        ("Birds/Heron", "Work/log.md", "Birds/Heron.md"),
        ("/Birds/Heron", "Work/log.md", "Birds/Heron.md"),
        ("heron", "log.md", "Birds/Heron.md"),
        ("HERON.MD", "log.md", "Birds/Heron.md"),
        ("../Birds/Heron.md", "Work/log.md", "Birds/Heron.md"),
        ("./house/../todo", "Work/log.md", "Work/todo.md"),
        ("Lake", "log.md", "Places/Lake.md"),
        ("index", "Work/log.md", "index.md"),
        ("index", "Birds/log.md", "Birds/index.md"),
        ("Ardea Cinerea", "log.md", "Birds/Heron.md"),
        ("grey heron", "log.md", "Birds/Heron.md"),
        ("Home", "Work/log.md", "index.md"),
        ("a b (c)", "Work/log.md", "Work/a b (c).markdown"),
        ("a%20b%20(c)", "log.md", "Work/a b (c).markdown"),
        ("report", "log.md", "Work/report.md"),
        ("report.pdf", "log.md", "Work/report.pdf"),
        ("v1.2", "log.md", "Work/v1.2.md"),
        ("Birds", "log.md", "Birds/index.md"),
        ("Birds/", "Work/log.md", "Birds/index.md"),
        ("Lakes", "Places/log.md", "Places/Lakes/README.md"),
        ("../Birds/", "Work/log.md", "Birds/index.md"),
        ("/", "Work/log.md", "index.md"),
    ],
)
@pytest.mark.parametrize("form", ["wikilink", "embed", "markdown"])
def test_a_link_leads_to_a_note(link: str, from_path: str, path: str, form: LinkForm):
    assert resolved(link, from_path, form) == Resolution("resolved", path)


def test_of_several_the_one_with_the_fewest_folders_counts_and_equals_are_ambiguous():
    assert resolved("Lake", "log.md").path == "Places/Lake.md"
    assert resolved("todo", "log.md") == Resolution("ambiguous", candidates=("Plans/todo.md", "Work/todo.md"))
    assert resolved("wader", "log.md") == Resolution("ambiguous", candidates=("Birds/Heron.md", "Birds/Owl.md"))


def test_a_file_name_comes_before_an_alias_and_an_alias_before_a_title():
    notes = [NoteNames("a.md", "c", ["b"]), NoteNames("b.md", "a"), NoteNames("x.md", "b", ["c"])]
    resolver = LinkResolver(notes)
    assert resolver.resolve("log.md", RawLink("b", "", "wikilink", 1)).path == "b.md"
    assert resolver.resolve("log.md", RawLink("c", "", "wikilink", 1)).path == "x.md"


def test_names_that_differ_by_case_alone_are_told_apart_only_where_they_are_written_alike():
    resolver = LinkResolver([NoteNames("Note.md", "One"), NoteNames("note.md", "Two")])
    assert resolver.resolve("log.md", RawLink("note", "", "wikilink", 1)).path == "note.md"
    assert resolver.resolve("log.md", RawLink("Note", "", "wikilink", 1)).path == "Note.md"
    assert resolver.resolve("log.md", RawLink("NOTE", "", "wikilink", 1)).status == "ambiguous"


def test_composed_and_decomposed_letters_are_the_same():
    decomposed = unicodedata.normalize("NFD", "Größe/Zürich.md")
    resolver = LinkResolver([NoteNames(decomposed, "x")])
    for target in ("ZÜRICH", "größe/zürich", "GRÖSSE/Zürich.md", unicodedata.normalize("NFD", "Zürich")):
        assert resolver.resolve("log.md", RawLink(target, "", "wikilink", 1)).path == decomposed


@pytest.mark.parametrize(
    ("link", "key"),
    [
        ("Heron#Food", "food"),
        ("Heron#In the reeds!", "in-the-reeds"),
        ("Heron#in-the-reeds", "in-the-reeds"),
        ("Heron#inthereeds", "in-the-reeds"),
        ("Heron#Birds#Food", "food"),
        ("Heron#food-1", "food"),
        ("Heron#2-eggs", "2-eggs"),
        ("Heron#^H1", "^h1"),
        ("Heron#Food#^h1", "^h1"),
        ("report.pdf#page=3", "page-3"),
    ],
)
def test_an_anchor_leads_to_a_heading_or_block(link: str, key: str):
    found = resolved(link)
    assert (found.status, found.key) == ("resolved", key)


@pytest.mark.parametrize("link", ["Heron#Wings", "Heron#^h2", "Heron#h1", "Heron#^food", "Heron#!", "Owl#Food"])
def test_an_anchor_that_is_not_there_leads_to_the_note(link: str):
    found = resolved(link)
    assert (found.status, found.key) == ("missing_anchor", None)
    assert found.path in {"Birds/Heron.md", "Birds/Owl.md"}


def test_a_link_without_a_target_stays_in_its_note():
    assert resolved("#food", "Birds/Heron.md") == Resolution("resolved", "Birds/Heron.md", "food")
    assert resolved("#wings", "Birds/Heron.md") == Resolution("missing_anchor", "Birds/Heron.md")


@pytest.mark.parametrize(
    ("link", "form", "status"),
    [
        ("No such note", "wikilink", "broken"),
        ("no such.md", "markdown", "broken"),
        ("../Birds/Gull.md", "markdown", "broken"),
        ("./Heron", "wikilink", "broken"),
        ("/Heron", "wikilink", "broken"),
        ("/house/todo", "wikilink", "broken"),
        ("Note: with a colon", "wikilink", "broken"),
        ("2.5 metres", "wikilink", "broken"),
        ("picture.png", "embed", "file"),
        ("table.xlsx", "wikilink", "file"),
        ("LICENSE", "markdown", "file"),
        ("src/", "markdown", "file"),
        ("setup.cfg", "markdown", "file"),
        ("https://example.org/a.md", "markdown", "external"),
        ("https://example.org", "wikilink", "external"),
        ("mailto:a@b.c", "markdown", "external"),
        ("obsidian://open?file=Heron", "markdown", "external"),
        ("//example.org/a.md", "markdown", "external"),
        ("../../outside.md", "markdown", "external"),
        ("/../outside.md", "markdown", "external"),
        ("../../Work/todo", "wikilink", "external"),
    ],
)
def test_other_links_lead_to_no_note(link: str, form: LinkForm, status: LinkStatus):
    assert resolved(link, form=form) == Resolution(status)


def test_a_name_that_is_encoded_many_times_is_broken():
    assert resolved("%" + "25" * 5_000).status == "broken"


def test_a_link_is_resolved_when_its_note_appears():
    link = RawLink("Gull", "Food", "wikilink", 1)
    assert LinkResolver(VAULT).resolve("log.md", link).status == "broken"
    gull = NoteNames.of("Birds/Gull.md", read_note("# The gull\n\n## Food\n\nFish. ^f1\n", "Gull"))
    assert gull == NoteNames("Birds/Gull.md", "The gull", (), ("the-gull", "food", "^f1"))
    assert LinkResolver([*VAULT, gull]).resolve("log.md", link) == Resolution("resolved", "Birds/Gull.md", "food")


PARTS = st.sampled_from(["a", "A", "b", "é", "e\u0301", "index", "c d"])
PATHS = st.lists(PARTS, min_size=1, max_size=3).map("/".join).map(lambda path: path + ".md")
NAMES = st.builds(NoteNames, PATHS, PARTS, st.lists(PARTS, max_size=2), st.lists(PARTS, max_size=2))
VAULTS = st.lists(NAMES, max_size=8, unique_by=lambda names: names.path)
TARGETS = st.lists(PARTS | st.sampled_from(["..", ".", "", "%20"]), max_size=4).map("/".join)
FORMS = st.sampled_from(["wikilink", "markdown"])
LINKS = st.builds(RawLink, TARGETS, st.sampled_from(["", "a", "^a"]), FORMS, st.just(1))


@given(VAULTS, PATHS, LINKS, st.randoms(use_true_random=False))
def test_the_order_of_the_notes_does_not_matter(
    vault: list[NoteNames], from_path: str, link: RawLink, order: random.Random
):
    shuffled = order.sample(vault, len(vault))
    found = LinkResolver(vault).resolve(from_path, link)
    assert LinkResolver(shuffled).resolve(from_path, link) == found
    assert {found.path, *found.candidates} <= {None, from_path, *(names.path for names in vault)}
    assert (found.path is not None) == (found.status in {"resolved", "missing_anchor"})
    assert (len(found.candidates) > 1) == (found.status == "ambiguous")


@given(VAULTS, st.data())
def test_the_path_of_a_note_always_leads_to_it(vault: list[NoteNames], data: st.DataObject):
    names = data.draw(st.sampled_from(vault)) if vault else NoteNames("a.md", "a")
    resolver = LinkResolver(vault or [names])
    from_path = data.draw(PATHS)
    assert resolver.resolve(from_path, RawLink("/" + names.path, "", "markdown", 1)).path == names.path
