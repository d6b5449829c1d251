"""Texts, tags, vectors and queries for a size, made once and kept in a folder for all systems and later runs.

The vectors of single sentences and of queries are the local model's. A text that is put together from sentences gets
the mean of their vectors, brought to length 1: a million texts would take the model hours.
"""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from corpora import made_queries, queries_of, recombined, sentences_of
from feed import DIMENSION, ROW_BYTES, Feed
from mcp_memory_service.embeddings.minilm import MiniLM
from mcp_memory_service.embeddings.onnx_model import BATCH_TOKENS, OnnxModel, batches_by_length

BLOCK = 2048
MADE_QUERIES = 500
THREADS = 2


@dataclass(frozen=True)
class Source:
    """A data set and the folder with what was made of it."""

    data: Path | None
    cache: Path

    @property
    def folder(self) -> Path:
        return self.cache / (self.data.resolve().name if self.data else "own")

    def feed(self, size: int) -> Feed:
        """The files for a size, made now if they are not there."""
        self.folder.mkdir(parents=True, exist_ok=True)
        feed = Feed(self.folder, size)
        sentences = sentences_of(self.data)
        self._write_queries(list(sentences))
        if not feed.vectors.exists():
            self._write_corpus(feed, sentences)
        return feed

    def _write_queries(self, sentences: Sequence[str]) -> None:
        queries = list(dict.fromkeys(queries_of(self.data))) if self.data else made_queries(sentences, MADE_QUERIES)
        embedded(queries, self.folder / "queries.f32")
        lines = "".join(json.dumps({"text": query}) + "\n" for query in queries)
        (self.folder / "queries.jsonl").write_text(lines, encoding="utf-8")

    def _write_corpus(self, feed: Feed, sentences: dict[str, tuple[str, ...]]) -> None:
        known = list(sentences)
        single = known[: feed.size]
        vectors = embedded(single, self.folder / "sentences.f32")
        unfinished = feed.vectors.with_suffix(".part")
        with feed.texts.open("w", encoding="utf-8") as lines, unfinished.open("wb") as numbers:
            for text in single:
                lines.write(_line(text, sentences[text]))
            numbers.write(vectors.tobytes())
            for text, parts in recombined(known, feed.size - len(single)):
                lines.write(_line(text, sentences[known[parts[0]]]))
                numbers.write(mean_direction(vectors[parts]).tobytes())
        unfinished.replace(feed.vectors)  # last: who sees it finds both files whole


def _line(text: str, tags: Sequence[str]) -> str:
    return json.dumps({"text": text, "tags": list(tags)}) + "\n"


def mean_direction(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    mean = vectors.mean(axis=0)
    return (mean / np.linalg.norm(mean)).astype(np.float32)


def embedded(texts: Sequence[str], file: Path) -> NDArray[np.float32]:
    """Vectors of these texts, as far as the file does not have them yet by the model; an interrupted run goes on where
    it was."""
    known = file.stat().st_size // ROW_BYTES if file.exists() else 0
    if known < len(texts):
        model = MiniLM().load(THREADS)
        with file.open("ab") as numbers:
            numbers.truncate(known * ROW_BYTES)
            for start in range(known, len(texts), BLOCK):
                numbers.write(_by_model(model, texts[start : start + BLOCK]).tobytes())
                numbers.flush()
                done = min(start + BLOCK, len(texts))
                print(f"\rembedded {done:,} of {len(texts):,}", end="", file=sys.stderr, flush=True)
            print(file=sys.stderr)
    return np.fromfile(file, np.float32, len(texts) * DIMENSION).reshape(-1, DIMENSION)


def _by_model(model: OnnxModel, texts: Sequence[str]) -> NDArray[np.float32]:
    token_ids = model.token_ids(texts)
    vectors = np.empty((len(texts), DIMENSION), np.float32)
    for batch in batches_by_length([len(ids) for ids in token_ids], BATCH_TOKENS):
        vectors[batch] = model.run([token_ids[position] for position in batch])
    return vectors
