"""The local model, its slim graph, windows and batches."""

import hashlib
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.embeddings import local_onnx
from mcp_memory_service.embeddings.batching import batches_by_length
from mcp_memory_service.embeddings.local_onnx import LocalEmbedder, MiniLM
from mcp_memory_service.embeddings.slim_model import with_small_word_embeddings
from mcp_memory_service.embeddings.windows import text_windows
from mcp_memory_service.errors import EmbedderUnavailable


def test_vectors_have_length_one_and_follow_the_order_of_the_texts(minilm: MiniLM):
    texts = ["a long text about databases and their indexes " * 8, "short", "a cat sits on the mat", "short"]
    vectors = minilm.embed(texts)
    assert [vector.shape for vector in vectors] == [(384,)] * 4
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert np.array_equal(vectors[1], vectors[3])
    for text, vector in zip(texts, vectors, strict=True):
        assert float(vector @ minilm.embed([text])[0]) > 0.999


def test_meaning_is_nearer_than_words(minilm: MiniLM):
    query, same, other = minilm.embed(["how do I sign in", "authentication of users", "recipe for apple pie"])
    assert query @ same > query @ other + 0.1


def test_the_slim_model_computes_the_same_numbers(minilm: MiniLM):
    whole: Any = onnxruntime.InferenceSession(str(local_onnx._model_path()), providers=["CPUExecutionProvider"])
    ids = np.array([[101, 9350, 11254, 2622, 102]], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    expected = whole.run(["last_hidden_state"], inputs)[0]
    actual = minilm._session.run(["last_hidden_state"], inputs)[0]
    assert np.array_equal(expected, actual)


def test_a_model_with_another_graph_is_not_slimmed():
    model_with_one_empty_node = b"\x3a\x02\x0a\x00"
    with pytest.raises(ValueError, match="not the known one"):
        with_small_word_embeddings(model_with_one_empty_node)


def test_a_changed_file_is_refused(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"something else")
    with pytest.raises(EmbedderUnavailable, match="not the expected one"):
        local_onnx._checked_file(path, local_onnx.MODEL_SHA256)
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        local_onnx._checked_file(tmp_path / "missing", local_onnx.MODEL_SHA256)
    assert local_onnx._checked_file(path, hashlib.sha256(b"something else").hexdigest()) == b"something else"


async def test_the_embedder_loads_on_first_use_and_closes():
    embedder = LocalEmbedder(threads=1)
    assert embedder._model is None
    await embedder.warm_up()
    assert len(await embedder.embed(["a", "b"])) == 2
    assert await embedder.embed([]) == []
    await embedder.close()


def test_a_short_text_is_its_own_window():
    assert text_windows("  a short text\n") == ["  a short text\n"]


def test_windows_of_a_long_text_cover_it_and_overlap():
    words = [f"word{i}" for i in range(1000)]
    windows = text_windows(" ".join(words))
    assert len(windows) > 5
    assert windows[0].startswith("word0 ")
    assert windows[-1].endswith(" word999")
    for before, after in pairwise(windows):
        shared = after.split()[0]
        assert shared in before.split()
    assert {word for window in windows for word in window.split()} == set(words)


@given(st.text(alphabet="ab 日本\n.", max_size=3000))
def test_windows_lose_no_character_but_spaces(text: str):
    windows = text_windows(text, size=40, overlap=8)
    assert windows
    position = 0
    squeezed = "".join(text.split())
    for window in ("".join(window.split()) for window in windows):
        start = squeezed.find(window[:1] and window, max(0, position - 40 * 33))
        assert start != -1
        assert start <= position
        position = max(position, start + len(window))
    assert position == len(squeezed)


def test_windows_fit_the_model(minilm: MiniLM):
    prose = "The tunnel forwards traffic from the public server to the laboratory at home. " * 60
    code = "def authenticate_user(request: HttpRequest) -> Optional[User]: return verify(request.token_id)\n" * 40
    chinese = "如何在家庭实验室中部署服务并保持其长期稳定运行。" * 60
    for text in (prose, code, chinese):
        lengths = [len(minilm._tokenizer.encode(window, add_special_tokens=True).ids) for window in text_windows(text)]
        assert max(lengths) <= local_onnx.MAX_PIECES
        assert len(lengths) > 3


@given(st.lists(st.integers(1, 256), max_size=60), st.integers(1, 600))
def test_batches_hold_each_text_once_and_keep_their_bound(lengths: list[int], bound: int):
    batches = list(batches_by_length(lengths, bound))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[position] for position in batch) <= bound
