"""A sentence embedding model as an ONNX graph with its tokenizer, run by onnxruntime in this process."""

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import Any, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import EmbedderUnavailable
from ..models import Vector

Pooling: TypeAlias = Literal["mean", "cls", "graph"]
"""The vector of a text is the mean of those of its tokens, that of its first token, or the graph makes it itself."""

# As fast as twice as many (bench/embedding.py); about 0.1 s, which is what a search may have to wait for a store.
BATCH_TOKENS = 512

KNOWN_INPUTS = ("input_ids", "attention_mask", "token_type_ids", "position_ids")
_OF_BERT: Mapping[str, str] = MappingProxyType(dict.fromkeys(KNOWN_INPUTS[:3], "int64"))


@dataclass(frozen=True, slots=True)
class Layout:
    """How tokens go into a graph and vectors come out of it."""

    output: str = "last_hidden_state"
    pooling: Pooling = "mean"
    pad_id: int = 0
    inputs: Mapping[str, str] = field(default_factory=lambda: _OF_BERT)
    """Names, with the type of their numbers."""


class ModelSource(Protocol):
    """A model before it is loaded, and what its vectors depend on."""

    @property
    def model_id(self) -> str: ...

    @property
    def dimension(self) -> int | None: ...

    @property
    def max_tokens(self) -> int:
        """Of a text with its prefix and the marks around it; more is cut off."""
        ...

    @property
    def query_prefix(self) -> str: ...

    @property
    def document_prefix(self) -> str: ...

    def load(self, threads: int) -> "OnnxModel": ...


class OnnxModel:
    """The graph and its tokenizer, loaded."""

    def __init__(self, session: Any, tokenizer: Any, layout: Layout, max_tokens: int) -> None:
        self.session = session
        self.tokenizer = tokenizer
        self.tokenizer.enable_truncation(max_tokens)
        self._layout = layout

    def token_ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The tokens of each text, cut off at what the model can read."""
        return [encoding.ids for encoding in self.tokenizer.encode_batch(list(texts))]

    def embedded(self, texts: Sequence[str]) -> list[Vector]:
        """A vector for each of a few texts."""
        token_ids = self.token_ids(texts)
        vectors: dict[int, Vector] = {}
        for batch in batches_by_length([len(ids) for ids in token_ids], BATCH_TOKENS):
            vectors.update(zip(batch, self.run([token_ids[position] for position in batch]), strict=True))
        return [vectors[position] for position in range(len(token_ids))]

    def run(self, batch: Sequence[Sequence[int]]) -> NDArray[np.float32]:
        """The direction of each text, as a vector of length 1."""
        mask = padded([[1] * len(ids) for ids in batch])
        inputs = model_inputs(self._layout.inputs, padded(batch, self._layout.pad_id), mask, np.zeros_like(mask))
        answer: NDArray[Any] = self.session.run([self._layout.output], inputs)[0]
        pooled = _pooled(answer.astype(np.float32, copy=False), mask, self._layout.pooling)
        lengths = np.linalg.norm(pooled, axis=1, keepdims=True)
        if not (np.isfinite(lengths).all() and lengths.all()):
            raise EmbedderUnavailable("The embedding model made a vector of zeros, or one that is not finite.")
        return (pooled / lengths).astype(np.float32)


def padded(rows: Sequence[Sequence[int]], filler: int = 0) -> NDArray[np.int64]:
    """As long as the longest of them."""
    filled = np.full((len(rows), max(map(len, rows))), filler, dtype=np.int64)
    for number, row in enumerate(rows):
        filled[number, : len(row)] = row
    return filled


def model_inputs(
    kinds: Mapping[str, str], input_ids: NDArray[np.int64], mask: NDArray[np.int64], type_ids: NDArray[np.int64]
) -> dict[str, NDArray[Any]]:
    """Those that a graph asks for, with numbers of the type that it says."""
    made = {"input_ids": input_ids, "attention_mask": mask, "token_type_ids": type_ids}
    if "position_ids" in kinds:
        made["position_ids"] = np.zeros_like(mask) + np.arange(mask.shape[1])
    return {name: made[name].astype(kind, copy=False) for name, kind in kinds.items()}


def _pooled(answer: NDArray[np.float32], mask: NDArray[np.int64], pooling: Pooling) -> NDArray[np.float32]:
    match pooling:
        case "graph":
            return answer
        case "cls":
            return answer[:, 0, :]
        case "mean":
            return (mask.astype(np.float32)[:, None, :] @ answer)[:, 0, :]  # the sum points where the mean does


def batches_by_length(lengths: Sequence[int], max_padded: int) -> Iterator[list[int]]:
    """Positions grouped shortest first, each group at most `max_padded` when padded to its longest; one that is
    longer by itself makes a group of its own."""
    batch: list[int] = []
    for position in sorted(range(len(lengths)), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[position] > max_padded:
            yield batch
            batch = []
        batch.append(position)
    if batch:
        yield batch


def open_session(model: bytes | str, threads: int) -> Any:
    """The contents of a model file, or its path."""
    onnxruntime = runtime_without_telemetry()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    # Spinning threads would take the cores from SQLite; the arena would keep the peak of the largest batch.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    session._model_bytes = None  # a second copy of the file, kept for execution providers we do not use
    return session


def runtime_without_telemetry() -> Any:
    """The runtime, imported here so that only who embeds pays for it.

    Its official builds report to their maker since 1.29 unless this variable is set before the first use; on Windows
    the switch in the library counts. Memories are nobody else's business, and neither is who keeps them.
    """
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    onnxruntime: Any = import_module("onnxruntime")
    onnxruntime.disable_telemetry_events()
    return onnxruntime
