"""Whether a re-ranker does what a search needs of it: sound scores, higher for what answers a query, at what speed."""

import time
from dataclasses import dataclass

from ..embeddings.checking import LONG_TEXT, QUERY_AND_TEXTS, Problem
from ..errors import RerankerUnavailable
from .base import Reranker

TIMED_PAIRS = 10
# Quantized graphs round by the largest number of a batch. Padding that is not masked moves scores much further.
MAX_CHANGE_SHARE = 0.1
"""Of the difference between answers and other texts."""


@dataclass(frozen=True, slots=True)
class CrossEncoderFacts:
    """What a model folder was understood to say."""

    model_file: str
    inputs: tuple[str, ...]
    output: str
    max_tokens: int


@dataclass(frozen=True, slots=True)
class RerankerReport:
    model_id: str
    milliseconds_per_pair: float | None = None
    """Of a short query and about a hundred words."""
    answer_score: float | None = None
    """Of what answers the queries, on average, and of anything else; on the scale of the model."""
    other_score: float | None = None
    problems: tuple[Problem, ...] = ()
    folder: CrossEncoderFacts | None = None


async def check_reranker(reranker: Reranker) -> RerankerReport:
    try:
        return await _tried(reranker)
    except RerankerUnavailable as error:
        return RerankerReport(reranker.model_id, problems=(Problem(error.code, error.message),))


async def _tried(reranker: Reranker) -> RerankerReport:
    await reranker.warm_up()
    # The long text stands between them, so that scores given in another order than asked for show.
    together = [await reranker.scores(query, [answer, LONG_TEXT, other]) for query, answer, other in QUERY_AND_TEXTS]
    answers, others = [scores[0] for scores in together], [scores[2] for scores in together]
    alone = [(await reranker.scores(query, [answer]))[0] for query, answer, _ in QUERY_AND_TEXTS]
    mean_answer, mean_other = sum(answers) / len(answers), sum(others) / len(others)
    started = time.perf_counter()
    await reranker.scores("which port does the tunnel use", [f"{n}. {LONG_TEXT}" for n in range(TIMED_PAIRS)])
    return RerankerReport(
        reranker.model_id,
        milliseconds_per_pair=1000 * (time.perf_counter() - started) / TIMED_PAIRS,
        answer_score=mean_answer,
        other_score=mean_other,
        problems=(*_wrong_order(answers, others), *_changed_by_batch(alone, answers, mean_answer - mean_other)),
    )


def _wrong_order(answers: list[float], others: list[float]) -> list[Problem]:
    return [
        Problem("relevance_lost", f"{query!r}: {answer!r} scores {good:.3g}, no more than {other!r} with {bad:.3g}.")
        for (query, answer, other), good, bad in zip(QUERY_AND_TEXTS, answers, others, strict=True)
        if not good > bad
    ]


def _changed_by_batch(alone: list[float], together: list[float], difference: float) -> list[Problem]:
    change = max(abs(one - other) for one, other in zip(alone, together, strict=True))
    if change <= MAX_CHANGE_SHARE * abs(difference):
        return []
    return [
        Problem(
            "batch_changes_scores",
            f"A text scored with longer ones differs by {change:.3g} from its score by itself: the graph does not mask"
            " the padding.",
        )
    ]
