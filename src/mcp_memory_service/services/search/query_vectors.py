"""The vectors of the last queries: pages, retries and several agents ask the same again, and the model answers once."""

import asyncio
import hashlib
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from ...embeddings.base import Embedder
from ...models import Vector

# 1.6 MB with the local model (384 numbers each): far more queries than agents page through or retry at one time.
MAX_VECTORS = 1024


@dataclass(slots=True)
class _Call:
    task: asyncio.Task[Vector]
    waiting: int = 0


class QueryVectors:
    """For one event loop. Queries are kept as digests: they are private, and may be long."""

    def __init__(self, embedder: Embedder, most: int = MAX_VECTORS) -> None:
        self._embedder = embedder
        self._most = most
        self._known: OrderedDict[bytes, Vector] = OrderedDict()
        """The one that was asked for last comes last."""
        self._calls: dict[bytes, _Call] = {}

    async def vector(self, query: str) -> Vector:
        """The vector of a query. Who asks the same at the same time shares one call; a failure is for them only."""
        key = _digest(query)
        if key in self._known:
            self._known.move_to_end(key)
            return self._known[key]
        if key not in self._calls:
            self._calls[key] = _Call(asyncio.create_task(self._embedded(key, query)))
        call = self._calls[key]
        call.waiting += 1
        try:
            return await asyncio.shield(call.task)  # who asked first may go away; the others still wait
        finally:
            call.waiting -= 1
            if call.waiting == 0:
                call.task.cancel()  # nobody is left who wants it, if it is still under way
                self._calls.pop(key, None)

    def forget(self, query: str) -> None:
        """For a vector that turned out to be of no use."""
        self._known.pop(_digest(query), None)

    async def _embedded(self, key: bytes, query: str) -> Vector:
        (embedded,) = await self._embedder.embed([query])
        vector = np.array(embedded)  # a copy: it may be one row of a batch, and must not keep the others
        vector.setflags(write=False)
        self._known[key] = vector
        if len(self._known) > self._most:
            self._known.popitem(last=False)
        return vector


def _digest(query: str) -> bytes:
    return hashlib.sha256(query.encode()).digest()
