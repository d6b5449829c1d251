"""A real server on a filled store: REST and MCP with the embedding of the query, cold start, memory, steady load.

    python bench/end_to_end.py --store FOLDER/memories.db --data FOLDER

Every query of a measurement is asked once: those of the data set first, then words in a row of its sentences.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import httpx
from mcp import Client

from corpora import made_queries, queries_of, sentences_of
from measuring import Stopwatch, enough, memory_mb
from servers import answer_to, server_on, wait_for, wait_for_first_answer

WARM_UP = 20
CONNECTIONS = (1, 8, 32)
LOAD_CONNECTIONS = 32
# More than a server on two cores can answer with its model, so that a load does not end for lack of queries.
MAX_PER_SECOND = 1000
# A server returns freed memory every five seconds (CHECKED_EVERY_SECONDS of its index): after ten it has done so.
IDLE_SECONDS = 10.0


def measure(
    store: Path, data: Path | None, queries: int, load_seconds: float, idle_seconds: float, limit_seconds: float
) -> dict[str, Any]:
    sentences = list(sentences_of(data))
    asked = _queries(data, sentences, WARM_UP + queries + sum(enough(queries, n) for n in CONNECTIONS) + 1)
    with server_on(store) as server:
        first = wait_for_first_answer(server, next(asked))
        figures: dict[str, Any] = {
            "cold_start_seconds": first["seconds"],
            "cold_start_degraded": first["degraded"],
            "memories": httpx.get(f"{server.url}/stats", timeout=60).json()["memories"],
        }
        wait_for(lambda: "index_building" not in answer_to(server.url, first["query"])["degraded"], 3600)
        over_rest(server.url, list(islice(asked, WARM_UP)), 1, limit_seconds)
        figures |= memory_mb(server.process.pid, "_first_answers")
        figures["rest"] = {
            str(connections): over_rest(
                server.url, list(islice(asked, enough(queries, connections))), connections, limit_seconds
            )
            for connections in CONNECTIONS
        }
        figures |= memory_mb(server.process.pid)
        figures["mcp"] = asyncio.run(over_mcp(f"{server.url}/mcp", list(islice(asked, queries)), limit_seconds))
        if load_seconds:
            many = made_queries(sentences, round(load_seconds * MAX_PER_SECOND), seed=3)
            figures["load"] = over_rest(server.url, many, LOAD_CONNECTIONS, load_seconds)
        figures |= memory_mb(server.process.pid, "_after_all")
        time.sleep(idle_seconds)
        figures |= {"idle_seconds": idle_seconds, **memory_mb(server.process.pid, "_idle")}
    return figures


def _queries(data: Path | None, sentences: Sequence[str], count: int) -> Iterator[str]:
    """Those of the data set, and as many made ones as it has too few."""
    real = queries_of(data) if data else []
    return iter(list(dict.fromkeys([*real, *made_queries(sentences, max(0, count - len(real)))])))


def over_rest(url: str, queries: Sequence[str], connections: int, limit_seconds: float) -> dict[str, Any]:
    told = {"url": url, "queries": queries, "connections": connections, "seconds": limit_seconds}
    client = [sys.executable, str(Path(__file__).with_name("rest_client.py"))]
    done = subprocess.run(client, input=json.dumps(told), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


async def over_mcp(url: str, queries: Sequence[str], limit_seconds: float) -> dict[str, Any]:
    errors = degraded = 0
    async with Client(url) as client:
        for query in queries[:WARM_UP]:
            await client.call_tool("retrieve_memory", {"query": f"{query} ?"})  # not one of those that are measured
        watch = Stopwatch(queries, limit_seconds)
        for query in watch:
            started = time.perf_counter()
            answer = await client.call_tool("retrieve_memory", {"query": query})
            watch.note(time.perf_counter() - started)
            if answer.is_error:
                errors += 1
            elif "Searched without: " in "".join(getattr(block, "text", "") for block in answer.content):
                degraded += 1
        return {
            **asdict(watch.latency()),
            "cpu_ms": None,
            "errors": {"tool": errors} if errors else {},
            "degraded": degraded,
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--store", type=Path, required=True, help="a store that the local model's vectors are in")
    parser.add_argument("--data", type=Path, help="the data set it was filled from")
    parser.add_argument("--queries", type=int, default=200, help="so many for each measurement (200)")
    parser.add_argument("--load-seconds", type=float, default=20, help="length of the steady load (20)")
    parser.add_argument("--idle-seconds", type=float, default=IDLE_SECONDS, help="rest before the last look at memory")
    parser.add_argument("--seconds", type=float, default=60, help="limit for each measurement (60)")
    parser.add_argument("--out", type=Path, help="where to write the figures")
    options = parser.parse_args()
    figures = measure(
        options.store, options.data, options.queries, options.load_seconds, options.idle_seconds, options.seconds
    )
    if options.out:
        options.out.write_text(json.dumps(figures))
    else:
        print(json.dumps(figures, indent=2))


if __name__ == "__main__":
    main()
