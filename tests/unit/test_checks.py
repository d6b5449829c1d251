"""The rules for input: what they refuse, by which code, and that they change nothing."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.models import ListRequest
from mcp_memory_service.services.write import checks


def nested(levels: int) -> Any:
    value: Any = "leaf"
    for _ in range(levels):
        value = {"k": value}
    return value


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "content_empty"),
        (" \n\t\u2003", "content_empty"),
        ("\u200b\ufeff", "content_empty"),
        ("x" * 101, "content_too_long"),
        ("a\x00b", "control_character"),
        ("\x1b[31mred", "control_character"),
        ("\x85", "control_character"),
        ("\ud800", "lone_surrogate"),
    ],
)
def test_bad_content(content: str, reason: str):
    with pytest.raises(InvalidInput) as caught:
        checks.check_content(content, max_chars=100)
    assert (caught.value.code, caught.value.field) == (reason, "content")


@pytest.mark.parametrize("content", ["tab\tline\r\n", "שלום עולם", "部署 🚀 e\u0301", "\u202eoverride", "'\"; NEAR(*)"])
def test_ordinary_text_of_any_script_passes(content: str):
    checks.check_content(content, max_chars=100)
    checks.check_query(content)


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"n": float("nan")}, "number_not_finite"),
        ({"n": [1, {"x": float("inf")}]}, "number_not_finite"),
        ({"n": 2**63}, "integer_out_of_range"),
        ({"n": -(2**63) - 1}, "integer_out_of_range"),
        ({"\ud800": 1}, "lone_surrogate"),
        ({"s": "\udfff"}, "lone_surrogate"),
        ({"s": "\x00"}, "control_character"),
        ({"s": "x" * 70_000}, "metadata_too_long"),
        ({str(i): "x" * 100 for i in range(1_000)}, "metadata_too_large"),
        (nested(30), "metadata_too_deep"),
    ],
)
def test_bad_metadata(metadata: dict[str, Any], reason: str):
    with pytest.raises(InvalidInput) as caught:
        checks.check_metadata(metadata)
    assert caught.value.code == reason


def test_the_largest_allowed_metadata_passes():
    checks.check_metadata({"max": 2**63 - 1, "min": -(2**63), "deep": nested(18), "none": None, "flag": True})


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        (["x"] * 101, "too_many_tags"),
        ([""], "tag_empty"),
        ([" "], "tag_empty"),
        (["x" * 201], "tags_too_long"),
        (["a\nb"], "control_character"),
        (["a\r"], "control_character"),
    ],
)
def test_bad_tags(tags: list[str], reason: str):
    with pytest.raises(InvalidInput) as caught:
        checks.checked_tags(tags)
    assert caught.value.code == reason


def test_tags_are_trimmed_and_composed_and_filters_folded():
    assert checks.checked_tags([" Größe ", "e\u0301"]) == ("Größe", "\u00e9")
    assert checks.checked_filter("default", ListRequest(tags=("GRÖSSE", "größe")), datetime.now(UTC)).tags == (
        "grösse",
    )


@pytest.mark.parametrize(("page", "size"), [(0, 10), (-1, 10), (1, 0), (1, 101), (1, 10**9), (10**9, 10)])
def test_pages_out_of_range(page: int, size: int):
    with pytest.raises(InvalidInput, match="page"):
        checks.check_page(page, size)


def test_a_clock_may_be_a_little_ahead_but_no_more():
    checks.check_moment(10**15 + 60_000_000, "created_at", now=10**15)
    checks.check_moment(-62_135_596_800_000_000, "created_at", now=10**15)
    with pytest.raises(InvalidInput, match="before year 1"):
        checks.check_moment(-62_135_596_800_000_001, "created_at", now=10**15)
    with pytest.raises(InvalidInput, match="future"):
        checks.check_moment(10**15 + 3_600_000_000, "created_at", now=10**15)


@pytest.mark.parametrize("value", [-0.1, 1.1, float("nan"), float("inf")])
def test_fractions_out_of_range(value: float):
    with pytest.raises(InvalidInput, match="alpha must be 0 to 1"):
        checks.check_fraction(value, "alpha")


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda children: st.lists(children) | st.dictionaries(st.text(), children),
    max_leaves=20,
)


@given(st.dictionaries(st.text(), json_values))
def test_any_json_is_accepted_or_refused_by_a_rule(metadata: dict[str, Any]):
    reason = None
    try:
        checks.check_metadata(metadata)
    except InvalidInput as error:
        reason = error.code
    assert reason in {None, "number_not_finite", "integer_out_of_range", "lone_surrogate", "control_character"}


def test_weights_are_another_way_to_give_alpha():
    assert checks.alpha_from_weights(0.3, None, None) == 0.3
    assert checks.alpha_from_weights(None, 0.3, 0.7) == pytest.approx(0.7)
    assert checks.alpha_from_weights(None, 1.0, None) == pytest.approx(0.375)
    assert 0 < (checks.alpha_from_weights(None, 0.5, 0.0) or 0) < 1e-5
    for alpha, fts, vector in ((0.5, 0.1, None), (None, 0.0, 0.0), (None, -1.0, None), (None, None, 2.0)):
        with pytest.raises(InvalidInput):
            checks.alpha_from_weights(alpha, fts, vector)


@pytest.mark.parametrize(
    "content", ["\ufdfa" * 222, "\ufdfa" * 200 + "x" * 1_000, "\u6f22" * 100_000, "\ufb03" * 10_000]
)
def test_text_that_hardly_grows_when_it_is_compared_is_taken(content: str):
    checks.check_content(content, 100_000)


@pytest.mark.parametrize(
    ("check", "reason"),
    [
        (lambda: checks.check_content("\ufdfa" * 223, 100_000), "content_grows"),
        (lambda: checks.check_query("\ufdfa" * 10_000), "query_grows"),
        (lambda: checks.checked_tags(["fine", "\ufdfa" * 12]), "tags_grows"),
    ],
)
def test_text_that_grows_when_it_is_compared_is_refused(check: Callable[[], object], reason: str):
    """U+FDFA stands for 18 characters: 100,000 of them would be 1.8 million to cut into words."""
    with pytest.raises(InvalidInput) as refused:
        check()
    assert refused.value.code == reason
