"""Whether an embedder does what a search needs of it: sound vectors, near for what means the same, at what speed."""

import time
from dataclasses import dataclass

import numpy as np

from ..errors import EmbedderUnavailable
from ..models import Vector
from .base import Embedder

QUERY_AND_TEXTS = (
    (
        "how do I sign in to the server",
        "Users log in to the server with their key; passwords are switched off.",
        "My grandmother bakes an apple pie with cinnamon on Sundays.",
    ),
    (
        "why is the car not starting",
        "The engine of the car would not start because the battery was flat.",
        "The museum shows paintings of the seventeenth century until May.",
    ),
    (
        "what to plant in the garden in spring",
        "In spring, tomatoes and beans can be planted out into the garden.",
        "The invoice is due within thirty days of its date.",
    ),
)
"""A query, a text that answers it, and one that has nothing to do with it."""
LONG_TEXT = "The tunnel forwards traffic from the public server to the laboratory at home. " * 8
TIMED_TEXTS = 16
# A vector may differ by what else is in the batch: quantized graphs round by its largest number. Padding that is not
# masked moves it much further.
MIN_SAME_SIMILARITY = 0.98
MAX_LENGTH_ERROR = 1e-3


@dataclass(frozen=True, slots=True)
class Problem:
    code: str
    message: str


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """What a model folder was understood to say."""

    model_file: str
    pooling: str
    query_prefix: str
    document_prefix: str


@dataclass(frozen=True, slots=True)
class EmbedderReport:
    model_id: str
    dimension: int | None
    max_tokens: int | None
    texts_per_second: float | None = None
    """Of about a hundred words each."""
    query_milliseconds: float | None = None
    answer_similarity: float | None = None
    """Of queries to what answers them, on average, and to anything else."""
    other_similarity: float | None = None
    problems: tuple[Problem, ...] = ()
    folder: FolderFacts | None = None
    prefix_hints: tuple[str, ...] = ()


async def check_embedder(embedder: Embedder) -> EmbedderReport:
    try:
        return await _tried(embedder)
    except EmbedderUnavailable as error:
        problem = Problem(error.code, error.message)
        return EmbedderReport(embedder.model_id, embedder.dimension, embedder.max_tokens, problems=(problem,))


async def _tried(embedder: Embedder) -> EmbedderReport:
    texts = [text for _, answer, other in QUERY_AND_TEXTS for text in (answer, other)]
    alone = [(await embedder.embed([text]))[0] for text in texts]
    queries = [await embedder.embed_query(query) for query, _, _ in QUERY_AND_TEXTS]
    together = [(await embedder.embed([text, LONG_TEXT]))[0] for text in texts]
    answers = [float(query @ vector) for query, vector in zip(queries, alone[::2], strict=True)]
    others = [float(query @ vector) for query, vector in zip(queries, alone[1::2], strict=True)]
    problems = [
        *_unsound([*alone, *queries, *together], embedder.dimension),
        *_changed_by_batch(alone, together),
        *_wrong_order(answers, others),
    ]
    started = time.perf_counter()
    await embedder.embed_query("which port does the tunnel use")
    asked = time.perf_counter()
    await embedder.embed([f"{number}. {LONG_TEXT}" for number in range(TIMED_TEXTS)])
    embedded = time.perf_counter()
    return EmbedderReport(
        embedder.model_id,
        alone[0].size,
        embedder.max_tokens,
        texts_per_second=TIMED_TEXTS / (embedded - asked),
        query_milliseconds=1000 * (asked - started),
        answer_similarity=float(np.mean(answers)),
        other_similarity=float(np.mean(others)),
        problems=tuple(problems),
    )


def _unsound(vectors: list[Vector], dimension: int | None) -> list[Problem]:
    sizes = sorted({vector.size for vector in vectors} | ({dimension} if dimension else set()))
    if len(sizes) > 1:
        return [Problem("dimension_differs", f"Vectors have {' and '.join(map(str, sizes))} numbers.")]
    lengths = np.linalg.norm(vectors, axis=1)
    if not np.isfinite(lengths).all() or np.abs(lengths - 1).max() > MAX_LENGTH_ERROR:
        return [Problem("vectors_unsound", "Vectors are not finite, or not of length 1.")]
    return []


def _changed_by_batch(alone: list[Vector], together: list[Vector]) -> list[Problem]:
    least = min(float(one @ other) for one, other in zip(alone, together, strict=True))
    if least >= MIN_SAME_SIMILARITY:
        return []
    return [
        Problem(
            "batch_changes_vectors",
            f"A text embedded with longer ones has another vector than by itself (similarity {least:.3f}): the graph"
            " does not mask the padding.",
        )
    ]


def _wrong_order(answers: list[float], others: list[float]) -> list[Problem]:
    wrong = [
        f"{query!r} is no nearer to {answer!r} ({near:.2f}) than to {other!r} ({far:.2f})."
        for (query, answer, other), near, far in zip(QUERY_AND_TEXTS, answers, others, strict=True)
        if not near > far
    ]
    return [Problem("meaning_lost", message) for message in wrong]
