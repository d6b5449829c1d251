"""Any sequence of calls through two handles of a store, compared call by call with a model of plain dictionaries."""

import asyncio
import itertools
import shutil
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test
from tests.contract.memories import embedded
from tests.support.one_memory import get_one

from mcp_memory_service.errors import InvalidVector
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import (
    Candidate,
    Edge,
    EmbeddedMemory,
    Feedback,
    MemoryFilter,
    MemoryPatch,
    Vector,
    fold_tag,
    main_namespace,
)
from mcp_memory_service.storage.ports import Store

from . import drawn
from .oracle import problems_of
from .store_model import Key, StoreModel, same_memory

T = TypeVar("T")

SINGLE_PRECISION = 5e-6
UNFIT = (0.0, 0.0, 0.0, 0.0)


@dataclass
class Bench:
    """Where a machine gets its stores from, a new one for each example."""

    open_store: Callable[[Path], Awaitable[Store]]
    folder: Path
    runner: asyncio.Runner
    examples: int = 0
    calls: int = 0

    def new_folder(self) -> Path:
        self.examples += 1
        folder = self.folder / f"example{self.examples}"
        folder.mkdir()
        return folder


class StoreMachine(RuleBasedStateMachine):
    bench: ClassVar[Bench]

    def __init__(self) -> None:
        super().__init__()
        self.folder = self.bench.new_folder()
        self.handles = [self._open(), self._open()]
        self.model = StoreModel()
        self.clock = itertools.count(1_000)
        self.tags_seen: dict[str, tuple[set[str], int]] = {}
        self.kept: set[Key] = set()
        """What was stored and neither purged nor deleted for good: it must be somewhere, by whatever name it moved."""
        self.purged: set[Key] = set()

    def _open(self) -> Store:
        async def opened() -> Store:
            return await self.bench.open_store(self.folder)

        return self.bench.runner.run(opened())

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        self.bench.calls += 1
        return self.bench.runner.run(call)

    def teardown(self) -> None:
        self.scan(0, 20)
        for handle in self.handles:
            self._run(handle.close())
        for file in self.folder.glob("*.db"):  # a store on a server has none
            assert problems_of(file) == []
        shutil.rmtree(self.folder)

    # --- writing

    @rule(handle=drawn.HANDLES, items=drawn.BATCHES)
    def store(self, handle: int, items: list[EmbeddedMemory]) -> None:
        outcomes = self._run(self.handles[handle].store_batch(items))
        expected = self.model.store(items)
        assert [outcome.created for outcome in outcomes] == [created for _, created in expected]
        for outcome, (memory, _) in zip(outcomes, expected, strict=True):
            assert same_memory(outcome.memory, memory), (outcome.memory, memory)
            self._keep(memory.namespace, memory.content_hash)

    @rule(handle=drawn.HANDLES, items=drawn.BATCHES)
    def store_a_batch_with_an_unfit_vector(self, handle: int, items: list[EmbeddedMemory]) -> None:
        with pytest.raises(InvalidVector):
            self._run(self.handles[handle].store_batch([*items, embedded(items[0].memory, UNFIT)]))

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, content_hash=drawn.HASHES, patch=drawn.PATCHES)
    def update(self, handle: int, namespace: str, content_hash: str, patch: MemoryPatch) -> None:
        now = next(self.clock)
        patched = self._run(self.handles[handle].update(namespace, content_hash, patch, now))
        expected = self.model.update(namespace, content_hash, patch, now)
        assert same_memory(patched, expected), (patched, expected)

    @rule(
        handle=drawn.HANDLES, namespace=drawn.NAMESPACES, old_id=drawn.HASHES, patch=drawn.EDITS, vectors=drawn.CHUNKS
    )
    def edit(self, handle: int, namespace: str, old_id: str, patch: MemoryPatch, vectors: tuple[Vector, ...]) -> None:
        now = next(self.clock)
        edited = self._run(self.handles[handle].update(namespace, old_id, patch, now, None, vectors))
        expected = self.model.update(namespace, old_id, patch, now, vectors)
        assert same_memory(edited, expected), (edited, expected)
        if edited:
            self._keep(namespace, edited.content_hash)

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, content_hash=drawn.HASHES)
    def edit_without_vectors(self, handle: int, namespace: str, content_hash: str) -> None:
        if self.model.get(namespace, content_hash) is not None:
            with pytest.raises(InvalidVector):
                self._run(self.handles[handle].update(namespace, content_hash, MemoryPatch(content="refused"), 9_000))

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, content_hash=drawn.HASHES)
    def delete(self, handle: int, namespace: str, content_hash: str) -> None:
        deleted = self._run(self.handles[handle].delete(namespace, content_hash))
        assert deleted is self.model.delete(namespace, content_hash)
        self.kept.discard((namespace, content_hash))

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, content_hash=drawn.HASHES)
    def trash(self, handle: int, namespace: str, content_hash: str) -> None:
        now = next(self.clock)
        deleted = self._run(self.handles[handle].delete(namespace, content_hash, trashed_at=now))
        assert deleted is self.model.trash(namespace, content_hash, now)

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, content_hash=drawn.HASHES)
    def restore(self, handle: int, namespace: str, content_hash: str) -> None:
        now = next(self.clock)
        restored = self._run(self.handles[handle].restore(namespace, content_hash, now))
        expected = self.model.restore(namespace, content_hash, now)
        assert same_memory(restored, expected), (restored, expected)

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, hashes=drawn.HASH_LISTS)
    def purge(self, handle: int, namespace: str, hashes: list[str]) -> None:
        purged = self._run(self.handles[handle].purge(namespace, hashes))
        assert purged.not_found == self.model.purge(namespace, hashes)
        keys = {(namespace, content_hash) for content_hash in hashes}
        self.kept -= keys
        self.purged |= keys

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, edges=drawn.EDGES)
    def add_edges(self, handle: int, namespace: str, edges: list[Edge]) -> None:
        missing = self._run(self.handles[handle].add_edges(namespace, edges))
        assert missing == self.model.add_edges(namespace, edges)

    @rule(handle=drawn.HANDLES, namespace=drawn.NAMESPACES, content_hash=drawn.HASHES, query=drawn.QUERIES)
    def add_feedback(self, handle: int, namespace: str, content_hash: str, query: str) -> None:
        said = Feedback(query, content_hash, useful=True, created_at=next(self.clock))
        assert self._run(self.handles[handle].add_feedback(namespace, said)) is self.model.add_feedback(namespace, said)

    @rule(handle=drawn.HANDLES)
    def reopen(self, handle: int) -> None:
        self._run(self.handles[handle].close())
        self.handles[handle] = self._open()

    def _keep(self, namespace: str, content_hash: str) -> None:
        self.kept.add((namespace, content_hash))
        self.purged.discard((namespace, content_hash))

    # --- reading

    @rule(handle=drawn.HANDLES, namespace=drawn.SECTIONS, hashes=drawn.HASH_LISTS)
    def get(self, handle: int, namespace: str, hashes: list[str]) -> None:
        store = self.handles[handle]
        expected = [self.model.get(namespace, content_hash) for content_hash in hashes]
        for content_hash, memory in zip(hashes, expected, strict=True):
            found = self._run(get_one(store, namespace, content_hash))
            assert same_memory(found, memory), (found, memory)
        assert self._run(store.get_many(namespace, hashes)) == [memory for memory in expected if memory]

    @rule(handle=drawn.HANDLES, where=drawn.FILTERS, offset=drawn.OFFSETS, limit=drawn.LIMITS)
    def list_memories(self, handle: int, where: MemoryFilter, offset: int, limit: int) -> None:
        page = self._run(self.handles[handle].list_memories(where, offset, limit))
        expected = [item.memory for item in self.model.matching(where)]
        assert (list(page.memories), page.total) == (expected[offset : offset + limit], len(expected))

    @rule(handle=drawn.HANDLES, query=drawn.VECTORS, limit=drawn.LIMITS, where=drawn.FILTERS)
    def retrieve(self, handle: int, query: tuple[float, ...], limit: int, where: MemoryFilter) -> None:
        query_vector = np.array(query, dtype=np.float32)
        found = self._run(self.handles[handle].retrieve(query_vector, limit, where))
        self._compare_ranking(found, self.model.similarities(query_vector, where), limit, where)

    @rule(handle=drawn.HANDLES, weights=drawn.TAG_WEIGHTS, limit=drawn.LIMITS, where=drawn.FILTERS)
    def search_by_tag(self, handle: int, weights: dict[str, float], limit: int, where: MemoryFilter) -> None:
        found = self._run(self.handles[handle].search_by_tag(weights, limit, where))
        scores = self.model.tag_scores(weights, where)
        self._compare_ranking(found, scores, limit, where)
        dates = {item.memory.content_hash: item.memory.created_at for item in self.model.matching(where)}
        order = sorted(((score, dates[content_hash]) for content_hash, score in scores.items()), reverse=True)
        assert [(candidate.score, candidate.created_at) for candidate in found] == order[:limit]

    @rule(handle=drawn.HANDLES, number=drawn.NUMBERS, where=drawn.FILTERS)
    def search_by_an_own_word(self, handle: int, number: int, where: MemoryFilter) -> None:
        search = self.handles[handle].search_by_text(query_terms(drawn.own_word(number)), 50, where)
        found = self._run(search).candidates
        there = {item.memory.content_hash for item in self.model.matching(where)}
        assert {candidate.content_hash for candidate in found} == there & {drawn.HASH_OF[number]}

    @rule(handle=drawn.HANDLES, tag=drawn.TAGS_AS_WORDS, where=drawn.FILTERS)
    def search_by_the_word_of_a_tag(self, handle: int, tag: str, where: MemoryFilter) -> None:
        found = self._run(self.handles[handle].search_by_text(query_terms(tag), 50, where)).candidates
        assert {candidate.content_hash for candidate in found} == self.model.tag_scores({tag: 1.0}, where).keys()
        assert len({candidate.content_hash for candidate in found}) == len(found)

    @rule(handle=drawn.HANDLES, hashes=drawn.HASH_LISTS, where=drawn.FILTERS)
    def adjacent(self, handle: int, hashes: list[str], where: MemoryFilter) -> None:
        found = self._run(self.handles[handle].adjacent(hashes, 50, where))
        places = self.model.neighbours(hashes, where)
        assert {candidate.content_hash: (candidate.session, candidate.sequence) for candidate in found} == places
        assert [(candidate.session, candidate.sequence) for candidate in found] == sorted(places.values())

    @rule(handle=drawn.HANDLES, namespace=drawn.SECTIONS)
    def count(self, handle: int, namespace: str) -> None:
        store = self.handles[handle]
        items = self.model.matching(MemoryFilter(namespace))
        assert self._run(store.count_all_memories(namespace)) == len(items)
        stats = self._run(store.stats(namespace))
        assert (stats.memories, stats.vectors) == (len(items), sum(len(item.vectors) for item in items))
        dates = [item.memory.created_at for item in items]
        assert (stats.oldest, stats.newest) == (min(dates, default=None), max(dates, default=None))
        assert stats.tags == len(self.model.tag_counts(namespace))

    @rule(handle=drawn.HANDLES, namespace=drawn.SECTIONS)
    def tags(self, handle: int, namespace: str) -> None:
        found = self._run(self.handles[handle].get_all_tags(namespace))
        expected = self.model.tag_counts(namespace)
        assert {fold_tag(tag.tag): tag.memories for tag in found} == expected
        assert [tag.memories for tag in found] == sorted(expected.values(), reverse=True)

    @rule(handle=drawn.HANDLES, namespace=drawn.SECTIONS)
    def tags_version(self, handle: int, namespace: str) -> None:
        """Another number when other tags are there than when it was last asked for, through whichever handle."""
        version = self._run(self.handles[handle].tags_version(namespace))
        tags = set(self.model.tag_counts(namespace))
        before, version_before = self.tags_seen.get(namespace, (tags, version))
        assert tags == before or version != version_before, (before, tags, version)
        self.tags_seen[namespace] = (tags, version)

    @rule(handle=drawn.HANDLES, limit=drawn.LIMITS)
    def scan(self, handle: int, limit: int) -> None:
        store = self.handles[handle]
        scanned: list[EmbeddedMemory] = []
        cursor: str | None = None
        while True:
            part = self._run(store.scan(cursor, limit))
            scanned += part.items
            cursor = part.cursor
            if cursor is None:
                break
        places = [(item.memory.namespace, item.memory.content_hash) for item in scanned]
        assert sorted(places) == sorted(self.model.items)
        somewhere = {(main_namespace(namespace), content_hash) for namespace, content_hash in places}
        assert self.kept <= somewhere, "lost"
        assert somewhere.isdisjoint(self.purged), "purged and still there"
        for item in scanned:
            expected = self.model.items[item.memory.namespace, item.memory.content_hash]
            assert same_memory(item.memory, expected.memory), (item.memory, expected.memory)
            assert len(item.vectors) == len(expected.vectors)

    @rule(handle=drawn.HANDLES, namespace=drawn.SECTIONS, some_id=drawn.HASHES, digits=drawn.PREFIX_DIGITS)
    def find_ids(self, handle: int, namespace: str, some_id: str, digits: int) -> None:
        found = self._run(self.handles[handle].find_ids(namespace, some_id[:digits], 20))
        assert found == self.model.ids(namespace, some_id[:digits])

    @rule(handle=drawn.HANDLES, namespace=drawn.SECTIONS, hashes=drawn.HASH_LISTS)
    def edges(self, handle: int, namespace: str, hashes: list[str]) -> None:
        store, there = self.handles[handle], self.model.all_edges(namespace)
        outgoing = self._run(store.edges_from(namespace, hashes))
        assert _sorted(outgoing) == sorted((edge for edge in there if edge.from_id in hashes), key=str)
        incoming = self._run(store.edges_to(namespace, hashes, ["supersedes"]))
        leading = [edge for edge in there if edge.to in hashes and edge.kind == "supersedes"]
        assert _sorted(incoming) == sorted(leading, key=str)

    @rule(handle=drawn.HANDLES, namespace=drawn.SECTIONS)
    def feedback(self, handle: int, namespace: str) -> None:
        assert self._run(self.handles[handle].list_feedback(namespace)) == self.model.all_feedback(namespace)

    def _compare_ranking(
        self, found: Sequence[Candidate], scores: Mapping[str, float], limit: int, where: MemoryFilter
    ) -> None:
        """Who has the best scores, up to ties, each with its own score and place."""
        best = sorted(scores.values(), reverse=True)[:limit]
        found_scores = [candidate.score for candidate in found]
        assert found_scores == pytest.approx(best, abs=SINGLE_PRECISION), (found_scores, best)
        assert len({candidate.content_hash for candidate in found}) == len(found)
        for candidate in found:
            memory = self.model.get(where.namespace, candidate.content_hash)
            assert memory is not None
            assert candidate.score == pytest.approx(scores[candidate.content_hash], abs=SINGLE_PRECISION)
            assert candidate[1:2] + candidate[3:] == (memory.created_at, memory.session, memory.sequence)


def _sorted(edges: Mapping[str, Sequence[Edge]]) -> list[Edge]:
    return sorted(itertools.chain.from_iterable(edges.values()), key=str)


def run(bench: Bench, examples: int, steps: int, *, derandomize: bool, shrink: bool) -> None:
    """Raises with a sequence of calls by which store and model differ, if there is one.

    `shrink` looks for the shortest, which takes many minutes where each call is a request.
    """
    machine = type("StoreMachineOnBench", (StoreMachine,), {"bench": bench})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            derandomize=derandomize,
            database=None,
            phases=[Phase.generate, Phase.shrink] if shrink else [Phase.generate],
            report_multiple_bugs=False,
            suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
        ),
    )
