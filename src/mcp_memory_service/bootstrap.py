"""The composition root: the one place that knows which backends are in use."""

import asyncio
import logging
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .access.authentication import Authentication
from .access.keys import KeyRing
from .config import EmbeddingSettings, QdrantSettings, RerankSettings, Settings, is_loopback
from .embeddings.base import Embedder
from .embeddings.checking import EmbedderReport, FolderFacts, check_embedder
from .errors import ConfigurationError, InvalidInput, MemoryServiceError
from .hybrid_search import indexed_text
from .models import Progress
from .rerank.base import Reranker
from .rerank.checking import CrossEncoderFacts, RerankerReport, check_reranker
from .searcher_process import COMMAND, SearcherSetup
from .services import DocumentOptions, MemoryService, PoolLimits, Reranking, SearcherPool, ServiceLimits
from .storage.ports import Store
from .storage.ports.upkeep import Upkeep
from .storage.sqlite_vec import (
    IndexOptions,
    LiveIndex,
    SqliteVecStorage,
    StoreUpkeep,
    require_own_store,
    require_store_file,
    tell_of_shared_folder,
)
from .timestamps import now_microseconds

if TYPE_CHECKING:
    from .embeddings.model_folder import FolderModel
    from .rerank.onnx_folder import CrossEncoderFolder
    from .storage.qdrant import QdrantOptions, QdrantStorage


logger = logging.getLogger(__name__)

TRASH_PAUSE_SECONDS = 3_600
MAX_SEARCHERS = 3
"""Unless more are asked for: each takes memory, and the model needs cores as well."""


class Backends(NamedTuple):
    """What a service is made of, for who needs the parts."""

    storage: Store
    embedder: Embedder


@asynccontextmanager
async def open_backends(
    settings: Settings,
    wrap: Callable[[Embedder], Embedder] = lambda embedder: embedder,
    *,
    with_index: bool = False,
    must_exist: bool = False,
) -> AsyncGenerator[Backends, None]:
    """The store and the embedder, closed when the block ends; `wrap` may put another embedder around it. With
    `must_exist`, a store file that is missing is refused instead of made."""
    async with AsyncExitStack() as opened:
        if must_exist and settings.storage_backend == "sqlite_vec":
            require_store_file(settings.sqlite_path)
        embedder = wrap(_embedder(settings.embedding))
        opened.push_async_callback(embedder.close)
        storage = await _storage(settings, embedder, with_index=with_index)
        opened.push_async_callback(storage.close)
        yield Backends(storage, embedder)


@asynccontextmanager
async def open_existing(settings: Settings) -> AsyncGenerator[Store, None]:
    """A store as it is, whatever embedding model it was made with; refused if there is none."""
    if settings.storage_backend == "qdrant":
        storage_class, options = _qdrant(settings.qdrant)
        storage = await storage_class.open_existing(options, indexed_text)
    else:
        storage = await SqliteVecStorage.open_existing(
            _own_file(settings), indexed_text, on_any_filesystem=settings.allow_network_filesystem
        )
    try:
        yield storage
    finally:
        await storage.close()


def store_upkeep(settings: Settings, progress: Progress) -> Upkeep:
    """Upkeep of the store file; Qdrant has tools of its own for that."""
    if settings.storage_backend == "qdrant":
        raise InvalidInput(
            "This works on a SQLite file. Qdrant keeps snapshots of its own (docs/scaling.md), and mcp-memory migrate"
            " copies a collection to a file.",
            reason="sqlite_only",
        )
    return StoreUpkeep(_own_file(settings), indexed_text, progress, on_any_filesystem=settings.allow_network_filesystem)


@asynccontextmanager
async def open_embedder(settings: Settings) -> AsyncGenerator[Embedder, None]:
    embedder = _embedder(settings.embedding)
    try:
        yield embedder
    finally:
        await embedder.close()


async def check_embeddings(settings: Settings) -> EmbedderReport:
    """Tries the configured embedder, and tells what is known of a model folder."""
    folder = _model_folder(settings.embedding) if settings.embedding.backend == "onnx" else None
    async with open_embedder(settings) as embedder:
        report = await check_embedder(embedder)
    if folder is None:
        return report
    about = FolderFacts(str(folder.files.model), folder.layout.pooling, folder.query_prefix, folder.document_prefix)
    return replace(report, folder=about, prefix_hints=folder.prefix_hints)


@asynccontextmanager
async def open_reranking(settings: Settings) -> AsyncGenerator[Reranking | None, None]:
    """None if it is switched off."""
    if settings.rerank.backend == "off":
        yield None
        return
    reranker = _reranker(settings)
    try:
        chosen = settings.rerank
        yield Reranking(reranker, chosen.top_n, chosen.weight, chosen.timeout_seconds)
    finally:
        await reranker.close()


async def check_reranking(settings: Settings) -> RerankerReport:
    """Tries the configured re-ranker, and tells what is known of a model folder."""
    async with open_reranking(settings) as reranking:
        if reranking is None:
            raise ConfigurationError("Nothing is re-ranked: name a folder, or set MCP_MEMORY_RERANK_BACKEND.")
        report = await check_reranker(reranking.reranker)
    if settings.rerank.backend != "onnx":
        return report
    folder = _cross_encoder(settings.rerank)
    facts = CrossEncoderFacts(str(folder.files.model), tuple(folder.inputs), folder.output, folder.max_tokens)
    return replace(report, folder=facts)


@asynccontextmanager
async def open_service(
    settings: Settings, *, warm_up: bool = False, must_exist: bool = False
) -> AsyncGenerator[MemoryService, None]:
    """A live service, closed with everything it opened when the block ends.

    `warm_up` gets ready in the background what makes searches fast, for processes that stay: the embedding model and,
    for a large SQLite store, its index.
    """
    async with AsyncExitStack() as opened:
        reranking = await opened.enter_async_context(open_reranking(settings))
        storage, embedder = await opened.enter_async_context(
            open_backends(settings, with_index=warm_up, must_exist=must_exist)
        )
        searchers = searcher_pool(settings, embedder) if warm_up else None
        if searchers:
            opened.push_async_callback(searchers.close)
        service = MemoryService(
            storage,
            embedder,
            tuned=settings.hybrid.policy,
            limits=ServiceLimits(
                settings.max_content_chars, settings.max_memories, settings.trash_days, settings.similar_on_store
            ),
            searchers=searchers,
            reranking=reranking,
            zone=settings.zone,
            store_file=settings.sqlite_path.resolve() if settings.storage_backend == "sqlite_vec" else None,
            documents=_document_options(settings),
        )
        opened.push_async_callback(service.close)
        if warm_up:
            for task in (service.warm_up(), _emptying_trash(service), service.work_in_background()):
                opened.push_async_callback(_ended, asyncio.create_task(task))
        yield service


def _document_options(settings: Settings) -> DocumentOptions:
    own = settings.sqlite_path.parent.resolve() if settings.storage_backend == "sqlite_vec" else None
    roots = tuple(map(Path, settings.index_roots))
    return DocumentOptions(roots, own, settings.index_mentions, settings.folder_context)


async def _emptying_trash(service: MemoryService) -> None:
    """For as long as the service lives."""
    while True:
        try:
            await service.empty_trash()
        except MemoryServiceError as error:
            logger.warning("The trash could not be emptied, which is tried again in an hour: %s", error.message)
        await asyncio.sleep(TRASH_PAUSE_SECONDS)


def authentication_of(settings: Settings) -> Authentication:
    """Who is let in, and as whom."""
    tokens = None
    if settings.oauth_issuer:
        from .access.oauth import Issuer, OAuthTokens  # noqa: PLC0415 - with the cryptography that few need

        assert settings.oauth_audience, "checked by the settings"
        assert settings.oauth_jwks_url, "checked by the settings"
        issuer = (settings.oauth_issuer, settings.oauth_audience, settings.oauth_jwks_url)
        tokens = OAuthTokens(Issuer(*issuer, settings.oauth_namespace_claim))
    api_key = settings.api_key.get_secret_value() if settings.api_key else None
    closed = settings.local_key or not is_loopback(settings.http_host)
    return Authentication(api_key, key_ring(settings), tokens, closed=closed)


def key_ring(settings: Settings) -> KeyRing:
    return KeyRing(settings.keys_path, now_microseconds)


def searcher_pool(settings: Settings, embedder: Embedder) -> SearcherPool | None:
    """Processes that share the searches of a SQLite store; None where they are switched off, or have no core."""
    processes = settings.search_processes
    if processes is None:
        processes = (
            min(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1, 4) - 1
        )
    if settings.storage_backend != "sqlite_vec" or not settings.search_index or processes == 0:
        return None
    setup = SearcherSetup(
        settings.sqlite_path,
        embedder.model_id,
        embedder.dimension,
        settings.allow_network_filesystem,
        settings.search_index_min_memories,
    )
    return SearcherPool(COMMAND, setup, PoolLimits(processes))


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


async def _storage(settings: Settings, embedder: Embedder, *, with_index: bool) -> Store:
    if settings.storage_backend == "qdrant":
        storage_class, options = _qdrant(settings.qdrant)
        return await storage_class.open(options, embedder.model_id, embedder.dimension, indexed_text)
    index = partial(LiveIndex, options=IndexOptions(settings.search_index_min_memories))
    return await SqliteVecStorage.open(
        _own_file(settings),
        embedder.model_id,
        embedder.dimension,
        indexed_text,
        on_any_filesystem=settings.allow_network_filesystem,
        index=index if with_index and settings.search_index else None,
    )


def _own_file(settings: Settings) -> Path:
    """The store file, which every door comes to from here."""
    require_own_store(settings.sqlite_path)
    tell_of_shared_folder(settings.sqlite_path)
    return settings.sqlite_path


def _qdrant(settings: QdrantSettings) -> "tuple[type[QdrantStorage], QdrantOptions]":
    """Its client is an extra, and takes a second to import."""
    try:
        from .storage.qdrant import CollectionLayout, QdrantOptions, QdrantStorage  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise ConfigurationError(
            f"The Qdrant backend needs qdrant-client ({error.name} is missing): install it with `make qdrant`,"
            " or with pip install 'qdrant-client>=1.20'."
        ) from error
    # The settings have the names of the options.
    options = settings.model_dump(exclude={"api_key"})
    layout = CollectionLayout(**{field.name: options.pop(field.name) for field in fields(CollectionLayout)})
    api_key = settings.api_key.get_secret_value() if settings.api_key else None
    return QdrantStorage, QdrantOptions(**options, api_key=api_key, layout=layout)


def _embedder(settings: EmbeddingSettings) -> Embedder:
    """Backends are imported here, when chosen: each brings libraries that the other does not need."""
    if settings.backend != "http":
        from .embeddings.local_onnx import LocalEmbedder  # noqa: PLC0415

        source = _model_folder(settings) if settings.backend == "onnx" else None
        return LocalEmbedder(settings.threads, settings.idle_seconds or None, source)
    from .embeddings.http import EmbeddingServer, HttpEmbedder  # noqa: PLC0415

    assert settings.url, "checked by the settings"
    assert settings.model, "checked by the settings"
    return HttpEmbedder(
        EmbeddingServer(
            url=settings.url,
            api=settings.api,
            model=settings.model,
            api_key=settings.api_key.get_secret_value() if settings.api_key else None,
            dimension=settings.dimension,
            timeout_seconds=settings.timeout_seconds,
            max_batch=settings.max_batch,
            query_prefix=settings.query_prefix or "",
            document_prefix=settings.document_prefix or "",
            max_tokens=settings.max_tokens,
        )
    )


def _model_folder(settings: EmbeddingSettings) -> "FolderModel":
    from .embeddings.model_folder import Choices, read_model_folder  # noqa: PLC0415

    assert settings.folder, "checked by the settings"
    # The settings have the names of the choices.
    return read_model_folder(settings.folder, Choices(**settings.model_dump(include={f.name for f in fields(Choices)})))


def _reranker(settings: Settings) -> Reranker:
    chosen = settings.rerank
    if chosen.backend == "onnx":
        from .rerank.onnx_folder import OnnxReranker  # noqa: PLC0415

        embedding = settings.embedding  # one machine, whichever model it is
        return OnnxReranker(_cross_encoder(chosen), embedding.threads, embedding.idle_seconds or None)
    from .rerank.http import HttpReranker, RerankServer  # noqa: PLC0415

    assert chosen.url, "checked by the settings"
    api_key = chosen.api_key.get_secret_value() if chosen.api_key else None
    return HttpReranker(RerankServer(chosen.url, chosen.api, chosen.model, api_key, chosen.timeout_seconds))


def _cross_encoder(settings: RerankSettings) -> "CrossEncoderFolder":
    from .rerank.onnx_folder import read_cross_encoder  # noqa: PLC0415

    assert settings.folder, "checked by the settings"
    return read_cross_encoder(settings.folder, settings.model_file)
