"""Builds or asks one peer, in a process of its own and in the environment of the peers; started by `run.py`."""

import gc
import json
import time
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any

from feed import Feed, Question, worker_arguments
from measuring import ask_at_once, disk_mb, enough, memory_mb, rss_mb, share

TOP = 10
WARM_UP = 20
AT_ONCE = 8
Ask = Callable[[Question], list[int]]


def build(peer: Any, feed: Feed, folder: Path) -> dict[str, Any]:
    started = time.perf_counter()
    peer.build(feed.batches(), folder)
    seconds = time.perf_counter() - started
    versions = {package: version(package) for package in peer.packages}
    return {"build_seconds": seconds, "rss_mb_built": rss_mb(), "disk_mb": disk_mb(folder), "versions": versions}


def ways_to_ask(peer: Any) -> dict[str, Ask]:
    """Those that the peer has, the fullest first."""
    every: dict[str, Ask] = {
        "hybrid": lambda question: peer.hybrid(question.text, question.vector, TOP),
        "vector": lambda question: peer.vector(question.vector, TOP),
        "keyword": lambda question: peer.keyword(question.text, TOP),
    }
    return {mode: ask for mode, ask in every.items() if hasattr(peer, mode)}


def ask(peer: Any, feed: Feed, folder: Path, queries: int, limit_seconds: float, started: float) -> dict[str, Any]:
    questions = feed.questions()
    peer.open(folder)
    ways = ways_to_ask(peer)
    fullest = next(iter(ways.values()))
    fullest(questions[-1])
    figures: dict[str, Any] = {"cold_start_seconds": time.monotonic() - started, "modes": {}, "found": {}}
    for mode, way in ways.items():
        ask_at_once(way, questions[-WARM_UP:], 1, limit_seconds)
        found: list[list[int]] = []
        figures["modes"][mode] = asdict(
            ask_at_once(lambda q, way=way, found=found: found.append(way(q)), questions[:queries], 1, limit_seconds)
        )
        figures["found"][mode] = found
    if "hybrid" in ways:
        several = ask_at_once(fullest, share(questions, 1, enough(queries, AT_ONCE)), AT_ONCE, limit_seconds)
        figures["at_once"] = {str(AT_ONCE): asdict(several)}
    gc.collect()
    return figures | memory_mb()


def main() -> None:
    options = worker_arguments(__doc__)
    peer = import_module(f"peers.{options.system}").Peer()
    feed = Feed(options.feed, options.size)
    if options.phase == "build":
        figures = build(peer, feed, options.folder)
    else:
        figures = ask(peer, feed, options.folder, options.queries, options.seconds, options.started)
    options.out.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
