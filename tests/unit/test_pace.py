"""How the parts of a search are done."""

import asyncio

import pytest

from mcp_memory_service.storage.pace import AtOnce, OnLoop, Pace, finished


async def value(number: int) -> int:
    return number


async def failing() -> int:
    raise ValueError("refused")


async def for_ever() -> bool:
    return await asyncio.Event().wait()


async def sum_of(pace: Pace) -> int:
    one, other = pace.begin(value(1)), pace.begin(value(2))
    return await one + await other + await one


async def test_both_paces_come_to_the_same():
    assert finished(AtOnce().run(sum_of)) == 4
    assert await OnLoop().run(sum_of) == 4


async def test_what_fails_fails_where_it_is_awaited():
    async def search(pace: Pace) -> str:
        begun = pace.begin(failing())
        with pytest.raises(ValueError, match="refused"):
            await begun
        return "went on"

    assert finished(AtOnce().run(search)) == "went on"
    assert await OnLoop().run(search) == "went on"


async def test_at_once_must_not_wait_for_the_event_loop():
    async def waiting() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="outside"):
        finished(waiting())


async def test_what_a_search_began_ends_with_it():
    begun: list[asyncio.Future[bool]] = []

    async def search(pace: Pace) -> None:
        begun.append(asyncio.ensure_future(pace.begin(for_ever())))
        await asyncio.sleep(0)
        await failing()

    with pytest.raises(ValueError, match="refused"):
        await OnLoop().run(search)
    async with asyncio.timeout(5):
        await asyncio.wait(begun)
    assert begun[0].cancelled()


async def test_at_once_nothing_is_done_that_nobody_awaits():
    done: list[int] = []

    async def noted(number: int) -> None:
        done.append(number)

    async def search(pace: Pace) -> None:
        pace.begin(noted(1))
        needed = pace.begin(noted(2))
        await needed
        await needed

    finished(AtOnce().run(search))
    assert done == [2]
