"""The corpus is what it claims to be; a gate is worth as much as its data."""

from collections import Counter

from mcp_memory_service.models import content_hash, fold_tag

from .conftest import CATEGORIES
from .own_corpus import labelled_queries, memory_drafts

PROJECTS = {
    "rathole", "cachekit", "litesearch", "ledgerly", "fieldnotes", "homelab", "tidepool", "inkwell", "doorbell",
}  # fmt: skip


def test_the_corpus_is_a_year_over_nine_projects():
    drafts = memory_drafts()
    tags = Counter(fold_tag(tag) for draft in drafts for tag in draft.tags)
    assert len(drafts) >= 400
    assert all(tags[project] >= 40 for project in PROJECTS)
    assert len({draft.created_at for draft in drafts if draft.created_at}) > 300
    assert sum(not draft.tags for draft in drafts) >= 40
    assert sum(draft.session is not None for draft in drafts) >= 80


def test_every_category_has_its_queries():
    counts = Counter(case.category for case in labelled_queries())
    assert sum(counts.values()) >= 120
    assert set(counts) == {*CATEGORIES, "no_answer"}
    assert min(counts.values()) >= 15


def test_every_expected_memory_and_tag_exists_and_only_no_answer_expects_nothing():
    drafts = memory_drafts()
    hashes = {content_hash(draft.content) for draft in drafts}
    tags = {fold_tag(tag) for draft in drafts for tag in draft.tags}
    assert len(hashes) == len(drafts)
    for case in labelled_queries():
        assert set(case.expected_hashes) <= hashes
        assert {fold_tag(tag) for tag in case.expected_tags} <= tags
        assert (case.category == "no_answer") == (not case.expected_hashes)
