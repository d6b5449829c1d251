"""Which servers and collections are used and which are refused, and how a new collection is laid out."""

import datetime
import ipaddress
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from tests.contract.memories import EAST, EVERYTHING, embedded, memory, vector
from tests.integration.conftest import Finished
from tests.support.fault_proxy import Fault, fault_proxy, in_turn
from tests.support.one_memory import store_one
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_stand_in.process import stand_in
from tests.support.qdrant_target import collection_of

from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.config import load_settings
from mcp_memory_service.errors import (
    BackendUnavailable,
    ConfigurationError,
    EmbeddingMismatch,
    EngineTooOld,
    SchemaTooNew,
    StoreCorrupt,
    StoreRefused,
)
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import MemoryFilter, MemoryPatch, MetadataIs
from mcp_memory_service.storage.qdrant import CollectionLayout, QdrantOptions, QdrantStorage
from mcp_memory_service.storage.qdrant import collection as qdrant_collection
from mcp_memory_service.storage.qdrant.points import memory_id
from mcp_memory_service.storage.qdrant.upgrade import PAGE


async def opened(options: QdrantOptions, model: str = "m", dimension: int | None = 4) -> QdrantStorage:
    return await QdrantStorage.open(options, model, dimension, indexed_text)


@pytest.fixture
def options(qdrant_url: str, tmp_path: Path) -> QdrantOptions:
    return QdrantOptions(qdrant_url, collection_of(tmp_path), retries=0)


async def test_a_collection_of_another_model_or_length_is_refused(options: QdrantOptions):
    await (await opened(options)).close()
    with pytest.raises(EmbeddingMismatch, match="made with the embedding model 'm', but 'other' is configured"):
        await opened(options, model="other")
    with pytest.raises(EmbeddingMismatch, match="vectors of 4 numbers"):
        await opened(options, dimension=5)
    again = await opened(options, dimension=None)  # an embedding server that has not answered yet
    assert (await again.stats("default")).embedding_dimension == 4
    await again.close()


async def test_a_new_collection_needs_to_know_the_length_of_vectors(options: QdrantOptions):
    with pytest.raises(ConfigurationError, match="MCP_MEMORY_EMBEDDING_DIMENSION"):
        await opened(options, dimension=None)


async def test_a_collection_of_another_program_is_left_alone(options: QdrantOptions):
    body = {"vectors": {"x": {"size": 4, "distance": "Cosine"}}}
    httpx.put(f"{options.url}/collections/{options.collection}", json=body, timeout=HANG_SECONDS).raise_for_status()
    with pytest.raises(StoreCorrupt, match="one of another program"):
        await opened(options)


async def test_a_collection_of_a_newer_version_is_refused(options: QdrantOptions, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(qdrant_collection, "SCHEMA_VERSION", 5)
    await (await opened(options)).close()
    monkeypatch.undo()
    with pytest.raises(SchemaTooNew, match="schema version 5, this program knows 4"):
        await opened(options)


async def test_a_missing_index_is_made_when_a_collection_is_opened(
    options: QdrantOptions, monkeypatch: pytest.MonkeyPatch
):
    all_indexes = qdrant_collection.INDEXES
    monkeypatch.setattr(qdrant_collection, "INDEXES", {"kind": all_indexes["kind"]})
    await (await opened(options)).close()
    monkeypatch.undo()
    await (await opened(options)).close()
    info = httpx.get(f"{options.url}/collections/{options.collection}", timeout=HANG_SECONDS).json()["result"]
    assert set(info["payload_schema"]) == set(all_indexes)


async def test_a_collection_of_the_first_version_is_completed(options: QdrantOptions, monkeypatch: pytest.MonkeyPatch):
    """More memories than one page, some of them done already, as after an interruption."""
    monkeypatch.setattr(qdrant_collection, "SCHEMA_VERSION", 1)
    store = await opened(options)
    items = [
        memory(f"old {i}", "t", source=("docs/a.md", "docs2/a.md", None)[i % 3], metadata={"n": i % 2})
        for i in range(PAGE + 20)
    ]
    await store.store_batch([embedded(item) for item in items])
    await store.close()
    monkeypatch.undo()
    fields = ["memory_kind", "source_prefixes", "generation", "found_by"]
    ids = [memory_id("default", item.content_hash) for item in items[3:]]
    address = f"{options.url}/collections/{options.collection}/points/payload/delete?wait=true"
    httpx.post(address, json={"keys": fields, "points": ids}, timeout=20).raise_for_status()
    store = await opened(options)
    assert (await store.stats("default")).schema_version == 4
    for where, number in (
        (MemoryFilter(kinds=("memory",)), len(items)),
        (MemoryFilter(kinds=("note",)), 0),
        (MemoryFilter(scope="docs"), sum(item.source == "docs/a.md" for item in items)),
        (MemoryFilter(metadata=(MetadataIs("n", 1),)), len(items) // 2),
    ):
        assert (await store.list_memories(where, 0, 1)).total == number
    assert await store.get_many("default", [item.content_hash for item in items]) == items
    assert await store.find_ids("default", items[9].content_hash[:8], 5) == [items[9].content_hash]
    await store.close()
    await (await opened(options)).close()


@pytest.mark.parametrize("request_number", range(4, 9))
async def test_completing_a_collection_may_be_interrupted(
    options: QdrantOptions, monkeypatch: pytest.MonkeyPatch, request_number: int
):
    """A collection of the second version; another service of ours writes while it is completed."""
    monkeypatch.setattr(qdrant_collection, "SCHEMA_VERSION", 2)
    store = await opened(options)
    items = [memory(f"old {i}", metadata={"n": 1}) for i in range(PAGE + 3)]
    await store.store_batch([embedded(item) for item in items])
    ids = [memory_id("default", item.content_hash) for item in items]
    address = f"{options.url}/collections/{options.collection}/points/payload/delete?wait=true"
    body = {"keys": ["found_by"], "points": ids}
    httpx.post(address, json=body, timeout=HANG_SECONDS).raise_for_status()
    monkeypatch.undo()
    async with fault_proxy(options.url) as proxy:
        proxy.plan = in_turn([Fault.NONE] * request_number + [Fault.CUT_AFTER])
        with suppress(BackendUnavailable):
            await (await opened(replace(options, url=proxy.url))).close()
    await store.update("default", items[0].content_hash, MemoryPatch(metadata={"n": 2}), now=5)
    await store.close()
    again = await opened(options)
    for number, memories in ((1, len(items) - 1), (2, 1)):
        where = MemoryFilter(metadata=(MetadataIs("n", number),))
        assert (await again.list_memories(where, 0, 1)).total == memories
    await again.close()


async def test_a_dropped_collection_is_noticed(options: QdrantOptions):
    store = await opened(options)
    await store.check_search()
    httpx.delete(f"{options.url}/collections/{options.collection}", timeout=HANG_SECONDS).raise_for_status()
    with pytest.raises(StoreRefused, match="was dropped or replaced"):
        await store.check_search()
    with pytest.raises(BackendUnavailable, match="404"):
        await store.count_all_memories("default")
    await store.close()


async def test_shards_replicas_and_quantization_reach_the_server(qdrant_url: str, tmp_path: Path):
    layout = CollectionLayout(
        shards=2, replication_factor=1, write_consistency_factor=1, quantization="scalar", vectors_on_disk=True
    )
    options = QdrantOptions(qdrant_url, collection_of(tmp_path), layout=layout, oversampling=3.0, hnsw_ef=64)
    store = await opened(options)
    answer = httpx.get(f"{qdrant_url}/collections/{options.collection}", timeout=HANG_SECONDS)
    info = answer.json()["result"]["config"]["params"]
    assert (info["shard_number"], info["replication_factor"], info["write_consistency_factor"]) == (2, 1, 1)
    dense = info["vectors"]["dense"]
    assert (dense["on_disk"], dense["quantization_config"]["scalar"]["type"]) == (True, "int8")
    await store_one(store, embedded(memory("small copies")))
    assert len(await store.retrieve(vector(*EAST), 5, EVERYTHING)) == 1
    await store.close()


async def test_binary_quantization_finds_too(qdrant_url: str, tmp_path: Path):
    layout = CollectionLayout(quantization="binary")
    store = await opened(QdrantOptions(qdrant_url, collection_of(tmp_path), layout=layout))
    await store_one(store, embedded(memory("two colours")))
    assert len(await store.retrieve(vector(*EAST), 5, EVERYTHING)) == 1
    await store.close()


async def test_a_server_that_is_too_old_is_refused(tmp_path: Path):
    too_old = pytest.raises(EngineTooOld, match=r"Qdrant 1\.16\.3 cannot update safely; 1\.17\.0")
    with stand_in(tmp_path / "old", "--version", "1.16.3") as old, too_old:
        await opened(QdrantOptions(old.url))


async def test_a_wrong_key_is_said_and_never_repeated(tmp_path: Path):
    with stand_in(tmp_path / "q", "--api-key", "right-key") as server:
        store = await opened(QdrantOptions(server.url, api_key="right-key"))
        await store_one(store, embedded(memory("kept")))
        await store.close()
        with pytest.raises(BackendUnavailable, match="refuses the key: set MCP_MEMORY_QDRANT_API_KEY") as caught:
            await opened(QdrantOptions(server.url, api_key="wrong-key"))
        assert "wrong-key" not in str(caught.value)


async def test_tls_with_a_certificate_of_ones_own(tmp_path: Path):
    certificate, key = _self_signed(tmp_path)
    with stand_in(tmp_path / "q", "--certificate", str(certificate), "--key", str(key)) as server:
        assert server.url.startswith("https://")
        store = await opened(QdrantOptions(server.url, ca_file=certificate))
        await store_one(store, embedded(memory("secret")))
        await store.close()
        with pytest.raises(BackendUnavailable, match="CERTIFICATE_VERIFY_FAILED"):
            await opened(QdrantOptions(server.url, retries=0))


async def test_nobody_at_the_port_is_said_over_rest_and_grpc(options: QdrantOptions):
    with socket.create_server(("127.0.0.1", 0)) as listener:
        free_port = listener.getsockname()[1]
    with pytest.raises(BackendUnavailable, match="cannot be used now"):
        await opened(QdrantOptions(f"http://127.0.0.1:{free_port}", retries=0))
    with pytest.raises(BackendUnavailable, match="gRPC says UNAVAILABLE"):
        await opened(QdrantOptions(options.url, grpc=True, grpc_port=free_port, retries=0, timeout_seconds=2))


async def test_the_service_runs_on_qdrant_by_settings(qdrant_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_MEMORY_STORAGE_BACKEND", "qdrant")
    monkeypatch.setenv("MCP_MEMORY_QDRANT_URL", qdrant_url)
    monkeypatch.setenv("MCP_MEMORY_QDRANT_COLLECTION", collection_of(tmp_path))
    async with open_service(load_settings()) as service:
        assert (await service.stats()).backend == "qdrant"
        assert (await service.health()).ready


def test_the_command_line_works_on_qdrant(run_cli: Callable[..., Finished], qdrant_url: str, tmp_path: Path):
    where = {"MCP_MEMORY_QDRANT_COLLECTION": collection_of(tmp_path), "MCP_MEMORY_STORAGE_BACKEND": "qdrant"}
    stored = run_cli("store", "Rathole uses port 2333", "--tag", "rathole", "--qdrant-url", qdrant_url, **where)
    assert stored.code == 0, stored.err
    found = run_cli("search", "rathole port", "--qdrant-url", qdrant_url, **where)
    assert "port 2333" in found.out
    nobody = run_cli("stats", "--qdrant-url", "http://127.0.0.1:9", **where)
    assert (nobody.code, nobody.err.count("\n")) == (4, 1)
    assert "[backend_unavailable]" in nobody.err


def _self_signed(folder: Path) -> tuple[Path, Path]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=1))
        .not_valid_after(now + datetime.timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .sign(key, hashes.SHA256())
    )
    certificate_file, key_file = folder / "certificate.pem", folder / "key.pem"
    certificate_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    key_file.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    ssl.create_default_context(cafile=certificate_file)  # fails here if it is no certificate
    return certificate_file, key_file
