"""Folders with a cross-encoder of a few nodes: its score is how many tokens of the query stand in the text."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from tests.support.tiny_model import (
    BATCH,
    FLOAT,
    INT64,
    TEXTS,
    node,
    number,
    tensor,
    write_json,
    write_model,
    write_tokenizer,
)

MAX_TOKENS = 160
OF_BERT = {"input_ids": INT64, "attention_mask": INT64, "token_type_ids": INT64}


def write_cross_encoder(
    folder: Path,
    *,
    texts: Sequence[str] = (),
    labels: int = 1,
    sign: float = 1.0,
    inputs: Mapping[str, int] = OF_BERT,
    model_file: str = "model.onnx",
) -> Path:
    """With a word for each of these texts and of those that `rerank check` tries. A sign of -1 turns its scores
    round."""
    folder.mkdir(parents=True, exist_ok=True)
    write_tokenizer(folder / "tokenizer.json", (*TEXTS, *texts))
    write_json(folder / "config.json", {"max_position_embeddings": MAX_TOKENS, "pad_token_id": 0})
    write_overlap(folder / model_file, labels, sign, inputs)
    return folder


def write_overlap(path: Path, labels: int, sign: float, inputs: Mapping[str, int]) -> None:
    """Counts the pairs of equal tokens of which one is of the query and one of the text. For two labels, the score is
    half of the second, and minus half the first."""
    weights = [_axes("one", 1), _axes("two", 2), _axes("both", 1, 2)]
    weights.append(tensor("factor", FLOAT, (1,), np.float32(sign if labels == 1 else sign / 2).tobytes()))
    nodes = [
        node("Unsqueeze", ["input_ids", "two"], "down"),
        node("Unsqueeze", ["input_ids", "one"], "across"),
        node("Equal", ["down", "across"], "same"),
        node("Mul", ["token_type_ids", "attention_mask"], "of_text"),
        node("Sub", ["attention_mask", "of_text"], "of_query"),
        *_floats("same", "of_text", "of_query"),
        node("Unsqueeze", ["of_query_float", "two"], "of_query_down"),
        node("Unsqueeze", ["of_text_float", "one"], "of_text_across"),
        node("Mul", ["same_float", "of_query_down"], "same_of_query"),
        node("Mul", ["same_of_query", "of_text_across"], "shared"),
        node("ReduceSum", ["shared", "both"], "counted", [number("keepdims", 0)]),
        node("Unsqueeze", ["counted", "one"], "column"),
        node("Mul", ["column", "factor"], "scores"),
    ]
    if labels == 1:
        nodes.append(node("Identity", ["scores"], "logits"))
    else:
        nodes.append(node("Neg", ["scores"], "against"))
        nodes.append(node("Concat", ["against", "scores"], "logits", [number("axis", 1)]))
    write_model(path, nodes, weights, inputs, {"logits": (BATCH, labels)})


def _axes(name: str, *axes: int) -> list[bytes | memoryview]:
    return tensor(name, INT64, (len(axes),), np.array(axes, np.int64).tobytes())


def _floats(*names: str) -> list[bytes]:
    return [node("Cast", [name], f"{name}_float", [number("to", FLOAT)]) for name in names]
