"""One memory is edited, deleted and brought back by two handles at the same moment, on every backend."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest

from mcp_memory_service.models import Memory
from mcp_memory_service.storage.ports import Store

from .conftest import BACKENDS, Opener
from .memories import EVERYTHING, embedded, memory
from .test_life_contract import HISTORY, TRASH, TUESDAY, deploys, edit, listed, texts


async def placed(store: Store, beginning: str) -> list[list[str]]:
    """Which texts that begin so are live, in the history and in the trash."""
    found = [await texts(store, where) for where in (EVERYTHING, HISTORY, TRASH)]
    return [[text for text in each if text.startswith(beginning)] for each in found]


async def edited_at_once(handles: list[Store], old: Memory) -> tuple[list[str], list[list[str]]]:
    """What two handles make of one memory at the same moment, and what is then where."""
    await handles[0].store_batch([embedded(old)])
    edits = [
        edit(handle, old.content_hash, f"{old.content} {name}") for handle, name in zip(handles, "ab", strict=True)
    ]
    made = [new.content for new in await asyncio.gather(*edits) if new is not None]
    return made, await placed(handles[1], old.content)


async def edited_and_trashed(handles: list[Store], old: Memory) -> tuple[bool, bool, list[list[str]]]:
    await handles[0].store_batch([embedded(old)])
    edited, deleted = await asyncio.gather(
        edit(handles[0], old.content_hash, f"{old.content} anew"),
        handles[1].delete("default", old.content_hash, trashed_at=8_000),
    )
    return edited is not None, deleted, await placed(handles[0], old.content)


@pytest.fixture
async def handles(open_store: Opener, tmp_path: Path) -> AsyncGenerator[list[Store], None]:
    opened = [await open_store(tmp_path) for _ in range(2)]
    yield opened
    for handle in opened:
        await handle.close()


async def test_what_is_changed_at_once_is_never_nowhere(handles: list[Store]):
    for number in range(5):
        made, (live, past, _) = await edited_at_once(handles, memory(f"edited {number}", "t"))
        assert made
        assert set(made) <= set(live)
        assert past == [f"edited {number}"]
        edited, deleted, (live, past, trashed) = await edited_and_trashed(handles, memory(f"deleted {number}", "t"))
        assert edited or deleted
        assert live == [f"deleted {number} anew"] if edited else live in ([], [f"deleted {number} anew"])
        assert f"deleted {number}" in (*past, *trashed)


@pytest.mark.parametrize("open_store", [each for each in BACKENDS if "qdrant" not in each], indirect=True)
async def test_with_transactions_one_of_two_changes_at_once_is_made(handles: list[Store]):
    for number in range(5):
        made, (live, _, _) = await edited_at_once(handles, memory(f"edited {number}", "t"))
        assert len(made) == 1
        assert live == made
        text = f"deleted {number}"
        edited, deleted, places = await edited_and_trashed(handles, memory(text, "t"))
        assert edited != deleted
        assert places == ([[f"{text} anew"], [text], []] if edited else [[], [], [text]])


async def test_of_restores_at_once_one_brings_it_back(handles: list[Store]):
    old = await deploys(handles[0])
    for _ in range(5):
        await handles[0].delete("default", TUESDAY, trashed_at=8_000)
        restored = await asyncio.gather(*(handle.restore("default", TUESDAY, 9_000) for handle in handles))
        assert old in restored
        assert await handles[1].get_many("default", [TUESDAY]) == [old]
        assert await listed(handles[1], TRASH) == []
