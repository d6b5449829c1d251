"""The composition root: the one place that knows which backends are in use."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from typing import NamedTuple

from .config import EmbeddingSettings, Settings
from .embeddings.base import Embedder
from .hybrid_search import indexed_text
from .models import DEFAULT_NAMESPACE
from .services import MemoryService, ServiceLimits
from .storage.sqlite_vec import SqliteVecStorage


class Backends(NamedTuple):
    """What a service is made of, for who needs the parts."""

    storage: SqliteVecStorage
    embedder: Embedder


@asynccontextmanager
async def open_backends(
    settings: Settings, wrap: Callable[[Embedder], Embedder] = lambda embedder: embedder
) -> AsyncGenerator[Backends, None]:
    """The store and the embedder, closed when the block ends; `wrap` may put another embedder around it."""
    async with AsyncExitStack() as opened:
        embedder = wrap(_embedder(settings.embedding))
        opened.push_async_callback(embedder.close)
        storage = await SqliteVecStorage.open(settings.sqlite_path, embedder.model_id, embedder.dimension, indexed_text)
        opened.push_async_callback(storage.close)
        yield Backends(storage, embedder)


@asynccontextmanager
async def open_service(settings: Settings, *, warm_up: bool = False) -> AsyncGenerator[MemoryService, None]:
    """A live service, closed with everything it opened when the block ends.

    `warm_up` loads the embedding model in the background, for processes that stay.
    """
    async with AsyncExitStack() as opened:
        storage, embedder = await opened.enter_async_context(open_backends(settings))
        tuning = await storage.current_tuning(DEFAULT_NAMESPACE)
        service = MemoryService(
            storage,
            embedder,
            policy=settings.hybrid.policy(tuning.weights if tuning else None),
            limits=ServiceLimits(max_content_chars=settings.max_content_chars),
        )
        if warm_up:
            warming = asyncio.create_task(service.warm_up())
            opened.push_async_callback(_ended, warming)
        yield service


async def _ended(task: asyncio.Task[None]) -> None:
    task.cancel()
    await asyncio.wait({task})


def _embedder(settings: EmbeddingSettings) -> Embedder:
    """Backends are imported here, when chosen: each brings libraries that the other does not need."""
    if settings.backend == "local":
        from .embeddings.local_onnx import LocalEmbedder  # noqa: PLC0415

        return LocalEmbedder(settings.threads)
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
        )
    )
