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
from recall import exact_tenth, recall_at_10

TOP = 10
WARM_UP = 20
AT_ONCE = 8
ENOUGH = 0.99
"""Recall@10 that a variant with raised settings has to reach."""
FIRST_OF_A_THREAD = 3
Ask = Callable[[Question], list[int]]


def build(peer: Any, feed: Feed, folder: Path) -> dict[str, Any]:
    started = time.perf_counter()
    peer.build(feed.batches(), folder)
    seconds = time.perf_counter() - started
    versions = {package: version(package) for package in peer.packages}
    return {"build_seconds": seconds, "rss_mb_built": rss_mb(), "disk_mb": disk_mb(folder), "versions": versions}


def tune(peer: Any, feed: Feed, folder: Path, queries: int) -> dict[str, Any]:
    """The first of its settings by which the peer finds enough, or the last; apart from `ask`, whose memory is told."""
    questions, tenth = feed.questions()[:queries], exact_tenth(feed, queries)
    peer.open(folder)

    def recall(settings: dict[str, int]) -> float:
        peer.settings = settings
        return recall_at_10(feed, tenth, [peer.vector(question.vector, TOP) for question in questions])

    if (by_default := recall({})) >= ENOUGH:
        return {"failed": f"not needed: recall@10 is {by_default:.3f} without"}
    return {"settings": next((settings for settings in peer.steps if recall(settings) >= ENOUGH), peer.steps[-1])}


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
    next(iter(ways.values()))(questions[-1])
    figures: dict[str, Any] = {"cold_start_seconds": time.monotonic() - started, "modes": {}, "found": {}}
    warm_up = questions[-WARM_UP:]
    for mode, way in ways.items():
        found: list[list[int]] = []
        alone = ask_at_once(
            lambda q, way=way, found=found: found.append(way(q)), questions[:queries], 1, limit_seconds, warm_up
        )
        figures["modes"][mode] = asdict(alone)
        figures["found"][mode] = found[len(warm_up) :]
    for turn, (mode, way) in enumerate(ways.items(), start=1):
        asked = share(questions, turn, enough(queries, AT_ONCE))
        several = ask_at_once(way, asked, AT_ONCE, limit_seconds, warm_up[:FIRST_OF_A_THREAD])
        figures["modes"][mode]["per_second_8_at_once"] = several.requests_per_second
        if mode == "hybrid":
            figures["at_once"] = {str(AT_ONCE): asdict(several)}
    gc.collect()
    return figures | memory_mb()


def main() -> None:
    options = worker_arguments(__doc__)
    peer = import_module(f"peers.{options.system}").Peer()
    feed = Feed(options.feed, options.size)
    if options.phase == "build":
        figures = build(peer, feed, options.folder)
    elif options.phase == "tune":
        figures = tune(peer, feed, options.folder, options.queries)
    else:
        if options.settings:
            peer.settings = options.settings
        figures = ask(peer, feed, options.folder, options.queries, options.seconds, options.started)
    options.out.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
