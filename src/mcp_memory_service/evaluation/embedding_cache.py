"""Vectors kept between runs: a set of 60,000 texts takes minutes to embed, and its vectors never change."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path

import apsw
import numpy as np

from ..embeddings.base import Embedder
from ..errors import ConfigurationError
from ..models import Vector

# SQLite's own limit of variables in a statement is far higher; this keeps one look-up short.
_LOOKUP = 500


class CachedEmbedder:
    """An embedder that asks another one only for texts it has not seen; holds digests of texts, never the texts.

    Any number of processes may share the file. Vectors of different models are kept apart.
    """

    def __init__(self, embedder: Embedder, path: Path) -> None:
        self._embedder = embedder
        try:
            self._connection = _opened(path)
        except (OSError, apsw.Error) as error:
            raise ConfigurationError(f"The cache {path} cannot be used: {error}. Name another folder.") from error

    @property
    def model_id(self) -> str:
        return self._embedder.model_id

    @property
    def dimension(self) -> int | None:
        return self._embedder.dimension

    @property
    def max_tokens(self) -> int | None:
        return self._embedder.max_tokens

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        digests = [self._digest(text) for text in texts]
        known = await asyncio.to_thread(self._known, digests)
        missing = {digest: text for digest, text in zip(digests, texts, strict=True) if digest not in known}
        if missing:
            made = await self._embedder.embed(list(missing.values()))
            new = dict(zip(missing, made, strict=True))
            await asyncio.to_thread(self._keep, new)
            known = {**known, **new}
        return [known[digest] for digest in digests]

    async def embed_query(self, query: str) -> Vector:
        digest = self._digest(f"query\0{query}")
        known = await asyncio.to_thread(self._known, [digest])
        if not known:
            known = {digest: await self._embedder.embed_query(query)}
            await asyncio.to_thread(self._keep, known)
        return known[digest]

    async def warm_up(self) -> None:
        await self._embedder.warm_up()

    async def close(self) -> None:
        self._connection.close()
        await self._embedder.close()

    def _digest(self, text: str) -> bytes:
        return hashlib.blake2b(f"{self.model_id}\0{text}".encode(), digest_size=16).digest()

    def _known(self, digests: Sequence[bytes]) -> dict[bytes, Vector]:
        known: dict[bytes, Vector] = {}
        for start in range(0, len(digests), _LOOKUP):
            asked = digests[start : start + _LOOKUP]
            marks = ",".join("?" * len(asked))
            rows = self._connection.execute(
                f"SELECT digest, embedding FROM vectors WHERE digest IN ({marks})",  # noqa: S608 - question marks only
                asked,
            )
            known.update((digest, np.frombuffer(blob, dtype=np.float32)) for digest, blob in rows)
        return known

    def _keep(self, vectors: Mapping[bytes, Vector]) -> None:
        with self._connection:
            self._connection.executemany(
                "INSERT OR IGNORE INTO vectors (digest, embedding) VALUES (?, ?)",
                [(digest, vector.astype(np.float32).tobytes()) for digest, vector in vectors.items()],
            )


def _opened(path: Path) -> apsw.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    connection = apsw.Connection(str(path))
    connection.set_busy_timeout(60_000)
    # What is lost in a power cut is computed again.
    for pragma in ("journal_mode = WAL", "synchronous = NORMAL"):
        connection.execute(f"PRAGMA {pragma}").fetchall()
    connection.execute(
        "CREATE TABLE IF NOT EXISTS vectors (digest BLOB PRIMARY KEY, embedding BLOB NOT NULL) WITHOUT ROWID"
    ).fetchall()
    return connection
