"""What an ONNX file says of its graph without being loaded: what goes in, what comes out, which files belong to it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from .protobuf import Field, fields

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_INITIALIZER, _GRAPH_INPUT, _GRAPH_OUTPUT = 5, 11, 12
_VALUE_NAME, _VALUE_TYPE = 1, 2
_TYPE_TENSOR = 1
_TENSOR_KIND, _TENSOR_SHAPE = 1, 2
_SHAPE_DIMENSION, _DIMENSION_VALUE = 1, 1
_INITIALIZER_NAME, _INITIALIZER_EXTERNAL_DATA = 8, 13
_ENTRY_KEY, _ENTRY_VALUE = 1, 2

# Of TensorProto.DataType, those that tokens and vectors may have.
_KINDS: Mapping[int, str] = {1: "float32", 6: "int32", 7: "int64", 10: "float16", 11: "float64"}

GIT_LFS = b"version https://git-lfs"


class GraphTensor(NamedTuple):
    """One that goes into a graph or comes out of it."""

    name: str
    kind: str | None
    """Of its numbers, as numpy calls it; None for one that we know no use for."""
    shape: tuple[int | None, ...] | None
    """None within it is a size that differs from call to call; None for all of it, if the file does not say."""


class OnnxGraph(NamedTuple):
    inputs: tuple[GraphTensor, ...]
    outputs: tuple[GraphTensor, ...]
    external_files: tuple[str, ...]
    """Where weights lie that the file does not hold itself."""


def read_graph(path: Path) -> OnnxGraph:
    """ValueError or OSError if the file is no ONNX model."""
    model = memoryview(np.memmap(path, dtype=np.uint8, mode="r"))  # not read: it may have gigabytes
    if bytes(model[: len(GIT_LFS)]) == GIT_LFS:
        raise ValueError("a pointer of Git LFS, not the file itself: fetch it with git lfs pull")
    graph = next((field.payload for field in fields(model) if field.number == _MODEL_GRAPH), None)
    if graph is None:
        raise ValueError("a file without a graph")
    parts = list(fields(graph))
    weights = [list(fields(part.payload)) for part in parts if part.number == _GRAPH_INITIALIZER]
    # In files of old versions weights are listed among the inputs as well.
    names = {_text(weight, _INITIALIZER_NAME) for weight in weights}
    inputs = (_tensor(part.payload) for part in parts if part.number == _GRAPH_INPUT)
    return OnnxGraph(
        tuple(tensor for tensor in inputs if tensor.name not in names),
        tuple(_tensor(part.payload) for part in parts if part.number == _GRAPH_OUTPUT),
        tuple(sorted({location for weight in weights for location in _locations(weight)})),
    )


def _tensor(value: memoryview) -> GraphTensor:
    about = list(fields(value))
    types = list(fields(_payload(about, _VALUE_TYPE)))
    tensor = list(fields(_payload(types, _TYPE_TENSOR)))
    kind = next((part.value for part in tensor if part.number == _TENSOR_KIND), 0)
    shapes = [part.payload for part in tensor if part.number == _TENSOR_SHAPE]
    return GraphTensor(_text(about, _VALUE_NAME), _KINDS.get(kind), tuple(_sizes(shapes[0])) if shapes else None)


def _sizes(shape: memoryview) -> Iterator[int | None]:
    for part in fields(shape):
        if part.number == _SHAPE_DIMENSION:
            yield next((size.value for size in fields(part.payload) if size.number == _DIMENSION_VALUE), None)


def _locations(weight: list[Field]) -> Iterator[str]:
    for part in weight:
        if part.number == _INITIALIZER_EXTERNAL_DATA:
            entry = list(fields(part.payload))
            if _text(entry, _ENTRY_KEY) == "location":
                yield _text(entry, _ENTRY_VALUE)


def _payload(parts: list[Field], number: int) -> memoryview:
    return next((part.payload for part in parts if part.number == number), memoryview(b""))


def _text(parts: list[Field], number: int) -> str:
    return str(_payload(parts, number), "utf-8")
