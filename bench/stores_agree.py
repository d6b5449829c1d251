"""Do both stores rank alike? The same texts in SQLite and on Qdrant, the same queries, and every place compared.

    python bench/stores_agree.py --data FOLDER --memories 5000 --queries 60

Takes evaluation sets (as for `mcp-memory eval`), stores their texts in both stores with vectors made of their words,
and compares the first 250 and the first 20 of words, tags and vectors. Qdrant is the stand-in of the tests, or the
server at QDRANT_URL.
"""

import argparse
import asyncio
import gzip
import json
import random
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import cast

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT))

from tests.support.fakes import WordEmbedder  # noqa: E402
from tests.support.qdrant_target import collection_of, qdrant_server  # noqa: E402

from mcp_memory_service.hybrid_search import indexed_text, query_terms  # noqa: E402
from mcp_memory_service.models import Candidate, EmbeddedMemory, Memory, MemoryFilter, content_hash  # noqa: E402
from mcp_memory_service.storage.ports import Store  # noqa: E402
from mcp_memory_service.storage.qdrant import QdrantOptions, QdrantStorage  # noqa: E402
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage  # noqa: E402

LIMITS = (250, 20)
SAME_SIMILARITY = 2e-5
EVERYTHING = MemoryFilter()


def rows(file: Path) -> list[dict[str, object]]:
    with gzip.open(file, "rt") as lines:
        return [json.loads(line) for line in lines]


def memories(data: Path, count: int) -> list[EmbeddedMemory]:
    made: list[EmbeddedMemory] = []
    for number, row in enumerate(rows(data / "corpus.jsonl.gz")[:count]):
        text, tags = str(row["text"]), cast("list[str]", row.get("tags") or [])
        # Three to a moment, so that ids decide among some of them.
        note = Memory(text, content_hash(text), number // 3, number // 3, tags=tuple(tags[:20]))
        made.append(EmbeddedMemory(note, (WordEmbedder.vector(text),)))
    return made


async def compare(stores: tuple[Store, Store], queries: Sequence[str]) -> Counter[str]:
    """How many lists differ, by signal."""
    chance = random.Random(1)
    sqlite, qdrant = stores
    tags = [tag.tag.casefold() for tag in await sqlite.get_all_tags("default")] or ["none"]
    differing = Counter({"words": 0, "tags": 0, "vectors": 0})
    for limit in LIMITS:
        for query in queries:
            terms, vector = query_terms(query), WordEmbedder.vector(query)
            named = {tag: chance.choice([0.5, 1.0, 2.25]) for tag in chance.sample(tags, min(len(tags), 4))}
            words = [(await store.search_by_text(terms, limit, EVERYTHING)).candidates for store in (sqlite, qdrant)]
            tagged = [await store.search_by_tag(named, limit, EVERYTHING) for store in (sqlite, qdrant)]
            near = [await store.retrieve(vector, limit, EVERYTHING) for store in (sqlite, qdrant)]
            differing["words"] += _order(words[0]) != _order(words[1])
            differing["tags"] += tagged[0] != tagged[1]
            differing["vectors"] += not _same_similarities(*near)
    return differing


def _order(found: Sequence[Candidate]) -> list[str]:
    return [candidate.content_hash for candidate in found]


def _same_similarities(one: Sequence[Candidate], other: Sequence[Candidate]) -> bool:
    return len(one) == len(other) and all(
        abs(a.score - b.score) <= SAME_SIMILARITY for a, b in zip(one, other, strict=True)
    )


async def run(data: Path, count: int, queries: int, folder: Path, qdrant_url: str) -> None:
    model, dimension = WordEmbedder.model_id, WordEmbedder.dimension
    sqlite = await SqliteVecStorage.open(folder / "agree.db", model, dimension, indexed_text)
    options = QdrantOptions(qdrant_url, collection_of(folder), timeout_seconds=30)
    qdrant = await QdrantStorage.open(options, model, dimension, indexed_text)
    items = memories(data, count)
    for store in (sqlite, qdrant):
        for start in range(0, len(items), 500):
            await store.store_batch(items[start : start + 500])
    asked = [str(row["text"]) for row in rows(data / "queries.jsonl.gz")]
    chosen = random.Random(1).sample(asked, min(queries, len(asked)))
    differing = await compare((sqlite, qdrant), chosen)
    lists = len(chosen) * len(LIMITS)
    told = ", ".join(f"{signal} {number} of {lists}" for signal, number in differing.items())
    print(f"{data.name}: {len(items):,} memories, lists that differ: {told}")
    await sqlite.close()
    await qdrant.close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, action="append", help="an evaluation set; may be repeated")
    parser.add_argument("--memories", type=int, default=5000)
    parser.add_argument("--queries", type=int, default=60)
    options = parser.parse_args()
    for data in options.data:
        with tempfile.TemporaryDirectory(prefix="mcp-memory-agree-") as name:
            folder = Path(name)
            with qdrant_server(folder / "qdrant") as target:
                asyncio.run(run(data, options.memories, options.queries, folder, target.url))


if __name__ == "__main__":
    main()
