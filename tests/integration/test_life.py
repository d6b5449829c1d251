"""A memory is edited, superseded, expires, is deleted and comes back, through the service."""

import asyncio
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path

import pytest
from tests.indexed_store import open_indexed
from tests.support.fakes import WordEmbedder

from mcp_memory_service.errors import AmbiguousId, CountChanged, InvalidInput, MemoryNotFound, QuotaExceeded
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import (
    ListRequest,
    MemoryDraft,
    MemoryPatch,
    MetadataIs,
    SearchRequest,
    content_hash,
    history_of,
    trash_of,
)
from mcp_memory_service.services import MemoryService, ServiceLimits
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.timestamps import MICROSECONDS_PER_DAY

DAY = MICROSECONDS_PER_DAY
TUESDAYS = [f"Deploys go out on Tuesdays, says the {who}." for who in ("wiki", "lead", "calendar")]
THURSDAY = "Deploys go out on Thursdays."


class Clock:
    def __init__(self) -> None:
        self.now = 1_000 * DAY

    def __call__(self) -> int:
        self.now += 1
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["memory", "sqlite_vec"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store, None]:
    embedder = WordEmbedder()
    if request.param == "memory":
        opened: Store = await MemoryStore.open(embedder.model_id, embedder.dimension, indexed_text)
    else:
        opened = await open_indexed(tmp_path / "store.db", embedder.model_id, embedder.dimension)
    yield opened
    await opened.close()


@pytest.fixture
def service(store: Store, clock: Clock) -> MemoryService:
    return MemoryService(store, WordEmbedder(), now=clock)


async def found(service: MemoryService, query: str, **asked: object) -> list[str]:
    request = replace(SearchRequest(query), **asked)  # pyright: ignore[reportArgumentType]
    return [hit.memory.content for hit in (await service.search(request)).results]


async def test_the_new_fact_is_found_in_place_of_the_stale_ones(service: MemoryService):
    stale = [(await service.store_memory(MemoryDraft(text))).memory for text in TUESDAYS]
    shortened = tuple(memory.content_hash[:12] for memory in stale)
    await service.store_memory(MemoryDraft(THURSDAY, supersedes=shortened))
    query = "On which day do deploys go out?"
    assert await found(service, query) == [THURSDAY]
    assert (await service.stats()).memories == 1
    assert sorted(await found(service, query, include_superseded=True)) == sorted([THURSDAY, *TUESDAYS])
    assert [hit.memory.ended_at is None for hit in (await service.search(SearchRequest(query))).results] == [True]


async def test_a_search_answers_as_it_would_have_then(service: MemoryService, clock: Clock):
    first = (await service.store_memory(MemoryDraft("The gate is red."))).memory
    then = clock.now
    await service.update_memory(first.content_hash, MemoryPatch(content="The gate is green."))
    assert await found(service, "what colour is the gate") == ["The gate is green."]
    assert await found(service, "what colour is the gate", as_of=then) == ["The gate is red."]
    assert await found(service, "what colour is the gate", as_of=then - DAY) == []


async def test_an_old_id_leads_to_the_memory_as_it_is(service: MemoryService):
    first = (await service.store_memory(MemoryDraft("one", tags=("t",)))).memory
    for text in ("two", "three"):
        await service.update_memory(first.content_hash, MemoryPatch(content=text))
    current = await service.get_memory(first.content_hash[:8])
    assert (current.content, current.created_at, current.tags) == ("three", first.created_at, ("t",))
    versions = await service.memory_history(first.content_hash)
    assert [memory.content for memory in versions] == ["three", "two", "one"]
    assert {memory.namespace for memory in versions} == {"default"}
    assert [memory.content for memory in await service.memory_history(content_hash("two"))] == ["three", "two", "one"]
    assert await service.delete_memory(first.content_hash) == current.content_hash  # what it has become
    assert (await service.stats()).memories == 0
    assert [memory.content for memory in await service.memory_history(current.content_hash)] == ["three", "two", "one"]
    assert (await service.restore_memory(first.content_hash)).content == "three"


async def test_there_and_back_again_ends(service: MemoryService):
    first = (await service.store_memory(MemoryDraft("a"))).memory
    for text in ("b", "a", "b", "a", "c"):
        await service.update_memory(first.content_hash, MemoryPatch(content=text))
    assert (await service.get_memory(content_hash("b"))).content == "c"
    assert [memory.content for memory in await service.memory_history(content_hash("a"))] == ["c", "a", "b"]


async def test_an_edit_with_a_key_is_made_once(service: MemoryService):
    first = (await service.store_memory(MemoryDraft("one"))).memory
    edits = [await service.update_memory(first.content_hash, MemoryPatch(content="two"), "k") for _ in range(2)]
    assert edits[0] == edits[1]
    assert len(await service.memory_history(first.content_hash)) == 2


async def test_a_short_id_that_several_have_is_refused_with_all_of_them(service: MemoryService, store: Store):
    ids = [(await service.store_memory(MemoryDraft(f"memory {number}"))).memory.content_hash for number in range(3)]
    assert (await service.get_memory(ids[0][:9].upper())).content_hash == ids[0]
    for bad in (ids[0][:7], "", "zz" * 8, ids[0] + "0", "\ud800" * 9):
        with pytest.raises(MemoryNotFound):
            await service.get_memory(bad)
    twin = replace((await store.get_embedded("default", [ids[0]]))[0])
    clash = ids[0][:10] + "0" * 54
    await store.store_batch([replace(twin, memory=replace(twin.memory, content="twin", content_hash=clash))])
    with pytest.raises(AmbiguousId) as raised:
        await service.get_memory(ids[0][:10])
    assert set(raised.value.candidates) == {ids[0], clash}
    assert (await service.get_memory(clash)).content == "twin"


async def test_what_is_named_to_be_superseded_must_be_there(service: MemoryService):
    with pytest.raises(InvalidInput) as raised:
        await service.store_memory(MemoryDraft("new", supersedes=("0" * 12,)))
    assert raised.value.code == "superseded_unknown"
    assert (await service.stats()).memories == 0
    with pytest.raises(InvalidInput):
        await service.store_memory(MemoryDraft("new", supersedes=("0" * 12,) * 101))


async def test_a_store_that_is_sent_again_supersedes_nothing_more(service: MemoryService):
    old = (await service.store_memory(MemoryDraft("old"))).memory
    for _ in range(2):
        await service.store_memory(MemoryDraft("new", supersedes=(old.content_hash,)))
    assert [memory.content for memory in await service.memory_history("".join(old.content_hash[:12]))] == ["new", "old"]


async def test_what_is_deleted_can_be_brought_back_for_some_days(service: MemoryService, clock: Clock):
    kept = (await service.store_memory(MemoryDraft("precious", tags=("t",)))).memory
    await service.delete_memory(kept.content_hash[:10])
    assert await found(service, "precious") == []
    trash = await service.list_trash()
    assert [(memory.content, memory.namespace, memory.ended_at is None) for memory in trash.memories] == [
        ("precious", "default", False)
    ]
    assert await service.restore_memory(kept.content_hash[:12]) == kept
    await service.delete_memory(kept.content_hash)
    clock.now += 7 * DAY
    with pytest.raises(MemoryNotFound):
        await service.restore_memory(kept.content_hash)
    assert await service.empty_trash() == 1
    assert (await service.list_trash()).paging.total == 0


async def test_without_trash_a_delete_is_final(store: Store, clock: Clock):
    service = MemoryService(store, WordEmbedder(), limits=ServiceLimits(trash_days=0), now=clock)
    gone = (await service.store_memory(MemoryDraft("gone"))).memory
    await service.delete_memory(gone.content_hash)
    assert await store.namespaces() == []


async def test_a_purge_takes_all_versions(service: MemoryService, store: Store):
    first = (await service.store_memory(MemoryDraft("secret one"))).memory
    await service.update_memory(first.content_hash, MemoryPatch(content="secret two"))
    await service.store_memory(MemoryDraft("trashed"))
    await service.delete_memory(content_hash("trashed"))
    purged = await service.purge_memories([content_hash("secret two")[:12].upper(), content_hash("trashed"), "0" * 64])
    assert (purged.not_found, purged.memories) == (("0" * 64,), 3)
    assert await store.namespaces() == []


async def test_a_purge_takes_all_versions_of_what_is_in_the_trash(service: MemoryService, store: Store):
    first = (await service.store_memory(MemoryDraft("secret one"))).memory
    await service.update_memory(first.content_hash, MemoryPatch(content="secret two"))
    await service.store_memory(MemoryDraft("secret three", supersedes=(content_hash("secret two"),)))
    await service.delete_memory(content_hash("secret three"))
    assert (await service.purge_memories([content_hash("secret three")[:12]])).not_found == ()
    assert await store.namespaces() == []


async def test_a_purge_tells_of_nothing_that_it_was_not_asked_for(service: MemoryService, store: Store):
    first = (await service.store_memory(MemoryDraft("one"))).memory
    await service.update_memory(first.content_hash, MemoryPatch(content="two"))
    await store.delete(history_of("default"), first.content_hash)  # its edge leads to nothing now
    assert (await service.purge_memories([content_hash("two"), "0" * 64])).not_found == ("0" * 64,)


async def test_what_expires_is_out_of_results_and_never_lost(service: MemoryService, clock: Clock):
    brief = (await service.store_memory(MemoryDraft("the code is 1234", expires_at=clock.now + DAY))).memory
    assert await found(service, "what is the code") == ["the code is 1234"]
    clock.now += DAY
    assert await found(service, "what is the code") == []
    assert (await service.list_memories()).paging.total == 0
    assert [memory.content for memory in (await service.list_memories(ListRequest(expired=True))).memories] == [
        "the code is 1234"
    ]
    assert (await service.get_memory(brief.content_hash)).expires_at == brief.expires_at
    await service.update_memory(brief.content_hash, MemoryPatch(expires_at=None))
    assert await found(service, "what is the code") == ["the code is 1234"]
    with pytest.raises(InvalidInput):
        await service.store_memory(MemoryDraft("too late", expires_at=clock.now))


async def test_context_is_what_is_pinned_and_what_is_asked_or_new(service: MemoryService):
    await service.store_memory(MemoryDraft("always use tabs", pinned=True))
    await service.store_memory(MemoryDraft("the tunnel is up"))
    context = await service.recall_context()
    assert [memory.content for memory in context.pinned] == ["always use tabs"]
    assert [memory.content for memory in context.recent] == ["the tunnel is up"]
    asked = await service.recall_context("tunnel tabs")
    assert asked.found is not None
    assert [hit.memory.content for hit in asked.found.results] == ["the tunnel is up"]
    assert asked.recent == ()


async def test_an_overview_counts_what_lists_leave_out(service: MemoryService, clock: Clock):
    await service.store_memory(MemoryDraft("pinned", tags=("t",), pinned=True))
    await service.store_memory(MemoryDraft("brief", expires_at=clock.now + 2))
    await service.update_memory(content_hash("pinned"), MemoryPatch(content="still pinned"))
    await service.store_memory(MemoryDraft("gone"))
    await service.delete_memory(content_hash("gone"))
    clock.now += DAY
    seen = await service.overview()
    assert (seen.pinned, seen.expired, seen.superseded, seen.trashed) == (1, 1, 1, 1)
    assert [memory.content for memory in seen.recent] == ["still pinned"]
    assert [count.tag for count in seen.tags] == ["t"]


async def scratch_notes(service: MemoryService) -> ListRequest:
    """Three that pass the filter, and two others."""
    for number in range(5):
        await service.store_memory(MemoryDraft(f"note {number}", tags=("old" if number < 3 else "other",)))
    return ListRequest(tags=("OLD",))


async def test_many_are_deleted_only_when_their_number_is_confirmed(service: MemoryService):
    request = await scratch_notes(service)
    asked = await service.delete_matching(request)
    assert (asked.matched, asked.changed, len(asked.ids)) == (3, 0, 3)
    with pytest.raises(CountChanged):
        await service.delete_matching(request, 2)
    assert (await service.list_memories(request)).paging.total == 3
    done = await service.delete_matching(request, 3)
    assert (done.matched, done.changed) == (3, 3)
    assert {count.tag: count.memories for count in await service.list_tags()} == {"other": 2}
    assert (await service.list_trash()).paging.total == 3


async def test_many_are_tagged_only_when_their_number_is_confirmed(service: MemoryService):
    request = await scratch_notes(service)
    assert (await service.retag_matching(request, ["new"], ["old"])).changed == 0
    with pytest.raises(CountChanged):
        await service.retag_matching(request, ["new"], ["old"], 4)
    assert (await service.list_memories(request)).paging.total == 3
    assert (await service.retag_matching(request, ["new"], ["old"], 3)).changed == 3
    assert {count.tag: count.memories for count in await service.list_tags()} == {"new": 3, "other": 2}


async def test_filters_of_a_search_hold_for_lists_as_well(service: MemoryService):
    for number in range(4):
        await service.store_memory(
            MemoryDraft(
                f"note {number}",
                memory_type="fix" if number % 2 else "fact",
                source="cli" if number < 2 else "agent",
                session=f"s{number % 2}",
                metadata={"n": number},
            )
        )
    for asked, expected in (
        ({"types": ("fix", "plan")}, ["note 1", "note 3"]),
        ({"memory_type": "fact", "types": ("fix",)}, ["note 0", "note 1", "note 2", "note 3"]),
        ({"source": "cli"}, ["note 0", "note 1"]),
        ({"session": "s1", "source": "agent"}, ["note 3"]),
        ({"metadata": (MetadataIs("n", 2),)}, ["note 2"]),
    ):
        assert sorted(await found(service, "note", **asked)) == expected
        listed = await service.list_memories(replace(ListRequest(), **asked))
        assert sorted(memory.content for memory in listed.memories) == expected


async def test_a_listing_can_show_what_was_superseded(service: MemoryService):
    for number in range(3):
        stored = (await service.store_memory(MemoryDraft(f"first {number}"))).memory
        await service.update_memory(stored.content_hash, MemoryPatch(content=f"second {number}"))
    pages = [await service.list_memories(ListRequest(page, 4, include_superseded=True)) for page in (1, 2)]
    texts = [memory.content for page in pages for memory in page.memories]
    assert texts == ["second 2", "first 2", "second 1", "first 1", "second 0", "first 0"]
    assert {page.paging.total for page in pages} == {6}


async def test_namespaces_keep_histories_and_trash_apart(service: MemoryService, store: Store):
    other = service.within("team")
    for each in (service, other):
        await each.store_memory(MemoryDraft("one"))
        await each.update_memory(content_hash("one"), MemoryPatch(content="two"))
    await service.delete_memory(content_hash("two"))
    assert [memory.content for memory in await other.memory_history(content_hash("one"))] == ["two", "one"]
    assert (await other.list_trash()).paging.total == 0
    assert sorted(await store.namespaces()) == sorted(
        [history_of("default"), trash_of("default"), "team", history_of("team")]
    )


async def test_a_purge_of_what_was_corrected_leaves_the_correction(service: MemoryService):
    first = (await service.store_memory(MemoryDraft("the password is hunter2"))).memory
    second = await service.update_memory(first.content_hash, MemoryPatch(content="the password is in the vault"))
    assert (await service.purge_memories([first.content_hash])).memories == 1
    assert await found(service, "password", include_superseded=True) == ["the password is in the vault"]
    assert [memory.content_hash for memory in await service.memory_history(second.content_hash)] == [
        second.content_hash
    ]


async def test_a_purge_leaves_what_was_superseded_and_stored_again(service: MemoryService):
    await service.store_memory(MemoryDraft("first"))
    await service.store_memory(MemoryDraft("second", supersedes=(content_hash("first"),)))
    await service.store_memory(MemoryDraft("first"))
    await service.purge_memories([content_hash("second")])
    assert [memory.content for memory in (await service.list_memories()).memories] == ["first"]


async def test_what_leaves_the_trash_takes_its_own_versions_along(service: MemoryService, store: Store, clock: Clock):
    for text in ("alone", "shared"):
        await service.store_memory(MemoryDraft(f"old {text}"))
    old = {text: content_hash(f"old {text}") for text in ("alone", "shared")}
    await service.store_memory(MemoryDraft("new", supersedes=tuple(old.values())))
    await service.store_memory(MemoryDraft("old shared"))  # and superseded by another as well
    await service.store_memory(MemoryDraft("other", supersedes=(old["shared"],)))
    await service.delete_memory(content_hash("new"))
    clock.now += 8 * DAY
    await service.empty_trash()
    kept = [memory.content_hash for memory in await store.get_many(history_of("default"), list(old.values()))]
    assert kept == [old["shared"]]


async def test_a_deletion_that_is_sent_twice_deletes_once(service: MemoryService):
    await service.store_memory(MemoryDraft("first"))
    await service.store_memory(MemoryDraft("second", supersedes=(content_hash("first"),)))
    await service.store_memory(MemoryDraft("first"))
    await service.delete_memory(content_hash("first"))
    with pytest.raises(MemoryNotFound):
        await service.delete_memory(content_hash("first"))
    assert [memory.content for memory in (await service.list_memories()).memories] == ["second"]


async def test_what_has_expired_and_is_stored_again_lives_again(service: MemoryService, clock: Clock):
    await service.store_memory(MemoryDraft("the code is 1234", expires_at=clock.now + DAY))
    clock.now += 2 * DAY
    assert not (await service.store_memory(MemoryDraft("the code is 1234"))).created
    assert await found(service, "code") == ["the code is 1234"]


async def test_an_edit_to_a_text_that_is_there_leaves_type_and_expiry_of_that_one(service: MemoryService, clock: Clock):
    await service.store_memory(MemoryDraft("queue is redis", memory_type="fact"))
    brief = (await service.store_memory(MemoryDraft("queue is rabbit", memory_type="note"))).memory
    await service.update_memory(brief.content_hash, MemoryPatch(expires_at=clock.now + DAY))
    joined = await service.update_memory(brief.content_hash, MemoryPatch(content="queue is redis"))
    assert (joined.memory_type, joined.expires_at) == ("fact", None)


async def test_history_shows_what_was_found_there_and_not_its_twin(service: MemoryService):
    text = "salaries are on the intranet"
    await service.store_memory(MemoryDraft(text, tags=("public",)))
    await service.store_memory(MemoryDraft("salaries have moved", tags=("public",), supersedes=(content_hash(text),)))
    await service.store_memory(MemoryDraft(text, tags=("private",), metadata={"secret": "yes"}))
    held = service.held_to(["public"])
    hits = (await held.search(SearchRequest("salaries intranet", include_superseded=True))).results
    assert {hit.memory.tags for hit in hits} == {("public",)}
    assert all(hit.memory.metadata == {} for hit in hits)


async def test_tags_of_many_writers_at_once_are_all_there(service: MemoryService):
    await service.store_memory(MemoryDraft("note", tags=("t",)))
    request = ListRequest(tags=("t",))
    await asyncio.gather(*(service.retag_matching(request, [f"n{number}"], (), 1) for number in range(8)))
    (memory,) = (await service.list_memories()).memories
    assert set(memory.tags) == {"t", *(f"n{number}" for number in range(8))}


async def test_changes_of_many_need_a_filter(service: MemoryService):
    await service.store_memory(MemoryDraft("note"))
    for change in (service.delete_matching(ListRequest(), 1), service.retag_matching(ListRequest(page=2), ["t"])):
        with pytest.raises(InvalidInput) as refused:
            await change
        assert refused.value.code == "filter_required"


async def test_a_quota_holds_for_what_comes_back_and_not_for_what_takes_a_place(store: Store, clock: Clock):
    service = MemoryService(store, WordEmbedder(), limits=ServiceLimits(max_memories=1), now=clock)
    await service.store_memory(MemoryDraft("one"))
    await service.store_memory(MemoryDraft("two", supersedes=(content_hash("one"),)))
    await service.delete_memory(content_hash("two"))
    await service.store_memory(MemoryDraft("three"))
    with pytest.raises(QuotaExceeded):
        await service.restore_memory(content_hash("two"))


async def test_old_ids_lead_to_what_holds_now_through_many_turns(service: MemoryService):
    await service.store_memory(MemoryDraft("z"))
    await service.store_memory(MemoryDraft("a", supersedes=(content_hash("z"),)))
    for text, old in (("b", "a"), ("a", "b"), ("c", "a"), ("d", "c")):
        await service.store_memory(MemoryDraft(text, supersedes=(content_hash(old),)))
    for text in "zabc":
        assert (await service.get_memory(content_hash(text))).content == "d"
    await service.purge_memories([content_hash("d")])
    assert (await service.overview()).superseded == 0


async def test_an_edit_sent_again_after_a_later_one_answers_with_what_holds_now(service: MemoryService):
    first = (await service.store_memory(MemoryDraft("one"))).memory
    await service.update_memory(first.content_hash, MemoryPatch(content="two"), "k")
    await service.update_memory(first.content_hash, MemoryPatch(content="three"))
    assert (await service.update_memory(first.content_hash, MemoryPatch(content="two"), "k")).content == "three"


async def test_editors_at_once_all_have_their_say(service: MemoryService):
    first = (await service.store_memory(MemoryDraft("draft"))).memory
    texts = [f"version {number}" for number in range(4)]
    edits = [service.update_memory(first.content_hash, MemoryPatch(content=text)) for text in texts]
    assert [memory.content for memory in await asyncio.gather(*edits)] == texts
    versions = await service.memory_history(first.content_hash)
    assert {memory.content for memory in versions} == {"draft", *texts}
    assert (await service.stats()).memories == 1
