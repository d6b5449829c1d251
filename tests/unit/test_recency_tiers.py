"""Recency in tiers: a newer memory gets more of its score in two steps, and nothing else changes."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.config import load_settings
from mcp_memory_service.errors import ConfigurationError
from mcp_memory_service.hybrid_search import (
    CLASSIC,
    FusedCandidate,
    apply_recency_tiers,
    best_first,
    tiered_recency_factor,
)
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

NOW = 400 * MICROSECONDS_PER_DAY
moments = st.integers(0, 2 * NOW)
fused_lists = st.lists(
    st.builds(
        FusedCandidate,
        content_hash=st.text("abc", min_size=1, max_size=4),
        created_at=moments | st.sampled_from([NOW - 7 * MICROSECONDS_PER_DAY, NOW - 30 * MICROSECONDS_PER_DAY]),
        score=st.floats(0, 5),
        contributions=st.just({}),
    ),
    max_size=20,
    unique_by=lambda candidate: candidate.content_hash,
).map(lambda drawn: sorted(drawn, key=best_first))


@pytest.mark.parametrize(
    ("age", "factor"),
    [
        (-MICROSECONDS_PER_DAY, 1.2),
        (0, 1.2),
        (7 * MICROSECONDS_PER_DAY, 1.2),
        (7 * MICROSECONDS_PER_DAY + 1, 1.1),
        (30 * MICROSECONDS_PER_DAY, 1.1),
        (30 * MICROSECONDS_PER_DAY + 1, 1.0),
        (NOW, 1.0),
    ],
)
def test_the_last_moment_of_a_tier_belongs_to_it_and_the_future_counts_as_now(age: int, factor: float):
    assert tiered_recency_factor(NOW - age, NOW) == factor


@given(moments, moments)
def test_a_newer_memory_never_gets_less(one: int, other: int):
    older, newer = sorted((one, other))
    assert tiered_recency_factor(older, NOW) <= tiered_recency_factor(newer, NOW)


@given(fused_lists)
def test_each_score_is_multiplied_by_its_tier_and_the_order_is_theirs(fused: Sequence[FusedCandidate]):
    factors = [tiered_recency_factor(candidate.created_at, NOW) for candidate in fused]
    expected = [
        candidate._replace(score=candidate.score * factor, recency_factor=factor)
        for candidate, factor in zip(fused, factors, strict=True)
    ]
    assert apply_recency_tiers(fused, NOW) == sorted(expected, key=best_first)


def test_tiers_are_chosen_by_a_setting_and_never_by_the_classic_ranking(monkeypatch: pytest.MonkeyPatch):
    assert load_settings().hybrid.policy().recency == "decay"
    monkeypatch.setenv("MCP_MEMORY_RECENCY", "tiers")
    assert load_settings().hybrid.policy().recency == "tiers"
    assert CLASSIC.recency == "decay"
    with pytest.raises(ConfigurationError, match=r"MCP_MEMORY_RECENCY: .*one of decay, tiers"):
        load_settings({"recency": "steps"})
