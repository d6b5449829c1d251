"""Long runs of the state machine of the contract suite, on every backend or on one.

`python -m tests.reliability.state_machine --examples 500 --steps 50`.
"""

import argparse
import asyncio
import json
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from tests.contract.conftest import BACKENDS, DIMENSION, MODEL_ID
from tests.support.qdrant_target import QdrantTarget, collection_of, qdrant_server

from mcp_memory_service.errors import MemoryServiceError
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .store_machine import Bench, run


@dataclass
class Figures:
    backend: str
    examples: int = 0
    calls: int = 0
    divergence: str | None = None


def run_on(
    backend: str, target: QdrantTarget | None, folder: Path, examples: int, steps: int, *, shrink: bool
) -> Figures:
    folder.mkdir()
    with asyncio.Runner() as runner:
        bench = Bench(_opener(backend, target), folder, runner)
        figures = Figures(backend)
        try:
            run(bench, examples, steps, derandomize=False, shrink=shrink)
        except (AssertionError, MemoryServiceError) as error:
            notes = getattr(error, "__notes__", ())
            figures.divergence = "\n".join([f"{type(error).__name__}: {error}", *notes])
        figures.examples, figures.calls = bench.examples, bench.calls
    return figures


def _opener(backend: str, target: QdrantTarget | None) -> Callable[[Path], Awaitable[Store]]:
    async def open_file(folder: Path) -> Store:
        return await SqliteVecStorage.open(folder / "store.db", MODEL_ID, DIMENSION, indexed_text)

    async def open_collection(folder: Path) -> Store:
        assert target is not None
        grpc = backend == "qdrant_grpc"
        options = QdrantOptions(target.url, collection_of(folder), grpc=grpc, grpc_port=target.grpc_port)
        return await QdrantStorage.open(options, MODEL_ID, DIMENSION, indexed_text)

    return open_file if backend == "sqlite_vec" else open_collection


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=500)
    parser.add_argument("--steps", type=int, default=50)
    parser.add_argument("--backends", nargs="+", choices=BACKENDS, default=BACKENDS)
    parser.add_argument("--shrink", action="store_true", help="reduce what fails, for minutes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-states-") as name, ExitStack() as stack:
        folder = Path(name)
        needs_qdrant = any(backend != "sqlite_vec" for backend in options.backends)
        target = stack.enter_context(qdrant_server(folder / "server")) if needs_qdrant else None
        figures = [
            run_on(backend, target, folder / backend, options.examples, options.steps, shrink=options.shrink)
            for backend in options.backends
        ]
    print(json.dumps([asdict(each) for each in figures], indent=2))  # noqa: T201
    raise SystemExit(1 if any(each.divergence for each in figures) else 0)


if __name__ == "__main__":
    main()
