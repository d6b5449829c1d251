"""What it costs to find out who is calling and what they may do, beside a search: in one process, in one run.

    python bench/access.py --searches 300

The app is asked as a server would ask it, with a key of a file, on a new store of a thousand memories. `checks` are the
steps that would not be there without keys: header, key, rate, door, namespace.
"""

import argparse
import asyncio
import json
import tempfile
import time
from collections.abc import MutableMapping
from pathlib import Path
from typing import Any

from fastapi import FastAPI

from mcp_memory_service.access.caller import Scope
from mcp_memory_service.access.doors import admitted
from mcp_memory_service.access.keys import KeyRing, NewKey
from mcp_memory_service.access.limits import RateLimits
from mcp_memory_service.api import create_app
from mcp_memory_service.bootstrap import authentication_of
from mcp_memory_service.config import Settings, load_settings
from mcp_memory_service.timestamps import now_microseconds

MEMORIES = 1_000
DOOR = "POST /memories/retrieve"


async def ask(app: FastAPI, path: str, body: dict[str, Any], key: str) -> None:
    content = json.dumps(body).encode()
    received = [{"type": "http.request", "body": content, "more_body": False}]
    statuses: list[int] = []

    async def receive() -> MutableMapping[str, Any]:
        return received.pop()

    async def send(message: MutableMapping[str, Any]) -> None:
        statuses.append(message.get("status", 0))

    headers = {
        "host": "127.0.0.1",
        "content-type": "application/json",
        "content-length": str(len(content)),
        "authorization": f"Bearer {key}",
    }
    scope = {
        "type": "http",
        "method": "POST",
        "scheme": "http",
        "path": path,
        "query_string": b"",
        "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        "client": ("127.0.0.1", 1),
    }
    await app(scope, receive, send)
    assert statuses[0] in {200, 201}, statuses


async def measure(settings: Settings, key: str, searches: int) -> dict[str, float]:
    app = create_app(settings)
    authentication, limits = authentication_of(settings), RateLimits()
    async with app.router.lifespan_context(app):
        for first in range(0, MEMORIES, 500):
            texts = [
                f"note {number} on {number * 7919 % 1000} and {number % 17}" for number in range(first, first + 500)
            ]
            await ask(app, "/memories/batch", {"memories": [{"content": text} for text in texts]}, key)
        for number in range(searches):  # the same queries again are measured: the model is no part of it
            await ask(app, "/memories/retrieve", {"query": f"note {number}"}, key)
        started = time.process_time()
        for number in range(searches):
            await ask(app, "/memories/retrieve", {"query": f"note {number}"}, key)
        retrieve = (time.process_time() - started) / searches
        started = time.process_time()
        for _ in range(searches):
            caller = await authentication.caller(f"Bearer {key}")
            limits.take(caller)
            admitted(caller, DOOR, "default")
        checks = (time.process_time() - started) / searches
    return {"retrieve_ms": retrieve * 1000, "checks_ms": checks * 1000, "share": checks / retrieve}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--searches", type=int, default=300, help="so many (300)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "memories.db"})
        ring = KeyRing(settings.keys_path, now_microseconds)
        _, key = ring.create(NewKey("bench", ("default",), Scope.WRITE, requests_per_minute=1_000_000))
        print(json.dumps(asyncio.run(measure(settings, key, options.searches)), indent=1))


if __name__ == "__main__":
    main()
