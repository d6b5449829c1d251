"""A model of the user's choice from the first look at its folder to a store that was moved to it."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from tests.integration.conftest import Finished
from tests.support.tiny_model import DIMENSION, table, write_folder, write_graph

from mcp_memory_service.bootstrap import open_backends, open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.embeddings.minilm import MODEL_ID
from mcp_memory_service.errors import ConfigurationError, EmbeddingMismatch
from mcp_memory_service.models import MemoryDraft, MemoryPatch, TunedWeights, Tuning
from mcp_memory_service.services import MemoryService

Run = Callable[..., Finished]

TEXTS = (
    "rathole forwards port 2333 to the home lab",
    "rathole forwards port 4444 to the home lab",
    "the office has a new coffee machine",
    "beans are planted out in may",
    "the spare key is under the third stone",
    "port home lab key",
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "tiny", texts=TEXTS)


def environment_of(folder: Path) -> dict[str, str]:
    return {"MCP_MEMORY_EMBEDDING_BACKEND": "onnx", "MCP_MEMORY_EMBEDDING_FOLDER": str(folder)}


def test_a_folder_that_works_is_described_with_the_settings_to_use(run_cli: Run, folder: Path):
    said = run_cli("embeddings", "check", str(folder), MCP_MEMORY_EMBEDDING_QUERY_PREFIX="query: ")
    assert said.code == 0, said.err
    for line in (
        f"file        {folder}/model.onnx",
        "pooling     mean",
        "prefixes    query 'query: ', document ''",
        f"dimension   {DIMENSION}",
        "max tokens  64",
        '  MCP_MEMORY_EMBEDDING_BACKEND="onnx"',
        f'  MCP_MEMORY_EMBEDDING_FOLDER="{folder}"',
        '  MCP_MEMORY_EMBEDDING_QUERY_PREFIX="query: "',
    ):
        assert line in said.out.splitlines()
    report = json.loads(run_cli("embeddings", "check", str(folder), "--json").out)
    assert (report["works"], report["problems"], report["dimension"]) == (True, [], DIMENSION)
    assert report["model_id"].startswith("onnx:mean-64:")
    assert report["settings"] == environment_of(folder)


def test_without_a_folder_the_configured_model_is_tried(run_cli: Run, folder: Path):
    default = run_cli("embeddings", "check")
    assert (default.code, default.out.splitlines()[0]) == (0, f"model       {MODEL_ID}")
    configured = run_cli("embeddings", "check", **environment_of(folder))
    assert (configured.code, configured.out.splitlines()[2]) == (0, "pooling     mean")
    server = {"BACKEND": "http", "URL": "http://127.0.0.1:9", "MODEL": "m", "TIMEOUT_SECONDS": "0.2"}
    down = run_cli("embeddings", "check", **{f"MCP_MEMORY_EMBEDDING_{name}": value for name, value in server.items()})
    assert (down.code, "[embedder_unavailable]" in down.out) == (8, True)


def test_what_is_wrong_has_an_exit_code_and_a_reason(run_cli: Run, folder: Path):
    write_graph(folder / "model.onnx", np.full_like(table(500), np.nan))
    useless = run_cli("embeddings", "check", str(folder), "--json")
    assert (useless.code, json.loads(useless.out)["problems"][0]["code"]) == (8, "embedder_unavailable")
    (folder / "tokenizer.json").unlink()
    for said in (
        run_cli("embeddings", "check", str(folder)),
        run_cli("store", "a text", **environment_of(folder)),
        run_cli("serve", "--http-port", "0", **environment_of(folder)),
    ):
        assert (said.code, said.err.splitlines()[-1]) == (
            6,
            f"mcp-memory: There is no tokenizer.json in {folder}; a vocabulary alone is not enough."
            " [configuration_error]",
        )


def test_a_folder_must_be_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_MEMORY_EMBEDDING_BACKEND", "onnx")
    with pytest.raises(ConfigurationError, match="BACKEND=onnx needs MCP_MEMORY_EMBEDDING_FOLDER"):
        load_settings()


async def test_a_store_keeps_the_model_it_was_made_with(tmp_path: Path, folder: Path):
    of_folder = {"sqlite_path": tmp_path / "a.db", "embedding_backend": "onnx", "embedding_folder": folder}
    async with open_service(load_settings(of_folder)) as service:
        await service.store_memory(MemoryDraft(TEXTS[0]))
        assert (await service.retrieve_memories(TEXTS[0])).results[0].memory.content == TEXTS[0]
    for other in ({"embedding_pooling": "cls"}, {"embedding_query_prefix": "query: "}, {"embedding_backend": "local"}):
        with pytest.raises(EmbeddingMismatch, match="mcp-memory migrate, which embeds it anew"):
            async with open_service(load_settings({**of_folder, **other})):
                pass


async def remembered(service: MemoryService) -> None:
    first = await service.store_memory(MemoryDraft(TEXTS[0], tags=("rathole",)))
    second = await service.store_memory(MemoryDraft(TEXTS[2]))
    await service.store_memory(MemoryDraft(TEXTS[3] + ". " + "word " * 400))
    edited = await service.update_memory(first.memory.content_hash, MemoryPatch(content=TEXTS[1]))
    await service.delete_memory(second.memory.content_hash)
    await service.record_feedback("port", edited.content_hash, useful=True)
    await service.within("team/alice").store_memory(MemoryDraft(TEXTS[4]))


async def test_a_store_moves_to_another_model_with_all_it_has(run_cli: Run, tmp_path: Path, folder: Path):
    old, new = tmp_path / "old.db", tmp_path / "new.db"
    weights = Tuning(TunedWeights(2.0, 1.5, 0.5), 7, 40, 0.5, 0.6)
    async with open_backends(load_settings({"sqlite_path": old})) as (storage, embedder):
        await remembered(MemoryService(storage, embedder))
        await storage.save_tuning("default", weights)
    command = ("migrate", "--from", f"sqlite:{old}", "--to", f"sqlite:{new}", "--json")
    moved = json.loads(run_cli(*command, **environment_of(folder)).out)
    assert (moved["memories"], moved["copied"], moved["feedback"]) == (5, 5, 1)
    assert not moved["embeddings_reused"]
    again = json.loads(run_cli(*command, **environment_of(folder)).out)
    assert (again["copied"], again["verified"]) == (0, 5)

    of_folder = {"sqlite_path": new, "embedding_backend": "onnx", "embedding_folder": folder}
    async with open_backends(load_settings(of_folder)) as (storage, embedder):
        service = MemoryService(storage, embedder)
        (hit, *_) = (await service.retrieve_memories("port 4444")).results
        assert (hit.memory.content, hit.memory.tags) == (TEXTS[1], ("rathole",))
        assert [each.content for each in await service.memory_history(hit.memory.content_hash)] == [TEXTS[1], TEXTS[0]]
        assert [each.content for each in (await service.list_trash()).memories] == [TEXTS[2]]
        restored = await service.restore_memory((await service.list_trash()).memories[0].content_hash)
        ((found,), (expected,)) = (
            [item.vectors[0] for item in await storage.get_embedded("default", [restored.content_hash])],
            await embedder.embed([restored.content]),
        )
        assert np.allclose(found, expected, atol=1e-6)  # made by this model also for what was in the trash
        alice = service.within("team/alice")
        assert (await alice.retrieve_memories("spare key")).results[0].memory.content == TEXTS[4]
        tuned = await storage.current_tuning("default")
        assert tuned is not None
        assert tuned.weights == weights.weights
        assert (await service.stats()).embedding_model == embedder.model_id
