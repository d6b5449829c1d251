"""What a search costs after the signals have answered: fuse, age, neighbours, sort, cut a page.

    python bench/fusion.py

Prints the least of many repetitions in milliseconds: for memories without sessions, for one long conversation (where
neighbours join and everything is fused twice), and for a large set of equals.
"""

import argparse
import asyncio
import hashlib
import random
import time
from collections.abc import Sequence
from typing import cast

from mcp_memory_service.hybrid_search import KEYWORD, TAG, VECTOR, RankingPolicy
from mcp_memory_service.hybrid_search.columns.candidates import Candidates
from mcp_memory_service.models import Candidate, MemoryFilter, SearchRequest
from mcp_memory_service.services.search.cached_inputs import CachedInputs
from mcp_memory_service.services.search.search import Search
from mcp_memory_service.services.search.signals import SignalResult, SignalResults
from mcp_memory_service.storage.ports import Snapshot, Store
from mcp_memory_service.storage.scheduling import Concurrent
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

NOW = 20_000 * MICROSECONDS_PER_DAY
REQUEST = SearchRequest("query", alpha=0.6)


class Neighbours:
    """Answers at once, so that nothing but the ranking is measured."""

    def __init__(self, candidates: Sequence[Candidate]) -> None:
        self._candidates = candidates

    async def adjacent(self, *_: object) -> Sequence[Candidate]:
        return self._candidates


def found(chance: random.Random, ids: Sequence[int], in_session: bool, equal: bool) -> Candidates:
    scores = sorted((1.0 if equal else chance.random() for _ in ids), reverse=True)
    return Candidates.of(
        [
            Candidate(
                hashlib.sha256(b"%d" % i).hexdigest(),
                NOW - i % 700 * MICROSECONDS_PER_DAY,
                score,
                f"talk {i // 20}" if in_session else None,
                i % 20 if in_session else None,
            )
            for i, score in zip(ids, scores, strict=True)
        ]
    )


async def least_milliseconds(in_session: bool, equal: bool, repetitions: int) -> float:
    chance = random.Random(1)
    vector, keyword, tag = (chance.sample(range(10_000), size) for size in (1_000, 250, 250))
    lists = {VECTOR: vector, KEYWORD: keyword, TAG: tag}
    results = SignalResults({name: SignalResult(found(chance, ids, in_session, equal)) for name, ids in lists.items()})
    reads = cast("Store", Neighbours(found(chance, range(10_000, 10_040), in_session, equal)))
    search = Search(reads, cast("CachedInputs", None), RankingPolicy(), lambda: NOW, time.monotonic)
    least = float("inf")
    for _ in range(repetitions):
        started = time.perf_counter()
        ranking = await search.rank(REQUEST, MemoryFilter(), results, Snapshot(reads, Concurrent().start), NOW)
        page = [(candidate, dict(candidate.contributions)) for candidate in ranking.fused[:10]]
        least = min(least, time.perf_counter() - started)
        assert len(page) == 10
    return least * 1000


async def main(repetitions: int) -> None:
    print("| 1,000 + 250 + 250 candidates | ms |\n|---|---|")
    for name, in_session, equal in (
        ("without sessions", False, False),
        ("all in sessions", True, False),
        ("all equally good", False, True),
    ):
        print(f"| {name} | {await least_milliseconds(in_session, equal, repetitions):.2f} |")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=300)
    asyncio.run(main(parser.parse_args().repetitions))
