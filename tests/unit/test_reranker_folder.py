"""Folders with a cross-encoder: what is read from them, which scores they make, and what is wrong with others."""

import asyncio
import shutil
import threading
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import pytest
from tests.support.patience import HANG_SECONDS
from tests.support.tiny_cross_encoder import MAX_TOKENS, OF_BERT, write_cross_encoder
from tests.support.tiny_model import BATCH, INT32, INT64, LENGTH, table, write_graph, write_json

from mcp_memory_service.errors import ConfigurationError, RerankerUnavailable
from mcp_memory_service.rerank.checking import check_reranker
from mcp_memory_service.rerank.onnx_folder import CrossEncoder, CrossEncoderFolder, OnnxReranker, read_cross_encoder

TEXTS = ("rathole forwards port 2333 to the lab", "nothing of it", "the port the port", "rathole " * 300)
QUERY = "the port of rathole"


@asynccontextmanager
async def opened(folder: Path, idle_seconds: float | None = None) -> AsyncGenerator[OnnxReranker, None]:
    reranker = OnnxReranker(read_cross_encoder(folder), threads=1, idle_seconds=idle_seconds)
    try:
        yield reranker
    finally:
        await reranker.close()


async def scores(folder: Path, query: str = QUERY, texts: Sequence[str] = TEXTS) -> list[float]:
    async with opened(folder) as reranker:
        return await reranker.scores(query, texts)


def shared(query: str, text: str) -> float:
    """What the tiny model counts, of a pair that it reads whole."""
    return float(sum(word == other for word in query.split() for other in text.split()))


async def test_scores_come_in_the_order_of_the_texts_whatever_their_lengths(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny", texts=(*TEXTS, QUERY))
    found = await scores(folder)
    assert found[:3] == [shared(QUERY, text) for text in TEXTS[:3]]
    assert found[3] == MAX_TOKENS - len(QUERY.split())
    assert await scores(folder, texts=TEXTS[::-1]) == found[::-1]
    assert await scores(folder, texts=[]) == []


async def test_of_a_pair_that_is_too_long_the_longer_is_cut(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny", texts=(*TEXTS, QUERY))
    assert await scores(folder, "port " * 1_000, ["port", "port " * 1_000]) == [MAX_TOKENS - 1, (MAX_TOKENS / 2) ** 2]


async def test_of_two_labels_the_difference_counts(tmp_path: Path):
    one = write_cross_encoder(tmp_path / "one", texts=(*TEXTS, QUERY))
    two = write_cross_encoder(tmp_path / "two", texts=(*TEXTS, QUERY), labels=2)
    assert await scores(two) == await scores(one)


async def test_numbers_are_given_in_the_type_that_the_graph_asks_for(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny", texts=(*TEXTS, QUERY), inputs=dict.fromkeys(OF_BERT, INT32))
    assert await scores(folder) == await scores(write_cross_encoder(tmp_path / "other", texts=(*TEXTS, QUERY)))


async def test_a_model_without_types_of_tokens_is_not_given_any(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny")
    write_graph(
        folder / "model.onnx",
        table(200)[:, :1],
        inputs={"input_ids": INT64},
        outputs={"sentence_embedding": (BATCH, 1)},
    )
    assert len(await scores(folder, "the", ["the", "car"])) == 2


@pytest.mark.parametrize("name", ["model.onnx", "onnx/model.onnx", "onnx/model_quantized.onnx", "other.onnx"])
async def test_the_graph_is_found_where_exporters_put_it(tmp_path: Path, name: str):
    folder = write_cross_encoder(tmp_path / "tiny", model_file=name)
    assert read_cross_encoder(folder).files.model == folder / name


def test_of_several_graphs_one_must_be_named(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny", model_file="a.onnx")
    shutil.copy(folder / "a.onnx", folder / "b.onnx")
    with pytest.raises(
        ConfigurationError, match=r"a\.onnx, b\.onnx: name one of them with MCP_MEMORY_RERANK_MODEL_FILE"
    ):
        read_cross_encoder(folder)
    assert read_cross_encoder(folder, "b.onnx").files.model.name == "b.onnx"


def test_the_limit_is_that_of_the_model_and_no_more_than_usual(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny")
    assert read_cross_encoder(folder).max_tokens == MAX_TOKENS
    write_json(folder / "config.json", {"max_position_embeddings": 8192})
    assert read_cross_encoder(folder).max_tokens == 512
    write_json(folder / "tokenizer_config.json", {"model_max_length": 100})
    assert read_cross_encoder(folder).max_tokens == 100


def test_the_name_of_a_model_is_that_of_its_files(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny")
    moved = shutil.copytree(folder, tmp_path / "moved")
    other = write_cross_encoder(tmp_path / "other", labels=2)
    assert (
        read_cross_encoder(moved).model_id == read_cross_encoder(folder).model_id != read_cross_encoder(other).model_id
    )


@pytest.mark.parametrize(
    ("outputs", "told"),
    [
        ({"logits": (BATCH, 3)}, r"logits \[None, 3\]"),
        ({"last_hidden_state": (BATCH, LENGTH, 48)}, "last_hidden_state"),
        ({"sentence_embedding": (BATCH, 48)}, "none is a score for each pair"),
        ({"one": (BATCH, 1), "two": (BATCH, 1)}, "none is a score"),
    ],
)
def test_a_graph_of_another_task_is_refused(tmp_path: Path, outputs: dict[str, tuple[int | str, ...]], told: str):
    folder = write_cross_encoder(tmp_path / "tiny")
    write_graph(folder / "model.onnx", table(200), outputs=outputs)
    with pytest.raises(ConfigurationError, match=told):
        read_cross_encoder(folder)


def test_inputs_that_are_not_known_are_refused(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny", inputs={**OF_BERT, "pixel_values": INT64})
    with pytest.raises(ConfigurationError, match=r"wants the inputs pixel_values.* no model for re-ranking"):
        read_cross_encoder(folder)


@pytest.mark.parametrize("missing", ["model.onnx", "tokenizer.json"])
def test_a_folder_without_a_file_is_refused(tmp_path: Path, missing: str):
    folder = write_cross_encoder(tmp_path / "tiny")
    (folder / missing).unlink()
    with pytest.raises(ConfigurationError, match=r"There is no (ONNX model|tokenizer\.json) in "):
        read_cross_encoder(folder)
    with pytest.raises(ConfigurationError, match="There is no folder"):
        read_cross_encoder(tmp_path / "nowhere")


async def test_what_changes_after_the_start_or_claims_another_shape_is_unavailable(tmp_path: Path):
    folder = write_cross_encoder(tmp_path / "tiny")
    reranker = OnnxReranker(read_cross_encoder(folder), threads=1)
    write_cross_encoder(folder, labels=2)
    with pytest.raises(RerankerUnavailable, match="was changed after the start"):
        await reranker.scores("a", ["b"])
    await reranker.close()
    write_graph(folder / "model.onnx", table(200), outputs={"logits": (BATCH,)})
    with pytest.raises(RerankerUnavailable, match=r"numbers of the shape \(1, 2, 48\) for 1 pairs"):
        await scores(folder, "the", ["car"])
    write_graph(folder / "model.onnx", table(200)[:, :1] * float("nan"), outputs={"sentence_embedding": (BATCH, 1)})
    with pytest.raises(RerankerUnavailable, match="not finite"):
        await scores(folder, "the", ["car"])
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(RerankerUnavailable, match="The re-ranking model cannot be loaded"):
        await scores(folder, "the", ["car"])


async def test_a_model_that_is_not_used_leaves_memory_and_comes_back(tmp_path: Path):
    async with opened(write_cross_encoder(tmp_path / "tiny"), idle_seconds=0.02) as reranker:
        before = await reranker.scores("the car", ["the car"])
        async with asyncio.timeout(HANG_SECONDS):
            while reranker.is_loaded:
                await asyncio.sleep(0.01)
        assert await reranker.scores("the car", ["the car"]) == before


@dataclass(frozen=True)
class WatchedFolder(CrossEncoderFolder):
    """Its model notes the size of every batch, and waits at each until its gate lets one more through."""

    batches: list[int]
    reached: threading.Event
    gate: threading.Semaphore

    @classmethod
    def of(cls, folder: Path) -> "WatchedFolder":
        read = read_cross_encoder(folder)
        known = {each.name: getattr(read, each.name) for each in fields(read)}
        return cls(**known, batches=[], reached=threading.Event(), gate=threading.Semaphore(0))

    def load(self, threads: int) -> CrossEncoder:
        model = super().load(threads)
        run = model.run

        def watched(batch: Sequence[Any]) -> list[float]:
            self.batches.append(len(batch))
            self.reached.set()
            assert self.gate.acquire(timeout=HANG_SECONDS)
            return run(batch)

        model.run = watched
        return model


async def test_who_gives_up_leaves_the_model_no_more_than_the_batch_it_has_begun(tmp_path: Path):
    source = WatchedFolder.of(write_cross_encoder(tmp_path / "tiny"))
    reranker = OnnxReranker(source, threads=1)
    given_up = asyncio.create_task(reranker.scores("the car", ["the car " * 100] * 30))
    assert await asyncio.to_thread(source.reached.wait, HANG_SECONDS)
    given_up.cancel()
    source.gate.release(100)
    assert await reranker.scores("the car", ["the car"]) == [2.0]
    assert source.batches == [source.batches[0], 1]
    assert source.batches[0] < 30
    await reranker.close()


async def test_a_folder_that_works_is_described(tmp_path: Path):
    async with opened(write_cross_encoder(tmp_path / "tiny")) as reranker:
        report = await check_reranker(reranker)
    assert (report.problems, report.model_id) == ((), reranker.model_id)
    assert report.answer_score is not None
    assert report.other_score is not None
    assert report.answer_score > report.other_score
    assert report.milliseconds_per_pair is not None


async def test_what_is_wrong_with_scores_is_told(tmp_path: Path):
    turned = write_cross_encoder(tmp_path / "turned", sign=-1.0)
    async with opened(turned) as reranker:
        assert [problem.code for problem in (await check_reranker(reranker)).problems] == ["relevance_lost"] * 3
    unmasked = write_cross_encoder(tmp_path / "unmasked")
    write_graph(unmasked / "model.onnx", table(200)[:, :1], outputs={"sentence_embedding": (BATCH, 1)})
    async with opened(unmasked) as reranker:
        assert "batch_changes_scores" in {problem.code for problem in (await check_reranker(reranker)).problems}
    (unmasked / "tokenizer.json").write_text("{}")
    async with opened(unmasked) as reranker:
        assert [problem.code for problem in (await check_reranker(reranker)).problems] == ["reranker_unavailable"]
