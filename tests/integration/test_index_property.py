"""Whatever happens to the files, and however runs end, the index becomes the one that a fresh run would make."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.fakes import WordEmbedder, in_front_of
from tests.support.vaults import indexed, write

from mcp_memory_service.errors import StorageUnavailable
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.services import DocumentOptions, MemoryService
from mcp_memory_service.storage.memory import MemoryStore
from mcp_memory_service.storage.ports import Store
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

PATHS = ["A.md", "B.md", "sub/A.md", "sub/C.md", "deep/er/D.md", "plain.txt"]
TEXTS = [
    "",
    "See [[A]] and [[sub/C]].",
    "# Alpha\n\nLinks to [[Beta]], [[B#Part]] and [one](sub/C.md).",
    "---\naliases: [Beta, Gamma]\ntags: x\n---\n# Other\n\n## Part\n\nText with #tag and [[D]].",
    "---\ntitle: Beta\n---\nThe same paragraph.",
    "The same paragraph.",
    "# Long\n\n" + "\n\n".join(f"## S{number}\n\n" + "Words upon words. " * 60 for number in range(4)),
    "\x00 binary",
]
PATH, TEXT = st.sampled_from(PATHS), st.sampled_from(TEXTS)
STEP = st.one_of(
    st.tuples(st.just("write"), PATH, TEXT),
    st.tuples(st.just("delete"), PATH),
    st.tuples(st.just("rename"), PATH, PATH),
    st.tuples(st.just("touch"), PATH),
    st.tuples(st.just("index"), st.sampled_from(["", "sub", "A.md"])),
    st.tuples(st.just("interrupt"), st.integers(1, 8)),
)
Step: TypeAlias = tuple[Any, ...]


def interrupted(store: Store, writes: int) -> Store:
    """The same store, which fails after so many writes."""
    left = [writes]

    def failing(name: str) -> Callable[..., Any]:
        async def write_once(*arguments: Any) -> Any:
            left[0] -= 1
            if left[0] < 0:
                raise StorageUnavailable("gone")
            return await getattr(store, name)(*arguments)

        return write_once

    return in_front_of(store, replace_source=failing("replace_source"), relink_source=failing("relink_source"))


async def take(step: Step, vault: Path, store: Store, options: DocumentOptions) -> None:
    match step:
        case ("write", path, text):
            write(vault, {path: text})
        case ("delete", path):
            (vault / path).unlink(missing_ok=True)
        case ("rename", old, new) if (vault / old).exists():
            (vault / new).parent.mkdir(parents=True, exist_ok=True)
            (vault / old).replace(vault / new)
        case ("touch", path) if (vault / path).exists():
            os.utime(vault / path)
        case ("index", below) if (vault / below).exists():
            await MemoryService(store, WordEmbedder(), documents=options).sources.index(vault / below)
        case ("interrupt", writes):
            service = MemoryService(interrupted(store, writes), WordEmbedder(), documents=options)
            with suppress(StorageUnavailable):
                await service.sources.index(vault)
        case _:
            pass


async def equals_a_fresh_one(steps: Sequence[Step], store: Store, vault: Path, *, mentions: bool) -> None:
    options = DocumentOptions(mentions=mentions)
    vault.mkdir()
    for step in steps:
        await take(step, vault, store, options)
    await MemoryService(store, WordEmbedder(), documents=options).sources.index(vault)
    fresh = await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
    await MemoryService(fresh, WordEmbedder(), documents=options).sources.index(vault)
    # A file whose bytes did not change keeps the date at which they did.
    assert await indexed(store, dates=False) == await indexed(fresh, dates=False)


@settings(max_examples=60)
@given(st.lists(STEP, max_size=14), st.booleans())
def test_the_index_equals_a_fresh_one(steps: list[Step], mentions: bool):
    folder = Path(tempfile.mkdtemp())

    async def run() -> None:
        store = await MemoryStore.open(WordEmbedder.model_id, WordEmbedder.dimension, indexed_text)
        await equals_a_fresh_one(steps, store, folder / "vault", mentions=mentions)

    try:
        asyncio.run(run())
    finally:
        shutil.rmtree(folder)


@pytest.mark.parametrize("mentions", [False, True])
async def test_the_index_of_a_file_equals_a_fresh_one(storage: SqliteVecStorage, tmp_path: Path, mentions: bool):
    steps: list[Step] = [
        *[("write", path, TEXTS[number + 1]) for number, path in enumerate(PATHS)],
        ("interrupt", 3),
        ("index", ""),
        ("rename", "sub/C.md", "deep/C.md"),
        ("write", "A.md", TEXTS[3]),
        ("delete", "B.md"),
        ("interrupt", 2),
        ("touch", "sub/A.md"),
        ("index", "sub"),
        ("write", "B.md", TEXTS[2]),
        ("write", "plain.txt", TEXTS[7]),
    ]
    await equals_a_fresh_one(steps, storage, tmp_path / "vault", mentions=mentions)
