"""The motivating case at several sizes: is the Rathole memory first among other projects' architecture notes?

    python bench/rathole.py --sizes 50 600 6000 20000

Real model, real file, default settings. For each size the Rathole memory is tried tagged and untagged, with its name in
the text; its place is shown by each signal alone and by the default search.
"""

import argparse
import asyncio
import sys
import tempfile
from pathlib import Path

from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.models import MemoryDraft, SearchRequest
from mcp_memory_service.services import MemoryService

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.support.corpus import RATHOLE, RATHOLE_QUERY, project_notes

BATCH = 500


async def main(sizes: list[int]) -> None:
    print("| memories | Rathole memory | vector | keyword | default | alpha |\n|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        async with open_service(load_settings({"sqlite_path": Path(folder) / "rathole.db"})) as service:
            stored = 0
            for size in sorted(sizes):
                notes = project_notes(size - 1)
                for start in range(stored, len(notes), BATCH):
                    await service.store_batch(
                        [MemoryDraft(n["content"], tuple(n["tags"])) for n in notes[start : start + BATCH]]
                    )
                    print(f"\rstored {min(start + BATCH, len(notes)):,} of {len(notes):,}", end="", file=sys.stderr)
                stored = len(notes)
                print(file=sys.stderr)
                for name, tags in (("tagged", tuple(RATHOLE["tags"])), ("untagged", ())):
                    await report(service, size, name, tags)


async def report(service: MemoryService, size: int, name: str, tags: tuple[str, ...]) -> None:
    outcome = await service.store_memory(MemoryDraft(RATHOLE["content"], tags))
    key = outcome.memory.content_hash
    explained = await service.explain(SearchRequest(RATHOLE_QUERY), key)
    by_vector = await service.explain(SearchRequest(RATHOLE_QUERY, mode="semantic"), key)
    by_keyword = await service.explain(SearchRequest(RATHOLE_QUERY, mode="keyword"), key)
    ranks = [by_vector.signals["vector"].rank, by_keyword.rank, explained.rank]
    print(
        f"| {size:,} | {name} | {' | '.join(str(rank or '-') for rank in ranks)} | {explained.alpha_used:g} |",
        flush=True,
    )
    await service.delete_memory(key)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[50, 600, 6_000, 20_000])
    asyncio.run(main(parser.parse_args().sizes))
