"""bm25s: keywords only, the whole index in memory, without the texts."""

from collections.abc import Iterator
from pathlib import Path

import bm25s
import Stemmer

from feed import Batch


class Peer:
    packages = ("bm25s", "PyStemmer")

    def __init__(self) -> None:
        self._stemmer = Stemmer.Stemmer("english")

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        texts = [text for batch in batches for text in batch.texts]
        index = bm25s.BM25()
        index.index(self._words(texts), show_progress=False)
        index.save(str(folder))

    def open(self, folder: Path) -> None:
        self._index = bm25s.BM25.load(str(folder))

    def keyword(self, text: str, k: int) -> list[int]:
        words = self._words([text])
        found, _scores = self._index.retrieve(words, k=k, show_progress=False)
        return [int(number) for number in found[0]]

    def _words(self, texts: list[str]) -> bm25s.tokenization.Tokenized:
        return bm25s.tokenize(texts, stopwords="en", stemmer=self._stemmer, show_progress=False)
