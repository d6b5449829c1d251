"""Chroma's persistent client with embeddings given; its local search has vectors only."""

from collections.abc import Iterator
from pathlib import Path

import chromadb
from chromadb.api import ClientAPI
from chromadb.config import Settings

from feed import Batch, Vector


class Peer:
    packages = ("chromadb",)

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        client = self._client(folder)
        collection = client.create_collection("memories", configuration={"hnsw": {"space": "cosine"}})
        for batch in batches:
            numbers = [str(batch.first + n) for n in range(len(batch.texts))]
            collection.add(ids=numbers, embeddings=batch.vectors, documents=batch.texts)

    def open(self, folder: Path) -> None:
        self._collection = self._client(folder).get_collection("memories")

    def _client(self, folder: Path) -> ClientAPI:
        return chromadb.PersistentClient(str(folder), settings=Settings(anonymized_telemetry=False))

    def vector(self, vector: Vector, k: int) -> list[int]:
        found = self._collection.query(query_embeddings=[vector], n_results=k, include=["documents"])
        return [int(number) for number in found["ids"][0]]
