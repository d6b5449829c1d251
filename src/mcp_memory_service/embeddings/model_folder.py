"""A folder with an ONNX model of the user's choice, laid out as sentence-transformers and its exporters do."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from ..errors import ConfigurationError, EmbedderUnavailable
from ..malloc import return_unused_memory
from .folder_config import FolderConfig
from .onnx_graph import GraphTensor, OnnxGraph, read_graph
from .onnx_model import KNOWN_INPUTS, Layout, OnnxModel, Pooling, open_session

PoolingChoice: TypeAlias = Literal["auto", "mean", "cls"]

TOKENIZER_FILE = "tokenizer.json"
# Where exporters put the graph; whole weights before smaller ones.
MODEL_FILES = tuple(
    f"{folder}{name}.onnx"
    for name in ("model", "model_quantized", "model_int8", "model_uint8", "model_fp16")
    for folder in ("", "onnx/")
)
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

    files: tuple[Path, ...]
    """The graph, the tokenizer, and where the graph has weights of its own."""
    files_digest: str
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
        digest = hashlib.sha256(f"{self.files_digest} {json.dumps(settings)}".encode()).hexdigest()
        return f"onnx:{self.layout.pooling}-{self.max_tokens}:{digest[:16]}"

    def load(self, threads: int) -> OnnxModel:
        from tokenizers import Tokenizer  # noqa: PLC0415

        model_file, tokenizer_file, *_ = self.files
        if _digest(self.files) != self.files_digest:
            raise EmbedderUnavailable(f"The model in {model_file.parent} was changed after the start: start again.")
        tokenizer = cast("Any", Tokenizer).from_file(str(tokenizer_file))
        tokenizer.no_padding()  # files of exporters often pad to a fixed length
        session = open_session(str(model_file), threads)
        return_unused_memory()
        return OnnxModel(session, tokenizer, self.layout, self.max_tokens)


def read_model_folder(folder: Path, choices: Choices | None = None) -> FolderModel:
    """What the folder says, and what was chosen in its place; ConfigurationError if it cannot work."""
    choices = choices or Choices()
    if not folder.is_dir():
        raise ConfigurationError(f"There is no folder {folder}.")
    model_file = _model_file(folder, choices.model_file)
    tokenizer_file = _tokenizer_file(folder, model_file)
    graph = _graph(model_file)
    files = (model_file, tokenizer_file, *_external_files(model_file, graph))
    config = FolderConfig(folder)
    output, is_pooled = _output(model_file, graph.outputs, choices.pooling)
    pooling = _pooling(folder, config, choices, is_pooled)
    query_prefix = choices.query_prefix or config.query_prefix
    document_prefix = choices.document_prefix or config.document_prefix
    return FolderModel(
        files,
        _digest(files),
        Layout(output.name, pooling, config.pad_id, _inputs(model_file, graph)),
        dimension=(output.shape[-1] if output.shape else None) or config.hidden_size,
        max_tokens=config.max_tokens(choices.max_tokens),
        query_prefix=query_prefix,
        document_prefix=document_prefix,
        prefix_hints=() if query_prefix or document_prefix else config.prefix_hints,
    )


def _model_file(folder: Path, named: str | None) -> Path:
    for name in MODEL_FILES if named is None else (named,):
        if (folder / name).is_file():
            return folder / name
    if named is not None:
        raise ConfigurationError(f"There is no file {named} in {folder}.")
    others = sorted(str(path.relative_to(folder)) for path in (*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")))
    if not others:
        raise ConfigurationError(f"There is no ONNX model in {folder}: neither model.onnx nor onnx/model.onnx.")
    if len(others) > 1:
        raise ConfigurationError(
            f"{folder} has {', '.join(others)}: name one of them with MCP_MEMORY_EMBEDDING_MODEL_FILE."
        )
    return folder / others[0]


def _tokenizer_file(folder: Path, model_file: Path) -> Path:
    for path in (folder / TOKENIZER_FILE, model_file.with_name(TOKENIZER_FILE)):
        if path.is_file():
            return path
    raise ConfigurationError(f"There is no {TOKENIZER_FILE} in {folder}; a vocabulary alone is not enough.")


def _graph(model_file: Path) -> OnnxGraph:
    try:
        return read_graph(model_file)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"{model_file} cannot be read as an ONNX model: {error}.") from error


def _external_files(model_file: Path, graph: OnnxGraph) -> tuple[Path, ...]:
    missing = [name for name in graph.external_files if not (model_file.parent / name).is_file()]
    if missing:
        raise ConfigurationError(f"{model_file} has its weights in {', '.join(missing)}, which is not beside it.")
    return tuple(model_file.parent / name for name in graph.external_files)


def _inputs(model_file: Path, graph: OnnxGraph) -> dict[str, str]:
    unknown = [tensor.name for tensor in graph.inputs if tensor.name not in KNOWN_INPUTS]
    if unknown:
        raise ConfigurationError(
            f"{model_file} wants the inputs {', '.join(unknown)}, which are none of {', '.join(KNOWN_INPUTS)}: it is no"
            " model for sentence embeddings, or was exported for another task."
        )
    kinds = {tensor.name: tensor.kind or "" for tensor in graph.inputs}
    if "input_ids" not in kinds or not set(kinds.values()) <= {"int32", "int64"}:
        raise ConfigurationError(f"{model_file} does not take tokens as whole numbers in an input input_ids.")
    return kinds


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


def _digest(files: Sequence[Path]) -> str:
    """0.07 s for 100 MB on a processor with SHA instructions: every start and every load takes it."""
    together = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as file:
                together.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise EmbedderUnavailable(f"{path} cannot be read: {error}") from error
    return together.hexdigest()
