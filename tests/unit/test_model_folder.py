"""Model folders of the user's choice: what is read from them, what vectors they make, and what is wrong with others."""

import json
import shutil
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.support.tiny_model import (
    BATCH,
    DIMENSION,
    INT32,
    INT64,
    LENGTH,
    table,
    write_folder,
    write_graph,
    write_json,
    write_tokenizer,
)

from mcp_memory_service.embeddings.checking import check_embedder
from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.embeddings.model_folder import Choices, read_model_folder
from mcp_memory_service.errors import ConfigurationError, EmbedderUnavailable

TOKENS = (BATCH, LENGTH, DIMENSION)


@asynccontextmanager
async def opened(folder: Path, choices: Choices | None = None) -> AsyncGenerator[LocalEmbedder, None]:
    embedder = LocalEmbedder(threads=1, source=read_model_folder(folder, choices))
    try:
        yield embedder
    finally:
        await embedder.close()


def direction(folder: Path, *words: str) -> NDArray[np.float32]:
    """Of the mean of the vectors of these words."""
    numbers = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    mean = table(len(numbers))[[numbers[word] for word in words]].mean(axis=0)
    return mean / np.linalg.norm(mean)


async def test_a_vector_is_the_mean_of_its_tokens_or_the_first_of_them(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny")
    async with opened(folder) as mean, opened(folder, Choices(pooling="cls")) as first:
        assert (mean.dimension, first.dimension) == (DIMENSION, DIMENSION)
        assert np.allclose((await mean.embed(["The car"]))[0], direction(folder, "the", "car"), atol=1e-6)
        assert np.allclose((await first.embed(["The car"]))[0], direction(folder, "the"), atol=1e-6)
    said = write_folder(tmp_path / "said", pooling="cls")
    async with opened(said) as first:
        assert np.allclose((await first.embed(["The car"]))[0], direction(folder, "the"), atol=1e-6)


async def test_padding_does_not_matter(tmp_path: Path):
    async with opened(write_folder(tmp_path / "tiny")) as embedder:
        (alone,) = await embedder.embed(["the car"])
        together = await embedder.embed(["the car", "the engine of the car would not start because of the battery"])
        assert np.allclose(alone, together[0], atol=1e-6)
        assert alone.dtype == np.float32
        assert np.linalg.norm(alone) == pytest.approx(1)


async def test_queries_and_documents_get_the_prefixes_of_the_folder_or_of_the_settings(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny", pooling="cls")
    write_json(folder / "config_sentence_transformers.json", {"prompts": {"query": "query: ", "passage": "passage: "}})
    async with opened(folder) as embedder:
        assert np.allclose(await embedder.embed_query("car"), direction(folder, "query"), atol=1e-6)
        assert np.allclose((await embedder.embed(["car"]))[0], direction(folder, "passage"), atol=1e-6)
    async with opened(folder, Choices(query_prefix="search ")) as embedder:
        assert np.allclose(await embedder.embed_query("car"), direction(folder, "search"), atol=1e-6)
        assert np.allclose((await embedder.embed(["car"]))[0], direction(folder, "passage"), atol=1e-6)


async def test_a_text_counts_as_far_as_the_model_reads(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny")
    async with opened(folder, Choices(max_tokens=16, document_prefix="passage: ")) as embedder:
        cut, longer = await embedder.embed(["car " * 14, "car " * 14 + "garden " * 30])
        assert np.allclose(cut, longer)
        assert embedder.max_tokens == 14  # without the prefix


@pytest.mark.parametrize(
    ("sentence_bert", "tokenizer", "config", "expected"),
    [
        ({"max_seq_length": 48}, {"model_max_length": 512}, {"max_position_embeddings": 512}, 48),
        ({}, {"model_max_length": 384}, {"max_position_embeddings": 512}, 384),
        ({}, {"model_max_length": 1e30}, {"max_position_embeddings": 8192}, 512),
        ({}, {}, {"max_position_embeddings": 130, "model_type": "roberta", "pad_token_id": 1}, 128),
        ({}, {}, {}, 512),
    ],
)
def test_how_much_a_model_reads_is_what_its_folder_says(
    tmp_path: Path,
    sentence_bert: dict[str, object],
    tokenizer: dict[str, object],
    config: dict[str, object],
    expected: int,
):
    folder = write_folder(tmp_path / "tiny")
    write_json(folder / "sentence_bert_config.json", sentence_bert)
    write_json(folder / "tokenizer_config.json", tokenizer)
    write_json(folder / "config.json", config)
    assert read_model_folder(folder).max_tokens == expected


async def test_a_graph_gets_the_inputs_that_it_has(tmp_path: Path):
    inputs = {"input_ids": INT32, "token_type_ids": INT32, "position_ids": INT64}
    plain, odd = write_folder(tmp_path / "plain"), write_folder(tmp_path / "odd", inputs=inputs)
    async with opened(plain) as one, opened(odd) as other:
        texts = ["the car", "in the garden in spring"]
        assert np.allclose(await one.embed(texts), await other.embed(texts))


async def test_a_graph_that_makes_whole_vectors_is_taken_at_its_word(tmp_path: Path):
    outputs = {"last_hidden_state": TOKENS, "sentence_embedding": (BATCH, DIMENSION)}
    folder = write_folder(tmp_path / "tiny", pooling=None, outputs=outputs)
    async with opened(folder) as embedder:
        assert read_model_folder(folder).layout.pooling == "graph"
        assert np.allclose((await embedder.embed(["The car"]))[0], direction(folder, "the", "car"), atol=1e-6)
    assert read_model_folder(folder, Choices(pooling="cls")).layout.output == "last_hidden_state"


@pytest.mark.parametrize("name", ["onnx/model.onnx", "model_quantized.onnx", "onnx/model_int8.onnx", "other.onnx"])
def test_the_model_is_found_where_exporters_put_it(tmp_path: Path, name: str):
    folder = write_folder(tmp_path / "tiny")
    (folder / "onnx").mkdir()
    (folder / "model.onnx").rename(folder / name)
    assert read_model_folder(folder).files.model == folder / name


def test_of_several_models_the_whole_one_or_the_named_one_is_taken(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny")
    shutil.copy(folder / "model.onnx", folder / "model_quantized.onnx")
    assert read_model_folder(folder).files.model.name == "model.onnx"
    assert (
        read_model_folder(folder, Choices(model_file="model_quantized.onnx")).files.model.name == "model_quantized.onnx"
    )


async def test_weights_beside_the_graph_belong_to_the_model(tmp_path: Path):
    folder, plain = write_folder(tmp_path / "tiny", external="model.onnx_data"), write_folder(tmp_path / "plain")
    async with opened(folder) as one, opened(plain) as other:
        assert np.array_equal(await one.embed(["the car"]), await other.embed(["the car"]))
        before = one.model_id
    (folder / "model.onnx_data").write_bytes(b"\0" * 100_000)
    assert read_model_folder(folder).model_id != before


def test_the_identity_is_of_what_vectors_depend_on_and_nothing_else(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny")
    known = read_model_folder(folder).model_id
    moved = shutil.copytree(folder, tmp_path / "elsewhere")
    (moved / "model.onnx").rename(moved / "renamed.onnx")
    assert read_model_folder(moved).model_id == known
    others = [Choices(pooling="cls"), Choices(query_prefix="q"), Choices(document_prefix="q"), Choices(max_tokens=20)]
    ids = {read_model_folder(folder, choices).model_id for choices in others}
    write_tokenizer(moved / "tokenizer.json", ["other words"])
    ids.add(read_model_folder(moved).model_id)
    write_graph(folder / "model.onnx", table(7))
    ids.add(read_model_folder(folder).model_id)
    assert len(ids | {known}) == 7


async def test_a_model_that_is_changed_after_the_start_is_not_loaded(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny")
    async with opened(folder) as embedder:
        write_graph(folder / "model.onnx", table(7))
        with pytest.raises(EmbedderUnavailable, match="changed after the start"):
            await embedder.embed(["the car"])


def without(name: str) -> Callable[[Path], object]:
    return lambda folder: (folder / name).unlink()


def with_file(name: str, content: bytes) -> Callable[[Path], object]:
    return lambda folder: (folder / name).write_bytes(content)


def with_json(name: str, content: object) -> Callable[[Path], object]:
    return lambda folder: write_json(folder / name, content)


def with_graph(**graph: object) -> Callable[[Path], object]:
    return lambda folder: write_folder(folder, **graph)  # pyright: ignore[reportArgumentType]


def with_two_models(folder: Path) -> None:
    (folder / "model.onnx").rename(folder / "one.onnx")
    shutil.copy(folder / "one.onnx", folder / "other.onnx")


DENSE = [{"type": "sentence_transformers.models.Dense", "path": "2_Dense"}]


@pytest.mark.parametrize(
    ("spoil", "complaint"),
    [
        (shutil.rmtree, "There is no folder"),
        (without("model.onnx"), "no ONNX model in"),
        (without("tokenizer.json"), "no tokenizer.json in"),
        (with_two_models, "name one of"),
        (with_file("model.onnx", b""), "cannot be read as an ONNX model"),
        (with_file("model.onnx", b"<html>not found</html>"), "cannot be read as an ONNX model"),
        (with_file("model.onnx", b"version https://git-lfs.github.com/spec/v1\n"), "pointer of Git LFS"),
        (with_file("config.json", b"{"), "config.json cannot be read"),
        (with_json("config.json", [1]), "config.json is not a JSON object"),
        (without("1_Pooling/config.json"), "set MCP_MEMORY_EMBEDDING_POOLING to cls"),
        (with_json("1_Pooling/config.json", {"pooling_mode_max_tokens": True}), "pools by max_tokens"),
        (with_json("modules.json", DENSE), "has a Dense layer"),
        (with_graph(inputs={"input_ids": INT64, "pixel_values": INT64}), "wants the inputs pixel_values"),
        (with_graph(inputs={"attention_mask": INT64}), "does not take tokens"),
        (with_graph(outputs={"logits": (BATCH,)}), r"has the outputs logits \[None\]"),
        (
            with_graph(outputs={"last_hidden_state": (BATCH, 8), "x": (BATCH,)}),
            "neither a vector for each token",
        ),
    ],
)
def test_what_is_wrong_with_a_folder_is_said_before_it_is_used(
    tmp_path: Path, spoil: Callable[[Path], object], complaint: str
):
    folder = write_folder(tmp_path / "tiny")
    spoil(folder)
    with pytest.raises(ConfigurationError, match=complaint):
        read_model_folder(folder)


def test_weights_that_are_missing_are_named(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny", external="model.onnx_data")
    (folder / "model.onnx_data").unlink()
    with pytest.raises(ConfigurationError, match=r"has its weights in model\.onnx_data, which is not beside it"):
        read_model_folder(folder)


def test_settings_that_do_not_fit_the_folder_are_refused(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny")
    with pytest.raises(ConfigurationError, match=r"MAX_TOKENS=65, but the model in .* reads 64"):
        read_model_folder(folder, Choices(max_tokens=65))
    with pytest.raises(ConfigurationError, match=r"no file q4\.onnx"):
        read_model_folder(folder, Choices(model_file="q4.onnx"))


@pytest.mark.parametrize(("name", "hints"), [("e5-small-v2", 2), ("bge-small-en-v1.5", 1), ("granite-small", 0)])
def test_prefixes_that_a_model_of_this_name_needs_are_hinted_at_and_not_assumed(tmp_path: Path, name: str, hints: int):
    found = read_model_folder(write_folder(tmp_path / name))
    assert (len(found.prefix_hints), found.query_prefix, found.document_prefix) == (hints, "", "")
    assert read_model_folder(tmp_path / name, Choices(query_prefix="query: ")).prefix_hints == ()


async def test_a_check_finds_nothing_wrong_with_a_good_model(tmp_path: Path):
    async with opened(write_folder(tmp_path / "tiny")) as embedder:
        report = await check_embedder(embedder)
    assert (report.problems, report.dimension, report.max_tokens) == ((), DIMENSION, 64)
    assert report.answer_similarity is not None
    assert report.other_similarity is not None
    assert report.answer_similarity > report.other_similarity


async def test_a_check_finds_padding_that_is_not_masked(tmp_path: Path):
    async with opened(write_folder(tmp_path / "tiny", outputs={"sentence_embedding": (BATCH, DIMENSION)})) as embedder:
        assert [problem.code for problem in (await check_embedder(embedder)).problems] == ["batch_changes_vectors"]


@pytest.mark.parametrize(
    ("fill", "code", "complaint"),
    [
        (np.nan, "embedder_unavailable", "not finite"),
        (0.0, "embedder_unavailable", "zeros"),
        (1.0, "meaning_lost", "is no nearer to"),
    ],
)
async def test_a_check_finds_vectors_that_are_of_no_use(tmp_path: Path, fill: float, code: str, complaint: str):
    folder = write_folder(tmp_path / "tiny")
    write_graph(folder / "model.onnx", np.full_like(table(500), fill))
    async with opened(folder) as embedder:
        problems = (await check_embedder(embedder)).problems
    assert {problem.code for problem in problems} == {code}
    assert complaint in problems[0].message


async def test_a_check_finds_a_vector_of_another_length_than_the_folder_says(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny", outputs={"last_hidden_state": (BATCH, LENGTH, "hidden")})
    write_json(folder / "config.json", {"hidden_size": 12, "max_position_embeddings": 64})
    async with opened(folder) as embedder:
        assert [problem.code for problem in (await check_embedder(embedder)).problems] == ["dimension_differs"]


async def test_a_tokenizer_that_cannot_be_read_is_said(tmp_path: Path):
    folder = write_folder(tmp_path / "tiny")
    (folder / "tokenizer.json").write_text("{}")
    async with opened(folder) as embedder:
        (problem,) = (await check_embedder(embedder)).problems
    assert problem.message.startswith("The embedding model cannot be loaded")
