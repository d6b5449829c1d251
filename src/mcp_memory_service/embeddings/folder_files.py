"""The files of a folder with an ONNX model, as exporters lay them out: found, checked, and known by their digest."""

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ..errors import ConfigurationError, Unavailable
from ..malloc import return_unused_memory
from .onnx_graph import OnnxGraph, read_graph
from .onnx_model import KNOWN_INPUTS, open_session

TOKENIZER_FILE = "tokenizer.json"
# Where exporters put the graph; whole weights before smaller ones.
MODEL_FILES = tuple(
    f"{folder}{name}.onnx"
    for name in ("model", "model_quantized", "model_int8", "model_uint8", "model_fp16")
    for folder in ("", "onnx/")
)


@dataclass(frozen=True, slots=True)
class FolderFiles:
    """Those that are there and belong together. `failure` is the error if they cannot be read any more."""

    paths: tuple[Path, ...]
    """The graph, the tokenizer, and where the graph has weights of its own."""
    graph: OnnxGraph
    digest: str
    failure: type[Unavailable]

    @property
    def model(self) -> Path:
        return self.paths[0]

    def inputs(self, purpose: str) -> dict[str, str]:
        """What the graph takes, with the type of its numbers."""
        unknown = [tensor.name for tensor in self.graph.inputs if tensor.name not in KNOWN_INPUTS]
        if unknown:
            raise ConfigurationError(
                f"{self.model} wants the inputs {', '.join(unknown)}, which are none of {', '.join(KNOWN_INPUTS)}: it"
                f" is no model for {purpose}, or was exported for another task."
            )
        kinds = {tensor.name: tensor.kind or "" for tensor in self.graph.inputs}
        if "input_ids" not in kinds or not set(kinds.values()) <= {"int32", "int64"}:
            raise ConfigurationError(f"{self.model} does not take tokens as whole numbers in an input input_ids.")
        return kinds

    def load(self, threads: int) -> tuple[Any, Any]:
        """The session and the tokenizer."""
        from tokenizers import Tokenizer  # noqa: PLC0415

        if _digest(self.paths, self.failure) != self.digest:
            raise self.failure(f"The model in {self.model.parent} was changed after the start: start again.")
        tokenizer = cast("Any", Tokenizer).from_file(str(self.paths[1]))
        tokenizer.no_padding()  # files of exporters often pad to a fixed length
        session = open_session(str(self.model), threads)
        return_unused_memory()
        return session, tokenizer


def find_files(folder: Path, named: str | None, setting: str, failure: type[Unavailable]) -> FolderFiles:
    """With the model file of this name, if there is one; `setting` is where it is named. ConfigurationError if they are
    not there, or do not fit together."""
    if not folder.is_dir():
        raise ConfigurationError(f"There is no folder {folder}.")
    model = _model_file(folder, named, setting)
    tokenizer = _tokenizer_file(folder, model)
    graph = _graph(model)
    paths = (model, tokenizer, *_external_files(model, graph))
    return FolderFiles(paths, graph, _digest(paths, failure), failure)


def _model_file(folder: Path, named: str | None, setting: str) -> Path:
    for name in MODEL_FILES if named is None else (named,):
        if (folder / name).is_file():
            return folder / name
    if named is not None:
        raise ConfigurationError(f"There is no file {named} in {folder}.")
    others = sorted(str(path.relative_to(folder)) for path in (*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")))
    if not others:
        raise ConfigurationError(f"There is no ONNX model in {folder}: neither model.onnx nor onnx/model.onnx.")
    if len(others) > 1:
        raise ConfigurationError(f"{folder} has {', '.join(others)}: name one of them with {setting}.")
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


def _digest(files: tuple[Path, ...], failure: type[Unavailable]) -> str:
    """0.07 s for 100 MB on a processor with SHA instructions: every start and every load takes it."""
    together = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as file:
                together.update(hashlib.file_digest(file, "sha256").digest())
        except OSError as error:
            raise failure(f"{path} cannot be read: {error}") from error
    return together.hexdigest()
