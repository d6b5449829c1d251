"""The corpus stored once with the real model, and every query asked once at production defaults."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.evaluation.ground_truth import LabelledQuery
from mcp_memory_service.evaluation.runner import ROWS
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import SearchRequest
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

from .own_corpus import NOW, labelled_queries, store_corpus
from .ranx_metrics import ranx_mean
from .similar_pairs import Named, named_by_stores
from .updates import Asked, ask

CATEGORIES = ("tag_sensitive", "exact_term", "paraphrase", "temporal", "cross_project")


@dataclass(frozen=True)
class Evaluated:
    """Every test case with what the service answered, by a name for the query."""

    cases: dict[str, LabelledQuery]
    results: dict[str, dict[str, SearchResult]]
    """For vector, keyword and hybrid search each."""
    named: Named
    """What the stores of the corpus named as similar."""
    updates: Mapping[str, Asked]
    """Questions about facts that changed, by kind."""

    def answerable(self, category: str | None = None) -> dict[str, LabelledQuery]:
        return {
            name: case
            for name, case in self.cases.items()
            if case.expected_hashes and category in {None, case.category}
        }

    def ranking(self, name: str, row: str = "hybrid") -> list[str]:
        return [hit.memory.content_hash for hit in self.results[row][name].results]

    def mean(self, metric: str, category: str | None = None, row: str = "hybrid") -> float:
        """A metric of ranx over the queries that have an answer, of one category or all."""
        chosen = self.answerable(category)
        rankings = {name: self.ranking(name, row) for name in chosen}
        return ranx_mean(rankings, {name: case.relevant for name, case in chosen.items()}, metric)


@pytest.fixture(scope="session")
def evaluated(tmp_path_factory: pytest.TempPathFactory) -> Evaluated:
    return asyncio.run(_evaluate(tmp_path_factory.mktemp("eval") / "eval.db"))


async def _evaluate(path: Path) -> Evaluated:
    embedder = LocalEmbedder(threads=2)
    storage = await SqliteVecStorage.open(path, embedder.model_id, embedder.dimension, indexed_text)
    service = MemoryService(storage, embedder, now=lambda: NOW)
    await store_corpus(service)
    cases = {f"q{number:03d}": case for number, case in enumerate(labelled_queries())}
    results = {
        row: {name: await service.search(SearchRequest(case.query, mode=mode)) for name, case in cases.items()}
        for row, mode in ROWS.items()
    }
    updates = await ask(service)
    named = await named_by_stores(storage)
    await storage.close()
    await embedder.close()
    return Evaluated(cases, results, named, updates)
