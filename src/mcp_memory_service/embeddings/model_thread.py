"""A model that is loaded on first use, runs on a thread of its own, and leaves memory when it is not used."""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

from ..errors import Unavailable
from ..malloc import return_unused_memory

M = TypeVar("M")
T = TypeVar("T")


class ModelThread(Generic[M]):
    """Jobs run one after the other, never on the event loop: the model is loaded once, and nothing needs a lock.

    After `idle_seconds` without a job the model is dropped, and loaded again for the next one. `name` is what it is
    called in errors, which are of the kind `failure`.
    """

    def __init__(
        self, name: str, load: Callable[[], M], failure: type[Unavailable], idle_seconds: float | None = None
    ) -> None:
        self._name = name
        self._load = load
        self._failure = failure
        self._idle_seconds = idle_seconds
        self._last_used = 0.0
        self._idle_check: asyncio.TimerHandle | None = None
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)
        self._model: M | None = None

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._model is not None

    async def run(self, job: Callable[[], T]) -> T:
        """A job that is given up before it has begun is not done."""
        self._drop_when_idle()
        return await asyncio.get_running_loop().run_in_executor(self._thread, job)

    def submit(self, job: Callable[[], object]) -> None:
        """A job that tells by itself what came of it."""
        self._drop_when_idle()
        self._thread.submit(job)

    async def close(self) -> None:
        if self._idle_check is not None:
            self._idle_check.cancel()
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)

    def _drop_when_idle(self) -> None:
        if self._idle_seconds is not None and self._idle_check is None:
            self._idle_check = asyncio.get_running_loop().call_later(self._idle_seconds, self._drop_if_idle)

    def _drop_if_idle(self) -> None:
        assert self._idle_seconds is not None, "nothing else has it called"
        rest = self._idle_seconds - (time.monotonic() - self._last_used)
        if rest > 0:
            self._idle_check = asyncio.get_running_loop().call_later(rest, self._drop_if_idle)
        else:
            self._idle_check = None
            self._thread.submit(self._drop_model)

    # From here on all is run by the thread.

    def with_model(self, work: Callable[[M], T]) -> T:
        """For jobs, on the thread."""
        try:
            self._model = self._load() if self._model is None else self._model
            return work(self._model)
        except self._failure:
            raise
        except Exception as error:  # of the runtime or the tokenizer, which do not say what they may raise
            problem = "failed" if self._model is not None else "cannot be loaded"
            raise self._failure(f"The {self._name} {problem}: {error}") from error
        finally:
            self._last_used = time.monotonic()

    def _drop_model(self) -> None:
        self._model = None
        return_unused_memory()
