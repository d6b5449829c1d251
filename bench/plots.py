"""What of the figures that `run.py` measured is drawn."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from charts import Axis, LinearAxis, LogAxis, Points, chart
from systems import TITLES, systems_of

Figures = Mapping[str, Any]


@dataclass(frozen=True)
class Plot:
    title: str
    lines: Mapping[str, Points]
    x_name: str = "memories"
    x_axis: type[Axis] = LogAxis

    def svg(self) -> str:
        return chart(self.title, self.x_name, self.lines, self.x_axis)


def plots(sizes: Sequence[Figures]) -> dict[str, Plot]:
    """By the names of their files."""
    drawn = {
        "bench-search": Plot("Search in its fullest way, one at a time: p95 in ms", _by_system(sizes, _fullest_p95)),
        "bench-at-once": Plot(
            "Hybrid search, 8 at once: p95 in ms",
            _by_system(sizes, lambda figures: figures["at_once"]["8"]["p95_ms"]),
        ),
        "bench-memory": Plot(
            "Memory of the searching process in MB", _by_system(sizes, lambda figures: figures["rss_mb"])
        ),
        "bench-recall": _by_recall(sizes),
        "bench-end-to-end": Plot("Our server, with the embedding of the query: p95 in ms", _server_lines(sizes)),
    }
    return {name: plot for name, plot in drawn.items() if plot.lines}


def _by_recall(sizes: Sequence[Figures]) -> Plot:
    """Of the search by vector alone, which is what recall is told of; at the largest size that peers were asked at."""
    compared: dict[int, dict[str, Points]] = {}
    for size in sizes:
        by_vector = [(name, figures) for name, figures in systems_of(size) if "vector" in figures.get("modes", {})]
        if len(by_vector) > 1:
            compared[size["memories"]] = {
                TITLES[name]: [(figures["recall"], figures["modes"]["vector"]["p95_ms"])] for name, figures in by_vector
            }
    memories = max(compared, default=0)
    heading = f"Search by vector at {memories:,} memories: p95 in ms by recall@10"
    return Plot(heading, compared.get(memories, {}), "recall@10", LinearAxis)


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
