"""The MiniLM model with its word embeddings looked up before they are widened, which saves 34 MB of memory.

The model file holds its weights as int8 and widens them in the graph: weight = Cast(weight_q) * weight_scale. The
runtime computes that once, when it loads the model, and keeps 47 MB of floats for the word embeddings alone, of which a
text uses a few rows. Here the rows are looked up first and only they are widened; the vectors stay the same. The ONNX
library could do this, but takes more memory to import than this saves, so the few protobuf fields are edited directly.
ADR 13 says why that happens at every load and not in a build step.
"""

from typing import NamedTuple

from .protobuf import delimited, fields

_WEIGHT = "inner.embeddings.word_embeddings.weight"
_QUANTIZED, _WIDENED, _SCALE = f"{_WEIGHT}_q", f"{_WEIGHT}_f", f"{_WEIGHT}_scale"

# Field numbers of onnx.proto.
_MODEL_GRAPH = 7
_GRAPH_NODE = 1
_NODE_INPUT, _NODE_OUTPUT, _NODE_OP_TYPE, _NODE_ATTRIBUTE = 1, 2, 4, 5


class _Node(NamedTuple):
    inputs: list[str]
    outputs: list[str]
    op_type: str
    attributes: list[memoryview]


def with_small_word_embeddings(model: bytes) -> bytes:
    """The same model with the lookup before the widening; ValueError if its graph is not the known one."""
    parts: list[bytes | memoryview] = []  # joined once
    for field in fields(memoryview(model)):
        parts += delimited(_MODEL_GRAPH, _slim_graph(field.payload)) if field.number == _MODEL_GRAPH else [field.raw]
    return b"".join(parts)


def _slim_graph(graph: memoryview) -> list[bytes | memoryview]:
    cast_attributes: list[memoryview] = []
    parts: list[bytes | memoryview] = []
    replaced = 0
    for field in fields(graph):
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
    for field in fields(message):
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
    return delimited(_GRAPH_NODE, [part for number, payload in fields for part in delimited(number, [payload])])
