"""Pages on which no document has more than a few chunks."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import page_places

DOCUMENTS = st.lists(st.sampled_from([None, "a", "b", "c"]), max_size=40)


def all_pages(documents: list[str | None], page_size: int, limit: int) -> list[list[int]]:
    """A document of all chunks needs the most pages."""
    most = len(documents) + 1
    return [page_places(documents, page, page_size, limit).places for page in range(1, most + 1)]


@given(DOCUMENTS, st.integers(1, 10), st.integers(1, 5))
def test_the_pages_together_are_the_whole_list(documents: list[str | None], page_size: int, limit: int):
    pages = all_pages(documents, page_size, limit)
    assert sorted(place for page in pages for place in page) == list(range(len(documents)))


@given(DOCUMENTS, st.integers(1, 10), st.integers(1, 5))
def test_no_page_has_too_much_of_anything_and_each_is_in_order(documents: list[str | None], page_size: int, limit: int):
    for page in all_pages(documents, page_size, limit):
        assert len(page) <= page_size
        assert page == sorted(page)
        counted = Counter(documents[place] for place in page if documents[place] is not None)
        assert all(count <= limit for count in counted.values())


@given(DOCUMENTS, st.integers(1, 10), st.integers(1, 5))
def test_each_page_says_how_much_came_so_far(documents: list[str | None], page_size: int, limit: int):
    pages = [page for page in all_pages(documents, page_size, limit) if page]
    for number in range(1, len(documents) + 2):
        spread = page_places(documents, number, page_size, limit)
        assert spread.placed == sum(map(len, pages[:number]))
        assert spread.pages == min(number, len(pages))


@given(DOCUMENTS, st.integers(1, 10))
def test_without_documents_pages_are_plain_slices(documents: list[str | None], page_size: int):
    places = page_places([None] * len(documents), 2, page_size, 1).places
    assert places == list(range(len(documents)))[page_size : 2 * page_size]


@given(DOCUMENTS, st.integers(1, 10), st.integers(1, 5), st.integers(1, 4))
def test_what_comes_later_in_the_list_changes_no_full_page(
    documents: list[str | None], page_size: int, limit: int, page: int
):
    full = page_places(documents, page, page_size, limit)
    if len(full.places) == page_size:
        assert page_places([*documents, "a", None], page, page_size, limit) == full
