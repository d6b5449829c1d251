"""What an index run looks at and what it skips."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.indexing import IgnoreRules, document_kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("a.md", "note"),
        ("A.MD", "note"),
        ("a.b.markdown", "note"),
        ("page.mdx", "note"),
        ("a.txt", "text"),
        ("a.PDF", "pdf"),
        ("a.docx", None),
        ("README", None),
        (".md", None),
        (".hidden.md", None),
        ("~$open.md", None),
        ("a.md.bak", None),
    ],
)
def test_a_file_is_known_by_its_suffix(name: str, kind: str | None):
    assert document_kind(name) == kind


@pytest.mark.parametrize(
    "folder",
    [".git", ".obsidian", "notes/.trash", ".venv", "venv", "node_modules", "a/b/__pycache__", "Node_Modules"],
)
def test_what_programs_put_there_is_skipped(folder: str):
    assert IgnoreRules().skips(folder, is_folder=True)


@pytest.mark.parametrize("path", ["notes", "notes/venv.md", "node_modules.md", "a b/ü.md"])
def test_all_else_is_looked_at(path: str):
    assert not IgnoreRules().skips(path, is_folder=not path.endswith(".md"))


def test_a_hidden_file_is_skipped():
    assert IgnoreRules().skips("notes/.draft.md", is_folder=False)


def test_rules_of_git_hold_below_their_folder_and_the_innermost_has_the_last_word():
    outer = IgnoreRules().within("", "# comment\n*.tmp.md\nbuild/\n/only-here.md\n!keep.tmp.md\n")
    inner = outer.within("docs", "/private.md\n!draft.tmp.md\nimages/*.txt\n")
    skipped = {
        "a.tmp.md": True,
        "keep.tmp.md": False,
        "only-here.md": True,
        "docs/only-here.md": False,
        "docs/private.md": True,
        "docs/more/private.md": False,
        "docs/draft.tmp.md": False,
        "docs/other.tmp.md": True,
        "docs/images/a.txt": True,
    }
    assert {path: inner.skips(path, is_folder=False) for path in skipped} == skipped
    assert not outer.skips("docs/private.md", is_folder=False)
    assert inner.skips("docs/build", is_folder=True)
    assert not inner.skips("docs/build", is_folder=False)


def test_a_rule_that_is_none_is_passed_over():
    rules = IgnoreRules().within("", "!\n[\n[z-a]\n\\\n/\n//\n!/\n\x00\ndrafts/\n")
    assert rules.skips("drafts", is_folder=True)
    assert not rules.skips("notes", is_folder=True)


@pytest.mark.filterwarnings("ignore:Possible nested set:FutureWarning")  # of `[[]`, which means a bracket
@given(st.lists(st.sampled_from([*"!*?[]\\/-^# az", "**", "\n", "..", "\x00", "é"]), max_size=12).map("".join))
def test_any_rules_can_be_asked(written: str):
    rules = IgnoreRules().within("docs", written)
    assert rules.skips("docs/a.md", is_folder=False) in {True, False}
