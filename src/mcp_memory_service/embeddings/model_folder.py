"""A folder with an ONNX model of the user's choice, laid out as sentence-transformers and its exporters do."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ..errors import ConfigurationError, EmbedderUnavailable
from .folder_config import FolderConfig
from .folder_files import FolderFiles, find_files
from .onnx_graph import GraphTensor
from .onnx_model import Layout, OnnxModel, Pooling

PoolingChoice: TypeAlias = Literal["auto", "mean", "cls"]

SENTENCE_OUTPUT = "sentence_embedding"
TOKEN_OUTPUTS = ("last_hidden_state", "token_embeddings")


@dataclass(frozen=True, slots=True)
class Choices:
    """What the user says; None and auto leave it to the folder."""

    model_file: str | None = None
    pooling: PoolingChoice = "auto"
    query_prefix: str | None = None
    document_prefix: str | None = None
    max_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class FolderModel:
    """A model whose files are there and fit together; see `onnx_model.ModelSource`."""

    files: FolderFiles
    layout: Layout
    dimension: int | None
    max_tokens: int
    query_prefix: str
    document_prefix: str
    prefix_hints: tuple[str, ...]
    """The settings that a model of this name usually needs, if nobody gave any."""

    @property
    def model_id(self) -> str:
        """Of all that vectors depend on; where the files lie and what they are called is no part of it."""
        settings = (self.layout.output, self.query_prefix, self.document_prefix)
        digest = hashlib.sha256(f"{self.files.digest} {json.dumps(settings)}".encode()).hexdigest()
        return f"onnx:{self.layout.pooling}-{self.max_tokens}:{digest[:16]}"

    def load(self, threads: int) -> OnnxModel:
        return OnnxModel(*self.files.load(threads), self.layout, self.max_tokens)


def read_model_folder(folder: Path, choices: Choices | None = None) -> FolderModel:
    """What the folder says, and what was chosen in its place; ConfigurationError if it cannot work."""
    choices = choices or Choices()
    files = find_files(folder, choices.model_file, "MCP_MEMORY_EMBEDDING_MODEL_FILE", EmbedderUnavailable)
    config = FolderConfig(folder)
    output, is_pooled = _output(files.model, files.graph.outputs, choices.pooling)
    pooling = _pooling(folder, config, choices, is_pooled)
    query_prefix = choices.query_prefix or config.query_prefix
    document_prefix = choices.document_prefix or config.document_prefix
    return FolderModel(
        files,
        Layout(output.name, pooling, config.pad_id, files.inputs("sentence embeddings")),
        dimension=(output.shape[-1] if output.shape else None) or config.hidden_size,
        max_tokens=config.max_tokens(choices.max_tokens),
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        prefix_hints=() if query_prefix or document_prefix else config.prefix_hints,
    )


def _output(model_file: Path, outputs: Sequence[GraphTensor], choice: PoolingChoice) -> tuple[GraphTensor, bool]:
    """The one that vectors are made of, and whether it is one vector for each text already."""
    floats = {tensor.name: tensor for tensor in outputs if tensor.kind in {"float32", "float16", "float64"}}
    whole = floats.get(SENTENCE_OUTPUT) or (outputs[0] if len(outputs) == len(floats) == 1 else None)
    if choice == "auto" and whole is not None and whole.shape is not None and len(whole.shape) == 2:
        return whole, True
    known = [floats[name] for name in TOKEN_OUTPUTS if name in floats]
    for tensor in (*known, *floats.values()):
        if len(tensor.shape or ()) == 3 or (tensor in known and tensor.shape is None):
            return tensor, False
    shapes = ", ".join(f"{tensor.name} {list(tensor.shape or ())}" for tensor in outputs) or "none"
    raise ConfigurationError(
        f"{model_file} has the outputs {shapes}: neither a vector for each token (last_hidden_state, of three"
        f" dimensions) nor one for each text ({SENTENCE_OUTPUT}, of two)."
    )


def _pooling(folder: Path, config: FolderConfig, choices: Choices, is_pooled: bool) -> Pooling:
    if is_pooled:
        return "graph"
    if config.has_dense_layer:
        raise ConfigurationError(
            f"{folder}/modules.json has a Dense layer after the pooling, which the ONNX file does not hold: export the"
            f" whole model, with an output {SENTENCE_OUTPUT}."
        )
    return config.pooling() if choices.pooling == "auto" else choices.pooling
