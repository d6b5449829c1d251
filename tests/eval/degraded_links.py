"""What links are worth if they are fewer, worse or lead the other way: the table of docs/evaluation.md.

python tests/eval/degraded_links.py --data hotpotqa_mini --cache vectors.db

Each graph is measured with and without links, and with the form `decay`. A set without links gets random ones, which
shows what links cost that mean nothing.
"""

import argparse
import asyncio
import random
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from mcp_memory_service.cli.progress import ProgressLine
from mcp_memory_service.config import load_settings
from mcp_memory_service.evaluation.dataset import Dataset, Link, load_dataset
from mcp_memory_service.evaluation.policies import changed_policy
from mcp_memory_service.evaluation.report import RowReport
from mcp_memory_service.evaluation.tables import markdown_table
from mcp_memory_service.evaluation.use_cases import RunOptions, run_dataset

SEED = 7
HUBS, HUB_SHARE = 10, 0.15
INDEX_LINKS = 90
SIBLINGS = 3
DECAY = "graph_form=decay"

Documents = Sequence[str]
Degraded = Callable[[Sequence[Link], Documents, random.Random], list[Link]]


def half(links: Sequence[Link], _documents: Documents, chance: random.Random) -> list[Link]:
    return [link for link in links if chance.random() < 0.5]


def reversed_links(links: Sequence[Link], _documents: Documents, _chance: random.Random) -> list[Link]:
    return [(target, source) for source, target in links]


def either_way(links: Sequence[Link], _documents: Documents, chance: random.Random) -> list[Link]:
    return [link if chance.random() < 0.5 else (link[1], link[0]) for link in links]


def with_random(links: Sequence[Link], documents: Documents, chance: random.Random) -> list[Link]:
    """As many again, and one of each document."""
    return [*links, *((each, chance.choice(documents)) for each in documents)]


def with_hubs(links: Sequence[Link], documents: Documents, chance: random.Random) -> list[Link]:
    """Some documents that one of seven points at, and as many that point at ninety."""
    hubs, indexes = chance.sample(documents, HUBS), chance.sample(documents, HUBS)
    pointing = [(each, hub) for each in documents for hub in hubs if chance.random() < HUB_SHARE]
    pointed = [(index, each) for index in indexes for each in chance.sample(documents, INDEX_LINKS)]
    return [*links, *pointing, *pointed]


def with_siblings(links: Sequence[Link], documents: Documents, chance: random.Random) -> list[Link]:
    """Each link also leads to documents that have nothing to do with it, as if a title were shared."""
    siblings = {each: chance.sample(documents, SIBLINGS) for each in documents}
    return [*links, *((source, other) for source, target in links for other in siblings[target])]


DEGRADED: dict[str, Degraded] = {
    "half of the links": half,
    "turned round": reversed_links,
    "half of them turned round": either_way,
    "with a random one of each document": with_random,
    "with ten hubs and ten indexes": with_hubs,
    "each to three others as well": with_siblings,
}


def variants(dataset: Dataset) -> dict[str, Dataset]:
    documents = sorted({document.id for group in dataset.collections.values() for document in group})
    degraded = {
        name: replace(dataset, links=change(dataset.links, documents, random.Random(SEED)))
        for name, change in DEGRADED.items()
    }
    if not dataset.links:
        return {"with a random one of each document": degraded["with a random one of each document"]}
    halves = {
        "as they are, even queries": replace(dataset, queries=dataset.queries[::2]),
        "as they are, odd queries": replace(dataset, queries=dataset.queries[1::2]),
    }
    return {"as they are": dataset, **halves, **degraded}


async def measured(dataset: Dataset, cache: Path) -> dict[str, RowReport]:
    settings = load_settings()
    options = RunOptions(filtered=False, compared={DECAY: changed_policy(settings.hybrid.policy(), DECAY)})
    report, _ = await run_dataset(dataset, settings, cache, ProgressLine(), options)
    return {"without": report.rows["hybrid, without links"], "with": report.rows["hybrid"], "decay": report.rows[DECAY]}


def figures(row: RowReport) -> list[str]:
    means = row.means
    return [f"{value:.4f}" for value in (means.recall_all_at_5, means.recall_fraction_at_10, means.ndcg_at_10)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--cache", type=Path, required=True)
    asked = parser.parse_args()
    rows: list[list[str]] = []
    for folder in asked.data:
        for name, dataset in variants(load_dataset(folder)).items():
            found = asyncio.run(measured(dataset, asked.cache))
            rows += [[dataset.name, name, links, *figures(row)] for links, row in found.items()]
    sys.stdout.write(markdown_table(["set", "links", "", "all@5", "R@10", "NDCG@10"], rows) + "\n")


if __name__ == "__main__":
    main()
