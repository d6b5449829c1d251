"""Makes tables and plots of what `run.py` measured.

    python bench/report.py bench/results --docs docs/benchmarks.md

Prints the tables; with `--docs` they take the place of what is between the two marks in that file, and the plots are
written beside it, into img/.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from plots import plots
from systems import OURS, systems_of, title
from targets import target_rows

BEGIN, END = "<!-- bench:begin -->", "<!-- bench:end -->"
MODES = ("hybrid", "vector", "keyword")
TIMES = ("p50_ms", "p95_ms", "p99_ms", "cpu_ms", "requests_per_second")
MEMORY = {"rss_mb": "RSS MB", "private_mb": "private MB", "pss_mb": "PSS MB", "dirty_mb": "dirty MB"}
Figures = Mapping[str, Any]


def render(folder: Path, images: str | None = None) -> str:
    """All tables as Markdown; with links to the plots in `images` if that is given."""
    sizes = load(folder)
    if not sizes:
        return f"No figures in {folder}."
    blocks: list[Sequence[str]] = [_provenance(sizes), target_rows(sizes)]
    if images:
        blocks.append([f"![{plot.title}]({images}/{name}.svg)" for name, plot in plots(sizes).items()])
    for size in sizes:
        blocks += [[f"### {size['memories']:,} memories"], _search_table(size)]
        blocks += [_at_once_table(size), _resource_table(size), _reservations(size)]
    blocks += [_end_to_end_table(sizes), _server_memory_table(sizes)]
    return "\n\n".join("\n".join(block) for block in blocks if block)


def load(folder: Path) -> list[Figures]:
    """What was measured, smallest size first."""
    return sorted(
        (json.loads(file.read_text()) for file in folder.glob("[0-9]*.json")), key=lambda size: size["memories"]
    )


def _provenance(sizes: Sequence[Figures]) -> list[str]:
    newest = sizes[-1]
    versions: dict[str, str] = {}
    for size in sizes:
        for system in size["systems"].values():
            versions |= system.get("versions", {})
    loads: list[float] = [
        system["load_before"] for size in sizes for system in size["systems"].values() if "load_before" in system
    ]
    told = ", ".join(f"{package} {version}" for package, version in sorted(versions.items()))
    return [
        f"{newest['data']}, {newest['machine']}, {newest['systems'][OURS]['date']}. Versions: {told}.",
        f"Load average of the machine before each system: {min(loads):.1f} to {max(loads):.1f}.",
        "In brackets: how many times ours, in the same way of searching. A dash: not measured.",
        "CPU ms is processor time of the whole process for a search; 8 at once is told in searches a second.",
        "Python and C calls of a search are counted in ours only, apart from what is timed.",
        "A raised peer has the least settings by which it reaches a recall@10 of 0.99, or the greatest that are tried.",
        "Private memory is what no other process maps, files that only this one maps included; PSS adds its share of"
        " what several map.",
    ]


def _search_table(size: Figures) -> list[str]:
    times = "p50 ms | p95 ms | p99 ms | CPU ms | per second | 8 at once"
    rows = [f"| system | search | {times} | calls: Python, C | recall@10 of vectors |", "|---" * 10 + "|"]
    ours = size["systems"][OURS]
    for mode in MODES:
        for name, figures in systems_of(size):
            if mode in figures.get("modes", {}):
                found = f"{figures['recall']:.3f}" if mode != "keyword" else ""
                cells = _cells(figures["modes"][mode], ours["modes"][mode], (*TIMES, "per_second_8_at_once"))
                rows.append(f"| {title(name, figures)} | {mode} | {cells} | {_calls(figures, mode)} | {found} |")
    failed = [(name, figures) for name, figures in systems_of(size) if "failed" in figures]
    return rows + [f"| {title(name, figures)} | {figures['failed']} |{' |' * 8}" for name, figures in failed]


def _calls(figures: Figures, mode: str) -> str:
    calls = figures.get("calls", {}).get(mode, {})
    return ", ".join(_short(calls[kind]) for kind in ("python", "c")) if calls else "–"


def _at_once_table(size: Figures) -> list[str]:
    rows = [
        "| system | hybrid searches at once | p50 ms | p95 ms | p99 ms | CPU ms | per second |",
        "|---|---|---|---|---|---|---|",
    ]
    ours = size["systems"][OURS]["at_once"]
    for number, scale in ours.items():
        for name, figures in systems_of(size):
            if number in figures.get("at_once", {}):
                rows.append(
                    f"| {title(name, figures)} | {number} | {_cells(figures['at_once'][number], scale, TIMES)} |"
                )
    return rows


def _cells(figures: Figures, ours: Figures, keys: Iterable[str]) -> str:
    return " | ".join(_scaled(figures.get(key), ours.get(key)) for key in keys)


def _resource_table(size: Figures) -> list[str]:
    names = {"build_seconds": "build s", "disk_mb": "disk MB", **MEMORY, "cold_start_seconds": "cold start s"}
    rows = [f"| system | {' | '.join(names.values())} |", "|---|" + "---|" * len(names)]
    ours = size["systems"][OURS]
    for name, figures in systems_of(size):
        if any(key in figures for key in names):
            rows.append(f"| {title(name, figures)} | {_cells(figures, ours, names)} |")
    return rows


def _reservations(size: Figures) -> list[str]:
    """What the tables do not show of answers that were not whole."""
    ours, server = size["systems"][OURS], size["systems"].get("end_to_end", {})
    told: list[str] = []
    if ours["cold_start_degraded"]:
        ready = ours["cold_start_ready_seconds"]
        told.append(f"Our first answer was degraded ({', '.join(ours['cold_start_degraded'])}) until {ready:.1f} s.")
    if ours["degraded"]:
        told.append(f"{ours['degraded']} of our answers were degraded.")
    if server.get("cold_start_degraded"):
        told.append(f"The server's first answer was degraded ({', '.join(server['cold_start_degraded'])}).")
    return told


def _scaled(value: float | None, ours: float | None) -> str:
    """A figure and how many times ours it is; ours itself needs no ratio."""
    return _short(value) if not value or not ours or value == ours else f"{_short(value)} ({_short(value / ours)}×)"


def _short(value: float | None) -> str:
    """As many digits as tell something; a dash for what was not measured."""
    if value is None:
        return "–"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3
    return f"{value:,.{digits}f}"


def _end_to_end_table(sizes: Sequence[Figures]) -> list[str]:
    rows: list[str] = []
    for size in sizes:
        server = size["systems"].get("end_to_end")
        if server:
            rows += [f"| {size['memories']:,} | {cells} |" for cells in _ways_in(server)]
    if not rows:
        return []
    times = "over | p50 ms | p95 ms | p99 ms | per second | errors | degraded"
    head = f"| memories | {times} | cold start s |"
    return ["### End to end, with the embedding of the query", "", head, "|---" * 9 + "|", *rows]


def _server_memory_table(sizes: Sequence[Figures]) -> list[str]:
    rows: list[str] = []
    for size in sizes:
        server = size["systems"].get("end_to_end", {})
        moments = {"_first_answers": "first answers", "": "REST", "_after_all": "MCP and the load"}
        moments["_idle"] = f"{server.get('idle_seconds', 0):.0f} s without a request"
        for ending, moment in moments.items():
            if f"rss_mb{ending}" in server:
                cells = " | ".join(_short(server.get(f"{name}{ending}")) for name in MEMORY)
                rows.append(f"| {size['memories']:,} | {moment} | {cells} |")
    head = f"| memories | server after | {' | '.join(MEMORY.values())} |"
    return [head, "|---" * (2 + len(MEMORY)) + "|", *rows] if rows else []


def _ways_in(server: Figures) -> Iterator[str]:
    named = {f"REST, {number} at once": times for number, times in server["rest"].items()}
    named["MCP over HTTP, 1 client"] = server["mcp"]
    if "load" in server:
        named["REST, steady load, 32 at once"] = server["load"]
    for number, (name, times) in enumerate(named.items()):
        cells = [name, *(_short(times[key]) for key in ("p50_ms", "p95_ms", "p99_ms", "requests_per_second"))]
        cells += [f"{sum(times['errors'].values())}", f"{times['degraded']}"]
        # Of the server, not of a way to ask it.
        cells.append(f"{server['cold_start_seconds']:.2f}" if number == 0 else "")
        yield " | ".join(cells)


def write_docs(folder: Path, document: Path) -> None:
    images = document.parent / "img"
    images.mkdir(exist_ok=True)
    for name, plot in plots(load(folder)).items():
        (images / f"{name}.svg").write_text(plot.svg(), encoding="utf-8")
    text = document.read_text(encoding="utf-8")
    before, after = text.split(BEGIN)[0], text.split(END)[1]
    document.write_text(f"{before}{BEGIN}\n{render(folder, 'img')}\n{END}{after}", encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("results", type=Path, help="the folder that run.py wrote")
    parser.add_argument("--docs", type=Path, help="a document with the two marks")
    options = parser.parse_args()
    if options.docs:
        write_docs(options.results, options.docs)
    else:
        print(render(options.results))


if __name__ == "__main__":
    main()
