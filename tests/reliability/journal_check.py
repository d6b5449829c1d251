"""Compares a store file with what its writers were told: nothing lost, nothing twice, nothing half done."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from tests.contract.memories import EVERYTHING

from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import Memory, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file.connection import connect

from .journal import Account
from .oracle import problems_of
from .worker import open_file
from .workload import Expected, Kept, Operation, outcome

PAGE = 500
SEARCHED_SHARE = 25  # one of so many is looked up by its words


@dataclass
class Verdict:
    acknowledged_writes: int = 0
    memories: int = 0
    lost_memories: int = 0
    lost_changes: int = 0
    """Memories with other tags or metadata than the last acknowledged write gave them."""
    undead_memories: int = 0
    invented_memories: int = 0
    duplicates: int = 0
    counts_that_differ: int = 0
    not_searchable: int = 0
    in_doubt: int = 0
    in_doubt_done: int = 0
    half_done: int = 0
    problems: list[str] = field(default_factory=list[str])

    @property
    def clean(self) -> bool:
        return not (
            self.lost_memories
            or self.lost_changes
            or self.undead_memories
            or self.invented_memories
            or self.duplicates
            or self.counts_that_differ
            or self.not_searchable
            or self.half_done
            or self.problems
        )


def expected_of(accounts: Iterable[Account]) -> Expected:
    expected = Expected()
    for account in accounts:
        expected.add(account.acknowledged)
        expected.in_doubt += account.in_doubt
    return expected


async def judge(path: Path, accounts: Iterable[Account]) -> Verdict:
    told = list(accounts)
    expected = expected_of(told)
    verdict = Verdict(acknowledged_writes=sum(len(account.acknowledged) for account in told))
    store = await open_file(path)
    listed = await _all_memories(store)
    found = {memory.content: memory for memory in listed}
    verdict.memories = len(listed)
    verdict.duplicates = sum(Counter(memory.content for memory in listed).values()) - len(found)
    verdict.counts_that_differ = len({len(listed), await store.count_all_memories("default"), *_rows(path)}) - 1
    _judge_doubts(expected, found, verdict)
    _judge_own(expected.own, found, verdict)
    _judge_shared(expected, found, verdict)
    known = {*expected.own, *expected.shared, *(c for doubt in expected.in_doubt for c in doubt.contents)}
    verdict.invented_memories = len(found.keys() - known)
    verdict.not_searchable = await _not_searchable(store, expected.own)
    await store.close()
    verdict.problems = problems_of(path)
    return verdict


async def _all_memories(store: SqliteVecStorage) -> list[Memory]:
    listed: list[Memory] = []
    while True:
        page = await store.list_memories(EVERYTHING, len(listed), PAGE)
        listed += page.memories
        if len(page.memories) < PAGE:
            return listed


def _rows(path: Path) -> set[int]:
    """How many memories each table knows."""
    connection = connect(path, read_only=True)
    try:
        return {
            cast("int", connection.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608
            for table in ("memories", "vectors", "memory_words", "(SELECT DISTINCT content FROM memories)")
        }
    finally:
        connection.close()


def _judge_doubts(expected: Expected, found: Mapping[str, Memory], verdict: Verdict) -> None:
    """Each must have been done as a whole or not at all; from then on its memories are known."""
    verdict.in_doubt = len(expected.in_doubt)
    for doubt in expected.in_doubt:
        if doubt.kind == "tag":
            verdict.in_doubt_done += _has_tags(found.get(doubt.contents[0]), doubt)
            continue
        before = {content: expected.own.get(content) for content in doubt.contents}
        now = {content: _kept(found.get(content)) for content in doubt.contents}
        verdict.in_doubt_done += now == outcome(doubt)
        verdict.half_done += now not in (before, outcome(doubt))
        expected.own |= now


def _has_tags(memory: Memory | None, operation: Operation) -> bool:
    return memory is not None and set(operation.tags) <= set(memory.tags)


def _kept(memory: Memory | None) -> Kept | None:
    return Kept(frozenset(memory.tags), cast("int", memory.metadata.get("revision", 0))) if memory else None


def _judge_own(own: Mapping[str, Kept | None], found: Mapping[str, Memory], verdict: Verdict) -> None:
    for content, kept in own.items():
        now = _kept(found.get(content))
        if now == kept:
            continue
        verdict.lost_memories += now is None
        verdict.undead_memories += kept is None
        verdict.lost_changes += now is not None and kept is not None


def _judge_shared(expected: Expected, found: Mapping[str, Memory], verdict: Verdict) -> None:
    doubtful = {tag for doubt in expected.in_doubt if doubt.kind == "tag" for tag in doubt.tags}
    for content, tags in expected.shared.items():
        memory = found.get(content)
        verdict.lost_memories += memory is None
        verdict.lost_changes += memory is not None and not tags <= set(memory.tags) <= tags | doubtful


async def _not_searchable(store: SqliteVecStorage, own: Mapping[str, Kept | None]) -> int:
    """Of some memories, how many are not found by their words; and of some deleted ones, how many still are."""
    wrong = 0
    for there in (True, False):
        contents = [content for content, kept in own.items() if (kept is not None) == there]
        for content in contents[::SEARCHED_SHARE]:
            hits = (await store.search_by_text(query_terms(f'"{content}"'), 5, EVERYTHING)).candidates
            wrong += (content_hash(content) in {hit.content_hash for hit in hits}) != there
    return wrong
