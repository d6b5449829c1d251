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


def _at(memories: int, systems: Figures) -> list[Row]:
    ours, server = systems[OURS], systems.get("end_to_end")
    rows: list[Row] = []
    if "modes" in ours:
        rows += _engine(memories, ours)
        if memories == HUNDRED_THOUSAND:
            rows += _against_peers(memories, systems)
    if server and memories == HUNDRED_THOUSAND:
        rows += _server(memories, server)
    if server and memories == WITH_MODEL:
        rows.append(_at_most(f"RSS of the server with its model, {memories:,}", 300, server["rss_mb_after_all"], "MB"))
    return rows


def _engine(memories: int, ours: Figures) -> list[Row]:
    limits = {HUNDRED_THOUSAND: (10, 30), MILLION: (30, 120)}
    rows: list[Row] = []
    if memories in limits:
        alone, several = limits[memories]
        p95, p95_at_once = ours["modes"]["hybrid"]["p95_ms"], ours["at_once"]["8"]["p95_ms"]
        rows.append(_at_most(f"engine, hybrid p95, {memories:,}", alone, p95, "ms"))
        rows.append(_at_most(f"engine, hybrid p95, 8 at once, {memories:,}", several, p95_at_once, "ms"))
    found = ours["recall"]
    rows.append((f"recall@10 of vectors against exact, {memories:,}", "at least 0.98", f"{found:.3f}", found >= 0.98))
    return rows


def _server(memories: int, server: Figures) -> list[Row]:
    rows = [
        _at_most(f"REST with embedding, p95, {memories:,}", 40, server["rest"]["1"]["p95_ms"], "ms"),
        _at_most(f"cold start to first answer, {memories:,}", 3, server["cold_start_seconds"], "s"),
    ]
    if "load" in server:
        load = server["load"]
        errors = sum(load["errors"].values())
        told = f"{errors} in {load['requests']:,}; {load['requests_per_second']:,.0f}/s, p99 {load['p99_ms']:,.0f} ms"
        rows.append((f"errors with 32 connections, {memories:,}", "0", told, errors == 0))
    return rows


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
