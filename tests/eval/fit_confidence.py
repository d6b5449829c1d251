"""How sure an answer is: the numbers of `hybrid_search/confidence.py` and the tables of docs/evaluation.md.

python tests/eval/fit_confidence.py --data FOLDER --data OTHER --cache vectors.db

Our own corpus has queries without an answer. In a public set all documents that answer some queries are taken away
until half of the queries have none left. Each set is also asked the queries of the next one, which are about something
else. Each set is judged by numbers that were fitted to the others.
"""

import argparse
import asyncio
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.eval.own_corpus import NOW, labelled_queries, store_corpus

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.cli.progress import ProgressLine
from mcp_memory_service.config import load_settings
from mcp_memory_service.evaluation.dataset import Dataset, EvaluationQuery, load_dataset
from mcp_memory_service.evaluation.embedding_cache import CachedEmbedder
from mcp_memory_service.evaluation.metrics import separation
from mcp_memory_service.evaluation.runner import Collections
from mcp_memory_service.hybrid_search import KEYWORD, VECTOR, VectorStanding, vector_standing
from mcp_memory_service.hybrid_search.columns.candidates import Candidates
from mcp_memory_service.hybrid_search.confidence import MIN_HIGH, MIN_LOW, certainty
from mcp_memory_service.services import MemoryService

SEED = 7
FOREIGN_QUERIES = 100
FOREIGN_WEIGHT = 0.3
"""Against those whose answer was taken away: they are told apart by almost any numbers."""
STATED_RECALL = 0.5

Rows = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """Similarity, lead and coverage of every query, a row each, and the first two once more without a baseline, as a
    search by meaning alone has them."""

    name: str
    answered: Rows
    removed: Rows
    foreign: Rows


FORMS: dict[str, list[int]] = {"meaning and words": [0, 1, 2], "meaning alone": [3, 4], "words alone": [2]}


async def shown(service: MemoryService, query: str) -> list[float]:
    results = (await service.ask_signals(query)).results
    vector, coverage = results.of(VECTOR), results.of(KEYWORD).coverage
    plain = vector_standing(Candidates.of(vector.candidates).scores)
    assert vector.standing is not None
    assert plain is not None
    return [vector.standing.similarity, vector.standing.lead, coverage or 0.0, plain.similarity, plain.lead]


def without_answers(dataset: Dataset) -> tuple[Dataset, list[EvaluationQuery], list[EvaluationQuery]]:
    """The set without some documents, the queries that kept all their answers, and those that have none left."""
    needed_by: dict[tuple[str, str], list[str]] = defaultdict(list)
    for query in dataset.queries:
        for document in query.relevant:
            needed_by[query.collection, document].append(query.id)
    left = {query.id: len(query.relevant) for query in dataset.queries}
    removed: set[tuple[str, str]] = set()
    for query in random.Random(SEED).sample(list(dataset.queries), len(dataset.queries)):
        if 2 * list(left.values()).count(0) >= len(left):
            break
        for key in {(query.collection, document) for document in query.relevant} - removed:
            removed.add(key)
            for other in needed_by[key]:
                left[other] -= 1
    rest = {
        name: [document for document in documents if (name, document.id) not in removed]
        for name, documents in dataset.collections.items()
    }
    kept = [query for query in dataset.queries if left[query.id] == len(query.relevant)]
    lost = [query for query in dataset.queries if left[query.id] == 0]
    return replace(dataset, collections=rest), kept, lost


async def ask_public(dataset: Dataset, foreign: Sequence[str], cache: Path) -> Asked:
    rest, kept, lost = without_answers(dataset)
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "set.db"})
        async with open_backends(settings, lambda embedder: CachedEmbedder(embedder, cache)) as (storage, embedder):
            collections = Collections(storage, embedder, settings.hybrid.policy())
            await collections.load(rest, ProgressLine())
            names = list(rest.collections)
            asked = [
                [(query.collection, query.text) for query in kept],
                [(query.collection, query.text) for query in lost],
                [(names[number % len(names)], text) for number, text in enumerate(foreign)],
            ]
            rows = [[await shown(collections.service(name), text) for name, text in group] for group in asked]
    return Asked(dataset.name, *map(np.array, rows))


async def ask_own(foreign: Sequence[str], cache: Path) -> Asked:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "own.db"})
        async with open_backends(settings, lambda embedder: CachedEmbedder(embedder, cache)) as (storage, embedder):
            service = MemoryService(storage, embedder, settings.hybrid.policy(), now=lambda: NOW)
            await store_corpus(service)
            cases = labelled_queries()
            asked = [
                [case.query for case in cases if case.expected_hashes],
                [case.query for case in cases if not case.expected_hashes],
                foreign,
            ]
            rows = [[await shown(service, text) for text in group] for group in asked]
    return Asked("our own corpus", *map(np.array, rows))


def fitted(sets: Sequence[Asked], columns: Sequence[int]) -> NDArray[np.float64]:
    """Logistic regression by Newton's method; every set weighs alike, and in it queries with and without an answer.
    The last number is the constant."""
    groups = [
        (rows, label, share / len(rows))
        for asked in sets
        for rows, label, share in (
            (asked.answered, 1.0, 0.5),
            (asked.removed, 0.0, 0.5 * (1.0 - FOREIGN_WEIGHT)),
            (asked.foreign, 0.0, 0.5 * FOREIGN_WEIGHT),
        )
    ]
    x = np.vstack([np.c_[rows[:, columns], np.ones(len(rows))] for rows, _, _ in groups])
    y = np.concatenate([np.full(len(rows), label) for rows, label, _ in groups])
    weight = np.concatenate([np.full(len(rows), each) for rows, _, each in groups])
    numbers = np.zeros(x.shape[1])
    for _ in range(25):
        p = 1.0 / (1.0 + np.exp(-x @ numbers))
        numbers -= np.linalg.solve((x * (weight * p * (1 - p))[:, None]).T @ x, x.T @ (weight * (p - y)))
    return numbers


def judged(asked: Asked, numbers: NDArray[np.float64], columns: Sequence[int]) -> list[NDArray[np.float64]]:
    return [rows[:, columns] @ numbers[:-1] + numbers[-1] for rows in (asked.answered, asked.removed, asked.foreign)]


def precision_at(recall: float, answered: Sequence[float], without: Sequence[float]) -> float:
    """Where so large a part of the answered is accepted, the share of those with an answer among as many of both."""
    accepted = float(np.mean(np.array(without) >= np.quantile(answered, 1.0 - recall)))
    return recall / (recall + accepted)


def report(sets: Sequence[Asked]) -> str:
    lines: list[str] = []
    for form, columns in FORMS.items():
        lines += ["", f"{form}: {np.round(fitted(sets, columns), 2).tolist()}"]
        for asked in sets:
            others = fitted([other for other in sets if other is not asked], columns)
            answered, removed, foreign = (scores.tolist() for scores in judged(asked, others, columns))
            columns_shown = [
                f"{len(answered)} / {len(removed)}",
                f"{separation(answered, removed):.2f}",
                f"{precision_at(STATED_RECALL, answered, removed):.2f}",
                f"{separation(answered, foreign):.3f}",
            ]
            lines.append(" | ".join([asked.name, *columns_shown]))
    lines += ["", "As it is in force, with an answer, without, about something else:"]
    for asked in sets:
        groups = (asked.answered, asked.removed, asked.foreign)
        lines.append(" | ".join([asked.name, *map(_levels, groups)]))
    return "\n".join(lines)


def _levels(rows: Rows) -> str:
    sure = [
        certainty(VectorStanding(similarity, lead), coverage) or 0.0 for similarity, lead, coverage, *_ in rows.tolist()
    ]
    high, none = np.mean([each >= MIN_HIGH for each in sure]), np.mean([each < MIN_LOW for each in sure])
    return f"{high:.0%} high, {none:.0%} none"


async def main(folders: Sequence[Path], queries: int, cache: Path) -> str:
    datasets = [load_dataset(folder).with_queries(queries) for folder in folders]
    foreign = [[query.text for query in dataset.with_queries(FOREIGN_QUERIES).queries] for dataset in datasets]
    sets = [await ask_own(foreign[0], cache)]
    for dataset, others in zip(datasets, foreign[1:] + foreign[:1], strict=True):
        sets.append(await ask_public(dataset, others, cache))
    return report(sets)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True, help="an evaluation set; may be repeated")
    parser.add_argument("--queries", type=int, default=400, help="of each set, evenly chosen")
    parser.add_argument("--cache", type=Path, required=True, help="file in which vectors are kept between runs")
    arguments = parser.parse_args()
    print(asyncio.run(main(arguments.data, arguments.queries, arguments.cache)))
