"""A namespace is a wall: it answers as if it had the store to itself, whatever others store, delete or tune."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.contract.conftest import BACKENDS, DIMENSION, MODEL_ID, Opener
from tests.support.fakes import WordEmbedder
from tests.support.one_memory import store_one

from mcp_memory_service.errors import MemoryServiceError
from mcp_memory_service.hybrid_search import RankingPolicy, query_terms
from mcp_memory_service.models import (
    Edge,
    IdempotencyKey,
    ListRequest,
    MemoryDraft,
    MemoryFilter,
    MemoryPatch,
    SearchRequest,
    TunedWeights,
    Tuning,
    content_hash,
)
from mcp_memory_service.services import MemoryService, SearchResult, every_memory
from mcp_memory_service.storage.ports import Store

from .memories import embedded, memory, vector

EXAMPLES = {"memory": 50, "sqlite_vec": 50, "sqlite_vec_indexed": 50}
OVER_A_NETWORK = 2
NAMESPACES = ("default", "team", "team/ops")
WORDS = ("tunnel", "port", "rathole", "ÜBER", "部署", "retry_count", "the")
TAGS = ("Rathole", "vps", "port")
NOW = 1_000_000
QUERIES = ("the tunnel port", 'rathole "the tunnel"', "über 部署 retry_count", "nowhere")


class FourNumbers(WordEmbedder):
    model_id = MODEL_ID
    dimension = DIMENSION


class Operation(NamedTuple):
    namespace: str
    kind: str
    text: str
    tags: tuple[str, ...]
    key: str | None


def operations() -> st.SearchStrategy[list[Operation]]:
    texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=3).map(" ".join)
    kinds = st.sampled_from(("store", "store", "store", "update", "delete", "feedback", "tune", "purge", "link"))
    tags = st.lists(st.sampled_from(TAGS), max_size=2, unique=True).map(tuple)
    one = st.builds(Operation, st.sampled_from(NAMESPACES), kinds, texts, tags, st.sampled_from((None, None, "k")))
    return st.lists(one, min_size=5, max_size=25)


def service_on(store: Store) -> MemoryService:
    def tuned(weights: TunedWeights | None) -> RankingPolicy:
        return RankingPolicy(vector_trust=weights.vector_trust) if weights else RankingPolicy()

    return MemoryService(store, FourNumbers(), tuned=tuned, now=lambda: NOW)


async def carry_out(store: Store, asked: Operation) -> object:
    """What came of it: a value, or the code of an error."""
    service, text = service_on(store).within(asked.namespace), content_hash(asked.text)
    draft = MemoryDraft(asked.text, asked.tags, created_at=len(asked.text), session="talk", sequence=len(asked.text))
    tuning = Tuning(TunedWeights(1.0 + len(asked.text), 1.0, 0.5), NOW, 30, 0.5, 0.6)
    edge = Edge(text, content_hash("the"), "link", 1.0, by_name=False)
    calls: Mapping[str, Callable[[], Awaitable[object]]] = {
        "store": lambda: service.store_memory(draft),
        "update": lambda: service.update_memory(text, MemoryPatch(tags=asked.tags), asked.key),
        "delete": lambda: service.delete_memory(text, asked.key),
        "feedback": lambda: service.record_feedback("the tunnel", text, useful=bool(asked.tags)),
        "tune": lambda: store.save_tuning(asked.namespace, tuning),
        "purge": lambda: store.purge(asked.namespace, [text]),
        "link": lambda: store.add_edges(asked.namespace, [edge]),
    }
    try:
        done = await calls[asked.kind]()
    except MemoryServiceError as error:
        return error.code
    return replace(done, version=0) if isinstance(done, Tuning) else done


async def all_answers(store: Store, namespace: str) -> dict[str, Any]:
    """All that can be asked of a namespace."""
    service, where = service_on(store).within(namespace), MemoryFilter(namespace)
    ids = [each.content_hash for each in (await store.list_memories(where, 0, 100)).memories]
    tuning, sample = await store.current_tuning(namespace), await store.sample_vectors(where, 100)
    answers: dict[str, Any] = {
        "listing": await service.list_memories(ListRequest(page_size=100)),
        "tags": await service.list_tags(),
        "stats": await service.stats(),
        "count": await store.count_all_memories(namespace),
        "feedback": await store.list_feedback(namespace),
        "tuning": tuning.weights if tuning else None,
        "sample": (sample.memories, sample.vectors.tolist()),
        "neighbours": await store.adjacent(ids, 100, where),
        "edges": (await store.edges_from(namespace, ids), await store.edges_to(namespace, [content_hash("the")])),
        "exported": sorted([each.content_hash async for each in every_memory(store, namespace)]),
        "near": list(await store.retrieve(vector(1, 0, 1, 0), 100, where)),
        "tagged": list(await store.search_by_tag({"rathole": 1.0, "vps": 0.5}, 100, where)),
    }
    for query in QUERIES:
        terms = query_terms(query)
        matches = await store.search_by_text(terms, 100, where)
        answers[f"words of {query}"] = (list(matches.candidates), matches.best_has)
        answers[f"statistics of {query}"] = await store.corpus_statistics(where, terms.all_words, ["rathole", "vps"])
        answers[query] = _timeless(await service.search(SearchRequest(query, debug=True)))
    if ids:
        explained = await service.explain(SearchRequest(QUERIES[0]), ids[0])
        answers["explained"] = (explained.rank, explained.signals, explained.alpha_used, explained.evidence)
    return answers


def _timeless(result: SearchResult) -> SearchResult:
    return replace(result, took_ms=0.0)


async def compare(open_store: Opener, folder: Path, asked: Sequence[Operation]) -> None:
    shared = await open_store(folder / "shared")
    alone = {name: await open_store(folder / f"alone{number}") for number, name in enumerate(NAMESPACES)}
    try:
        for operation in asked:
            there = await carry_out(alone[operation.namespace], operation)
            assert await carry_out(shared, operation) == there, operation
        for namespace, store in alone.items():
            expected, found = await all_answers(store, namespace), await all_answers(shared, namespace)
            for name, answer in expected.items():
                assert found[name] == answer, (namespace, name)
    finally:
        for store in (shared, *alone.values()):
            await store.close()


@pytest.mark.parametrize("open_store", BACKENDS, indirect=True)
def test_a_namespace_answers_as_if_it_had_the_store_to_itself(
    request: pytest.FixtureRequest, open_store: Opener, tmp_path: Path
):
    backend = request.node.callspec.params["open_store"]
    tried = iter(range(1_000_000))

    with asyncio.Runner() as runner:

        @settings(
            max_examples=EXAMPLES.get(backend, OVER_A_NETWORK),
            deadline=None,
            derandomize=True,
            phases=[Phase.generate],
        )
        @given(operations())
        def compared(asked: list[Operation]) -> None:
            folder = tmp_path / str(next(tried))
            for name in ("shared", *(f"alone{number}" for number in range(len(NAMESPACES)))):
                (folder / name).mkdir(parents=True)
            runner.run(compare(open_store, folder, asked))

        compared()


async def test_words_of_others_move_no_score(store: Store):
    await store.store_batch([embedded(memory(f"the tunnel {number}", at=number)) for number in range(5)])
    terms = query_terms('tunnel 3 "the tunnel"')
    before = (await store.search_by_text(terms, 10, MemoryFilter())).candidates
    counted = await store.corpus_statistics(MemoryFilter(), ["tunnel", "3"], [])
    theirs = [memory(f"tunnel the tunnel {'long ' * number}", namespace="theirs") for number in range(40)]
    await store.store_batch([embedded(each) for each in theirs])
    assert list((await store.search_by_text(terms, 10, MemoryFilter())).candidates) == list(before)
    assert await store.corpus_statistics(MemoryFilter(), ["tunnel", "3"], []) == counted
    await store.purge("theirs", [each.content_hash for each in theirs])
    assert list((await store.search_by_text(terms, 10, MemoryFilter())).candidates) == list(before)


async def test_what_others_write_changes_neither_tags_nor_figures(store: Store):
    await store_one(store, embedded(memory("ours", "tag")))
    before = await store.tags_version("default"), await store.stats("default"), await store.get_all_tags("default")
    theirs = memory("a long text of theirs " * 100, "tag", "another", namespace="theirs")
    await store_one(store, embedded(theirs))
    await store.delete("theirs", theirs.content_hash)
    after = await store.tags_version("default"), await store.stats("default"), await store.get_all_tags("default")
    assert after == before
    assert await store.namespaces() == ["default"]


async def test_one_idempotency_key_in_two_namespaces_is_two_requests(store: Store):
    key, text = IdempotencyKey("k" * 64, "f" * 64, NOW), content_hash("same")
    for namespace in ("ours", "theirs"):
        await store_one(store, embedded(memory("same", namespace=namespace)))
    assert await store.delete("ours", text, key)
    assert await store.get_many("theirs", [text])
    assert await store.delete("theirs", text, replace(key, fingerprint="g" * 64))


async def test_a_small_sample_is_that_of_the_namespace(store: Store):
    await store_one(store, embedded(memory("ours"), (1.0, 0.0, 0.0, 0.0)))
    await store_one(store, embedded(memory("theirs", namespace="theirs"), (0.0, 1.0, 0.0, 0.0)))
    assert np.array_equal((await store.sample_vectors(MemoryFilter(), 10)).vectors, [[1, 0, 0, 0]])
