"""How often the note that holds comes before those it replaced, on our own corpus.

updates.json has the facts of the corpus that changed: their notes by the first 12 digits of their ids, the first state
first and the present one last, and three questions each, written without a look at any ranking: `plain` says nothing
of time, `now` asks for the present state, `past` for the first one.

python -m tests.eval.updates
"""

import asyncio
import json
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.config import load_settings
from mcp_memory_service.evaluation.metrics import DEPTH, ndcg
from mcp_memory_service.models import SearchRequest
from mcp_memory_service.services import MemoryService

from .own_corpus import FOLDER, NOW, store_corpus


@dataclass(frozen=True)
class Question:
    kind: str
    text: str
    wanted: str
    """The first digits of the id of the note that answers it."""
    others: Sequence[str]
    """Those of the other notes of the fact."""


@dataclass(frozen=True)
class Asked:
    queries: int
    first: float
    """How often the note that answers comes before all others of the fact."""
    ndcg_at_10: float


def questions() -> list[Question]:
    found: list[Question] = []
    for fact in json.loads((FOLDER / "updates.json").read_text())["facts"]:
        first, *between, last = fact["notes"]
        found += [Question(kind, fact[kind], last, (first, *between)) for kind in ("plain", "now")]
        if fact["past"]:
            found.append(Question("past", fact["past"], first, (*between, last)))
    return found


async def ask(service: MemoryService) -> Mapping[str, Asked]:
    """By kind of question."""
    measured: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for question in questions():
        found = await service.search(SearchRequest(question.text, page_size=100))
        ranked = [hit.memory.content_hash[:12] for hit in found.results]
        place = {digits: number for number, digits in enumerate(ranked)}
        behind = [place.get(other, len(ranked)) for other in question.others]
        is_first = place.get(question.wanted, len(ranked)) < min(behind)
        measured[question.kind].append((float(is_first), ndcg(ranked, {question.wanted: 1.0}, DEPTH)))
    return {
        kind: Asked(len(each), *(sum(column) / len(each) for column in zip(*each, strict=True)))
        for kind, each in measured.items()
    }


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "updates.db"})
        async with open_backends(settings) as (storage, embedder):
            service = MemoryService(storage, embedder, settings.hybrid.policy(), now=lambda: NOW)
            await store_corpus(service)
            asked = await ask(service)
    for kind, each in asked.items():
        print(f"{kind:<6} {each.queries:3d} queries  first {each.first:.3f}  NDCG@10 {each.ndcg_at_10:.4f}")


if __name__ == "__main__":
    asyncio.run(main())
