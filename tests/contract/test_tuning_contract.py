"""Feedback and tuned weights, as every store must keep them."""

from collections.abc import AsyncGenerator, Awaitable, Callable
from pathlib import Path

import pytest
from tests.support.one_memory import store_one

from mcp_memory_service.models import Feedback, TunedWeights, Tuning
from mcp_memory_service.storage.ports import Store

from .memories import embedded, memory

Opener = Callable[[Path], Awaitable[Store]]


@pytest.fixture
async def tuning_store(open_store: Opener, tmp_path: Path) -> AsyncGenerator[Store, None]:
    store = await open_store(tmp_path)
    yield store
    await store.close()


def tuning(trust: float) -> Tuning:
    return Tuning(TunedWeights(trust, 1.0, 0.7), created_at=5, queries=40, before=0.5, after=0.6)


async def test_the_last_word_on_a_result_counts(tuning_store: Store):
    note = memory("tunnel")
    await store_one(tuning_store, embedded(note))
    assert await tuning_store.add_feedback("default", Feedback("port", note.content_hash, True, 1))
    assert await tuning_store.add_feedback("default", Feedback("host", note.content_hash, True, 2))
    assert await tuning_store.add_feedback("default", Feedback("port", note.content_hash, False, 3))
    assert await tuning_store.list_feedback("default") == [
        Feedback("host", note.content_hash, True, 2),
        Feedback("port", note.content_hash, False, 3),
    ]
    assert await tuning_store.list_feedback("other") == []


async def test_feedback_needs_its_memory_and_goes_with_it(tuning_store: Store):
    note = memory("tunnel")
    assert not await tuning_store.add_feedback("default", Feedback("port", note.content_hash, True, 1))
    await store_one(tuning_store, embedded(note))
    await tuning_store.add_feedback("default", Feedback("port", note.content_hash, True, 1))
    await tuning_store.delete("default", note.content_hash)
    assert await tuning_store.list_feedback("default") == []


async def test_the_newest_weights_count_until_they_are_rolled_back(tuning_store: Store):
    assert await tuning_store.current_tuning("default") is None
    assert await tuning_store.roll_back_tuning("default") is None
    first = await tuning_store.save_tuning("default", tuning(0.5))
    second = await tuning_store.save_tuning("default", tuning(2.0))
    assert second.version > first.version
    assert await tuning_store.current_tuning("default") == second
    assert await tuning_store.current_tuning("other") is None
    assert await tuning_store.roll_back_tuning("default") == second
    assert await tuning_store.current_tuning("default") == first
    assert (await tuning_store.save_tuning("default", tuning(4.0))).version > second.version


async def test_weights_outlive_the_process(open_store: Opener, tmp_path: Path):
    store = await open_store(tmp_path)
    saved = await store.save_tuning("default", tuning(0.5))
    await store.close()
    again = await open_store(tmp_path)
    assert await again.current_tuning("default") == saved
    await again.close()
