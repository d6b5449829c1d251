"""Model folders as an exporter makes them, with a graph of a few nodes: each word has a vector, and that is all."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace

from mcp_memory_service.embeddings.checking import LONG_TEXT, QUERY_AND_TEXTS
from mcp_memory_service.embeddings.protobuf import delimited, varint

DIMENSION = 48
TEXTS = (*(text for texts in QUERY_AND_TEXTS for text in texts), LONG_TEXT, "query passage : search")

FLOAT, INT32, INT64 = 1, 6, 7
BATCH, LENGTH = "batch", "length"


def write_folder(folder: Path, *, texts: Sequence[str] = (), pooling: str | None = "mean", **graph: Any) -> Path:
    """With a word for each of these texts and of those that `embeddings check` tries."""
    folder.mkdir(parents=True, exist_ok=True)
    words = write_tokenizer(folder / "tokenizer.json", (*TEXTS, *texts))
    write_graph(folder / "model.onnx", table(len(words)), **graph)
    write_json(folder / "config.json", {"hidden_size": DIMENSION, "max_position_embeddings": 64, "pad_token_id": 0})
    if pooling:
        modes = {f"pooling_mode_{mode}_tokens": mode == pooling for mode in ("mean", "max")}
        write_json(folder / "1_Pooling" / "config.json", {**modes, "pooling_mode_cls_token": pooling == "cls"})
    return folder


def write_json(path: Path, content: object) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(content))


def write_tokenizer(path: Path, texts: Sequence[str]) -> dict[str, int]:
    """Every word is a token, without marks around a text; padded to a fixed length, as exporters like to leave it."""
    split = Whitespace()
    found = sorted({word for text in texts for word, _ in split.pre_tokenize_str(text.lower())})
    words = {word: number for number, word in enumerate(["[PAD]", "[UNK]", *found])}
    tokenizer: Any = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer = Lowercase()
    tokenizer.pre_tokenizer = split
    tokenizer.enable_padding(length=40)
    tokenizer.save(str(path))
    return words


def table(rows: int) -> NDArray[np.float32]:
    return np.random.default_rng(3).normal(size=(rows, DIMENSION)).astype(np.float32)


def write_graph(
    path: Path,
    vectors: NDArray[np.float32],
    *,
    inputs: Mapping[str, int] | None = None,
    outputs: Mapping[str, Sequence[int | str]] | None = None,
    external: str | None = None,
) -> None:
    """`last_hidden_state` looks up each token; `sentence_embedding` is their mean, with the padding. `outputs` says
    which of them there are and of what shape they claim to be."""
    inputs = inputs or {"input_ids": INT64, "attention_mask": INT64}
    outputs = outputs or {"last_hidden_state": (BATCH, LENGTH, DIMENSION)}
    nodes = [node("Gather", ["words", "input_ids"], "tokens")]
    axes = [_attribute("axes", 7, [varint(8 << 3), varint(1)]), number("keepdims", 0)]
    for name in outputs:
        is_mean = name == "sentence_embedding"
        nodes.append(node("ReduceMean" if is_mean else "Identity", ["tokens"], name, axes if is_mean else ()))
    weights = tensor("words", FLOAT, vectors.shape, vectors.tobytes())
    if external:
        entries = {"location": external, "offset": "0", "length": str(vectors.nbytes)}
        held = [delimited(13, [*delimited(1, [k.encode()]), *delimited(2, [v.encode()])]) for k, v in entries.items()]
        weights = [*weights[:-3], *(part for entry in held for part in entry), varint(14 << 3), varint(1)]
        path.with_name(external).write_bytes(vectors.tobytes())
    write_model(path, nodes, [weights], inputs, outputs)


def write_model(
    path: Path,
    nodes: Sequence[bytes],
    weights: Sequence[Sequence[bytes | memoryview]],
    inputs: Mapping[str, int],
    outputs: Mapping[str, Sequence[int | str]],
) -> None:
    """The file of a graph whose inputs are a number for each token."""
    graph = [*(part for node in nodes for part in delimited(1, [node])), *delimited(2, [b"tiny"])]
    graph += [part for each in weights for part in delimited(5, each)]
    graph += [part for name, kind in inputs.items() for part in delimited(11, [_value(name, kind, (BATCH, LENGTH))])]
    graph += [part for name, sizes in outputs.items() for part in delimited(12, [_value(name, FLOAT, sizes)])]
    opset = delimited(8, [*delimited(1, [b""]), varint(2 << 3), varint(13)])
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join([varint(1 << 3), varint(8), *delimited(7, graph), *opset]))


def tensor(name: str, kind: int, shape: Sequence[int], numbers: bytes) -> list[bytes | memoryview]:
    sizes = [varint(1 << 3) + varint(size) for size in shape]
    return [*sizes, varint(2 << 3), varint(kind), *delimited(8, [name.encode()]), *delimited(9, [numbers])]


def node(op_type: str, inputs: Sequence[str], output: str, attributes: Sequence[bytes] = ()) -> bytes:
    parts = [part for name in inputs for part in delimited(1, [name.encode()])]
    parts += [*delimited(2, [output.encode()]), *delimited(4, [op_type.encode()])]
    return b"".join([*parts, *(part for attribute in attributes for part in delimited(5, [attribute]))])


def number(name: str, value: int) -> bytes:
    """An attribute of a node."""
    return _attribute(name, 2, [varint(3 << 3), varint(value)])


def _attribute(name: str, kind: int, value: Sequence[bytes]) -> bytes:
    return b"".join([*delimited(1, [name.encode()]), *value, varint(20 << 3), varint(kind)])


def _value(name: str, kind: int, shape: Sequence[int | str]) -> bytes:
    sizes = [
        b"".join([varint(1 << 3), varint(size)] if isinstance(size, int) else delimited(2, [size.encode()]))
        for size in shape
    ]
    dimensions = [part for size in sizes for part in delimited(1, [size])]
    tensor = [varint(1 << 3), varint(kind), *delimited(2, dimensions)]
    return b"".join([*delimited(1, [name.encode()]), *delimited(2, delimited(1, tensor))])
