"""How alpha is chosen: the numbers of `hybrid_search/evidence.py` and the tables of docs/adr/0022.

python tests/eval/fit_alpha.py --data FOLDER --data OTHER --cache vectors.db --asked asked.json

Every query of every set is asked once; what it shows and its NDCG@10 at each alpha are kept in `--asked`, so that
fitting again takes a minute. Each set is judged by numbers that were fitted to the others, which all weigh alike. Sets
of one source (locomo_turn and locomo_session) are left out together.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.eval.own_corpus import NOW, labelled_queries, store_corpus

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.cli.progress import ProgressLine
from mcp_memory_service.config import load_settings
from mcp_memory_service.evaluation.confidence import bootstrap_interval
from mcp_memory_service.evaluation.dataset import load_dataset
from mcp_memory_service.evaluation.embedding_cache import CachedEmbedder
from mcp_memory_service.evaluation.ground_truth import answerable
from mcp_memory_service.evaluation.metrics import DEPTH, Grades, ndcg
from mcp_memory_service.evaluation.runner import Collections
from mcp_memory_service.hybrid_search import (
    KEYWORD,
    TAG,
    VECTOR,
    Evidence,
    RankingPolicy,
    alpha_for_size,
    evidence,
)
from mcp_memory_service.services import MemoryService

ALPHAS = np.round(np.arange(0.05, 0.951, 0.05), 2)
BELOW_ARM_PENALTY = 2.0
"""How much worse it is to lose against the better signal than to gain as much elsewhere."""

Numbers = NDArray[np.float64]


@dataclass(frozen=True)
class Asked:
    """One query: what the signals show of it, and how good its first page is."""

    evidence: dict[str, float]
    prior: float
    tag_rarity: float
    vector: float
    """NDCG@10 of each signal alone, of the default, and at each of `ALPHAS`."""
    keyword: float
    default: float
    at_alphas: list[float]


async def ask(service: MemoryService, query: str, relevant: Grades, policy: RankingPolicy) -> Asked | None:
    """None if a signal could not tell anything."""
    asked = await service.ask_signals(query)
    shown = asked.results.evidence
    if shown is None:
        return None

    async def ranked(alpha: float | None) -> float:
        found = await service.rank_asked(asked, replace(policy, hybrid_alpha=alpha))
        return ndcg(found[:DEPTH], relevant, DEPTH)

    def alone(signal: str) -> float:
        return ndcg([each.content_hash for each in asked.results.of(signal).candidates[:DEPTH]], relevant, DEPTH)

    tags = asked.results.of(TAG).candidates
    return Asked(
        evidence=asdict(shown),
        prior=alpha_for_size(asked.results.corpus_size, policy),
        tag_rarity=tags[0].score if tags else 0.0,
        vector=alone(VECTOR),
        keyword=alone(KEYWORD),
        default=await ranked(None),
        at_alphas=[await ranked(float(alpha)) for alpha in ALPHAS],
    )


async def ask_set(folder: Path | None, cache: Path, queries: int) -> list[Asked]:
    """None is our own corpus."""
    progress = ProgressLine()
    with tempfile.TemporaryDirectory() as scratch:
        settings = load_settings({"sqlite_path": Path(scratch) / "set.db"})
        policy = settings.hybrid.policy()
        async with open_backends(settings, lambda embedder: CachedEmbedder(embedder, cache)) as (storage, embedder):
            cases: list[tuple[MemoryService, str, Grades]] = []
            if folder is None:
                service = MemoryService(storage, embedder, policy, now=lambda: NOW)
                await store_corpus(service)
                cases = [(service, case.query, case.relevant) for case in answerable(labelled_queries())]
            else:
                dataset = load_dataset(folder).with_queries(queries)
                collections = Collections(storage, embedder, policy)
                await collections.load(dataset, progress)
                cases = [
                    (collections.service(query.collection), query.text, collections.hashes(query))
                    for query in dataset.queries
                ]
            answers: list[Asked] = []
            for number, (service, text, relevant) in enumerate(cases, start=1):
                answer = await ask(service, text, relevant, policy) if relevant else None
                answers += [answer] if answer else []
                progress("ask", number, len(cases))
    return answers


class Table:
    """A set as columns: NDCG@10 at any alpha, and what the numbers multiply."""

    def __init__(self, name: str, asked: Sequence[Asked]) -> None:
        self.name = name
        self.at_alphas = np.array([each.at_alphas for each in asked])
        self.vector = np.array([each.vector for each in asked])
        self.keyword = np.array([each.keyword for each in asked])
        self.default = np.array([each.default for each in asked])
        self.limit = 1.0 - evidence.TAG_SHARE * np.minimum(1.0, [each.tag_rarity for each in asked])
        prior = np.array([each.prior for each in asked])
        self.prior = np.log(prior / (1.0 - prior))
        self.shown = np.array([_multiplied(each) for each in asked])

    @property
    def better_signal(self) -> float:
        return max(self.vector.mean(), self.keyword.mean())

    def at(self, alpha: Numbers | float) -> Numbers:
        """NDCG@10 of each query, between the alphas that were asked by the straight line."""
        limited = np.clip(np.minimum(alpha, self.limit), ALPHAS[0], ALPHAS[-1])
        place = (limited - ALPHAS[0]) / (ALPHAS[1] - ALPHAS[0])
        below = np.minimum(place.astype(int), len(ALPHAS) - 2)
        rows, share = np.arange(len(below)), place - below
        return self.at_alphas[rows, below] * (1.0 - share) + self.at_alphas[rows, below + 1] * share

    def chosen(self, numbers: Numbers, prior_share: float) -> Numbers:
        log_odds = prior_share * self.prior + self.shown @ numbers
        return self.at(np.clip(1.0 / (1.0 + np.exp(-log_odds)), evidence.MIN_ALPHA, evidence.MAX_ALPHA))


def _multiplied(asked: Asked) -> list[float]:
    """By START, PROMINENCE, COVERAGE, LEAD and WEAKNESS."""
    prominence, found, lead, weakness = evidence.log_odds_terms(
        Evidence(**asked.evidence), names_tag=asked.tag_rarity > 0.0
    )
    return [1.0, prominence, -found, -lead, weakness]


def fitted(tables: Sequence[Table], prior_share: float) -> Numbers:
    """By a search that halves its steps: NDCG has no slope to follow. Rounded to what a document can say."""

    def worth(numbers: Numbers) -> float:
        means = [(float(table.chosen(numbers, prior_share).mean()), table.better_signal) for table in tables]
        return float(np.mean([mean - BELOW_ARM_PENALTY * max(0.0, better - mean) for mean, better in means]))

    best = np.ones(5)
    reached = worth(best)
    for step in (0.5, 0.25, 0.1, 0.05):
        improved = True
        while improved:
            improved = False
            for place, sign in product(range(len(best)), (step, -step)):
                tried = best.copy()
                tried[place] += sign
                if (value := worth(tried)) > reached + 1e-6:
                    best, reached, improved = tried, value, True
    return best


def source(name: str) -> str:
    return name.split("_", maxsplit=1)[0]


def report(tables: Sequence[Table]) -> str:
    lines = [
        "| set | queries | vector | keyword | in force | best constant | left out | 95 % to the better | from all |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    share = evidence.PRIOR_SHARE
    of_all = fitted(tables, share)
    means: list[list[float]] = []
    for table in tables:
        others = [other for other in tables if source(other.name) != source(table.name)]
        left_out, ours = table.chosen(fitted(others, share), share), table.chosen(of_all, share)
        better = table.vector if table.vector.mean() > table.keyword.mean() else table.keyword
        low, high = bootstrap_interval((left_out - better).tolist())
        constant = max(float(table.at(float(alpha)).mean()) for alpha in ALPHAS)
        columns = [table.vector, table.keyword, table.default, constant, left_out, ours]
        means.append([float(np.mean(column)) for column in columns])
        shown = [f"{mean:.4f}" for mean in means[-1]]
        shown.insert(5, f"{low:+.3f} to {high:+.3f}")
        lines.append(" | ".join([f"| {table.name}", str(len(left_out)), *shown]) + " |")
    average = [f"{mean:.4f}" for mean in np.mean(means, axis=0)]
    average.insert(5, "")
    lines.append(" | ".join(["| mean", "", *average]) + " |")
    names = ("START", "PROMINENCE", "COVERAGE", "LEAD", "WEAKNESS")
    lines += ["", ", ".join(f"{name} {number:.2f}" for name, number in zip(names, of_all, strict=True))]
    for tried in (0.0, 0.5, 1.0):
        judged: list[float] = []
        for table in tables:
            others = [other for other in tables if source(other.name) != source(table.name)]
            judged.append(float(table.chosen(fitted(others, tried), tried).mean()))
        lines.append(f"prior share {tried}: mean of the sets left out {np.mean(judged):.4f}")
    return "\n".join(lines)


async def main(folders: Sequence[Path], cache: Path, queries: int, kept: Path) -> str:
    known: dict[str, list[Mapping[str, object]]] = json.loads(kept.read_text()) if kept.exists() else {}
    for name, folder in {"own": None, **{folder.name: folder for folder in folders}}.items():
        if name not in known:
            known[name] = [asdict(each) for each in await ask_set(folder, cache, queries)]
            kept.write_text(json.dumps(known))
    return report([Table(name, [Asked(**each) for each in asked]) for name, asked in known.items()])  # pyright: ignore[reportArgumentType] -- as they were written


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True, help="an evaluation set; may be repeated")
    parser.add_argument("--cache", type=Path, required=True, help="where vectors are kept between runs")
    parser.add_argument("--asked", type=Path, required=True, help="where answers are kept between runs")
    parser.add_argument("--queries", type=int, default=400, help="at most so many of each set, evenly chosen")
    given = parser.parse_args()
    print(asyncio.run(main(given.data, given.cache, given.queries, given.asked)))
