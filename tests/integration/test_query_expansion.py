"""Queries expanded by the terms of a corpus, through the service."""

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.support.fakes import MeaningEmbedder, in_front_of, partly_broken
from tests.support.notes import contents
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.hybrid_search import RankingPolicy, indexed_text
from mcp_memory_service.models import MemoryDraft, SearchRequest, Vector
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.services.search.concepts import PAUSE_SECONDS
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

GROUPS = (("slow", "latency", "latencies", "timeout", "throughput"), ("money", "invoice", "budget"))
NOTES = (
    "latency of the relay rose with every hop",
    "latency and timeout of the gateway, seen from the relay",
    "timeout and throughput of the gateway",
    "throughput of the backup link",
    "the invoice is above the budget",
    "an invoice for the budget of spring",
)
ASKED = "slow"
EXPANDED = ("latency", "throughput", "timeout")
ON = RankingPolicy(query_expansion=True)


def service_of(store: Store, embedder: MeaningEmbedder | None = None, **settings: Any) -> MemoryService:
    return MemoryService(store, embedder or MeaningEmbedder(*GROUPS), ON, **settings)


async def filled(store: Store, embedder: MeaningEmbedder | None = None, **settings: Any) -> MemoryService:
    """With a vocabulary of what is stored."""
    service = service_of(store, embedder, **settings)
    await service.store_batch([MemoryDraft(note) for note in NOTES])
    await service.prepare_expansion()
    return service


async def searched(service: MemoryService, query: str = ASKED) -> SearchResult:
    return await service.search(SearchRequest(query, debug=True))


async def test_the_nearest_terms_are_added_for_the_vector_signal(store: MemoryStore):
    service = await filled(store)
    said_itself = "slow dinner of sunday"
    await service.store_memory(MemoryDraft(said_itself))
    request = SearchRequest(ASKED, mode="semantic", debug=True)
    found = await service.search(request)
    assert (found.expanded_with, found.degraded) == (EXPANDED, ())
    assert {hit.debug.expanded_with for hit in found.results if hit.debug} == {EXPANDED}
    assert contents(found)[0] == NOTES[2], "it has two of the terms"
    plain = await MemoryService(store, MeaningEmbedder(*GROUPS)).search(request)
    assert (plain.expanded_with, contents(plain)[0]) == ((), said_itself)


async def test_words_tags_alpha_and_confidence_are_those_of_the_query_as_it_was_asked(store: MemoryStore):
    service = await filled(store)
    found, plain = await searched(service), await searched(MemoryService(store, MeaningEmbedder(*GROUPS)))
    assert found.expanded_with == EXPANDED
    for same in ("keywords", "alpha_used", "evidence", "confidence"):
        assert getattr(found, same) == getattr(plain, same)
    without_vectors = [SearchRequest("gateway", mode="keyword"), SearchRequest("gateway", alpha=0.0)]
    assert [(await service.search(request)).expanded_with for request in without_vectors] == [(), ()]


async def test_an_explanation_says_what_was_added(store: MemoryStore):
    service = await filled(store)
    found = await searched(service)
    explained = await service.explain(SearchRequest(ASKED), found.results[0].memory.content_hash)
    assert (explained.rank, explained.expanded_with) == (1, EXPANDED)


async def test_a_query_gets_no_words_that_it_has_itself(store: MemoryStore):
    service = await filled(store)
    assert (await searched(service, "slow latencies, timeout")).expanded_with[0] == "throughput"


async def test_until_there_is_a_vocabulary_searches_go_on_without(store: MemoryStore):
    service = service_of(store)
    await service.store_batch([MemoryDraft(note) for note in NOTES])
    found = await searched(service)
    assert (found.expanded_with, found.degraded) == ((), ())
    assert found.results


async def test_a_namespace_is_expanded_by_its_own_memories_alone(store: MemoryStore):
    service = await filled(store)
    other = service.within("team/other")
    await other.store_batch([MemoryDraft(note) for note in NOTES[4:]])
    await other.prepare_expansion()
    assert set((await searched(other)).expanded_with) <= {"invoice", "budget"}
    assert (await searched(service)).expanded_with == EXPANDED
    empty = service.within("team/empty")
    await empty.prepare_expansion()
    assert (await searched(empty)).expanded_with == ()


async def test_who_is_held_to_a_tag_learns_no_words_of_the_others(store: MemoryStore):
    service = await filled(store)
    held = service.held_to(["public"])
    assert (await searched(held)).expanded_with == ()
    assert (await searched(service)).expanded_with == EXPANDED


async def test_a_word_that_no_memory_has_any_more_is_not_added(store: MemoryStore):
    service = await filled(store)
    for hit in (await searched(service)).results:
        if "throughput" in hit.memory.content:
            await service.delete_memory(hit.memory.content_hash)
    assert "throughput" not in (await searched(service)).expanded_with


async def test_history_and_trash_give_no_terms(store: MemoryStore):
    service = service_of(store)
    for number in range(2):
        stored = await service.store_memory(MemoryDraft(f"latency {number}"))
        await service.delete_memory(stored.memory.content_hash)
    await service.store_batch([MemoryDraft(note) for note in NOTES[3:]])
    await service.prepare_expansion()
    assert "latency" not in (await searched(service)).expanded_with


async def test_only_new_terms_are_embedded_and_those_that_vanished_are_dropped(store: MemoryStore):
    embedder, clock = MeaningEmbedder(*GROUPS), Clock()
    async with background(await filled(store, embedder, monotonic_seconds=clock)) as service:
        await searched(service)
        embedder.embedded.clear()
        drafts = [MemoryDraft(f"jitter and latency {number}") for number in range(2)]
        stored = await service.store_batch(drafts)
        clock.seconds += PAUSE_SECONDS
        await until(service, lambda _: "jitter" in embedder.embedded)
        assert [text for text in embedder.embedded if " " not in text] == ["jitter"]
        for each in stored:
            await service.delete_memory(each.memory.content_hash)
        clock.seconds += PAUSE_SECONDS
        await searched(service)
        embedder.embedded.clear()
        await service.store_batch(drafts)
        clock.seconds += PAUSE_SECONDS
        await until(service, lambda _: "jitter" in embedder.embedded)


async def test_a_restart_embeds_nothing_and_another_model_everything(storage: SqliteVecStorage, tmp_path: Path):
    file = tmp_path / "memories.db"
    await filled(storage, store_file=file)
    again = MeaningEmbedder(*GROUPS)
    service = service_of(storage, again, store_file=file)
    assert (await searched(service)).expanded_with == EXPANDED
    assert again.embedded == [ASKED, " ".join((ASKED, *EXPANDED))]
    other = MeaningEmbedder(*GROUPS)
    other.model_id = "another-64"  # pyright: ignore[reportAttributeAccessIssue] -- as a model of the user's choice
    service = service_of(storage, other, store_file=file)
    assert (await searched(service)).expanded_with == ()
    await service.prepare_expansion()
    assert set(EXPANDED) <= set(other.embedded)
    assert (await searched(service)).expanded_with == EXPANDED


async def test_a_purge_leaves_no_word_in_any_file(storage: SqliteVecStorage, tmp_path: Path):
    service = await filled(storage, store_file=tmp_path / "memories.db")
    purged = [hit.memory.content_hash for hit in (await searched(service)).results if "latency" in hit.memory.content]
    assert files_with(b"latency", tmp_path) == {"memories.db-wal", "memories.db-concepts"}
    outcome = await service.purge_memories(purged)
    assert outcome.erased
    assert files_with(b"latency", tmp_path) == set()
    again = await service.store_memory(MemoryDraft("latency, said once"))
    assert (await searched(service)).expanded_with == (), "nothing is left in memory"
    await service.purge_memories([again.memory.content_hash])
    await service.prepare_expansion()
    assert "latency" not in (await searched(service)).expanded_with
    assert files_with(b"latency", tmp_path) == set()


async def test_what_was_read_before_a_purge_of_another_process_is_not_kept(storage: SqliteVecStorage, tmp_path: Path):
    file = tmp_path / "memories.db"
    first = await filled(storage, store_file=file)
    ids = [hit.memory.content_hash for hit in (await searched(first)).results]
    other = await SqliteVecStorage.open(file, MeaningEmbedder.model_id, MeaningEmbedder.dimension, indexed_text)
    embedder = PurgesMeanwhile(lambda: other.purge("default", ids))
    late = service_of(storage, embedder, store_file=file)
    await late.prepare_expansion()
    assert "latency" in embedder.embedded
    assert files_with(b"latency", tmp_path) == set()
    await late.store_memory(MemoryDraft("latency, said once"))
    assert (await searched(late)).expanded_with == (), "nor in memory"
    await other.close()


async def test_an_embedder_that_fails_is_told_and_asked_again(store: MemoryStore):
    embedder, clock = MeaningEmbedder(*GROUPS), Clock()
    service = service_of(store, embedder, monotonic_seconds=clock)
    await service.store_batch([MemoryDraft(note) for note in NOTES])
    await searched(service)  # its vector is known from now on
    embedder.is_down = True
    async with background(service):
        found = await until(service, lambda found: bool(found.degraded))
        assert found.degraded == ("query_expansion_unavailable",)
        assert {name for hit in found.results for name in hit.provenance} >= {"vector"}
        embedder.is_down = False
        clock.seconds += PAUSE_SECONDS
        found = await until(service, lambda found: not found.degraded)
        assert (await until(service, lambda found: bool(found.expanded_with))).expanded_with == EXPANDED


async def test_a_query_that_cannot_be_embedded_again_is_asked_as_it_is(store: MemoryStore):
    embedder = MeaningEmbedder(*GROUPS)
    await filled(store, embedder)
    service = service_of(store, embedder)
    await searched(service)
    await service.prepare_expansion()
    embedder.is_down = True
    found = await searched(service)
    assert (found.degraded, found.expanded_with) == (("query_expansion_unavailable",), ())
    assert {name for hit in found.results for name in hit.provenance} >= {"vector"}


async def test_a_store_that_does_not_count_its_words_leaves_the_query_as_it_is(store: MemoryStore):
    service = await filled(store)
    broken = service_of(partly_broken(store, "corpus_statistics"))
    await broken.prepare_expansion()
    assert "query_expansion_unavailable" in (await searched(broken)).degraded
    assert (await searched(service)).degraded == ()


async def test_without_room_for_a_file_the_vocabulary_is_kept_in_memory(store: MemoryStore, tmp_path: Path):
    service = await filled(store, store_file=tmp_path / "no folder" / "memories.db")
    assert (await searched(service)).expanded_with == EXPANDED


async def test_one_walk_through_the_store_serves_all_namespaces_that_are_due(store: MemoryStore):
    scans = 0

    async def scan(cursor: str | None, limit: int) -> Any:
        nonlocal scans
        scans += 1
        return await store.scan(cursor, limit)

    service = service_of(in_front_of(store, scan=scan))
    names = [f"team/{number}" for number in range(5)]
    for name in names:
        await service.within(name).store_batch([MemoryDraft(note) for note in NOTES])
        await searched(service.within(name))
    async with background(service):
        for name in names:
            await until(service.within(name), lambda found: bool(found.expanded_with))
    assert scans == 1


# --- what these tests need


class Clock:
    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


class PurgesMeanwhile(MeaningEmbedder):
    """Something happens while it embeds."""

    def __init__(self, happens: Callable[[], Any]) -> None:
        super().__init__(*GROUPS)
        self._happens = happens
        self.model_id = "another-64"  # pyright: ignore[reportAttributeAccessIssue] -- so that all is embedded

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        await self._happens()
        return await super().embed(texts)


@asynccontextmanager
async def background(service: MemoryService) -> AsyncGenerator[MemoryService, None]:
    """A service that keeps its vocabularies fresh until the block ends."""
    keeping = asyncio.create_task(service.work_in_background())
    yield service
    keeping.cancel()
    await asyncio.wait({keeping})


async def until(service: MemoryService, is_so: Callable[[SearchResult], bool]) -> SearchResult:
    async with asyncio.timeout(HANG_SECONDS):
        while not is_so(found := await searched(service)):
            await asyncio.sleep(0.01)
    return found


def files_with(word: bytes, folder: Path) -> set[str]:
    """The names of files, of vocabularies without the digest of their namespace."""
    found = {file.name for file in folder.iterdir() if file.is_file() and word in file.read_bytes()}
    return {name.rpartition("-")[0] if "-concepts-" in name else name for name in found}
