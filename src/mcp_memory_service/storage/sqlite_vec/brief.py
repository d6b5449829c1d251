"""Short reads that are asked for at the same moment, done on one snapshot by one thread.

Threads that work for a millisecond each on arrays and Python objects hand the interpreter to and fro, and all of them
are late.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import apsw

from .search_index import IndexView, SearchIndex
from .threads import ConnectionThreads

T = TypeVar("T")

AT_ONCE = 3
"""So many batches are read at the same moment; what is asked for meanwhile makes up the next one."""

Work = Callable[[apsw.Connection, IndexView | None], T]


@dataclass(slots=True)
class _Asked(Generic[T]):
    work: Work[T]
    answer: "asyncio.Future[T]"
    """For who asked, in the event loop."""
    found: T | None = None
    error: Exception | None = None


class BriefReads:
    def __init__(self, threads: ConnectionThreads, index: SearchIndex) -> None:
        self._threads = threads
        self._index = index
        self._asked: list[_Asked[Any]] = []
        self._running: set[asyncio.Task[None]] = set()

    async def read(self, work: Work[T]) -> T:
        loop = asyncio.get_running_loop()
        asked = _Asked(work, loop.create_future())
        self._asked.append(asked)
        if len(self._asked) == 1:
            # Two turns of the loop later: who asks for several things has done so by then.
            loop.call_soon(loop.call_soon, self._begin)
        return await asked.answer

    def _begin(self) -> None:
        if not self._asked or len(self._running) >= AT_ONCE:
            return
        together, self._asked = self._asked, []
        task = asyncio.get_running_loop().create_task(self._answer(together))
        self._running.add(task)  # the loop itself would forget it
        task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._running.discard(task)
        self._begin()

    async def _answer(self, together: Sequence[_Asked[Any]]) -> None:
        waiting = [each for each in together if not each.answer.cancelled()]
        try:
            await self._threads.read(lambda connection: self._run(connection, waiting))
        except BaseException as error:  # whatever it is, who waits must hear of it
            for each in waiting:
                _tell(each.answer, error)
            if not isinstance(error, Exception):
                raise
            return
        for each in waiting:
            if each.error is not None:
                _tell(each.answer, each.error)
            elif not each.answer.cancelled():
                each.answer.set_result(each.found)

    def _run(self, connection: apsw.Connection, waiting: Sequence[_Asked[Any]]) -> None:
        """What fails leaves the others alone, unless it is the database: then the connection must hear of it."""
        view = self._index.view_for(connection)
        for each in waiting:
            try:
                each.found = each.work(connection, view)
            except apsw.Error:
                raise
            except Exception as error:  # noqa: BLE001 - raised again where it was asked for
                each.error = error


def _tell(answer: "asyncio.Future[Any]", error: BaseException) -> None:
    if not answer.cancelled():
        answer.set_exception(error)
