"""What of the figures that `run.py` measured is drawn."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from charts import Points
from systems import TITLES, systems_of

Figures = Mapping[str, Any]


def plots(sizes: Sequence[Figures]) -> dict[str, tuple[str, dict[str, Points]]]:
    """Title and lines of each plot, by the name of its file."""
    drawn: dict[str, tuple[str, dict[str, Points]]] = {
        "bench-search": ("Search in its fullest way, one at a time: p95 in ms", _by_system(sizes, _fullest_p95)),
        "bench-at-once": (
            "Hybrid search, 8 at once: p95 in ms",
            _by_system(sizes, lambda figures: figures["at_once"]["8"]["p95_ms"]),
        ),
        "bench-memory": ("Memory of the searching process in MB", _by_system(sizes, lambda figures: figures["rss_mb"])),
        "bench-end-to-end": ("Our server, with the embedding of the query: p95 in ms", _server_lines(sizes)),
    }
    return {name: plot for name, plot in drawn.items() if plot[1]}


def _fullest_p95(figures: Figures) -> float:
    return next(iter(figures["modes"].values()))["p95_ms"]


def _by_system(sizes: Sequence[Figures], value: Callable[[Figures], float]) -> dict[str, Points]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for size in sizes:
        for name, figures in systems_of(size):
            try:
                point = (float(size["memories"]), value(figures))
            except KeyError:  # it has no such figure, or none at this size
                continue
            way = next(iter(figures["modes"]))
            lines.setdefault(TITLES[name] if way == "hybrid" else f"{TITLES[name]} ({way})", []).append(point)
    return dict(lines)


def _server_lines(sizes: Sequence[Figures]) -> dict[str, Points]:
    lines: dict[str, list[tuple[float, float]]] = {}
    for size in sizes:
        server = size["systems"].get("end_to_end")
        if server:
            for number, times in server["rest"].items():
                lines.setdefault(f"REST, {number} at once", []).append((size["memories"], times["p95_ms"]))
            lines.setdefault("MCP, 1 client", []).append((size["memories"], server["mcp"]["p95_ms"]))
    return dict(lines)
