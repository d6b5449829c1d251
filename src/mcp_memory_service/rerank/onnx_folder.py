"""A cross-encoder of the user's choice, as ONNX with its tokenizer in a folder, run in this process."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..embeddings.folder_config import FolderConfig
from ..embeddings.folder_files import FolderFiles, find_files
from ..embeddings.model_thread import ModelThread
from ..embeddings.onnx_graph import OnnxGraph
from ..embeddings.onnx_model import BATCH_TOKENS, batches_by_length, model_inputs, padded
from ..errors import ConfigurationError, RerankerUnavailable
from .base import MAX_SCORE

LOGITS = "logits"
# A score for each pair, or one for each of "no answer" and "an answer"; three and more are another task.
MAX_LABELS = 2

T = TypeVar("T")


class _Pair(NamedTuple):
    """A query and a text as tokens, and which of the two each token is of."""

    ids: list[int]
    type_ids: list[int]


@dataclass(frozen=True, slots=True)
class CrossEncoderFolder:
    """A model whose files are there and fit together."""

    files: FolderFiles
    inputs: Mapping[str, str]
    """Names, with the type of their numbers."""
    output: str
    pad_id: int
    max_tokens: int
    """Of a query and a text together, with the marks around them; of a longer pair the longer of the two is cut."""

    @property
    def model_id(self) -> str:
        return f"onnx:{self.max_tokens}:{self.files.digest[:16]}"

    def load(self, threads: int) -> "CrossEncoder":
        return CrossEncoder(*self.files.load(threads), self)


def read_cross_encoder(folder: Path, model_file: str | None = None) -> CrossEncoderFolder:
    """What the folder says; ConfigurationError if it cannot work."""
    files = find_files(folder, model_file, "MCP_MEMORY_RERANK_MODEL_FILE", RerankerUnavailable)
    config = FolderConfig(folder)
    output, inputs = _output(files.model, files.graph), files.inputs("re-ranking")
    return CrossEncoderFolder(files, inputs, output, config.pad_id, config.max_tokens(None))


class CrossEncoder:
    """The graph and its tokenizer, loaded."""

    def __init__(self, session: Any, tokenizer: Any, source: CrossEncoderFolder) -> None:
        self._session = session
        self._tokenizer = tokenizer
        self._tokenizer.enable_truncation(source.max_tokens)
        self._source = source

    def pairs(self, query: str, texts: Sequence[str]) -> list[_Pair]:
        encoded = self._tokenizer.encode_batch([(query, text) for text in texts])
        return [_Pair(encoding.ids, encoding.type_ids) for encoding in encoded]

    def run(self, batch: Sequence[_Pair]) -> list[float]:
        mask = padded([[1] * len(pair.ids) for pair in batch])
        ids, type_ids = padded([pair.ids for pair in batch], self._source.pad_id), padded([p.type_ids for p in batch])
        inputs = model_inputs(self._source.inputs, ids, mask, type_ids)
        scores = _relevance(self._session.run([self._source.output], inputs)[0], len(batch))
        if not (np.abs(scores) <= MAX_SCORE).all():
            raise RerankerUnavailable("The re-ranking model made a score that is not finite, or beyond all measure.")
        return scores.tolist()


class OnnxReranker:
    """Runs the model on a thread of its own, a few pairs at a time: who gives up waiting leaves no more behind."""

    def __init__(self, source: CrossEncoderFolder, threads: int, idle_seconds: float | None = None) -> None:
        self.source = source
        load = partial(source.load, threads)
        self._thread = ModelThread("re-ranking model", load, RerankerUnavailable, idle_seconds)

    @property
    def model_id(self) -> str:
        return self.source.model_id

    @property
    def is_loaded(self) -> bool:
        """Whether the model is in memory."""
        return self._thread.is_loaded

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        pairs = await self._with_model(lambda model: model.pairs(query, texts))
        scores: dict[int, float] = {}
        for batch in batches_by_length([len(pair.ids) for pair in pairs], BATCH_TOKENS):
            together = [pairs[position] for position in batch]
            scores.update(
                zip(batch, await self._with_model(lambda model, together=together: model.run(together)), strict=True)
            )
        return [scores[position] for position in range(len(pairs))]

    async def warm_up(self) -> None:
        await self.scores("warm up", ["warm up"])

    async def close(self) -> None:
        await self._thread.close()

    async def _with_model(self, work: Callable[[CrossEncoder], T]) -> T:
        return await self._thread.run(lambda: self._thread.with_model(work))


def _output(model_file: Path, graph: OnnxGraph) -> str:
    """The one that holds the scores."""
    floats = {tensor.name: tensor for tensor in graph.outputs if tensor.kind in {"float32", "float16", "float64"}}
    only = next(iter(floats.values())) if len(floats) == 1 else None
    tensor = floats.get(LOGITS) or only
    if tensor is not None:
        shape = tensor.shape
        if shape is None or len(shape) == 1 or (len(shape) == 2 and (shape[1] or 1) <= MAX_LABELS):
            return tensor.name
    shapes = ", ".join(f"{tensor.name} {list(tensor.shape or ())}" for tensor in graph.outputs) or "none"
    raise ConfigurationError(
        f"{model_file} has the outputs {shapes}: none is a score for each pair ({LOGITS}, with one number or two). A"
        " cross-encoder is exported as a model for sequence classification."
    )


def _relevance(answer: NDArray[Any], pairs: int) -> NDArray[np.float64]:
    """Of two numbers for each pair, by how much the second ("an answer") is above the first."""
    scores = answer.astype(np.float64)
    if scores.shape == (pairs, 2):
        return scores[:, 1] - scores[:, 0]
    if scores.shape not in {(pairs,), (pairs, 1)}:
        raise RerankerUnavailable(f"The re-ranking model made numbers of the shape {scores.shape} for {pairs} pairs.")
    return scores.reshape(pairs)
