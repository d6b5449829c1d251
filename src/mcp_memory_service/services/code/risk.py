"""How risky it is to change a symbol, from what is known of it: a sum of parts that each say why."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

DEPTH_WEIGHTS = (1.0, 0.6, 0.3)
"""Of a caller that is one, two, three steps away; what is farther counts as the last."""


@dataclass(frozen=True, slots=True)
class Findings:
    """What a change of a symbol may touch."""

    callers_by_depth: tuple[int, ...] = ()
    """How many are one step away, two, and so on."""
    files: int = 0
    """Others than its own, in which they stand."""
    overrides: int = 0
    decisions: int = 0
    errors: int = 0
    open_calls: int = 0
    changed_together: int = 0
    """Files that history often changed with its own."""
    tests: int = 0
    """That reach it."""


@dataclass(frozen=True, slots=True)
class RiskPart:
    name: str
    points: float
    at_most: int
    why: str


@dataclass(frozen=True, slots=True)
class Risk:
    """0 is no known risk, 100 the most."""

    score: int
    parts: tuple[RiskPart, ...]
    """Those that count, largest first."""


def risk_of(findings: Findings) -> Risk:
    """Each part grows with what it counts and never beyond its share; tests alone make it smaller."""
    reach = weighted_callers(findings.callers_by_depth)
    callers = sum(findings.callers_by_depth)
    is_used = min(1.0, reach + findings.overrides + findings.open_calls)
    parts = (
        _grown("callers", 35, reach, 10, f"{callers} callers within {len(findings.callers_by_depth)} steps"),
        _grown("files", 15, findings.files, 4, f"in {findings.files} other files"),
        RiskPart("untested", 15 * is_used / (1 + findings.tests), 15, f"{findings.tests} tests reach it"),
        _grown("errors", 15, findings.errors, 2, f"{findings.errors} past errors speak of it or its callers"),
        _grown("decisions", 8, findings.decisions, 2, f"{findings.decisions} decisions speak of it or its callers"),
        _grown("overrides", 4, findings.overrides, 2, f"{findings.overrides} symbols override or inherit it"),
        _grown("open calls", 4, findings.open_calls, 4, f"{findings.open_calls} calls that may mean it are open"),
        _grown("history", 4, findings.changed_together, 4, f"{findings.changed_together} files often change with it"),
    )
    score = round(sum(part.points for part in parts))
    counted = sorted((part for part in parts if part.points > 0), key=lambda part: (-part.points, part.name))
    return Risk(score, tuple(counted))


def weighted_callers(by_depth: Sequence[int]) -> float:
    """A caller counts the less, the farther it is."""
    return sum(DEPTH_WEIGHTS[min(depth, len(DEPTH_WEIGHTS) - 1)] * count for depth, count in enumerate(by_depth))


def _grown(name: str, at_most: int, count: float, half_at: float, why: str) -> RiskPart:
    """Half of what it may be at `half_at`, and nearly all at four times that."""
    return RiskPart(name, at_most * (1 - math.exp(-math.log(2) * count / half_at)), at_most, why)
