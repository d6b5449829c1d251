"""A model in this process: no PyTorch, no server, and searches do not wait for stores."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from functools import partial
from typing import NamedTuple, TypeVar

from ..errors import EmbedderUnavailable
from ..malloc import return_unused_memory
from ..models import Vector
from .chunks import estimated_tokens
from .minilm import MiniLM
from .model_thread import ModelThread
from .onnx_model import BATCH_TOKENS, ModelSource, OnnxModel, batches_by_length

T = TypeVar("T")

# From this many tokens on, what a call has freed is worth returning to the system.
LARGE_CALL_TOKENS = 256
# Of a large call so many texts are tokenized in one job, which takes some milliseconds.
TOKENIZED_TEXTS = 64
# Eight queries together take about three quarters of the time that they take one by one (bench/embedding.py). Larger
# groups were not clearly faster, and would hold up those that have waited longest.
MAX_TOGETHER = 8


class _SingleText(NamedTuple):
    """A text that is embedded by itself or with others that wait at the same moment."""

    text: str
    vector: "Future[Vector]"


class LocalEmbedder:
    """Loads the model on first use and runs it on a thread of its own, never on the event loop.

    A call with many texts, such as a large store, is a row of small jobs. Single texts, such as queries, are embedded
    together if they wait at the same moment, and before the next job of any larger call: a search waits for one batch,
    however much is being stored, and a store goes on, however many search.

    After `idle_seconds` without a text the model is dropped, and loaded again for the next one.
    """

    def __init__(self, threads: int, idle_seconds: float | None = None, source: ModelSource | None = None) -> None:
        """Without a source, the model that comes along."""
        self.source: ModelSource = source or MiniLM()
        load = partial(self.source.load, threads)
        self._thread = ModelThread("embedding model", load, EmbedderUnavailable, idle_seconds)
        self._waiting: deque[_SingleText] = deque()  # filled by callers, emptied by the thread

    @property
    def model_id(self) -> str:
        return self.source.model_id

    @property
    def dimension(self) -> int | None:
        return self.source.dimension

    @property
    def max_tokens(self) -> int | None:
        return self.source.max_tokens - estimated_tokens(self.source.document_prefix)

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._thread.is_loaded

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        return await self._embed([self.source.document_prefix + text for text in texts])

    async def embed_query(self, query: str) -> Vector:
        (vector,) = await self._embed([self.source.query_prefix + query])
        return vector

    async def _embed(self, texts: Sequence[str]) -> list[Vector]:
        if len(texts) != 1:
            return await self._embed_many(texts)
        single = _SingleText(texts[0], Future())
        self._waiting.append(single)
        self._thread.submit(self._answer_single_texts)
        return [await asyncio.wrap_future(single.vector)]

    async def warm_up(self) -> None:
        await self.embed_query("warm up")

    async def close(self) -> None:
        await self._thread.close()
        while self._waiting:
            self._waiting.popleft().vector.cancel()

    async def _embed_many(self, texts: Sequence[str]) -> list[Vector]:
        token_ids: list[list[int]] = []
        for start in range(0, len(texts), TOKENIZED_TEXTS):
            part = texts[start : start + TOKENIZED_TEXTS]
            token_ids += await self._in_turn(lambda model, part=part: model.token_ids(part))
        vectors: dict[int, Vector] = {}
        for batch in batches_by_length([len(ids) for ids in token_ids], BATCH_TOKENS):
            together = [token_ids[position] for position in batch]
            found = await self._in_turn(lambda model, together=together: model.run(together))
            vectors.update(zip(batch, found, strict=True))
        if sum(map(len, token_ids)) > LARGE_CALL_TOKENS:
            await self._thread.run(return_unused_memory)
        return [vectors[position] for position in range(len(token_ids))]

    async def _in_turn(self, job: Callable[[OnnxModel], T]) -> T:
        def after_single_texts() -> T:
            self._answer_single_texts()
            return self._thread.with_model(job)

        return await self._thread.run(after_single_texts)

    def _answer_single_texts(self) -> None:
        """By the thread: embed those that have waited longest, together; a failure is for them and nobody else."""
        together: list[_SingleText] = []
        while self._waiting and len(together) < MAX_TOGETHER:
            single = self._waiting.popleft()
            if single.vector.set_running_or_notify_cancel():  # somebody still waits for it
                together.append(single)
        if not together:
            return
        try:
            vectors = self._thread.with_model(lambda model: model.embedded([single.text for single in together]))
        except EmbedderUnavailable as error:
            for single in together:
                single.vector.set_exception(error)
        else:
            for single, vector in zip(together, vectors, strict=True):
                single.vector.set_result(vector)
