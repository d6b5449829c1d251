"""Worker processes that start fast, work on one store file and tell what they did in a journal."""

import asyncio
import multiprocessing
import os
import signal
import time
from collections.abc import Awaitable, Callable
from multiprocessing import forkserver
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Protocol, TypeAlias

from tests.support.fakes import WordEmbedder

from mcp_memory_service.errors import MemoryServiceError
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .journal import Journal
from .workload import Operation, carry_out

Work: TypeAlias = Callable[[SqliteVecStorage, Journal], Awaitable[None]]

_ROOT = Path(__file__).parents[2]
# Forked from a server that has loaded everything, a process starts in milliseconds; a fork of the parent itself would
# inherit its threads' locks and its open database.
CONTEXT = multiprocessing.get_context("forkserver")
_PRELOADED = ["pytest", "tests.reliability.worker"]


class Plan(Protocol):
    """What a writer does, one operation after the other."""

    def next(self) -> Operation: ...

    def acknowledged(self, operation: Operation) -> None: ...


def start(target: Callable[..., None], *arguments: object) -> BaseProcess:
    _ensure_server()
    process = CONTEXT.Process(target=target, args=arguments, daemon=True)
    process.start()
    return process


def _ensure_server() -> None:
    """The server loads modules by its environment and folder alone, wherever the tests were started."""
    CONTEXT.set_forkserver_preload(_PRELOADED)
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [str(_ROOT), before]))
    try:
        forkserver.ensure_running()
    finally:
        if before is None:
            del os.environ["PYTHONPATH"]
        else:
            os.environ["PYTHONPATH"] = before


async def open_file(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)


def work_on(path: Path, journal_path: Path, work: Work) -> None:
    """The whole life of a worker: open the store, work, close it; whatever goes wrong is told."""

    async def live() -> None:
        store = await open_file(path)
        try:
            await work(store, journal)
        finally:
            await store.close()

    journal = Journal(journal_path)
    try:
        asyncio.run(live())
    except Exception as error:  # noqa: BLE001 - the edge of the process: the parent must hear of it
        journal.error(type(error).__name__, str(error))
    journal.close()


async def write_one(store: SqliteVecStorage, journal: Journal, plan: Plan) -> Operation | None:
    """Carry out the next operation and tell of it; None if the store refused it."""
    operation = plan.next()
    journal.intent(operation)
    began = time.perf_counter()
    try:
        await carry_out(store, operation)
    except MemoryServiceError as error:
        journal.error(type(error).__name__, str(error))
        return None
    journal.done(time.perf_counter() - began)
    plan.acknowledged(operation)
    return operation


async def write_until_told_to_stop(store: SqliteVecStorage, journal: Journal, plan: Plan) -> None:
    # A signal and no shared lock: a process may be killed while it holds one.
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    while not stop.is_set():
        await write_one(store, journal, plan)
