"""The local model, its slim graph, chunks and batches."""

import asyncio
import hashlib
import re
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.fakes import WordEmbedder
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.embeddings import minilm
from mcp_memory_service.embeddings.chunks import chunk_spans, chunk_tokens, embed_chunks, text_chunks
from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.embeddings.minilm import MiniLM
from mcp_memory_service.embeddings.onnx_model import OnnxModel, batches_by_length
from mcp_memory_service.embeddings.slim_model import with_small_word_embeddings
from mcp_memory_service.errors import EmbedderUnavailable
from mcp_memory_service.models import Vector

SLIM_MODEL_SHA256 = "dc1a0b22233d8a16362b14ec16d461235245317b424ed7a8e10fa80eca066bb7"


async def test_vectors_have_length_one_and_follow_the_order_of_the_texts(local_embedder: LocalEmbedder):
    texts = ["a long text about databases and their indexes " * 8, "short", "a cat sits on the mat", "short"]
    vectors = await local_embedder.embed(texts)
    assert [vector.shape for vector in vectors] == [(384,)] * 4
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(4), abs=1e-5)
    assert np.array_equal(vectors[1], vectors[3])
    for text, vector in zip(texts, vectors, strict=True):
        (alone,) = await local_embedder.embed([text])
        assert float(vector @ alone) > 0.999


async def test_a_model_that_is_not_used_leaves_memory_and_comes_back():
    embedder = LocalEmbedder(threads=1, idle_seconds=0.1)
    try:
        (first,) = await embedder.embed(["a heron stands in the shallows"])
        async with asyncio.timeout(HANG_SECONDS):
            while embedder.is_loaded:
                await asyncio.sleep(0.01)
        (again,) = await embedder.embed(["a heron stands in the shallows"])
        assert np.array_equal(first, again)  # for which it was loaded once more
    finally:
        await embedder.close()


async def test_meaning_is_nearer_than_words(local_embedder: LocalEmbedder):
    query, same, other = await local_embedder.embed(
        ["how do I sign in", "authentication of users", "recipe for apple pie"]
    )
    assert query @ same > query @ other + 0.1


def test_the_slim_model_is_byte_for_byte_the_one_that_was_measured():
    model = minilm.checked_file(minilm.model_path(), minilm.MODEL_SHA256)
    assert hashlib.sha256(with_small_word_embeddings(model)).hexdigest() == SLIM_MODEL_SHA256


def test_the_slim_model_computes_the_same_numbers():
    whole: Any = onnxruntime.InferenceSession(str(minilm.model_path()), providers=["CPUExecutionProvider"])
    ids = np.array([[101, 9350, 11254, 2622, 102]], dtype=np.int64)
    inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
    expected = whole.run(["last_hidden_state"], inputs)[0]
    actual = MiniLM().load(threads=2).session.run(["last_hidden_state"], inputs)[0]
    assert np.array_equal(expected, actual)


async def test_a_search_does_not_wait_for_all_of_a_large_store(local_embedder: LocalEmbedder):
    await local_embedder.warm_up()
    storing = asyncio.create_task(local_embedder.embed(["many words of a long memory " * 60] * 40))
    await asyncio.sleep(0)
    await asyncio.sleep(0.05)
    await local_embedder.embed(["a query"])
    assert not storing.done()
    assert len(await storing) == 40


@pytest.mark.parametrize("file", ["MODEL_SHA256", "VOCABULARY_SHA256"])
async def test_a_model_whose_files_are_not_the_expected_ones_is_not_loaded(monkeypatch: pytest.MonkeyPatch, file: str):
    monkeypatch.setattr(minilm, file, "0" * 64)
    embedder = LocalEmbedder(threads=1)
    with pytest.raises(EmbedderUnavailable, match="not the expected one"):
        await embedder.embed(["x"])
    await embedder.close()


async def test_whatever_keeps_the_model_from_loading_is_an_unavailable_embedder(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(minilm, "MODEL_PACKAGE", "no_such_package")
    embedder = LocalEmbedder(threads=1)
    with pytest.raises(EmbedderUnavailable, match="not installed"):
        await embedder.embed(["x"])
    monkeypatch.undo()

    def damaged(model: bytes) -> bytes:
        return model[:1000]

    monkeypatch.setattr(minilm, "with_small_word_embeddings", damaged)
    with pytest.raises(EmbedderUnavailable, match="cannot be loaded"):
        await embedder.embed(["x"])
    await embedder.close()


def test_a_model_with_another_graph_is_not_slimmed():
    model_with_one_empty_node = b"\x3a\x02\x0a\x00"
    with pytest.raises(ValueError, match="not the known one"):
        with_small_word_embeddings(model_with_one_empty_node)


def test_a_changed_file_is_refused(tmp_path: Path):
    path = tmp_path / "model.onnx"
    path.write_bytes(b"something else")
    with pytest.raises(EmbedderUnavailable, match="not the expected one"):
        minilm.checked_file(path, minilm.MODEL_SHA256)
    with pytest.raises(EmbedderUnavailable, match="cannot be read"):
        minilm.checked_file(tmp_path / "missing", minilm.MODEL_SHA256)
    assert minilm.checked_file(path, hashlib.sha256(b"something else").hexdigest()) == b"something else"


async def test_the_embedder_loads_on_first_use_and_closes():
    loaded: list[int] = []

    class Noting(MiniLM):
        def load(self, threads: int) -> OnnxModel:
            loaded.append(threads)
            return super().load(threads)

    embedder = LocalEmbedder(threads=1, source=Noting())
    assert loaded == []
    await embedder.warm_up()
    assert len(await embedder.embed(["a", "b"])) == 2
    assert await embedder.embed([]) == []
    assert loaded == [1]
    await embedder.close()


def test_a_short_text_is_its_own_chunk():
    assert text_chunks("  a short text\n") == ["  a short text\n"]


def test_chunks_of_a_long_text_cover_it_and_overlap():
    words = [f"word{i}" for i in range(1000)]
    chunks = text_chunks(" ".join(words))
    assert len(chunks) > 5
    assert chunks[0].startswith("word0 ")
    assert chunks[-1].endswith(" word999")
    for before, after in pairwise(chunks):
        shared = after.split()[0]
        assert shared in before.split()
    assert {word for chunk in chunks for word in chunk.split()} == set(words)


@given(st.text(alphabet="ab 日本\n.", max_size=3000))
def test_chunks_lose_no_character_but_spaces(text: str):
    chunks = text_chunks(text, size=40, overlap=8)
    assert chunks
    position = 0
    squeezed = "".join(text.split())
    for chunk in ("".join(chunk.split()) for chunk in chunks):
        start = squeezed.find(chunk[:1] and chunk, max(0, position - 40 * 33))
        assert start != -1
        assert start <= position
        position = max(position, start + len(chunk))
    assert position == len(squeezed)


def words_put_together(text: str, size: int, overlap: int) -> list[str]:
    """The cuts that stored vectors were made of: the pieces of a chunk joined, with the space between them."""
    words = re.findall(r"\s*\S{1,32}", text)
    foreign = [sum(not letter.isascii() for letter in word.strip()) for word in words]
    sizes = [max(1, f - (f - len(word.strip())) // 4) for f, word in zip(foreign, words, strict=True)]
    if len(text) <= size or sum(sizes) <= size:
        return [text]
    chunks: list[str] = []
    start = end = 0
    while end < len(words):
        end = start + 1
        while end < len(words) and sum(sizes[start : end + 1]) <= size:
            end += 1
        chunks.append("".join(words[start:end]).strip())
        start, before = end, start
        while start - 1 > before and sum(sizes[start - 1 : end]) <= overlap:
            start -= 1
    return chunks


@given(
    st.text(alphabet="abc日é. \n\t\u3000\u00a0\x1c\u200b", max_size=400) | st.text(max_size=400),
    st.integers(1, 40),
    st.integers(0, 12),
)
def test_the_spans_of_chunks_are_the_cuts_that_vectors_were_made_of(text: str, size: int, overlap: int):
    spans = chunk_spans(text, size, overlap)
    assert [text[start:end] for start, end in spans] == words_put_together(text, size, overlap)
    assert text_chunks(text, size, overlap) == words_put_together(text, size, overlap)


def test_chunks_fit_the_model():
    tokenizer = MiniLM().load(threads=1).tokenizer
    tokenizer.no_truncation()
    prose = "The tunnel forwards traffic from the public server to the laboratory at home. " * 60
    code = "def authenticate_user(request: HttpRequest) -> Optional[User]: return verify(request.token_id)\n" * 40
    chinese = "如何在家庭实验室中部署服务并保持其长期稳定运行。" * 60
    for text in (prose, code, chinese):
        lengths = [len(tokenizer.encode(chunk, add_special_tokens=True).ids) for chunk in text_chunks(text)]
        assert max(lengths) <= minilm.MAX_TOKENS
        assert len(lengths) > 3
    tokenizer.enable_truncation(minilm.MAX_TOKENS)


class ShortSighted(WordEmbedder):
    """Reads half of what the usual model reads."""

    max_tokens = 128

    def __init__(self) -> None:
        self.seen: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.seen += texts
        return await super().embed(texts)


async def test_chunks_are_shorter_for_a_model_that_reads_less_and_no_longer_for_one_that_reads_more():
    text = "word " * 400
    embedder = ShortSighted()
    ((*vectors,),) = await embed_chunks(embedder, [("", text)])
    assert max(len(chunk.split()) for chunk in embedder.seen) == 110
    assert len(vectors) == len(embedder.seen)
    assert [chunk_tokens(limit) for limit in (None, 8192, 512, 256, 128, 1)] == [220, 220, 220, 220, 110, 1]


@given(st.lists(st.integers(1, 256), max_size=60), st.integers(1, 600))
def test_batches_hold_each_text_once_and_keep_their_bound(lengths: list[int], bound: int):
    batches = list(batches_by_length(lengths, bound))
    assert sorted(position for batch in batches for position in batch) == list(range(len(lengths)))
    for batch in batches:
        assert len(batch) == 1 or len(batch) * max(lengths[position] for position in batch) <= bound
