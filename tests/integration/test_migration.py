"""`mcp-memory migrate` for real: two stores, a copy, interruptions, and what it says of bad input."""

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from tests.contract.memories import EVERYTHING, by_id, by_name, memory, note, waiting
from tests.integration.conftest import Finished
from tests.reliability.qdrant_migration import run as run_interrupted
from tests.support.fakes import WordEmbedder, in_front_of
from tests.support.one_memory import store_one
from tests.support.qdrant_target import collection_of
from tests.support.whole_stores import assert_equal, contents, notes

from mcp_memory_service.cli.commands.migrate import settings_at
from mcp_memory_service.errors import ConfigurationError, InvalidInput, MigrationIncomplete
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import (
    EmbeddedMemory,
    Feedback,
    IdempotencyKey,
    MemoryPatch,
    MemoryScan,
    SourceRecord,
    StoreOutcome,
    TunedWeights,
    Tuning,
)
from mcp_memory_service.services import Migration
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage
from mcp_memory_service.storage.sqlite_vec.file.connection import connect
from mcp_memory_service.storage.sqlite_vec.tables import TABLES


def quiet(_doing: str, _done: int, _total: int) -> None:
    pass


@pytest.fixture
def qdrant_options(qdrant_url: str, tmp_path: Path) -> QdrantOptions:
    return QdrantOptions(qdrant_url, collection_of(tmp_path))


async def memory_store() -> MemoryStore:
    return await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)


source = target = pytest.fixture(memory_store)


async def sqlite_at(path: Path) -> SqliteVecStorage:
    return await SqliteVecStorage.open(path, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)


async def qdrant_at(options: QdrantOptions) -> QdrantStorage:
    return await QdrantStorage.open(options, WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)


async def test_there_and_back_again_everything_is_the_same(tmp_path: Path, qdrant_options: QdrantOptions):
    source, between, target = (
        await sqlite_at(tmp_path / "a.db"),
        await qdrant_at(qdrant_options),
        await sqlite_at(tmp_path / "b.db"),
    )
    items = notes(600)
    await source.store_batch(items)
    said = Feedback("topic 3", items[3].memory.content_hash, True, 5)
    await source.add_feedback(items[3].memory.namespace, said)
    await source.save_tuning("default", Tuning(TunedWeights(2.0, 1.5, 0.5), 7, 40, 0.5, 0.6))
    there = await Migration(source, between, WordEmbedder(), quiet).run()
    assert (there.memories, there.copied, there.namespaces, there.feedback) == (600, 600, 2, 1)
    assert there.embeddings_reused
    assert there.verified >= 500
    await Migration(between, target, WordEmbedder(), quiet).run()
    assert_equal(await contents(source), await contents(between))
    assert_equal(await contents(source), await contents(target))
    assert await target.list_feedback(items[3].memory.namespace) == [said]
    tuned = await target.current_tuning("default")
    assert tuned is not None
    assert tuned.weights == TunedWeights(2.0, 1.5, 0.5)
    again = await Migration(source, between, WordEmbedder(), quiet).run()
    assert again.copied == 0
    for store in (source, between, target):
        await store.close()


async def test_kinds_names_and_edges_are_carried_there_and_back(tmp_path: Path, qdrant_options: QdrantOptions):
    source, between, target = (
        await sqlite_at(tmp_path / "a.db"),
        await qdrant_at(qdrant_options),
        await sqlite_at(tmp_path / "b.db"),
    )
    chunks = [note(f"chunk {i}", f"note:{i}", source=f"docs/{i % 3}.md", anchor=f"Heading {i}") for i in range(30)]
    await source.store_batch([EmbeddedMemory(item, (WordEmbedder.vector(item.content),)) for item in chunks])
    edges = [by_name(item, f"note:{i + 1}", weight=0.1 * i) for i, item in enumerate(chunks)]
    edges += [by_id(chunks[0], item, "contains") for item in chunks[1:]]
    await source.add_edges("default", edges)
    there = await Migration(source, between, WordEmbedder(), quiet).run()
    assert (there.memories, there.copied) == (30, 30)
    await Migration(between, target, WordEmbedder(), quiet).run()
    ids = [item.content_hash for item in chunks]
    assert_equal(await contents(source), await contents(target))
    assert await target.get_many("default", ids) == chunks
    expected = await source.edges_from("default", ids)
    assert sum(map(len, expected.values())) == len(edges)
    assert await between.edges_from("default", ids) == await target.edges_from("default", ids) == expected
    await source.add_edges("default", [by_name(chunks[3], "note:late")])
    assert (await Migration(source, between, WordEmbedder(), quiet).run()).copied == 1
    assert (await Migration(source, between, WordEmbedder(), quiet).run()).copied == 0
    for store in (source, between, target):
        await store.close()


async def test_sources_and_vectors_that_come_later_are_carried_there_and_back(
    tmp_path: Path, qdrant_options: QdrantOptions
):
    stores = source, between, target = (
        await sqlite_at(tmp_path / "a.db"),
        await qdrant_at(qdrant_options),
        await sqlite_at(tmp_path / "b.db"),
    )
    chunks = [note(f"chunk {i}", source=f"docs/{i % 3}.md", anchor=str(i)) for i in range(30)]
    records = [SourceRecord(f"docs/{i}.md", f"f{i}", {"n": i}) for i in range(3)]
    for record in records:
        of_file = [each for each in chunks if each.source == record.source]
        items, edges = [waiting(each) for each in of_file], [by_name(of_file[0], "note:N")]
        await source.replace_source("default", record.source, items, edges, record)
    await source.store_batch([note_of("a plain memory")])
    for one, other in ((source, between), (between, target)):
        report = await Migration(one, other, WordEmbedder(), quiet).run()
        assert (report.memories, report.copied) == (31, 31)
        assert await other.list_sources("default") == records
        assert len(await other.awaiting_vectors(50)) == 30
        assert len(await other.edges_from("default", [each.content_hash for each in chunks])) == 3
    await source.add_vectors([EmbeddedMemory(each, (WordEmbedder.vector(each.content),)) for each in chunks[:20]])
    changed = SourceRecord("docs/0.md", "changed in the target")
    await between.relink_source("default", "docs/0.md", [], changed)
    for one, other in ((source, between), (between, target)):
        assert (await Migration(one, other, WordEmbedder(), quiet).run()).copied in (20, 21)
        assert_equal(await contents(one), await contents(other))
    assert await between.list_sources("default") == [changed, *records[1:]]
    assert (await Migration(source, between, WordEmbedder(), quiet).run()).copied == 0
    await between.add_vectors([EmbeddedMemory(each, (WordEmbedder.vector(each.content),)) for each in chunks])
    assert (await Migration(source, between, WordEmbedder(), quiet).run()).copied == 0
    for store in stores:
        await store.close()


async def test_another_model_embeds_what_waits_for_vectors(tmp_path: Path, target: MemoryStore):
    source = await SqliteVecStorage.open(tmp_path / "a.db", "another-3", 3, indexed_text)
    chunk = note("closed in winter", anchor="Garden")
    await source.replace_source("default", "docs/a.md", [waiting(chunk)], [])
    await Migration(source, target, WordEmbedder(), quiet).run()
    ((_, vectors),) = (await contents(target)).values()
    assert np.allclose(vectors[0], WordEmbedder.vector("Garden closed in winter"), atol=1e-6)
    await source.close()


async def test_history_and_trash_are_carried(source: MemoryStore, tmp_path: Path):
    first, second = note_of("first"), note_of("second")
    await source.store_batch([first, second])
    patch = MemoryPatch(content="third")
    edited = await source.update("default", first.memory.content_hash, patch, 5, None, [WordEmbedder.vector("third")])
    assert edited
    await source.delete("default", second.memory.content_hash, trashed_at=6)
    target = await sqlite_at(tmp_path / "a.db")
    assert (await Migration(source, target, WordEmbedder(), quiet).run()).memories == 3
    assert_equal(await contents(source), await contents(target))
    assert await target.edges_from("default", [edited.content_hash]) == {
        edited.content_hash: [by_id(edited, first.memory, "supersedes")]
    }
    assert await target.restore("default", second.memory.content_hash, 7) == second.memory
    await target.close()


def note_of(content: str) -> EmbeddedMemory:
    return EmbeddedMemory(memory(content, "t"), (WordEmbedder.vector(content),))


async def test_every_table_that_cannot_be_made_again_is_carried(tmp_path: Path):
    """Idempotency keys belong to requests that were sent to the old store, and what a store says of itself to it."""
    source, target = await sqlite_at(tmp_path / "a.db"), await sqlite_at(tmp_path / "b.db")
    item = replace(note("chunk", "note:A"), tags=("t",))
    await store_one(source, EmbeddedMemory(item, (WordEmbedder.vector("chunk"),)))
    await source.add_edges("default", [by_name(item, "note:B")])
    await source.add_feedback("default", Feedback("query", item.content_hash, useful=True, created_at=1))
    await source.save_tuning("default", Tuning(TunedWeights(2.0, 1.5, 0.5), 7, 40, 0.5, 0.6))
    await source.update("default", item.content_hash, MemoryPatch(), now=1, key=IdempotencyKey("k", "f", 1))
    await source.relink_source("default", "docs/a.md", [by_name(item, "note:B")], SourceRecord("docs/a.md", "f"))
    await Migration(source, target, WordEmbedder(), quiet).run()
    await source.close()
    await target.close()
    with (
        closing(connect(tmp_path / "a.db", read_only=True)) as a,
        closing(connect(tmp_path / "b.db", read_only=True)) as b,
    ):
        rows = {
            table.name: tuple(int(raw.execute(f"SELECT count(*) FROM {table.name}").get) for raw in (a, b))  # noqa: S608
            for table in TABLES
            if table.role != "derived" and table.name not in {"store_info", "idempotency_keys"}
        }
    assert rows == dict.fromkeys(rows, (1, 1))
    assert {"memories", "memory_tags", "memory_names", "edges", "vectors", "feedback", "tunings"} <= rows.keys()


async def test_another_model_embeds_anew(tmp_path: Path, qdrant_options: QdrantOptions):
    source = await SqliteVecStorage.open(tmp_path / "a.db", "another-3", 3, indexed_text)
    await store_one(source, EmbeddedMemory(memory("tunnel to the lab"), (np.ones(3, dtype=np.float32),)))
    target = await qdrant_at(qdrant_options)
    report = await Migration(source, target, WordEmbedder(), quiet).run()
    assert not report.embeddings_reused
    ((_, vectors),) = (await contents(target)).values()
    assert np.allclose(vectors[0], WordEmbedder.vector("tunnel to the lab"), atol=1e-6)
    await source.close()
    await target.close()


async def test_what_the_target_has_is_united_and_never_lost(source: MemoryStore, target: MemoryStore):
    vectors = (WordEmbedder.vector("fact"),)
    await store_one(source, EmbeddedMemory(memory("fact", "ours", at=1), vectors))
    await store_one(target, EmbeddedMemory(memory("fact", "theirs", at=2), vectors))
    await store_one(target, EmbeddedMemory(memory("more", at=2), vectors))
    await Migration(source, target, WordEmbedder(), quiet).run()
    page = await target.list_memories(EVERYTHING, 0, 10)
    assert {found.content: found.tags for found in page.memories} == {"fact": ("theirs", "ours"), "more": ()}


async def test_what_changes_in_the_source_meanwhile_is_caught_up_with(source: MemoryStore, target: MemoryStore):
    await source.store_batch([item for item in notes(10) if item.memory.namespace == "default"])
    unchanged = [True]

    async def scan(cursor: str | None, limit: int) -> MemoryScan:
        """The source is changed behind the back of the first scan, where it has been already."""
        part = await source.scan(cursor, limit)
        if part.cursor is None and unchanged:
            unchanged.clear()
            await source.update("default", part.items[0].memory.content_hash, MemoryPatch(tags=("late",)), now=10**9)
        return part

    report = await Migration(in_front_of(source, scan=scan), target, WordEmbedder(), quiet).run()
    assert (report.memories, report.copied) == (8, 9)
    assert "late" in [tag.tag for tag in await target.get_all_tags("default")]


async def test_a_copy_that_lacks_something_is_said(source: MemoryStore, target: MemoryStore):
    await source.store_batch([item for item in notes(10) if item.memory.namespace == "default"])
    shown: dict[str, EmbeddedMemory] = {}

    async def store_batch(items: Sequence[EmbeddedMemory]) -> list[StoreOutcome]:
        """Says yes and keeps nothing."""
        shown.update({item.memory.content_hash: item for item in items})
        return []

    async def get_embedded(_namespace: str, content_hashes: Sequence[str]) -> list[EmbeddedMemory]:
        """What it has been shown."""
        return [shown[content_hash] for content_hash in content_hashes]

    forgetful = in_front_of(target, store_batch=store_batch, get_embedded=get_embedded)
    with pytest.raises(MigrationIncomplete, match="still lacked 8 memories"):
        await Migration(source, forgetful, WordEmbedder(), quiet).run()


async def test_a_copy_that_is_killed_again_and_again_goes_on(qdrant_url: str, tmp_path: Path):
    """With the real command, killed at random points, there and back."""
    figures = await run_interrupted(3000, interruptions=3, seed=4, qdrant_url=qdrant_url, folder=tmp_path)
    assert (figures.memories, figures.equal) == (3000, True)


def test_bad_addresses_are_said_in_one_line(run_cli: Callable[..., Finished], tmp_path: Path, qdrant_url: str):
    (tmp_path / "empty.db").touch()
    (tmp_path / "link.db").symlink_to(tmp_path / "empty.db")
    for source, target, complaint, code in (
        ("floppy:a", "sqlite:b.db", "names no store: write sqlite:PATH or qdrant:URL/COLLECTION", 2),
        (f"sqlite:{tmp_path}/no.db", f"sqlite:{tmp_path}/b.db", "There is no store at", 5),
        (f"sqlite:{tmp_path}/empty.db", f"sqlite:{tmp_path}/b.db", "the file is empty", 5),
        (f"sqlite:{tmp_path}/a.db", f"sqlite:{tmp_path}/a.db", "name the same store", 2),
        (f"sqlite:{tmp_path}/empty.db", f"sqlite:{tmp_path}/link.db", "name the same store", 2),
        (f"qdrant:{qdrant_url}/nothing-here", f"sqlite:{tmp_path}/b.db", "There is no Qdrant collection", 5),
        ("qdrant:http://127.0.0.1:9/x", f"sqlite:{tmp_path}/b.db", "cannot be used now", 4),
        ("qdrant:ftp://x/y", "sqlite:b.db", "must be an http or https address", 6),
    ):
        said = run_cli("migrate", "--from", source, "--to", target)
        assert complaint in said.err, said.err
        assert (said.code, said.err.count("\n")) == (code, 1), said.err
    assert not (tmp_path / "no.db").exists()


async def test_vectors_of_other_memories_are_noticed(source: MemoryStore, target: MemoryStore):
    one, other = memory("one", at=1), memory("other", at=1)
    await source.store_batch([EmbeddedMemory(note, (WordEmbedder.vector(note.content),)) for note in (one, other)])
    await target.store_batch(
        [EmbeddedMemory(note, (WordEmbedder.vector(name),)) for note, name in ((one, "other"), (other, "one"))]
    )
    with pytest.raises(MigrationIncomplete, match="vectors of the memory"):
        await Migration(source, target, WordEmbedder(), quiet).run()


async def test_newer_feedback_and_weights_of_the_target_stay(source: MemoryStore, target: MemoryStore):
    fact = memory("fact")
    for store, useful, at, trust in ((source, True, 1, 2.0), (target, False, 9, 4.0)):
        await store_one(store, EmbeddedMemory(fact, (WordEmbedder.vector("fact"),)))
        await store.add_feedback("default", Feedback("query", fact.content_hash, useful, at))
        await store.save_tuning("default", Tuning(TunedWeights(trust, 1.0, 0.5), 7, 40, 0.5, 0.6))
    report = await Migration(source, target, WordEmbedder(), quiet).run()
    assert report.feedback == 0
    assert await target.list_feedback("default") == [Feedback("query", fact.content_hash, False, 9)]
    tuned = await target.current_tuning("default")
    assert tuned is not None
    assert tuned.weights.vector_trust == 4.0


def test_addresses():
    settings = settings_at("qdrant:https://q.example:6333/team", None)
    assert (settings.qdrant.url, settings.qdrant.collection) == ("https://q.example:6333", "team")
    assert settings_at("qdrant:other", None).qdrant.collection == "other"
    assert settings_at("qdrant:", None).store == "Qdrant collection memories at http://127.0.0.1:6333"
    assert settings_at("sqlite:", None).store.endswith("memories.db")
    with pytest.raises(ConfigurationError, match="MCP_MEMORY_QDRANT_COLLECTION"):
        settings_at("qdrant:a b", None)
    with pytest.raises(InvalidInput):
        settings_at("a.db", None)
