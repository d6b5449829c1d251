"""The composition root: the one place that knows which backends are in use."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from .config import EmbeddingSettings, Settings
from .embeddings.base import Embedder
from .services import MemoryService, ServiceLimits
from .storage.sqlite_vec import SqliteVecStorage


@asynccontextmanager
async def open_service(settings: Settings) -> AsyncGenerator[MemoryService, None]:
    """A live service, closed with everything it opened when the block ends."""
    embedder = _embedder(settings.embedding)
    try:
        storage = await SqliteVecStorage.open(settings.sqlite_path, embedder.model_id, embedder.dimension)
        try:
            yield MemoryService(
                storage,
                embedder,
                policy=settings.hybrid.policy(),
                limits=ServiceLimits(max_content_chars=settings.max_content_chars),
            )
        finally:
            await storage.close()
    finally:
        await embedder.close()


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
