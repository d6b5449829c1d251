"""A request with a key is carried out once, however often it is sent: asked of every backend."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.contract.conftest import Opener
from tests.contract.memories import EVERYTHING, embedded, memory
from tests.support.one_memory import get_one, store_one

from mcp_memory_service.errors import IdempotencyKeyReused, InvalidInput
from mcp_memory_service.models import Feedback, IdempotencyKey, Memory, MemoryPatch, content_hash
from mcp_memory_service.storage.ports import KEYS_KEPT_MICROSECONDS, Store

NOTE = memory("tunnel", "lab")
OURS, THEIRS = MemoryPatch(tags=("ours",)), MemoryPatch(tags=("theirs",))


def keyed(key: str, asked: str, at: int = 1_000) -> IdempotencyKey:
    return IdempotencyKey(key, asked, at)


@pytest.fixture
async def store(open_store: Opener, tmp_path: Path) -> AsyncGenerator[Store, None]:
    opened = await open_store(tmp_path)
    await store_one(opened, embedded(NOTE))
    yield opened
    await opened.close()


@pytest.fixture
async def other(open_store: Opener, tmp_path: Path, store: Store) -> AsyncGenerator[Store, None]:
    """The same store, as another process has it open."""
    opened = await open_store(tmp_path)
    yield opened
    await opened.close()


async def deleted(store: Store, request: IdempotencyKey | None, stored: Memory = NOTE) -> bool:
    return await store.delete(stored.namespace, stored.content_hash, request)


async def tags_after(
    store: Store, patch: MemoryPatch, request: IdempotencyKey | None, now: int = 1_000
) -> tuple[str, ...] | None:
    patched = await store.update("default", NOTE.content_hash, patch, now, request)
    return patched.tags if patched else None


async def test_a_delete_that_is_sent_again_answers_as_the_first_did(store: Store):
    request = keyed("k", "delete tunnel")
    assert [await deleted(store, request) for _ in range(3)] == [True, True, True]
    assert await get_one(store, "default", NOTE.content_hash) is None


async def test_a_delete_that_is_sent_again_leaves_a_memory_stored_anew_alone(store: Store):
    request = keyed("k", "delete tunnel")
    assert await deleted(store, request)
    await store_one(store, embedded(NOTE))
    said = Feedback("port", NOTE.content_hash, True, 1)
    await store.add_feedback("default", said)
    assert await deleted(store, request)
    assert await get_one(store, "default", NOTE.content_hash) == NOTE
    assert await store.list_feedback("default") == [said]
    assert await deleted(store, keyed("another", "delete tunnel"))
    assert await get_one(store, "default", NOTE.content_hash) is None


async def test_a_delete_that_found_nothing_finds_nothing_again(store: Store):
    later = memory("later")
    assert not await deleted(store, keyed("k", "delete later"), later)
    await store_one(store, embedded(later))
    assert not await deleted(store, keyed("k", "delete later"), later)
    assert await get_one(store, "default", later.content_hash) == later


async def test_an_update_that_is_sent_again_does_not_undo_what_came_after(store: Store):
    request = keyed("k", "update tunnel: ours")
    assert await tags_after(store, OURS, request) == ("ours",)
    assert await tags_after(store, THEIRS, None) == ("theirs",)
    assert await tags_after(store, OURS, request) == ("theirs",)
    assert (await store.get_all_tags("default"))[0].tag == "theirs"


async def test_an_update_that_changed_nothing_is_done_all_the_same(store: Store):
    request = keyed("k", "update tunnel: lab")
    unchanged = await store.update("default", NOTE.content_hash, MemoryPatch(tags=("lab",)), 5_000, request)
    assert unchanged == NOTE
    await tags_after(store, THEIRS, None)
    assert await tags_after(store, MemoryPatch(tags=("lab",)), request) == ("theirs",)


async def test_an_update_is_not_applied_to_a_memory_stored_anew(store: Store):
    request = keyed("k", "update tunnel: ours")
    await tags_after(store, OURS, request)
    await deleted(store, None)
    assert await tags_after(store, OURS, request) is None
    await store_one(store, embedded(NOTE))
    assert await tags_after(store, OURS, request) == ("lab",)


async def test_an_update_that_found_nothing_or_was_refused_leaves_its_key_free(store: Store):
    request = keyed("k", "update")
    assert await store.update("default", content_hash("later"), OURS, 1, request) is None
    with pytest.raises(InvalidInput, match="101 tags"):
        await tags_after(store, MemoryPatch(tags=tuple(f"t{i}" for i in range(101))), request)
    assert await tags_after(store, OURS, request) == ("ours",)


async def test_a_key_is_refused_for_anything_else(store: Store):
    await tags_after(store, OURS, keyed("updated", "update tunnel: ours"))
    await store_one(store, embedded(memory("gone")))
    await deleted(store, keyed("deleted", "delete gone"), memory("gone"))
    for used in ("updated", "deleted"):
        with pytest.raises(IdempotencyKeyReused):
            await tags_after(store, THEIRS, keyed(used, "update tunnel: theirs"))
        with pytest.raises(IdempotencyKeyReused):
            await deleted(store, keyed(used, "delete tunnel"))
        with pytest.raises(IdempotencyKeyReused):
            await store.update("default", content_hash("unknown"), OURS, 1, keyed(used, "update unknown"))
    assert await tags_after(store, MemoryPatch(), None) == ("ours",)


async def test_without_a_key_every_request_counts(store: Store):
    assert [await tags_after(store, patch, None) for patch in (OURS, THEIRS, OURS)] == [
        ("ours",),
        ("theirs",),
        ("ours",),
    ]
    assert [await deleted(store, None) for _ in range(2)] == [True, False]


async def test_namespaces_have_keys_of_their_own(store: Store):
    theirs = memory("tunnel", namespace="other")
    await store_one(store, embedded(theirs))
    assert await deleted(store, keyed("k", "delete tunnel"))
    assert await get_one(store, "other", theirs.content_hash) == theirs
    assert await deleted(store, keyed("k", "delete something else"), theirs)


async def test_a_key_is_forgotten_after_a_day(store: Store):
    await tags_after(store, OURS, keyed("k", "update tunnel: ours", at=1_000))
    await tags_after(store, THEIRS, None)
    last_moment = 1_000 + KEYS_KEPT_MICROSECONDS - 1
    assert await tags_after(store, OURS, keyed("k", "update tunnel: ours", last_moment)) == ("theirs",)
    with pytest.raises(IdempotencyKeyReused):
        await deleted(store, keyed("k", "delete tunnel", last_moment))
    assert await tags_after(store, OURS, keyed("k", "update tunnel: ours", last_moment + 1)) == ("ours",)
    assert await deleted(store, keyed("k", "delete tunnel", last_moment + 1 + KEYS_KEPT_MICROSECONDS))


async def test_keys_outlive_the_process(open_store: Opener, tmp_path: Path, store: Store):
    await tags_after(store, OURS, keyed("u", "update tunnel: ours"))
    await tags_after(store, THEIRS, None)
    await store.close()
    again = await open_store(tmp_path)
    assert await tags_after(again, OURS, keyed("u", "update tunnel: ours")) == ("theirs",)
    assert await deleted(again, keyed("d", "delete tunnel"))
    await again.close()
    once_more = await open_store(tmp_path)
    assert await deleted(once_more, keyed("d", "delete tunnel"))
    await once_more.close()


async def test_other_writes_do_not_make_a_memory_forget_its_requests(store: Store):
    """More of them than a store keeps track of at once."""
    await tags_after(store, OURS, keyed("first", "update tunnel: ours"))
    await store_one(store, embedded(memory("tunnel", "more")))
    for number in range(110):
        await tags_after(store, MemoryPatch(metadata={"n": number}), keyed(f"k{number}", f"update tunnel: {number}"))
    await tags_after(store, THEIRS, None)
    assert await tags_after(store, OURS, keyed("first", "update tunnel: ours")) == ("theirs",)
    found = await store.update(
        "default", NOTE.content_hash, MemoryPatch(metadata={"n": 0}), 1, keyed("k0", "update tunnel: 0")
    )
    assert found is not None
    assert found.metadata == {"n": 109}


async def test_of_two_deletes_at_once_with_one_key_one_is_carried_out(store: Store, other: Store):
    for number in range(8):
        note = memory(f"note {number}")
        await store_one(store, embedded(note))
        request = keyed(f"k{number}", f"delete note {number}")
        first, second, stored = await asyncio.gather(
            deleted(store, request, note), deleted(other, request, note), store_one(store, embedded(note))
        )
        assert (first, second) == (True, True)
        # Stored anew after the one delete, it is there; found already there, it was deleted with the rest.
        assert (await get_one(store, "default", note.content_hash) is not None) == stored.created


async def test_of_two_updates_at_once_with_one_key_one_is_carried_out(store: Store, other: Store):
    for number in range(8):
        ours = MemoryPatch(metadata={"by": f"us {number}"})
        theirs = MemoryPatch(metadata={"by": f"them {number}"})
        request = keyed(f"k{number}", f"update tunnel: {number}")
        first, second, _ = await asyncio.gather(
            store.update("default", NOTE.content_hash, ours, 100 * number + 1, request),
            other.update("default", NOTE.content_hash, ours, 100 * number + 2, request),
            store.update("default", NOTE.content_hash, theirs, 100 * number + 3),
        )
        assert first is not None
        assert second is not None
        moments = {found.updated_at for found in (first, second) if found.metadata == ours.metadata}
        assert len(moments) == 1


async def test_keys_are_no_memories(store: Store):
    before = await store.stats("default")
    assert await tags_after(store, MemoryPatch(tags=("lab",)), keyed("u", "update tunnel")) == ("lab",)
    assert not await deleted(store, keyed("d", "delete unknown"), memory("unknown"))
    after = await store.stats("default")
    assert (after.memories, after.vectors, after.oldest) == (before.memories, before.vectors, before.oldest)
    assert await store.count_all_memories("default") == 1
    assert await store.namespaces() == ["default"]
    assert (await store.list_memories(EVERYTHING, 0, 10)).memories == (NOTE,)
    assert [item.memory for item in (await store.scan(None, 10)).items] == [NOTE]
