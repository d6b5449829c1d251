"""What `notes check` lists."""

from mcp_memory_service.indexing import (
    HubNote,
    LinkProblem,
    LinkResolver,
    NoteNames,
    VaultReport,
    check_notes,
    read_note,
)

VAULT = {
    "index.md": "[[heron]] and [[owl]]\n\n[[nowhere#x]]\n",
    "birds/heron.md": "# Heron\n\n[[owl#Food]] [[owl#Wings]]\n[[todo]] ![[picture.png]] [site](https://example.org)\n",
    "birds/owl.md": "# Owl\n\n## Food\n\n[[#food]] [[#none]]\n",
    "a/todo.md": "[[owl]]",
    "b/todo.md": "Alone, with [a link](gone.md) and [itself](todo.md).",
    "empty.md": "",
}


def test_problems_orphans_and_hubs_are_listed_with_their_places():
    notes = {path: read_note(text, path.rpartition("/")[2].removesuffix(".md")) for path, text in VAULT.items()}
    resolver = LinkResolver(NoteNames.of(path, note) for path, note in notes.items())
    links = {path: note.links for path, note in reversed(notes.items())}
    assert check_notes(links, resolver, hub_links=3) == VaultReport(
        resolved=8,
        broken=(LinkProblem("b/todo.md", 1, "gone.md"), LinkProblem("index.md", 3, "nowhere#x")),
        ambiguous=(LinkProblem("birds/heron.md", 4, "todo", ("a/todo.md", "b/todo.md")),),
        missing_anchors=(
            LinkProblem("birds/heron.md", 3, "owl#Wings"),
            LinkProblem("birds/owl.md", 5, "#none"),
        ),
        orphans=("b/todo.md", "empty.md"),
        hubs=(HubNote("birds/owl.md", 3),),
    )


def test_an_empty_vault_has_an_empty_report():
    assert check_notes({}, LinkResolver([])) == VaultReport(0, (), (), (), (), ())
