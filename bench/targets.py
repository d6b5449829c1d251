"""What is asked of us, beside what was measured."""

from collections.abc import Mapping, Sequence
from typing import Any

from systems import OURS, title

Figures = Mapping[str, Any]
Row = tuple[str, str, str, bool]
"""What it is about, what is asked, what was measured, and whether that is met."""

HUNDRED_THOUSAND, MILLION = 100_000, 1_000_000
WITH_MODEL = 143_000


def target_rows(sizes: Sequence[Figures]) -> list[str]:
    """A table of all targets for which there are figures."""
    by_size: dict[int, Figures] = {size["memories"]: size["systems"] for size in sizes}
    rows = [row for memories, systems in by_size.items() for row in _at(memories, systems)]
    if not rows:
        return []
    lines = [f"| {what} | {asked} | {measured} | {'yes' if met else '**no**'} |" for what, asked, measured, met in rows]
    return ["| figure | asked | measured | met |", "|---|---|---|---|", *lines]


# By size: p50, p95 and CPU of a hybrid search, and p95 of eight at once, in ms.
ENGINE: dict[int, dict[str, float]] = {
    1_000: {"p50_ms": 1.5, "p95_ms": 2.5, "cpu_ms": 2},
    10_000: {"cpu_ms": 2},
    HUNDRED_THOUSAND: {"p50_ms": 3.0, "p95_ms": 4.5, "cpu_ms": 3, "at_once_p95_ms": 25},
    MILLION: {"p95_ms": 30, "at_once_p95_ms": 90},
}
SERVED = (1_000, HUNDRED_THOUSAND)


def _at(memories: int, systems: Figures) -> list[Row]:
    ours, server = systems[OURS], systems.get("end_to_end")
    rows: list[Row] = []
    if "modes" in ours:
        rows += _engine(memories, ours)
        rows += _against_peers(memories, systems)
    if server and memories in SERVED:
        rows += _server(memories, server)
    if server and memories == WITH_MODEL:
        rows += _memory(memories, server)
    return rows


def _engine(memories: int, ours: Figures) -> list[Row]:
    hybrid = {**ours["modes"]["hybrid"], "at_once_p95_ms": ours["at_once"]["8"]["p95_ms"]}
    named = {"p50_ms": "p50", "p95_ms": "p95", "cpu_ms": "CPU", "at_once_p95_ms": "p95 of 8 at once"}
    rows = [
        _at_most(f"engine, hybrid {named[figure]}, {memories:,}", limit, hybrid[figure], "ms")
        for figure, limit in ENGINE.get(memories, {}).items()
    ]
    if "calls" in ours:
        calls = ours["calls"]["hybrid"]["python"]
        rows.append((f"Python calls of a hybrid search, {memories:,}", "at most 900", f"{calls:,.0f}", calls <= 900))
    found = ours["recall"]
    rows.append((f"recall@10 of vectors against exact, {memories:,}", "at least 0.98", f"{found:.3f}", found >= 0.98))
    return rows


def _server(memories: int, server: Figures) -> list[Row]:
    rows = [
        _at_most(f"REST with embedding, p50, {memories:,}", 7, server["rest"]["1"]["p50_ms"], "ms"),
        _at_most(f"cold start to first answer, {memories:,}", 3, server["cold_start_seconds"], "s"),
    ]
    if memories == HUNDRED_THOUSAND:
        rows.append(_at_most(f"MCP over HTTP, p50, {memories:,}", 9, server["mcp"]["p50_ms"], "ms"))
    if "load" in server:
        load = server["load"]
        errors = sum(load["errors"].values())
        told = f"{errors} in {load['requests']:,}; {load['requests_per_second']:,.0f}/s, p99 {load['p99_ms']:,.0f} ms"
        met = errors == 0 and load["requests_per_second"] >= 250 and load["p99_ms"] <= 180
        rows.append((f"32 connections, {memories:,}", "no errors, at least 250/s, p99 at most 180 ms", told, met))
    return rows


def _memory(memories: int, server: Figures) -> list[Row]:
    """What the system cannot drop: pages of the mapped index and of libraries it can."""
    return [
        _at_most(f"dirty memory of the server after load, {memories:,}", 200, server["dirty_mb_after_all"], "MB"),
        _at_most(f"dirty memory of the server when idle, {memories:,}", 90, server["dirty_mb_idle"], "MB"),
    ]


def _against_peers(memories: int, systems: Figures) -> list[Row]:
    ours = systems[OURS]
    rows: list[Row] = []
    for name, figures in systems.items():
        if name == OURS or "hybrid" not in figures.get("modes", {}):
            continue
        theirs, own = figures["modes"]["hybrid"]["p95_ms"], ours["modes"]["hybrid"]["p95_ms"]
        asked = f"under {theirs:,.1f} ms, recall at least {figures['recall']:.3f}"
        told = f"{own:,.1f} ms, {ours['recall']:.3f}"
        met = own < theirs and ours["recall"] >= figures["recall"]
        rows.append((f"hybrid p95 against {title(name, figures)}, {memories:,}", asked, told, met))
    return rows


def _at_most(what: str, limit: float, measured: float, unit: str) -> Row:
    return what, f"at most {limit} {unit}", f"{measured:,.1f} {unit}", measured <= limit
