"""A store names what it may repeat, correct or contradict, and never fails for it."""

import asyncio
import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient
from tests.contract.memories import note, waiting
from tests.integration.conftest import Finished, rest_client
from tests.support.fakes import WordEmbedder, in_front_of, partly_broken

from mcp_memory_service.models import EmbeddedMemory, Memory, MemoryDraft, StoreOutcome, content_hash
from mcp_memory_service.services import MemoryService, ServiceLimits
from mcp_memory_service.services.write import similar
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

TUESDAYS, THURSDAYS = "Deploys go out on Tuesdays", "Deploys go out on Thursdays"


def named(outcome: StoreOutcome) -> list[str]:
    return [each.memory.content for each in outcome.similar]


def stored(content: str, expires_at: int | None = None) -> EmbeddedMemory:
    memory = Memory(content, content_hash(content), created_at=1, updated_at=1, expires_at=expires_at)
    return EmbeddedMemory(memory, (WordEmbedder.vector(content),))


async def test_a_corrected_fact_is_named_and_what_has_nothing_to_do_with_it_is_not(service: MemoryService):
    await service.store_memory(MemoryDraft("Coffee is on the third floor"))
    assert named(await service.store_memory(MemoryDraft(TUESDAYS))) == []
    outcome = await service.store_memory(MemoryDraft(THURSDAYS))
    assert named(outcome) == [TUESDAYS]
    assert 0.7 < outcome.similar[0].similarity < 0.9
    assert named(await service.store_memory(MemoryDraft(THURSDAYS))) == [TUESDAYS], "also when it was there already"


async def test_sqlite_names_the_same(storage: SqliteVecStorage):
    service = MemoryService(storage, WordEmbedder())
    await service.store_batch([MemoryDraft(TUESDAYS), MemoryDraft("Coffee is on the third floor")])
    assert named(await service.store_memory(MemoryDraft(THURSDAYS))) == [TUESDAYS]


async def test_a_note_that_waits_for_its_vectors_is_passed_over(service: MemoryService, store: MemoryStore):
    """Words find it; whether a plain memory or another note is stored beside it."""
    await store.replace_source("default", "docs/a.md", [waiting(note(TUESDAYS))], [])
    assert named(await service.store_memory(MemoryDraft(THURSDAYS))) == []
    assert named(await service.store_memory(MemoryDraft(THURSDAYS, kind="note", source="docs/b.md"))) == []


async def test_at_most_three_are_named_most_similar_first(service: MemoryService):
    days = ["Mondays", "Tuesdays", "Wednesdays", "Fridays", "Tuesdays, the day before"]
    await service.store_batch([MemoryDraft(f"Deploys go out on {day}") for day in days])
    found = (await service.store_memory(MemoryDraft(THURSDAYS))).similar
    assert len(found) == 3
    similarities = [each.similarity for each in found]
    assert similarities == sorted(similarities, reverse=True)


async def test_a_long_memory_is_compared_as_a_whole(service: MemoryService):
    handbook = " ".join(f"word{number} about matter{number}" for number in range(400))
    await service.store_memory(MemoryDraft(f"{handbook} {TUESDAYS}"))
    assert named(await service.store_memory(MemoryDraft(THURSDAYS))) == []
    assert named(await service.store_memory(MemoryDraft(f"{handbook} {THURSDAYS}"))) == [f"{handbook} {TUESDAYS}"]


async def test_another_namespace_is_never_named(service: MemoryService):
    await service.within("team/alice").store_memory(MemoryDraft(TUESDAYS))
    assert named(await service.store_memory(MemoryDraft(THURSDAYS))) == []


async def test_a_caller_who_is_held_to_tags_learns_of_no_other_memories(service: MemoryService):
    await service.store_memory(MemoryDraft(TUESDAYS, tags=("private",)))
    await service.store_memory(MemoryDraft("Deploys go out on Mondays", tags=("Public",)))
    draft = MemoryDraft(THURSDAYS, tags=("public",))
    assert named(await service.held_to(["public"]).store_memory(draft)) == ["Deploys go out on Mondays"]


async def test_what_has_expired_or_was_superseded_is_not_named(store: MemoryStore):
    await store.store_batch([stored(TUESDAYS, expires_at=50), stored("Deploys go out on Mondays")])
    await store.store_batch(
        [replace(stored("Deploys go out on Fridays"), supersedes=(content_hash("Deploys go out on Mondays"),))]
    )
    service = MemoryService(store, WordEmbedder(), now=lambda: 100)
    assert named(await service.store_memory(MemoryDraft(THURSDAYS))) == ["Deploys go out on Fridays"]


@pytest.mark.parametrize("part", ["retrieve", "search_by_text"])
async def test_a_store_succeeds_when_nobody_can_say_what_is_similar(
    store: MemoryStore, part: str, caplog: pytest.LogCaptureFixture
):
    await MemoryService(store, WordEmbedder()).store_memory(MemoryDraft(TUESDAYS))
    service = MemoryService(partly_broken(store, part), WordEmbedder())
    with caplog.at_level(logging.WARNING):
        outcome = await service.store_memory(MemoryDraft(THURSDAYS))
    assert (outcome.created, outcome.similar) == (True, ())
    assert (await service.get_memory(outcome.memory.content_hash)).content == THURSDAYS
    assert "without what is similar" in caplog.text


async def test_a_store_does_not_wait_for_one_who_never_answers(store: MemoryStore, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(similar, "TIMEOUT_SECONDS", 0.01)
    held = asyncio.Event()
    service = MemoryService(in_front_of(store, retrieve=lambda *_: held.wait()), WordEmbedder())
    outcome = await service.store_memory(MemoryDraft(THURSDAYS))
    assert (outcome.created, outcome.similar) == (True, ())


async def test_a_large_batch_names_nothing_and_a_small_one_names_also_what_came_with_it(service: MemoryService):
    small = await service.store_batch([MemoryDraft(TUESDAYS), MemoryDraft(THURSDAYS)])
    assert list(map(named, small)) == [[THURSDAYS], [TUESDAYS]]
    large = await service.store_batch([MemoryDraft(f"Deploys go out on day {number}") for number in range(11)])
    assert not any(map(named, large))


async def test_it_can_be_switched_off(store: MemoryStore):
    service = MemoryService(store, WordEmbedder(), limits=ServiceLimits(find_similar=False))
    await service.store_memory(MemoryDraft(TUESDAYS))
    assert named(await service.store_memory(MemoryDraft(THURSDAYS))) == []


def test_rest_answers_with_what_is_similar(rest: TestClient):
    earlier = [TUESDAYS, "We deploy on Tuesdays", "Deploys: every Tuesday, " + "always at noon and never before. " * 10]
    rest.post("/memories/batch", json={"memories": [{"content": text} for text in earlier]})
    body = rest.post("/memories", json={"content": THURSDAYS}).json()
    assert body["similar"][0] == {
        "id": content_hash(TUESDAYS),
        "text": TUESDAYS,
        "similarity": pytest.approx(0.934, abs=0.02),
    }
    assert {each["id"] for each in body["similar"]} <= set(map(content_hash, earlier))
    assert all(
        len(each["text"]) <= 200 and round(each["similarity"], 3) == each["similarity"] for each in body["similar"]
    )
    batch = rest.post("/memories/batch", json={"memories": [{"content": "Deploys go out on Fridays"}]}).json()
    assert batch["results"][0]["similar"]


def test_the_setting_switches_it_off(tmp_path: Path):
    with rest_client(tmp_path / "off.db", similar_on_store=False) as rest:
        rest.post("/memories", json={"content": TUESDAYS})
        assert rest.post("/memories", json={"content": THURSDAYS}).json()["similar"] == []


def test_the_command_line_names_what_is_similar(run_cli: Callable[..., Finished]):
    assert "Similar" not in run_cli("store", TUESDAYS).out
    lines = run_cli("store", THURSDAYS).out.splitlines()
    assert lines[1] == f"Similar: {content_hash(TUESDAYS)[:12]} (0.93) {TUESDAYS}"
