"""How the parts of a search are done."""

import asyncio
from typing import cast

import pytest
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.storage.ports import SearchReads, Snapshot
from mcp_memory_service.storage.scheduling import Concurrent, Inline, run_without_loop

NO_READS = cast("SearchReads", None)


async def value(number: int) -> int:
    return number


async def failing() -> int:
    raise ValueError("refused")


async def for_ever() -> bool:
    return await asyncio.Event().wait()


async def sum_of(snapshot: Snapshot) -> int:
    one, other = snapshot.start(value(1)), snapshot.start(value(2))
    return await one + await other + await one


async def test_both_schedulers_come_to_the_same():
    assert Inline().run(NO_READS, sum_of) == 4
    assert await Concurrent().run(NO_READS, sum_of) == 4


async def test_what_fails_fails_where_it_is_awaited():
    async def search(snapshot: Snapshot) -> str:
        begun = snapshot.start(failing())
        with pytest.raises(ValueError, match="refused"):
            await begun
        return "went on"

    assert Inline().run(NO_READS, search) == "went on"
    assert await Concurrent().run(NO_READS, search) == "went on"


async def test_inline_must_not_wait_for_the_event_loop():
    async def waiting() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="outside"):
        run_without_loop(waiting())


async def test_what_a_search_began_ends_with_it():
    begun: list[asyncio.Future[bool]] = []

    async def search(snapshot: Snapshot) -> None:
        begun.append(asyncio.ensure_future(snapshot.start(for_ever())))
        await asyncio.sleep(0)
        await failing()

    with pytest.raises(ValueError, match="refused"):
        await Concurrent().run(NO_READS, search)
    async with asyncio.timeout(HANG_SECONDS):
        await asyncio.wait(begun)
    assert begun[0].cancelled()


async def test_inline_nothing_is_done_that_nobody_awaits():
    done: list[int] = []

    async def noted(number: int) -> None:
        done.append(number)

    async def search(snapshot: Snapshot) -> None:
        snapshot.start(noted(1))
        needed = snapshot.start(noted(2))
        await needed
        await needed

    Inline().run(NO_READS, search)
    assert done == [2]
