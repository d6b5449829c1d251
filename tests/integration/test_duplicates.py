"""Memories that say nearly the same are listed, and merged so that nothing is lost."""

import json
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.integration.conftest import Finished
from tests.support.fakes import WordEmbedder

from mcp_memory_service.errors import InvalidInput, MemoryNotFound
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import (
    EmbeddedMemory,
    Memory,
    MemoryFilter,
    content_hash,
    history_of,
)
from mcp_memory_service.services import Duplicates, find_duplicates, merge_cluster
from mcp_memory_service.services.write import duplicates
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

Run = Callable[..., Finished]
NOW = 1_000
MONDAYS, TUESDAYS, THURSDAYS = (f"Deploys go out on {day}" for day in ("Mondays", "Tuesdays", "Thursdays"))
COFFEE = "Coffee is on the third floor"


def item(content: str, created_at: int = 1, **fields: object) -> EmbeddedMemory:
    memory = Memory(content, content_hash(content), created_at, created_at)
    return EmbeddedMemory(replace(memory, **fields), (WordEmbedder.vector(content),))


def quiet(*_: object) -> None:
    """Nobody looks at the progress."""


async def found_in(storage: Store, threshold: float = 0.7, tags: tuple[str, ...] = ()) -> Duplicates:
    return await find_duplicates(storage, "default", NOW, quiet, threshold, tags)


def contents(found: Duplicates) -> list[tuple[str, set[str]]]:
    return [(each.kept.content, {other.memory.content for other in each.others}) for each in found.clusters]


@pytest.fixture(params=["memory", "sqlite"])
def either(request: pytest.FixtureRequest, store: MemoryStore, storage: SqliteVecStorage) -> Store:
    return store if request.param == "memory" else storage


async def test_the_newest_of_a_cluster_is_kept(either: Store):
    await either.store_batch([item(THURSDAYS, 3), item(TUESDAYS, 2), item(MONDAYS, 1), item(COFFEE, 4)])
    found = await found_in(either)
    assert found.compared == 4
    assert contents(found) == [(THURSDAYS, {TUESDAYS, MONDAYS})]
    assert 0.7 < found.clusters[0].others[0].similarity < 0.9
    assert (await found_in(either, threshold=0.95)).clusters == ()


async def test_an_edited_memory_is_as_new_as_its_text(store: MemoryStore):
    await store.store_batch([item(THURSDAYS, 1, edited_at=9), item(TUESDAYS, 5)])
    assert contents(await found_in(store)) == [(THURSDAYS, {TUESDAYS})]


async def test_other_namespaces_kinds_tags_and_expired_memories_are_left_alone(store: MemoryStore):
    await store.store_batch(
        [
            item(THURSDAYS, 3, tags=("Team",)),
            item(TUESDAYS, namespace="other"),
            item(MONDAYS, expires_at=NOW),
            item(f"{TUESDAYS}!", kind="note", source="a.md"),
            item(f"{THURSDAYS}.", 2, tags=("team",)),
            item(f"{THURSDAYS}?"),
        ]
    )
    assert contents(await found_in(store)) == [(THURSDAYS, {f"{THURSDAYS}.", f"{THURSDAYS}?"})]
    assert contents(await found_in(store, tags=("TEAM",))) == [(THURSDAYS, {f"{THURSDAYS}."})]


async def test_merging_keeps_all_tags_and_metadata_and_moves_the_others_to_the_history(either: Store):
    await either.store_batch(
        [
            item(THURSDAYS, 3, tags=("deploy",), metadata={"day": 4}),
            item(TUESDAYS, 2, tags=("Deploy", "process"), metadata={"day": 2, "by": "Ann"}, pinned=True),
        ]
    )
    merged = await merge_cluster(either, (await found_in(either)).clusters[0], NOW)
    assert (merged.tags, merged.metadata, merged.pinned) == (("deploy", "process"), {"day": 4, "by": "Ann"}, True)
    assert (merged.created_at, merged.updated_at) == (3, NOW)
    assert [each.content for each in (await either.list_memories(MemoryFilter(), 0, 9)).memories] == [THURSDAYS]
    history = (await either.list_memories(MemoryFilter(history_of("default")), 0, 9)).memories
    assert [(each.content, each.tags, each.ended_at) for each in history] == [(TUESDAYS, ("Deploy", "process"), NOW)]
    edges = await either.edges_from("default", [merged.content_hash], ["supersedes"])
    assert [edge.to for edge in edges[merged.content_hash]] == [content_hash(TUESDAYS)]
    assert (await found_in(either)).clusters == ()


async def test_what_was_deleted_meanwhile_stays_deleted(store: MemoryStore):
    await store.store_batch([item(THURSDAYS, 3), item(TUESDAYS, 2)])
    cluster = (await found_in(store)).clusters[0]
    await store.delete("default", content_hash(THURSDAYS))
    with pytest.raises(MemoryNotFound):
        await merge_cluster(store, cluster, NOW)
    assert await store.count_all_memories("default") == 1


async def test_a_merge_that_would_break_a_limit_changes_nothing(either: Store):
    many = [tuple(f"{letter}{number}" for number in range(60)) for letter in "ab"]
    await either.store_batch([item(THURSDAYS, 3, tags=many[0]), item(TUESDAYS, 2, tags=many[1])])
    cluster = (await found_in(either)).clusters[0]
    with pytest.raises(InvalidInput, match="120 tags"):
        await merge_cluster(either, cluster, NOW)
    assert await either.count_all_memories("default") == 2


async def test_a_threshold_at_which_everything_is_alike_is_refused(store: MemoryStore):
    for threshold in (0.1, 1.1, float("nan")):
        with pytest.raises(InvalidInput):
            await found_in(store, threshold=threshold)


@given(st.integers(0, 2**32 - 1), st.integers(1, 30), st.sampled_from([1, 40, 10_000]))
async def test_each_memory_is_in_one_cluster_and_like_the_one_that_is_kept(seed: int, count: int, at_once: int):
    random = np.random.default_rng(seed)
    vectors = random.normal(size=(count, 3)).astype(np.float32)
    directions = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    store = await MemoryStore.open("three", 3, indexed_text)
    places = {str(number): number for number in range(count)}
    await store.store_batch(
        [replace(item(text, number), vectors=(vectors[number],)) for text, number in places.items()]
    )
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(duplicates, "MAX_PAIRS_AT_ONCE", at_once)
        found = contents(await found_in(store))
    named = [text for kept, others in found for text in (kept, *others)]
    assert len(named) == len(set(named)), "in one cluster at most"
    gone = {text for _, others in found for text in others}
    clusters = dict(found)
    for text, number in places.items():
        similar = {each for each in places if directions[number] @ directions[places[each]] >= 0.7}
        older = {each for each in similar if places[each] < number}
        if text in gone:
            continue
        assert clusters.get(text, set()) <= older
        assert older <= gone, "nothing that is like a memory that stays, and older, stays beside it"


def test_nothing_is_merged_without_being_asked_for(run_cli: Run):
    lines = [
        {"content": text, "created_at": f"2026-05-0{day}"} for day, text in enumerate((TUESDAYS, THURSDAYS, COFFEE), 1)
    ]
    run_cli("import", "-", stdin="\n".join(map(json.dumps, lines)))
    listed = run_cli("duplicates")
    assert (listed.code, listed.err) == (0, "")
    assert f"keep      {content_hash(THURSDAYS)[:12]} 2026-05-02 {THURSDAYS}" in listed.out
    assert f"0.934     {content_hash(TUESDAYS)[:12]} 2026-05-01 {TUESDAYS}" in listed.out
    assert "Nothing is changed. --merge" in listed.out
    declined = run_cli("duplicates", "--merge", stdin="n\n")
    assert "Supersede 1 memories by 1?" in declined.err
    assert (declined.code, "Nothing is changed." in declined.out) == (0, True)
    assert run_cli("duplicates", "--merge", stdin="").code != 0, "nobody is there to be asked"
    assert json.loads(run_cli("stats", "--json").out)["memories"] == 3
    assert run_cli("duplicates", "--threshold", "7").code == 2


def test_merging_after_a_yes(run_cli: Run):
    for text in (TUESDAYS, COFFEE, THURSDAYS):
        run_cli("store", text, "--tag", text.split()[-1])
    merged = run_cli("duplicates", "--merge", stdin="y\n")
    assert "Merged: 1 memories superseded by 1." in merged.out
    listed = json.loads(run_cli("list", "--json").out)["memories"]
    assert {each["content"]: each["tags"] for each in listed} == {
        THURSDAYS: ["Thursdays", "Tuesdays"],
        COFFEE: ["floor"],
    }
    assert run_cli("duplicates").out.startswith("0 clusters among 2 memories")


def test_merging_as_a_script_does_it(run_cli: Run):
    for text in (TUESDAYS, THURSDAYS):
        run_cli("store", text)
    done = run_cli("duplicates", "--merge", "--yes", "--json")
    assert json.loads(done.out) == {
        "compared": 2,
        "total": 1,
        "clusters": [
            {
                "id": content_hash(THURSDAYS),
                "text": THURSDAYS,
                "similar": [
                    {"id": content_hash(TUESDAYS), "text": TUESDAYS, "similarity": pytest.approx(0.934, abs=0.02)}
                ],
                "merged": True,
            }
        ],
    }
