"""Importing: known content is united and not embedded, bad lines are named, good ones are never lost."""

from collections.abc import Sequence

import pytest
from tests.support.fakes import BrokenEmbedder, WordEmbedder

from mcp_memory_service.errors import EmbedderUnavailable, InvalidInput
from mcp_memory_service.models import MAX_TAGS, MemoryDraft, Vector
from mcp_memory_service.services import Import, ImportLine, ImportReport, MemoryService, every_memory
from mcp_memory_service.storage.memory import MemoryStore


class CountingEmbedder(WordEmbedder):
    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return await super().embed(texts)


def lines(*contents: str | MemoryDraft | InvalidInput) -> list[ImportLine]:
    return [
        ImportLine(number, MemoryDraft(content) if isinstance(content, str) else content)
        for number, content in enumerate(contents, start=1)
    ]


async def stored(store: MemoryStore) -> list[str]:
    return [memory.content async for memory in every_memory(store)]


async def test_known_content_is_united_and_not_embedded_again(store: MemoryStore):
    embedder = CountingEmbedder()
    service = MemoryService(store, embedder)
    await service.store_memory(MemoryDraft("old", tags=("a",), metadata={"x": 1}))
    embedder.asked.clear()
    importing = Import(service)
    await importing.add(lines(MemoryDraft(" old", tags=("b",), metadata={"y": 2}), "new", "new "))
    assert importing.report == ImportReport(3, 1, 2, 0, ())
    assert [text.strip() for text in embedder.asked] == ["new"]
    (old,) = [memory async for memory in every_memory(store) if memory.content == "old"]
    assert (old.tags, old.metadata) == (("a", "b"), {"x": 1, "y": 2})


async def test_known_content_is_stored_without_an_embedder(store: MemoryStore):
    await MemoryService(store, WordEmbedder()).store_memory(MemoryDraft("old"))
    without = MemoryService(store, BrokenEmbedder())
    outcome = await without.store_memory(MemoryDraft("old", tags=("b",)))
    assert (outcome.created, outcome.memory.tags) == (False, ("b",))
    with pytest.raises(EmbedderUnavailable):
        await without.store_memory(MemoryDraft("new"))


async def test_what_stands_before_a_bad_line_is_stored(service: MemoryService, store: MemoryStore):
    importing = Import(service)
    unreadable = InvalidInput("It is not UTF-8.", reason="not_utf8")
    with pytest.raises(InvalidInput, match=r"^Line 3: It is not UTF-8") as caught:
        await importing.add(lines("one", "two", unreadable, "four"))
    assert caught.value.code == "not_utf8"
    assert await stored(store) == ["one", "two"]
    assert importing.report == ImportReport(3, 2, 0, 1, (3,))


async def test_a_line_that_the_service_refuses_is_named(service: MemoryService, store: MemoryStore):
    importing = Import(service)
    with pytest.raises(InvalidInput, match=r"^Line 2: tags: A tag is empty") as caught:
        await importing.add(lines("one", MemoryDraft("two", tags=("",)), "three"))
    assert (caught.value.code, caught.value.field) == ("tag_empty", "tags")
    assert await stored(store) == ["one"]


async def test_bad_lines_can_be_left_out(service: MemoryService, store: MemoryStore):
    told: list[str] = []
    importing = Import(service, lambda error: told.append(error.message))
    many = tuple(map(str, range(MAX_TAGS)))
    await service.store_memory(MemoryDraft("full", tags=many))
    unreadable = InvalidInput("It is not UTF-8.", reason="not_utf8")
    await importing.add(lines("one", MemoryDraft("full", tags=("more",)), unreadable, "", "five"))
    assert importing.report == ImportReport(5, 2, 0, 3, (2, 3, 4))
    assert sorted(message.split(":")[0] for message in told) == ["Line 2", "Line 3", "Line 4"]
    assert await stored(store) == ["full", "one", "five"]


async def test_only_the_namespace_is_given_out_and_all_of_it(store: MemoryStore):
    ours, theirs = (MemoryService(store, WordEmbedder(), namespace=name) for name in ("default", "other"))
    contents = [f"memory {number}" for number in range(600)]
    for start in (0, 300):
        await ours.store_batch([MemoryDraft(content) for content in contents[start : start + 300]])
        await theirs.store_memory(MemoryDraft(f"theirs {start}"))
    assert await stored(store) == contents
