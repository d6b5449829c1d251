"""Compares a store file with what its writers were told: nothing lost, nothing twice, nothing half done."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import Memory, MemoryFilter, content_hash
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file.connection import connect

from .journal import Account
from .oracle import problems_of
from .worker import open_file
from .workload import LIVE, SECTIONS, Expected, Kept, Operation, Place, outcome

PAGE = 500
SEARCHED_SHARE = 25  # one of so many is looked up by its words


@dataclass
class Verdict:
    acknowledged_writes: int = 0
    memories: int = 0
    lost_memories: int = 0
    lost_changes: int = 0
    """Memories with other tags, metadata or predecessors than the last acknowledged write gave them."""
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
    listed = [memory for section in SECTIONS for memory in await _all_memories(store, section)]
    found = {(memory.namespace, memory.content): await _kept(store, memory) for memory in listed}
    verdict.memories = len(listed)
    verdict.duplicates = len(listed) - len(found)
    counted = sum([await store.count_all_memories(section) for section in SECTIONS])
    verdict.counts_that_differ = len({len(listed), counted, *_rows(path)}) - 1
    _judge_doubts(expected, found, verdict)
    _judge_own(expected.own, found, verdict)
    _judge_shared(expected, found, verdict)
    shared = {(LIVE, content) for content in expected.shared} | {
        (LIVE, doubt.contents[0]) for doubt in expected.in_doubt if doubt.kind == "tag"
    }
    known = {*expected.own, *shared}
    verdict.invented_memories = len(found.keys() - known)
    verdict.not_searchable = await _not_searchable(store, expected.own)
    await store.close()
    verdict.problems = problems_of(path)
    return verdict


async def _all_memories(store: SqliteVecStorage, section: str) -> list[Memory]:
    listed: list[Memory] = []
    while True:
        page = await store.list_memories(MemoryFilter(section), len(listed), PAGE)
        listed += page.memories
        if len(page.memories) < PAGE:
            return listed


def _rows(path: Path) -> set[int]:
    """How many memories each table knows."""
    connection = connect(path, read_only=True)
    try:
        return {
            cast("int", connection.execute(f"SELECT count(*) FROM {table}").get)  # noqa: S608
            for table in ("memories", "vectors", "memory_words", "(SELECT DISTINCT namespace, content FROM memories)")
        }
    finally:
        connection.close()


async def _kept(store: SqliteVecStorage, memory: Memory) -> Kept:
    edges = await store.edges_from(memory.namespace, [memory.content_hash], ["supersedes"])
    superseded = frozenset(edge.to for edge in edges.get(memory.content_hash, ()))
    return Kept(frozenset(memory.tags), cast("int", memory.metadata.get("revision", 0)), superseded)


def _judge_doubts(expected: Expected, found: Mapping[Place, Kept], verdict: Verdict) -> None:
    """Each must have been done as a whole or not at all; from then on its memories are known."""
    verdict.in_doubt = len(expected.in_doubt)
    for doubt in expected.in_doubt:
        if doubt.kind == "tag":
            verdict.in_doubt_done += _has_tags(found.get((LIVE, doubt.contents[0])), doubt)
            continue
        after = outcome(doubt, expected.own)
        before = {place: expected.own.get(place) for place in after}
        now = {place: found.get(place) for place in after}
        verdict.in_doubt_done += now == after
        verdict.half_done += now not in (before, after)
        expected.own |= now


def _has_tags(kept: Kept | None, operation: Operation) -> bool:
    return kept is not None and set(operation.tags) <= kept.tags


def _judge_own(own: Mapping[Place, Kept | None], found: Mapping[Place, Kept], verdict: Verdict) -> None:
    for place, kept in own.items():
        now = found.get(place)
        if now == kept:
            continue
        verdict.lost_memories += now is None
        verdict.undead_memories += kept is None
        verdict.lost_changes += now is not None and kept is not None


def _judge_shared(expected: Expected, found: Mapping[Place, Kept], verdict: Verdict) -> None:
    doubtful = {tag for doubt in expected.in_doubt if doubt.kind == "tag" for tag in doubt.tags}
    for content, tags in expected.shared.items():
        kept = found.get((LIVE, content))
        verdict.lost_memories += kept is None
        verdict.lost_changes += kept is not None and not tags <= kept.tags <= tags | doubtful


async def _not_searchable(store: SqliteVecStorage, own: Mapping[Place, Kept | None]) -> int:
    """Of some memories, how many are not found by their words where they are; and of some that were there, how many
    still are."""
    wrong = 0
    for there in (True, False):
        places = [place for place, kept in own.items() if (kept is not None) == there]
        for section, content in places[::SEARCHED_SHARE]:
            terms = query_terms(f'"{content}"')
            hits = (await store.search_by_text(terms, 5, MemoryFilter(section))).candidates
            wrong += (content_hash(content) in {hit.content_hash for hit in hits}) != there
    return wrong
