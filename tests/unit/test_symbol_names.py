"""What of a query names symbols and places of code."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search.text.symbol_names import NamedPlace, named_places, named_symbols


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("authenticate_user", [("authenticate_user",)]),
        ("open", [("open",)]),
        ("open()", [("open",)]),
        ("`open`", [("open",)]),
        ("class Path", [("Path",)]),
        ("def load", [("load",)]),
        ("how do I open a file", []),
        ("what does open() do", [("open",)]),
        ("where is parseHTTPResponse used", [("parseHTTPResponse",)]),
        ("HTTPServer errors", [("HTTPServer",)]),
        ("Session.load and Basket.save", [("Session", "load"), ("Basket", "save")]),
        ("self.load of Session::close", [("load",), ("Session", "close")]),
        ("a JSON file on Monday", []),
        ("größe_lesen", [("größe_lesen",)]),
        ("src/a.py", []),
        ("", []),
    ],
)
def test_names_are_known_by_how_they_are_written(query: str, names: list[tuple[str, ...]]):
    assert named_symbols(query) == names


@pytest.mark.parametrize(
    ("query", "places"),
    [
        ("path/to/file.py", [NamedPlace("path/to/file.py", None)]),
        ("see file.py:120 please", [NamedPlace("file.py", 120)]),
        ('File "/srv/app/main.py:7"', [NamedPlace("/srv/app/main.py", 7)]),
        (r"src\app\main.ts:7", [NamedPlace("src/app/main.ts", 7)]),
        ("app/[id]/page.tsx", [NamedPlace("app/[id]/page.tsx", None)]),
        ("a.py and b.py:3, and a.py", [NamedPlace("a.py", None), NamedPlace("b.py", 3)]),
        ("no file at all. Next sentence.", []),
        ("version 1.2 of it", []),
    ],
)
def test_places_are_files_with_or_without_a_line(query: str, places: list[NamedPlace]):
    assert named_places(query) == places


def test_a_place_knows_what_its_module_may_be_called():
    place = NamedPlace("src/shop/index.d.ts", None)
    assert (place.stem, place.folder) == ("index", "shop")
    assert (NamedPlace("a.py", None).stem, NamedPlace("a.py", None).folder) == ("a", "")


@given(st.text())
def test_any_query_is_read_and_names_a_few_things(query: str):
    assert len(named_symbols(query)) <= 8
    assert len(named_places(query)) <= 8
    assert all(part and "." not in part for parts in named_symbols(query) for part in parts)


@pytest.mark.parametrize("part", ["a/", "a.", "a.b/", "-", "@$", "[", "/", "\\", ".", "a_", "_", "aB", "::"])
def test_a_long_query_is_read_at_once(part: str):
    """A search may have 10,000 characters; what took the square of them would hang."""
    query = part * (100_000 // len(part))
    assert len(named_places(query)) <= 8
    assert len(named_symbols(query)) <= 8
