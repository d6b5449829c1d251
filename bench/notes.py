"""How fast a folder of notes is taken in: CPU and clock of the first run, of one without changes, and of an edit.

    python bench/notes.py --notes FOLDER --count 6000

The folder has real Markdown; its paragraphs are recombined into as many notes as asked for, with links between them.
Words can be found when a run ends; vectors take minutes more and are timed on a part of the chunks.
"""

import argparse
import asyncio
import random
import resource
import tempfile
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.indexing import read_note
from mcp_memory_service.models import SearchRequest
from mcp_memory_service.services import MemoryService

T = TypeVar("T")
EMBEDDED_CHUNKS = 512
LINKS_IN_A_NOTE = 5


def recombined(folder: Path, count: int, target: Path) -> int:
    """Notes of paragraphs and headings of real ones, in folders of a hundred; returns their characters."""
    chance = random.Random(7)
    texts = [file.read_text() for file in sorted(folder.rglob("*.md"))]
    paragraphs = [part for text in texts for part in text.split("\n\n") if part.strip()]
    mean = sum(text.count("\n\n") + 1 for text in texts) // len(texts)
    written = 0
    for number in range(count):
        parts = chance.choices(paragraphs, k=max(1, round(chance.gauss(mean, mean / 3))))
        links = [f"See [[note {chance.randrange(count)}]]." for _ in range(LINKS_IN_A_NOTE)]
        text = f"# Note {number}\n\n" + "\n\n".join([*parts, *links])
        file = target / f"{number // 100:03}" / f"note {number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        written += file.write_text(text)
    return written


async def spent(what: str, work: Callable[[], Awaitable[T]]) -> T:
    clock, cpu = time.perf_counter(), time.process_time()
    done = await work()
    wall, used = time.perf_counter() - clock, time.process_time() - cpu
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(f"{what:<38} {wall:8.2f} s, CPU {used:8.2f} s, peak {peak} MiB")
    return done


def parse_rate(folder: Path) -> None:
    texts = [(file.read_text(), file.stem) for file in sorted(folder.rglob("*.md"))]
    cpu = time.process_time()
    chunks = sum(len(read_note(text, stem).chunks) for text, stem in texts)
    used = time.process_time() - cpu
    print(f"parsing alone: {len(texts) / used:,.0f} notes/s of CPU, {chunks / len(texts):.1f} chunks a note")


async def measure(notes: Path, store: Path) -> None:
    async with open_service(load_settings({"sqlite_path": store})) as service:
        first_run = asyncio.create_task(spent("first run", lambda: service.sources.index(notes)))
        await spent("first words found", lambda: first_found(service))
        report = await first_run
        print(f"  {report.documents:,} documents, {report.chunks_created:,} chunks, links {dict(report.links)}")
        await spent("run without changes, just after", lambda: service.sources.index(notes))
        await spent("run without changes", lambda: service.sources.index(notes))
        for number in (1, 2):
            file = next(notes.rglob(f"note {number}.md"))
            file.write_text(file.read_text() + "\n\nOne more line.\n")
        report = await spent("two files edited", lambda: service.sources.index(notes))
        assert len(report.changed) == 2, report.changed
        (notes / "new.md").write_text("# A new title\n\n[[note 3]]\n")
        await spent("one file added (all links looked at)", lambda: service.sources.index(notes))
        await embedding_rate(service)


async def first_found(service: MemoryService) -> None:
    """While the first run goes on."""
    while not (await service.search(SearchRequest("how to publish a workspace", mode="keyword"))).results:
        await asyncio.sleep(0.1)


async def embedding_rate(service: MemoryService) -> None:
    stats = await service.stats()
    clock, cpu = time.perf_counter(), time.process_time()
    done = 0

    def progress(_doing: str, embedded: int, _total: int) -> None:
        nonlocal done
        done = embedded
        if embedded >= EMBEDDED_CHUNKS:
            raise KeyboardInterrupt

    with suppress(KeyboardInterrupt):
        await service.sources.embed(progress)
    wall, used = time.perf_counter() - clock, time.process_time() - cpu
    print(
        f"vectors: {done / wall:.0f} chunks/s, {done / used:.0f} per s of CPU; {stats.awaiting_vectors:,} were waiting"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--notes", type=Path, required=True, help="a folder of real Markdown")
    parser.add_argument("--count", type=int, default=6_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-bench-notes-") as folder:
        vault = Path(folder) / "vault"
        characters = recombined(options.notes, options.count, vault)
        print(f"{options.count:,} notes, {characters / 1e6:.1f} million characters")
        parse_rate(vault)
        asyncio.run(measure(vault, Path(folder) / "store" / "notes.db"))


if __name__ == "__main__":
    main()
