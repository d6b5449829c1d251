"""Other ways to let links count, beside the one in force: the tables of docs/adr/0024.

python tests/eval/link_forms.py --data hotpotqa_mini --data OTHER --cache vectors.db

Every query is asked once without links; every form then ranks those scores. The graph is also turned round, to see what
a form makes of links that lead the other way.
"""

import argparse
import asyncio
import sys
import tempfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.cli.progress import ProgressLine
from mcp_memory_service.config import load_settings
from mcp_memory_service.evaluation.dataset import Dataset, EvaluationQuery, Link, load_dataset
from mcp_memory_service.evaluation.embedding_cache import CachedEmbedder
from mcp_memory_service.evaluation.metrics import DEPTH, Measures, mean_measures, measure
from mcp_memory_service.evaluation.runner import Collections
from mcp_memory_service.evaluation.tables import markdown_table
from mcp_memory_service.models import SearchRequest

PAGE = 100
Scores = Mapping[str, float]
"""By document, best first, the best at 1."""


@dataclass(frozen=True)
class Form:
    """`max(least · strength · lead, own + weight · strength · lead^power)`, with the defaults those in force."""

    weight: float = 0.35
    least: float = 0.8
    power: float = 2.0
    leaders: int = 10
    back: float = 0.5
    out_degrees: float = 0.5
    back_degrees: float = 1.0
    popular: float = 10.0
    cap: float = float("inf")
    """As a share of the leader's score."""
    relevance: float = 0.0
    """How far what is lent is multiplied by the neighbour's own score."""
    sums: bool = False
    """Whether several links add up."""


FORMS: dict[str, Form] = {
    "without links": Form(leaders=0),
    "in force": Form(),
    "weight 0.25": Form(weight=0.25),
    "weight 0.5": Form(weight=0.5),
    "no least share": Form(least=0.0),
    "least share alone": Form(weight=0.0),
    "leaders lend in proportion to their score": Form(power=1.0),
    "5 leaders": Form(leaders=5),
    "20 leaders": Form(leaders=20),
    "links out alone": Form(back=0.0),
    "links back in full": Form(back=1.0),
    "however many links there are": Form(out_degrees=0.0, back_degrees=0.0),
    "out and back by the root of their number": Form(back_degrees=0.5),
    "however popular": Form(popular=float("inf")),
    "never above 0.95 of the leader": Form(cap=0.95),
    "times one's own score": Form(relevance=1.0),
    "links add up": Form(sums=True),
    "0.5 of the score, out, 5 leaders": Form(
        0.5, least=0.0, power=1.0, leaders=5, back=0.0, out_degrees=0.0, popular=float("inf")
    ),
    "0.3 of the score, both ways": Form(
        0.3, least=0.0, power=1.0, back=1.0, out_degrees=0.0, back_degrees=0.0, popular=float("inf")
    ),
}


@dataclass(frozen=True)
class Graph:
    out: Mapping[str, Sequence[str]]
    back: Mapping[str, Sequence[str]]

    @classmethod
    def of(cls, links: Sequence[Link]) -> "Graph":
        out, back = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
        for source, target in dict.fromkeys(links):
            if source != target:
                out[source].append(target)
                back[target].append(source)
        return cls(out, back)


def ranked(scores: Scores, graph: Graph, form: Form) -> list[str]:
    lifted: dict[str, float] = {}
    for leader, lead in list(scores.items())[: form.leaders]:
        ways = (
            (1.0, form.out_degrees, graph.out.get(leader, ()), graph.back),
            (form.back, form.back_degrees, graph.back.get(leader, ()), graph.out),
        )
        for direction, degrees, ends, others in ways:
            for end in ends:
                own = scores.get(end, 0.0)
                strength = direction * len(ends) ** -degrees * min(1.0, form.popular / len(others[end]))
                lent = form.weight * strength * lead**form.power * (1.0 - form.relevance + form.relevance * own)
                score = min(max(form.least * strength * lead, own + lent), max(own, form.cap * lead))
                if form.sums:
                    score = lifted.get(end, own) + score - own
                lifted[end] = max(score, lifted.get(end, own))
    joined = {**scores, **lifted}
    return sorted(joined, key=lambda each: -joined[each])[:DEPTH]


async def asked(dataset: Dataset, cache: Path) -> list[tuple[EvaluationQuery, Scores]]:
    progress, found = ProgressLine(), list[tuple[EvaluationQuery, Scores]]()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "links.db", "graph_weight": 0.0})
        opened = open_backends(settings, lambda embedder: CachedEmbedder(embedder, cache))
        async with opened as (storage, embedder):
            collections = Collections(storage, embedder, settings.hybrid.policy())
            await collections.load(replace(dataset, links=()), progress)
            for number, query in enumerate(dataset.queries, start=1):
                found.append((query, await scores_of(collections, query)))
                progress("ask", number, len(dataset.queries))
    return found


async def scores_of(collections: Collections, query: EvaluationQuery) -> Scores:
    scores: dict[str, float] = {}
    service, page, more = collections.service(query.collection), 0, True
    while more:
        page += 1
        answer = await service.search(SearchRequest(query.text, page=page, page_size=PAGE))
        for hit in answer.results:
            for document in collections.documents(query.collection, [hit.memory.content_hash]):
                scores[document] = hit.score
        more = answer.paging.has_more
    return scores


def measures(answers: Sequence[tuple[EvaluationQuery, Scores]], graph: Graph, form: Form) -> Measures:
    return mean_measures([measure(ranked(scores, graph, form), query.relevant) for query, scores in answers])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--cache", type=Path, required=True)
    arguments = parser.parse_args()
    for folder in arguments.data:
        dataset = load_dataset(folder)
        answers = asyncio.run(asked(dataset, arguments.cache))
        graph, turned = (Graph.of(links) for links in (dataset.links, [(b, a) for a, b in dataset.links]))
        rows: list[list[str]] = []
        for name, form in FORMS.items():
            means, other = measures(answers, graph, form), measures(answers, turned, form)
            shown = (means.recall_all_at_5, means.recall_fraction_at_10, means.ndcg_at_10, other.ndcg_at_10)
            rows.append([name, *(f"{value:.4f}" for value in shown)])
        header = [dataset.name, "all@5", "R@10", "NDCG@10", "NDCG@10, turned round"]
        sys.stdout.write(markdown_table(header, rows) + "\n\n")


if __name__ == "__main__":
    main()
