"""A filtered search ranks memories as a store would that holds nothing else: what is counted, weighed and sampled is
what the filter leaves."""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from tests.contract.conftest import BACKENDS, DIMENSION, MODEL_ID, Opener
from tests.support.fakes import WordEmbedder

from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import (
    CorpusStatistics,
    EmbeddedMemory,
    JsonValue,
    Memory,
    MemoryDraft,
    MemoryFilter,
    MetadataIs,
    SearchRequest,
)
from mcp_memory_service.services import MemoryService, SearchResult, ServiceLimits
from mcp_memory_service.storage.ports import Store

from .memories import embedded, memory

NOW = 1_000_000
TERMS = query_terms('the tunnel port 3 retry_count "the tunnel"')
WORDS = [*TERMS.all_words, "retry_count", "nowhere"]
TAGS = ["lab", "vps", "none"]


def is_one(value: object) -> bool:
    return value == 1 and value is not True


@dataclass(frozen=True)
class Asked:
    where: MemoryFilter
    leaves: Callable[[Memory], bool]


FILTERS: Mapping[str, Asked] = {
    "any tag": Asked(MemoryFilter(tags=("lab", "vps")), lambda each: bool({"Lab", "vps"} & set(each.tags))),
    "all tags": Asked(
        MemoryFilter(tags=("lab", "vps"), tag_match="all"), lambda each: {"Lab", "vps"} <= set(each.tags)
    ),
    "types": Asked(MemoryFilter(types=("fix", "unknown")), lambda each: each.memory_type == "fix"),
    "no type": Asked(MemoryFilter(types=("unknown",)), lambda _: False),
    "after": Asked(MemoryFilter(after=8), lambda each: each.created_at >= 8),
    "before": Asked(MemoryFilter(before=8), lambda each: each.created_at < 8),
    "between": Asked(MemoryFilter(after=4, before=12), lambda each: 4 <= each.created_at < 12),
    "session": Asked(MemoryFilter(session="talk 1"), lambda each: each.session == "talk 1"),
    "source": Asked(MemoryFilter(source="docs/0.md"), lambda each: each.source == "docs/0.md"),
    "scope": Asked(MemoryFilter(scope="docs"), lambda each: (each.source or "").startswith("docs/")),
    "metadata": Asked(
        MemoryFilter(metadata=(MetadataIs("flag", 1),)), lambda each: type(each.metadata.get("flag")) is int
    ),
    "true metadata": Asked(
        MemoryFilter(metadata=(MetadataIs("flag", True),)), lambda each: each.metadata.get("flag") is True
    ),
    "kinds": Asked(MemoryFilter(kinds=("note",)), lambda each: each.kind == "note"),
    "pinned": Asked(MemoryFilter(pinned=True), lambda each: each.pinned),
    "not pinned": Asked(MemoryFilter(pinned=False), lambda each: not each.pinned),
    "several": Asked(
        MemoryFilter(types=("fix",), tags=("lab",), after=3),
        lambda each: each.memory_type == "fix" and "Lab" in each.tags and each.created_at >= 3,
    ),
}


def various() -> list[EmbeddedMemory]:
    """Sixteen that differ in all that can be filtered by, and in length and words."""
    items: list[EmbeddedMemory] = []
    for number in range(16):
        flags: tuple[dict[str, JsonValue], ...] = ({"flag": 1}, {"flag": True}, {})
        made = memory(
            f"the tunnel {'long ' * (number % 5)}{'port' if number % 4 else 'retry_count'} {number} "
            + ("true" if number % 3 == 1 else "the" * (number % 2)),
            *["Lab"] * (number % 2),
            *["vps"] * (number % 3 == 0),
            at=number,
            memory_type=("fix", None, "note")[number % 3],
            metadata=flags[number % 3],
            session=f"talk {number % 4}",
            sequence=number,
            source=f"{'docs' if number % 2 else 'src'}/{number % 3}.md",
            kind="note" if number % 5 == 0 else "memory",
        )
        vectors = [(1.0 + number, 1.0, float(chunk), 0.0) for chunk in range(1 + number % 2)]
        items.append(embedded(replace(made, pinned=number % 4 == 2), *vectors))
    return items


def moved(item: EmbeddedMemory, namespace: str) -> EmbeddedMemory:
    return replace(item, memory=replace(item.memory, namespace=namespace))


async def answers(store: Store, where: MemoryFilter) -> dict[str, Any]:
    matches = await store.search_by_text(TERMS, 100, where)
    sample = await store.sample_vectors(where, 100)
    return {
        "counted": await store.corpus_statistics(where, WORDS, TAGS),
        "found": list(matches.candidates),
        "best has": matches.best_has,
        "sampled": (sample.memories, sample.drawn_from, sorted(sample.vectors.tolist())),
    }


async def test_every_filter_leaves_a_corpus_of_its_own(store: Store):
    items = various()
    await store.store_batch(items)
    for name, asked in FILTERS.items():
        alone = [moved(item, f"only {name}") for item in items if asked.leaves(item.memory)]
        if alone:
            await store.store_batch(alone)
        expected = await answers(store, MemoryFilter(f"only {name}"))
        assert expected["counted"].memories == len(alone)
        assert await answers(store, asked.where) == expected, name
        assert await answers(store, replace(asked.where, alive_at=NOW)) == expected, name


async def test_what_has_expired_counts_and_is_not_found(store: Store):
    items = [
        replace(item, memory=replace(item.memory, expires_at=5)) if n < 4 else item for n, item in enumerate(various())
    ]
    await store.store_batch(items)
    for where in (MemoryFilter(), MemoryFilter(types=("fix",)), MemoryFilter(session="talk 1")):
        everybody, alive = await answers(store, where), await answers(store, replace(where, alive_at=NOW))
        expired = {item.memory.content_hash for item in items[:4]}
        assert alive["found"] == [each for each in everybody["found"] if each.content_hash not in expired]
        assert (alive["counted"], alive["sampled"]) == (everybody["counted"], everybody["sampled"])


async def test_a_part_of_a_large_corpus_is_drawn_and_the_whole_of_it_counted(store: Store):
    items = various()
    await store.store_batch(items)
    for asked in (FILTERS["types"], FILTERS["source"], FILTERS["any tag"]):
        left = [item for item in items if asked.leaves(item.memory)]
        sample = await store.sample_vectors(asked.where, 2)
        assert (len(sample.vectors), sample.drawn_from) == (2, len(left))
        rows = [vector / np.linalg.norm(vector) for item in left for vector in item.vectors]
        for drawn in sample.vectors:
            assert any(np.allclose(drawn / np.linalg.norm(drawn), row, atol=1e-6) for row in rows)


async def test_what_is_stored_outside_of_a_filter_moves_nothing_in_it(store: Store):
    items, where = various(), MemoryFilter(session="talk 1")
    await store.store_batch(items)
    before = await answers(store, where)
    others = [memory(f"the tunnel port {number}", "lab", session="elsewhere") for number in range(30)]
    await store.store_batch([embedded(each) for each in others])
    assert await answers(store, where) == before
    assert (await store.corpus_statistics(MemoryFilter(), [], [])) == CorpusStatistics(46, {}, {})


@pytest.mark.parametrize("field", [each.name for each in fields(MemoryFilter)])
def test_the_corpus_of_a_filter_is_the_namespace_if_it_asks_for_a_moment_at_most(field: str):
    asked: dict[str, Any] = {"namespace": "team", "tag_match": "all", "alive_at": 1, "as_of": 1, "pinned": False}
    asked |= dict.fromkeys(("tags", "types", "kinds"), ("x",)) | {"metadata": (MetadataIs("x"),)}
    where = replace(MemoryFilter(), **{field: asked.get(field, 1)})
    assert where.has_whole_namespace == (field in {"namespace", "tag_match", "alive_at", "as_of"})
    assert where.corpus == (MemoryFilter() if field in {"alive_at", "as_of"} else where)


# The same through the service, by random memories.

EXAMPLES = {"memory": 20, "sqlite_vec": 8, "sqlite_vec_indexed": 8}
OVER_A_NETWORK = 2
GROUPS = ("0", "1", "2")
QUERIES = ("the tunnel port", 'rathole "the tunnel" vps', "über 部署 retry_count", "group0 kestrel", "nowhere")
WAYS: Sequence[Callable[[str], dict[str, Any]]] = (
    lambda group: {"metadata": (MetadataIs("group", int(group)),)},
    lambda group: {"session": f"talk {group}"},
    lambda group: {"types": (f"type{group}",)},
    lambda group: {"source": f"docs/{group}.md"},
)


class Note(NamedTuple):
    group: str
    text: str
    tags: tuple[str, ...]


class FourNumbers(WordEmbedder):
    model_id = MODEL_ID
    dimension = DIMENSION


def notes() -> st.SearchStrategy[list[Note]]:
    words = ("tunnel", "port", "rathole", "ÜBER", "部署", "retry_count", "the", "kestrel")
    texts = st.lists(st.sampled_from(words), min_size=1, max_size=5).map(" ".join)
    tags = st.lists(st.sampled_from(("Rathole", "vps", "port", "kestrel")), max_size=2, unique=True).map(tuple)
    return st.lists(st.builds(Note, st.sampled_from(GROUPS), texts, tags), min_size=6, max_size=40)


def drafts(asked: list[Note]) -> list[tuple[str, MemoryDraft]]:
    return [
        (
            note.group,
            MemoryDraft(
                f"{note.text} {number}",
                (*note.tags, f"group{note.group}"),
                f"type{note.group}",
                {"group": int(note.group)},
                created_at=number,
                source=f"docs/{note.group}.md",
                session=f"talk {note.group}",
                sequence=number // 2,
            ),
        )
        for number, note in enumerate(asked)
    ]


def service_on(store: Store) -> MemoryService:
    return MemoryService(store, FourNumbers(), limits=ServiceLimits(find_similar=False), now=lambda: NOW)


class Ranked(NamedTuple):
    said: object
    numbers: list[float]


def ranked(result: SearchResult) -> Ranked:
    said = ([hit.memory.content_hash for hit in result.results], result.keywords, result.confidence, result.degraded)
    scores = [hit.debug.final_score for hit in result.results if hit.debug]
    evidence = result.evidence
    shown = [evidence.vector_prominence, evidence.keyword_rarity, evidence.keyword_coverage] if evidence else []
    return Ranked(said, [result.alpha_used, *shown, *scores])


def require_equal(found: Ranked, expected: Ranked, asked: SearchRequest) -> None:
    assert found.said == expected.said, asked
    assert found.numbers == pytest.approx(expected.numbers, rel=0, abs=1e-9), asked


async def compare(open_store: Opener, folder: Path, asked: list[Note]) -> None:
    places = {name: folder / name for name in ("shared", *GROUPS)}
    for place in places.values():
        place.mkdir(parents=True)
    stores = {name: await open_store(place) for name, place in places.items()}
    services = {name: service_on(store) for name, store in stores.items()}
    try:
        for name, service in services.items():
            batch = [draft for group, draft in drafts(asked) if name in {"shared", group}]
            if batch:
                await service.store_batch(batch)
        shared = services["shared"]
        for group, query in product(GROUPS, QUERIES):
            plain, own = SearchRequest(query, page_size=100, debug=True), services[group]
            expected = ranked(await own.search(plain))
            for filtered in (replace(plain, **way(group)) for way in WAYS):
                require_equal(ranked(await shared.search(filtered)), expected, filtered)
            tagged = replace(plain, tags=(f"group{group}",))
            require_equal(ranked(await shared.search(tagged)), ranked(await own.search(tagged)), tagged)
    finally:
        for store in stores.values():
            await store.close()


@pytest.mark.parametrize("open_store", BACKENDS, indirect=True)
def test_a_group_in_a_shared_store_is_ranked_as_in_a_store_of_its_own(
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
        @given(notes())
        def compared(asked: list[Note]) -> None:
            runner.run(compare(open_store, tmp_path / str(next(tried)), asked))

        compared()
