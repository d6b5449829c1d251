"""Measures retrieval end to end over REST: hybrid against each signal alone in one run, start-up, memory, `--help`.

    python bench/retrieve.py --memories 10000 --queries 300

Starts a real server on a free loopback port and a new database file, fills it over REST, and asks the same queries in
all three modes, alternating, so that all see the same machine. Times are wall-clock from a client on the same machine.
"""

import argparse
import gzip
import json
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import httpx

from measuring import Latency, latency, rss_mb
from servers import COMMAND, server_on, wait_until_ready

BATCH = 250
MODES = ("hybrid", "semantic", "keyword")

_SUBJECTS = "cache tunnel parser scheduler login search backup billing editor router queue importer".split()
_ACTIONS = "fails after drops retries rewrites now uses moved to depends on replaces logs exposes".split()
_OBJECTS = (
    "the session table a stale token port 2333 the nightly build a second writer old payloads utf-8 names".split()
)
_PROJECTS = "rathole cachekit litesearch quillpad marlin tidepool foxglove ironbark sundial kestrel".split()
_TOPICS = "architecture deployment testing performance security docs incident decision".split()


@dataclass(frozen=True)
class Report:
    memories: int
    queries: int
    hybrid: Latency
    vector_only: Latency
    keyword_only: Latency
    hybrid_over_slower_p50: float
    hybrid_over_slower_p95: float
    """Against the slower of the two signals alone."""
    hybrid_8_clients: Latency
    store_batch_per_second: float
    ready_seconds: float
    rss_mb_model_loaded: float
    rss_mb_after_queries: float
    help_seconds: float


def main() -> None:
    arguments = _arguments()
    report = measure(arguments.memories, arguments.queries, arguments.data, arguments.seed)
    if arguments.json:
        Path(arguments.json).write_text(json.dumps(asdict(report), indent=2) + "\n")
    print(render(report))


def measure(memories: int, queries: int, data: Path | None, seed: int) -> Report:
    chance = random.Random(seed)
    corpus = list(_from_folder(data, memories)) if data else [_made_up(chance, number) for number in range(memories)]
    asked = [_query(chance, corpus) for _ in range(queries)]
    help_seconds = min(_seconds_of([COMMAND, "--help"]) for _ in range(3))
    with tempfile.TemporaryDirectory() as folder, server_on(Path(folder) / "bench.db") as server:
        ready_seconds = wait_until_ready(server)
        client = httpx.Client(base_url=server.url, timeout=120)
        rss_loaded = rss_mb(server.process.pid)
        started = time.perf_counter()
        for start in range(0, len(corpus), BATCH):
            client.post("/memories/batch", json={"memories": corpus[start : start + BATCH]}).raise_for_status()
            _progress(min(start + BATCH, len(corpus)), len(corpus))
        stored_per_second = len(corpus) / (time.perf_counter() - started)
        times: dict[str, list[float]] = {mode: [] for mode in MODES}
        warm_up = asked[:20]
        for number, query in enumerate([*warm_up, *asked]):
            for turn in range(len(MODES)):  # in turns, so that no mode always finds the caches warmed by the others
                mode = MODES[(number + turn) % len(MODES)]
                times[mode].append(_timed(client, query, mode))
        concurrent = _concurrent(server.url, asked, clients=8)
        rss_after = rss_mb(server.process.pid)
    warm = {mode: seconds[len(warm_up) :] for mode, seconds in times.items()}
    hybrid, vector, keyword = (latency(warm[mode], sum(warm[mode])) for mode in MODES)
    return Report(
        memories=len(corpus),
        queries=queries,
        hybrid=hybrid,
        vector_only=vector,
        keyword_only=keyword,
        hybrid_over_slower_p50=hybrid.p50_ms / max(vector.p50_ms, keyword.p50_ms),
        hybrid_over_slower_p95=hybrid.p95_ms / max(vector.p95_ms, keyword.p95_ms),
        hybrid_8_clients=concurrent,
        store_batch_per_second=stored_per_second,
        ready_seconds=ready_seconds,
        rss_mb_model_loaded=rss_loaded,
        rss_mb_after_queries=rss_after,
        help_seconds=help_seconds,
    )


def render(report: Report) -> str:
    def row(name: str, latency: Latency) -> str:
        return (
            f"| {name} | {latency.p50_ms:.1f} | {latency.p95_ms:.1f} | {latency.p99_ms:.1f}"
            f" | {latency.requests_per_second:.0f} |"
        )

    return "\n".join(
        [
            f"{report.memories:,} memories, {report.queries} queries, end to end over REST",
            "",
            "| path | p50 ms | p95 ms | p99 ms | requests/s |",
            "|---|---|---|---|---|",
            row("hybrid, 1 client", report.hybrid),
            row("vector only, 1 client", report.vector_only),
            row("keyword only, 1 client", report.keyword_only),
            row("hybrid, 8 clients", report.hybrid_8_clients),
            "",
            f"hybrid / slower signal: p50 {report.hybrid_over_slower_p50:.2f}, p95 {report.hybrid_over_slower_p95:.2f}",
            f"stored with embedding: {report.store_batch_per_second:.0f} memories/s",
            f"ready after {report.ready_seconds:.2f} s; --help in {report.help_seconds:.2f} s",
            f"RSS {report.rss_mb_model_loaded:.0f} MB with the model loaded, {report.rss_mb_after_queries:.0f} MB"
            " after all queries (MB = 10^6 bytes)",
        ]
    )


def _timed(client: httpx.Client, query: str, mode: str) -> float:
    started = time.perf_counter()
    answer = client.post("/memories/retrieve", json={"query": query, "mode": mode})
    seconds = time.perf_counter() - started
    answer.raise_for_status()
    return seconds


def _concurrent(url: str, queries: Sequence[str], clients: int) -> Latency:
    def ask(share: Sequence[str]) -> list[float]:
        with httpx.Client(base_url=url, timeout=120) as client:
            return [_timed(client, query, "hybrid") for query in share]

    started = time.perf_counter()
    with ThreadPoolExecutor(clients) as threads:
        times = [
            seconds for share in threads.map(ask, [queries[i::clients] for i in range(clients)]) for seconds in share
        ]
    return latency(times, time.perf_counter() - started)


def _made_up(chance: random.Random, number: int) -> dict[str, Any]:
    project, topic = chance.choice(_PROJECTS), chance.choice(_TOPICS)
    sentences = [
        f"the {chance.choice(_SUBJECTS)} {' '.join(chance.sample(_ACTIONS, 2))} {' '.join(chance.sample(_OBJECTS, 4))}"
        for _ in range(chance.randint(1, 4))
    ]
    content = f"{project} {topic} note {number}: {'. '.join(sentences)}"
    return {"content": content, "tags": [project, topic, f"sprint-{chance.randint(1, 60)}"], "memory_type": "note"}


def _from_folder(folder: Path, count: int) -> Iterator[dict[str, Any]]:
    with gzip.open(folder / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
        for _, line in zip(range(count), lines, strict=False):
            document = json.loads(line)
            yield {"content": document["text"][:20_000], "tags": list(document.get("tags") or [])[:50]}


def _query(chance: random.Random, corpus: Sequence[dict[str, Any]]) -> str:
    memory = chance.choice(corpus)
    words = memory["content"].split()
    start = chance.randrange(max(1, len(words) - 6))
    return " ".join([*memory["tags"][:1], *words[start : start + 6]])[:500]


def _seconds_of(command: list[str]) -> float:
    started = time.perf_counter()
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - started


def _progress(done: int, total: int) -> None:
    print(f"\rstored {done:,} of {total:,}", end="\n" if done == total else "", file=sys.stderr, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--memories", type=int, default=10_000, help="how many memories to store (10000)")
    parser.add_argument("--queries", type=int, default=300, help="how many different queries to ask (300)")
    parser.add_argument("--data", type=Path, help="a folder with corpus.jsonl.gz, in place of made-up text")
    parser.add_argument("--json", help="write the figures to this file as well")
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


if __name__ == "__main__":
    main()
