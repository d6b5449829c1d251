"""The MiniLM model with its word embeddings looked up before they are widened, which saves 34 MB of memory.

The model file holds its weights as int8 and widens them in the graph: weight = Cast(weight_q) * weight_scale. The
runtime computes that once, when it loads the model, and keeps 47 MB of floats for the word embeddings alone, of which a
text uses a few rows. Here the rows are looked up first and only they are widened; the vectors stay the same. The ONNX
library could do this, but takes more memory to import than this saves, so the few protobuf fields are edited directly.
ADR 13 says why that happens at every load and not in a build step.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_WEIGHT = "inner.embeddings.word_embeddings.weight"
_QUANTIZED, _WIDENED, _SCALE = f"{_WEIGHT}_q", f"{_WEIGHT}_f", f"{_WEIGHT}_scale"

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NODE = 1
_NODE_INPUT, _NODE_OUTPUT, _NODE_OP_TYPE, _NODE_ATTRIBUTE = 1, 2, 4, 5

_VARINT, _LENGTH_DELIMITED = 0, 2


class _Field(NamedTuple):
    number: int
    payload: memoryview
    """Of a length-delimited field; empty for others."""
    raw: memoryview
    """All of the field, with its tag."""


class _Node(NamedTuple):
    inputs: list[str]
    outputs: list[str]
    op_type: str
    attributes: list[memoryview]


def with_small_word_embeddings(model: bytes) -> bytes:
    """The same model with the lookup before the widening; ValueError if its graph is not the known one."""
    parts: list[bytes | memoryview] = []  # joined once: the model is large, and each copy of it costs 10 ms
    for field in _fields(memoryview(model)):
        parts += _delimited(_MODEL_GRAPH, _slim_graph(field.payload)) if field.number == _MODEL_GRAPH else [field.raw]
    return b"".join(parts)


def _slim_graph(graph: memoryview) -> list[bytes | memoryview]:
    cast_attributes: list[memoryview] = []
    parts: list[bytes | memoryview] = []
    replaced = 0
    for field in _fields(graph):
        node = _node(field.payload) if field.number == _GRAPH_NODE else None
        if node is None:
            parts.append(field.raw)
        elif node.outputs == [_WIDENED]:
            cast_attributes = node.attributes
        elif node.outputs == [_WEIGHT]:
            continue
        elif node.op_type == "Gather" and node.inputs[0] == _WEIGHT:
            parts += _lookup_then_widen(ids=node.inputs[1], output=node.outputs[0], cast_attributes=cast_attributes)
            replaced += 1
        else:
            parts.append(field.raw)
    if replaced != 1:
        raise ValueError("the graph of the model is not the known one")
    return parts


def _lookup_then_widen(ids: str, output: str, cast_attributes: list[memoryview]) -> list[bytes | memoryview]:
    rows, widened, scales = f"{output}_q", f"{output}_f", f"{output}_scale"
    return [
        *_encoded(_Node([_QUANTIZED, ids], [rows], "Gather", [])),
        *_encoded(_Node([rows], [widened], "Cast", cast_attributes)),
        *_encoded(_Node([_SCALE, ids], [scales], "Gather", [])),
        *_encoded(_Node([widened, scales], [output], "Mul", [])),
    ]


def _node(message: memoryview) -> _Node:
    node = _Node([], [], "", [])
    for field in _fields(message):
        if field.number == _NODE_INPUT:
            node.inputs.append(str(field.payload, "utf-8"))
        elif field.number == _NODE_OUTPUT:
            node.outputs.append(str(field.payload, "utf-8"))
        elif field.number == _NODE_OP_TYPE:
            node = node._replace(op_type=str(field.payload, "utf-8"))
        elif field.number == _NODE_ATTRIBUTE:
            node.attributes.append(field.payload)
    return node


def _encoded(node: _Node) -> list[bytes | memoryview]:
    fields: list[tuple[int, bytes | memoryview]] = [
        *((_NODE_INPUT, name.encode()) for name in node.inputs),
        *((_NODE_OUTPUT, name.encode()) for name in node.outputs),
        (_NODE_OP_TYPE, node.op_type.encode()),
        *((_NODE_ATTRIBUTE, attribute) for attribute in node.attributes),
    ]
    return _delimited(_GRAPH_NODE, [part for number, payload in fields for part in _delimited(number, [payload])])


def _fields(message: memoryview) -> Iterator[_Field]:
    position = 0
    while position < len(message):
        start = position
        tag, position = _read_varint(message, position)
        kind = tag & 7
        if kind == _VARINT:
            _, position = _read_varint(message, position)
            yield _Field(tag >> 3, message[:0], message[start:position])
        elif kind == _LENGTH_DELIMITED:
            length, position = _read_varint(message, position)
            yield _Field(tag >> 3, message[position : position + length], message[start : position + length])
            position += length
        else:
            raise ValueError(f"a protobuf field of the unexpected kind {kind}")


def _delimited(number: int, payload: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    return [_varint(number << 3 | _LENGTH_DELIMITED), _varint(sum(map(len, payload))), *payload]


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while True:
        byte = message[position]
        value |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return value, position


def _varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))
