"""A short form of `python -m tests.reliability.io_faults`."""

from itertools import count
from pathlib import Path

from tests.reliability.expectations import History
from tests.reliability.failing_vfs import Calls, FailingVFS
from tests.reliability.io_faults import run
from tests.reliability.passing_vfs import default_while_open
from tests.reliability.random_operations import one_more
from tests.reliability.stores import open_store, temporary_folder
from tests.reliability.verdict import Damage, damage_of

from mcp_memory_service.errors import MemoryServiceError


def test_a_failed_call_to_the_disk_is_told_and_costs_one_operation_at_most():
    figures = run(every=37)
    assert figures.clean, figures
    assert figures.calls > 500
    assert figures.refused > 10
    assert figures.faults["EIO never came"] == 0


async def test_no_fault_in_the_first_write_of_a_handle_spoils_what_the_handle_writes_later():
    """FTS5 of SQLite 3.54.1 goes wrong in memory when a certain read of its index fails, and writes that down later."""
    spoiled: dict[str, Damage] = {}
    faults = 0
    for number in count():
        calls = Calls()
        with temporary_folder() as folder:
            damage = await _damage_after_fault_in_first_write(folder / "memories.db", calls, number)
        if calls.failed is None:
            break
        faults += 1
        if not damage.clean:
            spoiled[f"call {number}: {calls.failed}"] = damage
    assert not spoiled
    assert faults > 20


async def _damage_after_fault_in_first_write(path: Path, calls: Calls, number: int) -> Damage:
    history = History()
    with default_while_open(FailingVFS(calls)):
        store = await open_store(path)
        calls.fails = len(calls.made) + number
        first = one_more("first")
        try:
            await first.perform(store)
            history.acknowledge(first)
        except MemoryServiceError:
            history.doubt(first)
        calls.fails = None
        for name in ("second", "third"):
            operation = one_more(name)
            await operation.perform(store)
            history.acknowledge(operation)
        await store.close()
    return await damage_of(path, history)
