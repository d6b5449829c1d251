"""How many Python and C calls a search of ours makes in each mode, in a process of its own; started by `run.py`.

A figure that no busy machine changes. Counting takes longer than the search does: nothing is timed here.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.support.call_counts import Calls, profiled

from engine import MODES, TOP, WARM_UP, opened, run, service_on
from feed import Feed, Question, worker_arguments
from mcp_memory_service.models import SearchMode, SearchRequest
from mcp_memory_service.services import MemoryService

SEARCHES = 50


async def count(feed: Feed, folder: Path, queries: int) -> dict[str, Any]:
    questions = feed.questions()
    calls = Calls()
    with profiled(calls):  # before the threads of the store are started
        async with opened(folder, questions) as backends, service_on(backends, folder) as service:
            await backends.storage.wait_ready()
            counted: dict[str, dict[str, float]] = {}
            for name, mode in MODES.items():
                await _search(service, mode, questions[-WARM_UP:])
                calls.python.clear()
                calls.c.clear()
                asked = questions[: min(queries, SEARCHES)]
                calls.on = True
                await _search(service, mode, asked)
                calls.on = False
                counted[name] = {"python": calls.python.total() / len(asked), "c": calls.c.total() / len(asked)}
    return {"calls": counted}


async def _search(service: MemoryService, mode: SearchMode, questions: Sequence[Question]) -> None:
    for question in questions:
        await service.search(SearchRequest(question.text, page_size=TOP, mode=mode))


def main() -> None:
    options = worker_arguments(__doc__)
    figures = run(count(Feed(options.feed, options.size), options.folder, options.queries))
    options.out.write_text(json.dumps(figures))


if __name__ == "__main__":
    main()
