"""ranx behind one module: its import takes seconds, and its compiler up to a minute that a few hundred queries do not
need."""

import os
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

Rankings = Mapping[str, Sequence[str]]
Relevant = Mapping[str, Mapping[str, float]]


def ranx_mean(rankings: Rankings, relevant: Relevant, metric: str) -> float:
    """The mean over the queries of a metric by the name that ranx gives it, such as ndcg@10."""
    os.environ.setdefault("NUMBA_DISABLE_JIT", "1")
    ranx: Any = import_module("ranx")
    # ranx sorts by score and takes whole grades; a list in order is one of descending scores.
    run = {query: {name: float(-place) for place, name in enumerate(ranked)} for query, ranked in rankings.items()}
    qrels = {query: {name: int(grade) for name, grade in grades.items()} for query, grades in relevant.items()}
    return float(ranx.evaluate(ranx.Qrels(qrels), ranx.Run(run), metric, make_comparable=True))
