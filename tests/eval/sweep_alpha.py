"""Grid search over alpha (or any other weight) on our own corpus.

python tests/eval/sweep_alpha.py
python tests/eval/sweep_alpha.py --weight neighbour_weight --values 0,0.25,0.5 --out results
"""

import argparse
import asyncio
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.eval.own_corpus import NOW, labelled_queries, store_corpus

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.cli.progress import ProgressLine
from mcp_memory_service.config import load_settings
from mcp_memory_service.evaluation.ground_truth import answerable
from mcp_memory_service.evaluation.plots import plot_sweep
from mcp_memory_service.evaluation.sweep import ALPHAS, SWEPT_WEIGHTS, SweepRow, judge, render_sweep, sweep, sweep_json
from mcp_memory_service.services import MemoryService


async def sweep_own_corpus(weight: str, values: list[float], category: str | None) -> list[SweepRow]:
    progress = ProgressLine()
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "sweep.db"})
        async with open_backends(settings) as (storage, embedder):
            service = MemoryService(storage, embedder, settings.hybrid.policy(), now=lambda: NOW)
            await store_corpus(service)
            cases = [case for case in answerable(labelled_queries()) if category in {None, case.category}]
            judged = await judge([(service, case.query, case.relevant) for case in cases], progress)
            return await sweep(judged, settings.hybrid.policy(), weight, values, progress)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--weight", choices=list(SWEPT_WEIGHTS), default="alpha")
    parser.add_argument("--values", default=",".join(map(str, ALPHAS)), help="comma-separated")
    parser.add_argument("--category", help="only the queries of one category")
    parser.add_argument("--out", type=Path, help="folder for sweep.json and sweep.svg")
    arguments = parser.parse_args()
    swept = [float(value) for value in arguments.values.split(",")]
    rows = asyncio.run(sweep_own_corpus(arguments.weight, swept, arguments.category))
    print(render_sweep(rows, arguments.weight))
    if arguments.out:
        plot_sweep(rows, arguments.weight, arguments.out / "sweep.svg")
        (arguments.out / "sweep.json").write_text(json.dumps(sweep_json(rows, arguments.weight), indent=2) + "\n")
