"""Bytes per memory on Qdrant: what a memory takes on disk and in memory, by layout, and a table for a million.

    python bench/qdrant_sizing.py --data FOLDER --memories 60000

Runs on the stand-in of the tests, that is on Qdrant's own engine in a server of ours. Texts are those of an evaluation
set (`--data`, as for `mcp-memory eval`) or of our own corpus; vectors are random, for their size alone counts here.
Each layout is filled twice, with a third of the memories and with all: what a memory takes is the difference.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path

import httpx

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.qdrant_stand_in.process import StandInProcess, stand_in  # noqa: E402

from corpora import DIMENSION, memories  # noqa: E402
from mcp_memory_service.hybrid_search import indexed_text, query_terms  # noqa: E402
from mcp_memory_service.models import EmbeddedMemory, MemoryFilter  # noqa: E402
from mcp_memory_service.storage.qdrant import CollectionLayout, QdrantOptions, QdrantStorage  # noqa: E402

LAYOUTS = {
    "vectors in memory": CollectionLayout(),
    "scalar quantization, vectors on disk": CollectionLayout(quantization="scalar", vectors_on_disk=True),
    "binary quantization, vectors on disk": CollectionLayout(quantization="binary", vectors_on_disk=True),
    "vectors on disk": CollectionLayout(vectors_on_disk=True),
}


@dataclass(frozen=True, slots=True)
class Size:
    memories: int
    disk_bytes: float
    anonymous_bytes: float
    """Memory that the server cannot do without."""
    resident_bytes: float
    """The same with what it keeps of its files in memory, after searches; the system may take that back."""

    def each_since(self, smaller: "Size") -> "Size":
        """What one further memory takes."""
        more = self.memories - smaller.memories
        return Size(
            1,
            (self.disk_bytes - smaller.disk_bytes) / more,
            (self.anonymous_bytes - smaller.anonymous_bytes) / more,
            (self.resident_bytes - smaller.resident_bytes) / more,
        )


async def measure(layout: CollectionLayout, items: list[EmbeddedMemory], folder: Path) -> Size:
    with stand_in(folder) as server:
        store = await QdrantStorage.open(
            QdrantOptions(server.url, layout=layout, timeout_seconds=60), "bench", DIMENSION, indexed_text
        )
        for start in range(0, len(items), 500):
            await store.store_batch(items[start : start + 500])
        started = time.monotonic()
        httpx.post(f"{server.url}/collections/memories/optimize", timeout=3600).raise_for_status()
        print(f"  {len(items):,} indexed in {time.monotonic() - started:.0f} s", file=sys.stderr)
        await store.close()
        server.stop()
        server.restart()  # as it runs from now on: files read, nothing left over from writing them
        store = await QdrantStorage.open(QdrantOptions(server.url, layout=layout), "bench", DIMENSION, indexed_text)
        await _search(store, items)
        counted = (await store.stats("default")).memories
        anonymous, resident = _process_bytes(server)
        await store.close()
    disk = sum(file.stat().st_blocks * 512 for file in folder.rglob("*") if file.is_file() and "wal" not in file.parts)
    return Size(counted, disk, anonymous, resident)


async def _search(store: QdrantStorage, items: list[EmbeddedMemory]) -> None:
    for item in items[:: max(1, len(items) // 100)]:
        await store.retrieve(item.vectors[0], 100, MemoryFilter())
        words = " ".join(item.memory.content.split()[:4])
        await store.search_by_text(query_terms(words), 50, MemoryFilter())


def _process_bytes(server: StandInProcess) -> tuple[int, int]:
    """Anonymous and all resident memory of the server, the Python around the engine included."""
    fields = dict(
        line.split(":")
        for line in Path(f"/proc/{server.process.pid}/smaps_rollup").read_text().splitlines()[1:]
        if ":" in line
    )
    kilobytes = [int(fields[name].split()[0]) for name in ("Anonymous", "Rss")]
    return kilobytes[0] * 1024, kilobytes[1] * 1024


def render(sizes: dict[str, Size], title: str) -> str:
    lines = [
        title,
        "",
        "| layout | disk | memory | with cached files | a million: disk | memory | with cached files |",
        "|---|---|---|---|---|---|---|",
    ]
    for layout, size in sizes.items():
        each = (size.disk_bytes, size.anonymous_bytes, size.resident_bytes)
        figures = " | ".join(f"{value:,.0f} B" for value in each)
        million = " | ".join(f"{value * 1e6 / 1e9:.1f} GB" for value in each)
        lines.append(f"| {layout} | {figures} | {million} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of an evaluation set to take texts from")
    parser.add_argument("--memories", type=int, default=60_000)
    parser.add_argument("--json", type=Path, help="where to write the figures")
    options = parser.parse_args()
    items = memories(options.memories, options.data)
    average_chars = sum(len(item.memory.content) for item in items) / len(items)
    sizes: dict[str, Size] = {}
    for name, layout in LAYOUTS.items():
        measured: list[Size] = []
        for part in (items[: len(items) // 3], items):
            with tempfile.TemporaryDirectory(prefix="mcp-memory-sizing-") as folder:
                measured.append(asyncio.run(measure(layout, part, Path(folder))))
        sizes[name] = measured[1].each_since(measured[0])
        print(f"{name}: {measured}", file=sys.stderr)
    sizes_seen = f"From {len(items) // 3:,} to {len(items):,} memories"
    print(render(sizes, f"{sizes_seen} of {average_chars:.0f} characters on average, {DIMENSION} numbers each"))
    if options.json:
        options.json.write_text(json.dumps({name: asdict(size) for name, size in sizes.items()}, indent=2))


if __name__ == "__main__":
    main()
