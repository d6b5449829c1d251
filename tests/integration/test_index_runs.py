"""A folder of notes becomes memories, and stays in step with its files."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.support.fakes import WordEmbedder, in_front_of
from tests.support.vaults import age, indexed, write

from mcp_memory_service.errors import Forbidden, IndexRunning, InvalidInput, QuotaExceeded
from mcp_memory_service.models import ListRequest, MemoryDraft, SearchRequest, SourceRecord, Vector
from mcp_memory_service.services import DocumentOptions, MemoryService, ServiceLimits
from mcp_memory_service.storage.memory import MemoryStore

NOTES = {
    "Backups.md": "---\ntags: [infra]\naliases: Copies\n---\n# Backups\n\nRestic runs every night, see [[Server]].\n",
    "hardware/Server.md": "# Server\n\nA small box in the cellar.\n\n## Disks\n\nTwo mirrored disks. #zfs\n",
    "Garden.md": "Tomatoes need sun. See [[Copies]] and [[Nowhere]].\n",
}


class CountingEmbedder(WordEmbedder):
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return await super().embed(texts)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    return write(tmp_path / "vault", NOTES)


async def found_by(service: MemoryService, query: str, **asked: object) -> list[str]:
    """The paths of the notes, best first."""
    result = await service.search(SearchRequest(query, **asked))  # pyright: ignore[reportArgumentType]
    return [str(hit.memory.metadata.get("path")) for hit in result.results]


async def test_a_folder_is_found_beside_memories(service: MemoryService, vault: Path):
    await service.store_memory(MemoryDraft("Restic needs a password file."))
    report = await service.sources.index(vault)
    assert (len(report.added), report.documents, report.refused) == (3, 3, [])
    result = await service.search(SearchRequest("restic night"))
    note = result.results[0]
    assert (note.memory.kind, note.memory.metadata["path"]) == ("note", "Backups.md")
    assert "memory" in {hit.memory.kind for hit in result.results[:3]}
    assert note.memory.anchor == "Backups"
    assert "infra" in note.memory.tags
    assert note.freshness == "fresh"


async def test_words_are_found_before_there_are_vectors(store: MemoryStore, vault: Path):
    service = MemoryService(store, WordEmbedder())
    await service.sources.index(vault)
    status = await service.sources.status()
    assert status.stats.awaiting_vectors == status.stats.memories == 3
    assert status.stats.embedding_coverage == 0.0
    assert (await found_by(service, "tomatoes"))[0] == "Garden.md"
    assert await service.sources.embed() == 3
    assert (await service.stats()).embedding_coverage == 1.0
    assert (await found_by(service, "tomatoes need sun", mode="semantic"))[0] == "Garden.md"


async def test_a_second_run_reads_only_what_changed(store: MemoryStore, vault: Path):
    embedder = CountingEmbedder()
    service = MemoryService(store, embedder)
    for note in vault.rglob("*.md"):
        age(note)
    await service.sources.index(vault)
    await service.sources.embed()
    before = await indexed(store)
    again = await service.sources.index(vault)
    assert (again.unchanged, again.added, again.changed, again.removed) == (3, [], [], [])
    assert await indexed(store) == before
    embedder.asked.clear()
    write(vault, {"hardware/Server.md": NOTES["hardware/Server.md"] + "\n## Fans\n\nLoud.\n"})
    changed = await service.sources.index(vault)
    assert changed.changed == [(vault / "hardware/Server.md").as_posix()]
    await service.sources.embed()
    assert len(embedder.asked) == changed.chunks_created


async def test_a_file_that_was_only_touched_keeps_its_chunks(service: MemoryService, store: MemoryStore, vault: Path):
    await service.sources.index(vault)
    before = await indexed(store)
    for note in vault.rglob("*.md"):
        age(note)
    report = await service.sources.index(vault)
    assert (report.unchanged, report.changed) == (3, [])
    assert await indexed(store) == before


async def test_removed_files_vanish_and_their_links_break(service: MemoryService, vault: Path):
    first = await service.sources.index(vault)
    assert first.links == {"resolved": 2, "broken": 1}
    (vault / "hardware/Server.md").unlink()
    report = await service.sources.index(vault)
    assert report.removed == [(vault / "hardware/Server.md").as_posix()]
    assert report.links == {"resolved": 1, "broken": 2}
    assert "hardware/Server.md" not in await found_by(service, "small box cellar disks")


async def test_a_link_resolves_when_its_note_appears(service: MemoryService, store: MemoryStore, vault: Path):
    await service.sources.index(vault)
    write(vault, {"later/Nowhere.md": "Here after all."})
    report = await service.sources.index(vault)
    assert report.links == {"resolved": 3}
    edges = (await indexed(store))["edges"].values()
    assert f"note:{(vault / 'later/Nowhere.md').as_posix()}" in {edge.to for each in edges for edge in each}


async def test_a_renamed_file_keeps_its_vectors(store: MemoryStore, vault: Path):
    embedder = CountingEmbedder()
    service = MemoryService(store, embedder)
    await service.sources.index(vault)
    await service.sources.embed()
    embedder.asked.clear()
    (vault / "Backups.md").rename(vault / "hardware" / "Backups.md")
    report = await service.sources.index(vault)
    assert report.renamed == [((vault / "Backups.md").as_posix(), (vault / "hardware/Backups.md").as_posix())]
    assert (report.added, report.removed) == ([], [])
    assert (await service.stats()).awaiting_vectors == 0
    assert embedder.asked == []
    assert report.links == {"resolved": 2, "broken": 1}


async def test_a_dry_run_changes_nothing(service: MemoryService, store: MemoryStore, vault: Path):
    report = await service.sources.index(vault, dry_run=True)
    assert len(report.added) == 3
    assert await indexed(store) == {"memories": {}, "edges": {}, "records": {}}


async def test_what_cannot_be_read_is_named_and_the_run_goes_on(service: MemoryService, vault: Path, tmp_path: Path):
    outside = write(tmp_path / "outside", {"secret.md": "not for you"})
    write(
        vault, {"binary.md": b"\x00\x01\x02", "latin.md": b"caf\xe9", "crlf.md": b"# Lines\r\n\r\nend differently\r\n"}
    )
    write(vault, {"wide.md": "# Wide\n\nletters of sixteen bits".encode("utf-16")})
    (vault / "out.md").symlink_to(outside / "secret.md")
    (vault / "loop").symlink_to(vault)
    (vault / "circle").symlink_to("circle")
    (vault / "endless").symlink_to("x" * 300)
    os.mkfifo(vault / "pipe.md")
    report = await service.sources.index(vault)
    refused = {Path(each.source).name: each.reason for each in report.refused}
    assert refused.keys() == {"binary.md", "latin.md", "out.md", "loop", "circle", "endless", "pipe.md"}
    assert all(refused.values())
    assert (await found_by(service, "end differently"))[0] == "crlf.md"
    assert (await found_by(service, "sixteen bits"))[0] == "wide.md"
    assert "out.md" not in await found_by(service, "secret not for you")


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
async def test_a_file_that_cannot_be_opened_for_a_while_keeps_what_was_read(service: MemoryService, vault: Path):
    await service.sources.index(vault)
    (vault / "Garden.md").chmod(0)
    age(vault / "Garden.md")
    report = await service.sources.index(vault)
    assert [Path(each.source).name for each in report.refused] == ["Garden.md"]
    assert (await found_by(service, "tomatoes"))[0] == "Garden.md"


async def test_a_file_that_is_no_text_any_more_goes(service: MemoryService, vault: Path):
    await service.sources.index(vault)
    write(vault, {"Garden.md": b"\x00" * 100})
    report = await service.sources.index(vault)
    assert report.removed == [(vault / "Garden.md").as_posix()]
    assert "Garden.md" not in await found_by(service, "tomatoes")


async def test_ignored_folders_and_the_stores_own_are_left_out(store: MemoryStore, vault: Path):
    own = vault / "memories"
    write(
        vault,
        {".obsidian/a.md": "x", ".trash/b.md": "x", "node_modules/c.md": "x", "drafts/d.md": "x", "memories/e.md": "x"},
    )
    write(vault, {".gitignore": "drafts/\n"})
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions(own_folder=own))
    report = await service.sources.index(vault)
    assert sorted(Path(each).name for each in report.added) == ["Backups.md", "Garden.md", "Server.md"]
    with pytest.raises(InvalidInput, match="where the memories are kept"):
        await service.sources.index(own)
    for never in (".obsidian", ".obsidian/a.md", ".trash/b.md"):
        with pytest.raises(InvalidInput, match="never indexed"):
            await service.sources.index(vault / never)


async def test_one_file_of_a_folder_is_read_again(service: MemoryService, vault: Path):
    await service.sources.index(vault)
    write(vault, {"Garden.md": "Beans now.", "Backups.md": "Also changed, but not asked for."})
    report = await service.sources.index(vault / "Garden.md")
    assert (report.root, report.changed) == (vault.as_posix(), [(vault / "Garden.md").as_posix()])
    assert (await found_by(service, "beans"))[0] == "Garden.md"
    assert "Backups.md" in await found_by(service, "restic night")


async def test_a_larger_folder_takes_over_a_smaller_one(service: MemoryService, vault: Path):
    await service.sources.index(vault / "hardware")
    report = await service.sources.index(vault)
    assert report.documents == 3
    assert [root.root for root in (await service.sources.status()).roots] == [vault.as_posix()]
    assert set(await found_by(service, "mirrored disks")) >= {"hardware/Server.md"}


async def test_a_folder_is_forgotten(service: MemoryService, store: MemoryStore, vault: Path):
    await service.sources.index(vault)
    assert await service.sources.forget(vault / "hardware") == 1
    assert (await service.sources.status()).roots[0].settled is False
    assert await service.sources.forget(vault) == 2
    assert await indexed(store) == {"memories": {}, "edges": {}, "records": {}}
    assert (vault / "Garden.md").exists()


async def test_doors_index_only_what_the_owner_allows(store: MemoryStore, vault: Path, tmp_path: Path):
    closed = MemoryService(store, WordEmbedder())
    with pytest.raises(Forbidden, match="MCP_MEMORY_INDEX_ROOTS"):
        await closed.sources.start(str(vault))
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions(roots=(vault,)))
    (tmp_path / "sideways").symlink_to(tmp_path)
    for outside in (tmp_path, vault / "..", tmp_path / "sideways", tmp_path / "missing"):
        with pytest.raises(Forbidden):
            await service.sources.start(str(outside))
    status = await service.sources.start(str(vault))
    assert status.last is not None
    assert len(status.last.added) == 3


async def test_a_quota_ends_a_run_and_says_so(store: MemoryStore, vault: Path):
    service = MemoryService(
        store, WordEmbedder(), limits=ServiceLimits(max_memories=1), documents=DocumentOptions((vault,))
    )
    with pytest.raises(QuotaExceeded):
        await service.sources.index(vault)
    status = await service.sources.start(str(vault))
    assert status.failed is not None
    assert "1 memories" in status.failed


async def test_mentions_are_weak_links_if_they_count(store: MemoryStore, vault: Path):
    write(vault, {"Plan.md": "Move the Backups to the Server soon.", "hardware/Server.md": NOTES["hardware/Server.md"]})
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions(mentions=True))
    await service.sources.index(vault)
    plan = (await service.list_memories(ListRequest(kinds=("note",), source=(vault / "Plan.md").as_posix()))).memories[
        0
    ]
    edges = (await store.edges_from("default", [plan.content_hash]))[plan.content_hash]
    assert {(edge.kind, Path(edge.to).name) for edge in edges} == {
        ("mentions", "Backups.md"),
        ("mentions", "Server.md"),
    }
    write(vault, {"Soon.md": "A note about timing, called as a word of the plan."})
    await service.sources.index(vault)
    edges = (await store.edges_from("default", [plan.content_hash]))[plan.content_hash]
    assert "Soon.md" in {Path(edge.to).name for edge in edges}
    await MemoryService(store, WordEmbedder()).sources.index(vault)
    assert not await store.edges_from("default", [plan.content_hash]), "switched off, titles lead nowhere"


async def test_a_folder_says_what_it_is_about(store: MemoryStore, vault: Path):
    write(vault, {"hardware/_context.md": "Machines at home, none in the cloud."})
    write(vault, {"index.md": "---\ncontext: Notes of one household\n---\nStart here.\n"})
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions(folder_context=True))
    await service.sources.index(vault)
    found = await service.search(SearchRequest("mirrored disks", page_size=1))
    assert [(each.folder, each.text) for each in found.contexts] == [
        (".", "Notes of one household"),
        ("hardware", "Machines at home, none in the cloud."),
    ]


async def test_a_chunk_says_whether_its_file_still_has_it(service: MemoryService, vault: Path):
    await service.sources.index(vault)

    async def freshness(query: str) -> object:
        return (await service.search(SearchRequest(query, page_size=1))).results[0].freshness

    assert await freshness("tomatoes") == "fresh"
    write(vault, {"Garden.md": "A line before.\n\n" + NOTES["Garden.md"]})
    age(vault / "Garden.md", 7)
    assert await freshness("tomatoes") == "fresh"
    write(vault, {"Garden.md": "Something else."})
    age(vault / "Garden.md", 8)
    assert await freshness("tomatoes") == "stale"
    (vault / "Garden.md").unlink()
    assert await freshness("tomatoes") == "missing"


async def test_what_comes_from_files_is_changed_there(service: MemoryService, vault: Path):
    await service.sources.index(vault)
    listed = await service.list_memories()
    assert listed.memories == ()
    (note, *_) = (await service.list_memories(ListRequest(kinds=("note",)))).memories
    with pytest.raises(InvalidInput, match="change or delete it there"):
        await service.delete_memory(note.content_hash)
    with pytest.raises(InvalidInput, match="change it there"):
        await service.store_memory(MemoryDraft("better", supersedes=(note.content_hash,)))
    with pytest.raises(InvalidInput, match="changed there"):
        await service.delete_matching(ListRequest(kinds=("note",)), expected=3)


async def test_a_search_is_held_to_a_folder_or_a_kind(service: MemoryService, vault: Path):
    await service.store_memory(MemoryDraft("The box has two disks."))
    await service.sources.index(vault)
    scope = (vault / "hardware").as_posix()
    assert set(await found_by(service, "box disks restic tomatoes", scope=scope)) == {"hardware/Server.md"}
    assert set(await found_by(service, "box disks", kinds=("memory",))) == {"None"}


async def test_a_long_document_leaves_room_for_others(service: MemoryService, tmp_path: Path):
    sections = "".join(f"## Part {number}\n\n{'Kubernetes runs pods. ' * 80}\n\n" for number in range(8))
    folder = write(tmp_path / "long", {"long.md": f"# Kubernetes\n\n{sections}", "short.md": "Kubernetes in short."})
    await service.sources.index(folder)
    pages = [await found_by(service, "kubernetes pods", page=page, page_size=4) for page in (1, 2, 3)]
    assert pages[0].count("long.md") == 3
    assert "short.md" in pages[0]
    assert sum(len(page) for page in pages) == (await service.stats()).memories
    ids = [
        hit.memory.content_hash
        for page in (1, 2, 3)
        for hit in (await service.search(SearchRequest("kubernetes pods", page=page, page_size=4))).results
    ]
    assert len(ids) == len(set(ids))


async def test_a_name_that_is_no_text_is_left_out(service: MemoryService, vault: Path):
    Path(os.fsdecode(os.fsencode(vault) + b"/odd\xff.md")).write_text("odd")
    report = await service.sources.index(vault)
    assert [each.reason for each in report.refused] == ["its name is not UTF-8"]
    assert len(report.added) == 3


async def test_a_pipe_that_is_called_gitignore_stops_nobody(service: MemoryService, vault: Path):
    os.mkfifo(vault / ".gitignore")
    assert len((await service.sources.index(vault)).added) == 3


async def test_a_link_to_a_file_that_is_no_document_is_broken(service: MemoryService, vault: Path):
    await service.sources.index(vault)
    write(vault, {"Garden.md": "See [[Photo]].", "Photo.md": b"\x00\x01"})
    assert (await service.sources.index(vault)).links == {"broken": 1, "resolved": 1}


async def test_runs_that_meet_leave_the_links_to_the_next(store: MemoryStore, vault: Path):
    """The second begins and ends while the first writes."""
    other = MemoryService(store, WordEmbedder())
    met = False

    async def replacing(*arguments: object) -> object:
        nonlocal met
        if not met:
            met = True
            write(vault, {"Nowhere.md": "Written meanwhile."})
            await other.sources.index(vault)
        return await store.replace_source(*arguments)  # pyright: ignore[reportArgumentType]

    first = MemoryService(in_front_of(store, replace_source=replacing), WordEmbedder())
    await first.sources.index(vault)
    assert (await other.sources.status()).roots[0].settled is False
    report = await other.sources.index(vault)
    assert (report.links, report.documents) == ({"resolved": 3}, 4)


async def test_a_source_that_was_begun_and_not_completed_is_read_again(store: MemoryStore, vault: Path):
    """A server without transactions keeps a record without anything in it until all is written."""
    service = MemoryService(store, WordEmbedder())
    await service.sources.index(vault)
    whole = await indexed(store)
    for source in ((vault / "Garden.md").as_posix(), f"{vault.as_posix()}/.index"):
        await store.relink_source("default", source, (), SourceRecord(source, ""))
    await service.sources.index(vault)
    assert await indexed(store) == whole


async def test_a_caller_with_a_quota_indexes_no_more(service: MemoryService, vault: Path):
    with pytest.raises(QuotaExceeded):
        await service.held_to(max_memories=1).sources.index(vault)


async def test_a_folder_is_forgotten_by_any_of_its_names(service: MemoryService, vault: Path, tmp_path: Path):
    await service.sources.index(vault)
    (tmp_path / "another").symlink_to(vault)
    assert await service.sources.forget(tmp_path / "another") == 3
    with pytest.raises(InvalidInput, match="no path"):
        await service.sources.forget(Path("~nobody-of-this-name/x"))


async def test_an_error_of_the_service_is_told_to_who_asks(store: MemoryStore, vault: Path):
    async def broken(*_: object, **__: object) -> object:
        raise RuntimeError("a bug")

    service = MemoryService(
        in_front_of(store, replace_source=broken), WordEmbedder(), documents=DocumentOptions((vault,))
    )
    status = await service.sources.start(str(vault))
    assert status.failed == "An error of the service: RuntimeError."


async def test_while_a_run_goes_on_nobody_waits_for_its_end_to_be_refused(store: MemoryStore, vault: Path):
    begun, may_go_on = asyncio.Event(), asyncio.Event()

    async def waiting(*arguments: object) -> object:
        begun.set()
        await may_go_on.wait()
        return await store.replace_source(*arguments)  # pyright: ignore[reportArgumentType]

    documents = DocumentOptions((vault,))
    service = MemoryService(in_front_of(store, replace_source=waiting), WordEmbedder(), documents=documents)
    run = asyncio.create_task(service.sources.start(str(vault)))
    await begun.wait()
    with pytest.raises(IndexRunning):
        await service.sources.start(str(vault / "hardware"))
    with pytest.raises(IndexRunning):
        await service.sources.start(str(vault), dry_run=True)
    with pytest.raises(IndexRunning):
        await service.sources.forget(vault)
    may_go_on.set()
    assert (await run).failed is None
    assert await service.sources.forget(vault) == 3


async def test_words_lead_as_long_as_vectors_are_still_to_come(service: MemoryService, store: MemoryStore, vault: Path):
    await service.store_memory(MemoryDraft("The bakery opens at seven"))
    write(vault, {f"{number}.md": f"Heron number {number} stands in the reeds" for number in range(30)})
    await service.sources.index(vault)
    found = await service.search(SearchRequest("which heron has number 17", debug=True))
    assert found.results[0].memory.content == "Heron number 17 stands in the reeds"
    assert found.degraded == ("vectors_incomplete",)
    assert found.alpha_used < 0.1
    await service.sources.embed()
    assert (await MemoryService(store, WordEmbedder()).search(SearchRequest("heron 17"))).degraded == ()
