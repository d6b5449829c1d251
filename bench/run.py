"""Measures our engine, what a user would pick instead, and our server end to end, on the same texts in the same run.

    python bench/run.py --data FOLDER --sizes 1000,10000,100000 --out bench/results

The data set is one as for `mcp-memory eval`; without it our own small corpus is taken. Figures are written after each
system, one file for a size and one with all; what is in the files from earlier runs stays. `bench/report.py` makes the
tables and plots.
"""

import argparse
import json
import os
import platform
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import end_to_end
from engine import store_path
from feed import Feed
from prepared import Source
from recall import exact_tenth, recall_at_10
from report import load, render
from systems import OURS, PEERS, TITLES, Effort, measure

HERE = Path(__file__).parent
END_TO_END = "end_to_end"


def main() -> None:
    options = _arguments()
    options.out.mkdir(parents=True, exist_ok=True)
    source = Source(options.data, options.cache)
    for size in options.sizes:
        figures = SizeFigures(options.out / f"{size}.json", size, options.data)
        measure_size(source.feed(size), options, figures)
    (options.out / "merged.json").write_text(json.dumps(load(options.out), indent=1) + "\n")
    print(render(options.out))


class SizeFigures:
    """What was measured at a size, kept in a file as it comes in."""

    def __init__(self, file: Path, size: int, data: Path | None) -> None:
        self._file = file
        known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {"systems": {}}
        self._figures: dict[str, Any] = known | {
            "memories": size,
            "data": data.resolve().name if data else "own corpus",
            "machine": f"{os.cpu_count()} cores, {platform.machine()}, Python {platform.python_version()}",
        }

    def keep(self, system: str, figures: dict[str, Any]) -> None:
        self._figures["systems"][system] = {**figures, "date": datetime.now(UTC).date().isoformat()}
        self._file.write_text(json.dumps(self._figures, indent=1) + "\n")


def measure_size(feed: Feed, options: argparse.Namespace, figures: SizeFigures) -> None:
    effort = Effort(options.queries, options.seconds, options.peer_budget)
    tenth = exact_tenth(feed, options.queries)
    for system in (OURS, *options.peers):
        print(f"{feed.size:,} memories: {TITLES[system]}", file=sys.stderr, flush=True)
        with tempfile.TemporaryDirectory(prefix="mcp-memory-bench-", dir=options.work) as name:
            folder = Path(name)
            load_before = os.getloadavg()[0]
            measured = measure(system, feed, folder, effort)
            measured["load_before"] = load_before
            if system == OURS and "failed" in measured:
                sys.exit(f"{TITLES[OURS]}: {measured['failed']}")
            found = measured.pop("found", {})
            if "vector" in found:
                measured["recall"] = recall_at_10(feed, tenth, found["vector"])
            figures.keep(system, measured)
            if system == OURS and options.end_to_end:
                figures.keep(END_TO_END, _end_to_end(store_path(folder), options))


def _end_to_end(store: Path, options: argparse.Namespace) -> dict[str, Any]:
    print("end to end", file=sys.stderr, flush=True)
    lengths = (options.load_seconds, options.idle_seconds, options.seconds)
    return end_to_end.measure(store, options.data, options.queries, *lengths)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with corpus.jsonl.gz and queries.jsonl.gz")
    parser.add_argument("--sizes", type=_sizes, default=[1000, 10_000], help="memories, with commas (1000,10000)")
    parser.add_argument("--queries", type=int, default=200, help="for each measurement (200)")
    parser.add_argument("--peers", type=_peers, default=list(PEERS), help=f"all, none, or of {','.join(PEERS)} (all)")
    parser.add_argument("--cache", type=Path, default=HERE / ".cache", help="for texts and vectors (bench/.cache)")
    parser.add_argument("--out", type=Path, default=HERE / "results", help="for the figures (bench/results)")
    parser.add_argument("--work", type=Path, help="where stores are built, and removed again (the temporary folder)")
    parser.add_argument("--seconds", type=float, default=30, help="limit for each measurement (30)")
    parser.add_argument("--load-seconds", type=float, default=20, help="length of the load on the server (20)")
    parser.add_argument(
        "--idle-seconds",
        type=float,
        default=end_to_end.IDLE_SECONDS,
        help="rest after the load before the memory of the server is told again (10)",
    )
    parser.add_argument("--peer-budget", type=float, default=900, help="seconds to build a peer, and to ask it (900)")
    parser.add_argument("--no-end-to-end", dest="end_to_end", action="store_false", help="engines only")
    return parser.parse_args()


def _sizes(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def _peers(text: str) -> list[str]:
    if text in {"all", "none"}:
        return list(PEERS) if text == "all" else []
    names = text.split(",")
    if unknown := set(names) - set(PEERS):
        raise argparse.ArgumentTypeError(f"unknown: {', '.join(sorted(unknown))}")
    return names


if __name__ == "__main__":
    main()
