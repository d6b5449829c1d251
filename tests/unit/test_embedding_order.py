"""Who waits for whom at the one local model: searches for a batch of a store, stores for the searches before them."""

import asyncio
import threading
from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.embeddings.local_onnx import MAX_TOGETHER, LocalEmbedder
from mcp_memory_service.embeddings.minilm import MiniLM
from mcp_memory_service.embeddings.onnx_model import BATCH_TOKENS, OnnxModel
from mcp_memory_service.errors import EmbedderUnavailable

A_WHOLE_BATCH = BATCH_TOKENS // 2
"""Two texts of so many words make one batch."""
ALL = 10**6


class WatchedModel(OnnxModel):
    """Works without the real one: a text has as many tokens as words, and its vector points to its first one. Notes
    the first tokens of every batch, and waits at each until its gate lets one more through."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.gate = threading.Semaphore(0)
        self.reached = threading.Event()

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        return [[int(word) for word in text.split()] for text in texts]

    def run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        self.batches.append([ids[0] for ids in batch])
        self.reached.set()
        assert self.gate.acquire(timeout=HANG_SECONDS)
        if any(ids[0] == 13 for ids in batch):
            raise RuntimeError("the runtime has failed")
        return np.eye(100, dtype=np.float32)[[ids[0] for ids in batch]]


@pytest.fixture
def model() -> WatchedModel:
    return WatchedModel()


@pytest.fixture
def embedder(model: WatchedModel) -> LocalEmbedder:
    class Watched(MiniLM):
        def load(self, threads: int) -> WatchedModel:
            return model

    return LocalEmbedder(threads=1, source=Watched())


def store(embedder: LocalEmbedder, first: int, batches: int) -> asyncio.Task[list[NDArray[np.float32]]]:
    text = " ".join([str(first)] * A_WHOLE_BATCH)
    return asyncio.create_task(embedder.embed([text] * 2 * batches))


def searches(embedder: LocalEmbedder, numbers: Sequence[int]) -> list[asyncio.Task[list[NDArray[np.float32]]]]:
    return [asyncio.create_task(embedder.embed([str(number)])) for number in numbers]


async def all_asked(model: WatchedModel) -> None:
    assert await asyncio.to_thread(model.reached.wait, HANG_SECONDS)
    await asyncio.sleep(0)


async def test_searches_wait_for_one_batch_however_many_stores_there_are(embedder: LocalEmbedder, model: WatchedModel):
    stores = [store(embedder, first, batches=3) for first in (1, 2, 3)]
    await all_asked(model)
    asked = searches(embedder, [50, 51, 52])
    await asyncio.sleep(0)
    model.gate.release(2)  # the batch that was under way, and one more
    found = await asyncio.gather(*asked)
    model.gate.release(ALL)
    assert [int(vector.argmax()) for (vector,) in found] == [50, 51, 52]
    await asyncio.gather(*stores)
    assert model.batches.index([50, 51, 52]) == 1
    assert sorted(batch[0] for batch in model.batches if len(batch) == 2) == [1] * 3 + [2] * 3 + [3] * 3
    await embedder.close()


async def test_a_store_goes_on_while_many_search(embedder: LocalEmbedder, model: WatchedModel):
    stored = store(embedder, 1, batches=2)
    await all_asked(model)
    before = searches(embedder, range(20, 20 + 2 * MAX_TOGETHER))
    await asyncio.sleep(0)
    model.gate.release(ALL)
    await asyncio.gather(*before)
    after = searches(embedder, range(60, 60 + MAX_TOGETHER))
    async with asyncio.timeout(HANG_SECONDS):
        while not stored.done():  # whenever a search is answered, another one asks
            _, pending = await asyncio.wait([stored, *after], return_when=asyncio.FIRST_COMPLETED)
            after = [search for search in after if search in pending]
            after += searches(embedder, range(60, 60 + MAX_TOGETHER - len(after)))
    assert len(await stored) == 4
    await asyncio.gather(*after)
    assert max(len(batch) for batch in model.batches) == MAX_TOGETHER
    await embedder.close()


async def test_who_goes_away_is_not_embedded_and_takes_nothing_from_the_others(
    embedder: LocalEmbedder, model: WatchedModel
):
    stored = store(embedder, 1, batches=1)
    await all_asked(model)
    one, other, third = searches(embedder, [50, 51, 52])
    await asyncio.sleep(0)
    other.cancel()
    await asyncio.wait({other})
    model.gate.release(ALL)
    assert [int(vector.argmax()) for (vector,) in await asyncio.gather(one, third)] == [50, 52]
    await stored
    assert model.batches == [[1, 1], [50, 52]]
    await embedder.close()


async def test_closing_leaves_nobody_waiting(embedder: LocalEmbedder, model: WatchedModel):
    stored = store(embedder, 1, batches=2)
    await all_asked(model)
    asked = searches(embedder, [50])
    await asyncio.sleep(0)
    closing = asyncio.create_task(embedder.close())
    await asyncio.sleep(0)
    model.gate.release(ALL)
    await closing
    outcomes = await asyncio.wait_for(asyncio.gather(stored, *asked, return_exceptions=True), timeout=HANG_SECONDS)
    assert all(isinstance(outcome, asyncio.CancelledError | RuntimeError | list) for outcome in outcomes)


async def test_a_failure_is_for_those_that_were_embedded_together(embedder: LocalEmbedder, model: WatchedModel):
    stores = [store(embedder, first, batches=2) for first in (1, 2)]
    await all_asked(model)
    asked = searches(embedder, [12, 13])
    await asyncio.sleep(0)
    model.gate.release(ALL)
    outcomes = await asyncio.gather(*asked, return_exceptions=True)
    assert [str(outcome) for outcome in outcomes] == ["The embedding model failed: the runtime has failed"] * 2
    assert {type(outcome) for outcome in outcomes} == {EmbedderUnavailable}
    assert [len(vectors) for vectors in await asyncio.gather(*stores)] == [4, 4]
    assert int((await embedder.embed(["12"]))[0].argmax()) == 12
    with pytest.raises(EmbedderUnavailable, match="the runtime has failed"):
        await embedder.embed(["13", "14"])
    await embedder.close()
