"""The Qdrant that tests run against: the server at QDRANT_URL (and QDRANT_GRPC_PORT) if set, the stand-in otherwise."""

import hashlib
import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_stand_in.process import stand_in

PREFIX = "mcp-memory-test-"


_named: set[str] = set()
_servers: "list[QdrantTarget]" = []
"""The one that all tests share, while it runs."""


def collection_of(folder: Path) -> str:
    """A collection for each test folder."""
    name = PREFIX + hashlib.sha256(str(folder).encode()).hexdigest()[:24]
    _named.add(name)
    return name


@contextmanager
def dropped_collections() -> Generator[None, None, None]:
    """Drops what the block named: each collection maps some hundred files, and a process may map 65,530."""
    _named.clear()
    yield
    for server in _servers if _named else ():
        with httpx.Client(base_url=server.url, timeout=HANG_SECONDS) as client:
            for name in _named:
                client.delete(f"/collections/{name}")


@dataclass(frozen=True)
class QdrantTarget:
    url: str
    grpc_port: int


@contextmanager
def shared_server(folder: Path) -> Generator[QdrantTarget, None, None]:
    """For all tests of a run; `dropped_collections` tidies it up."""
    with qdrant_server(folder) as target:
        _servers.append(target)
        yield target
        _servers.clear()


@contextmanager
def qdrant_server(folder: Path) -> Generator[QdrantTarget, None, None]:
    true_server = os.environ.get("QDRANT_URL")
    if true_server is None:
        grpc_port = _free_port()
        with stand_in(folder, "--grpc-port", str(grpc_port)) as running:
            yield QdrantTarget(running.url, grpc_port)
        return
    yield QdrantTarget(true_server, int(os.environ.get("QDRANT_GRPC_PORT", "6334")))
    with httpx.Client(base_url=true_server, timeout=HANG_SECONDS) as client:
        names = [found["name"] for found in client.get("/collections").json()["result"]["collections"]]
        for name in names:
            if name.startswith(PREFIX):
                client.delete(f"/collections/{name}")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]
