"""The Qdrant that tests run against: the server at QDRANT_URL if that is set, the stand-in otherwise."""

import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import httpx
from tests.qdrant_stand_in.process import stand_in

PREFIX = "mcp-memory-test-"


def collection_of(folder: Path) -> str:
    """A collection for each test folder."""
    return PREFIX + hashlib.sha256(str(folder).encode()).hexdigest()[:24]


@contextmanager
def qdrant_server(folder: Path) -> Generator[str, None, None]:
    true_server = os.environ.get("QDRANT_URL")
    if true_server is None:
        with stand_in(folder) as running:
            yield running.url
        return
    yield true_server
    with httpx.Client(base_url=true_server, timeout=30) as client:
        names = [found["name"] for found in client.get("/collections").json()["result"]["collections"]]
        for name in names:
            if name.startswith(PREFIX):
                client.delete(f"/collections/{name}")
