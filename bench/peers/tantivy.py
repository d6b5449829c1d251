"""Tantivy: keywords only, English stems."""

from collections.abc import Iterator
from pathlib import Path

import tantivy

from feed import Batch


class Peer:
    packages = ("tantivy",)

    def build(self, batches: Iterator[Batch], folder: Path) -> None:
        schema = tantivy.SchemaBuilder()
        schema.add_integer_field("number", stored=True)
        schema.add_text_field("text", stored=True, tokenizer_name="en_stem")
        writer = tantivy.Index(schema.build(), path=str(folder)).writer()
        for batch in batches:
            for n, text in enumerate(batch.texts):
                writer.add_document(tantivy.Document(number=batch.first + n, text=text))
        writer.commit()
        writer.wait_merging_threads()

    def open(self, folder: Path) -> None:
        self._index = tantivy.Index.open(str(folder))
        self._index.reload()
        self._searcher = self._index.searcher()

    def keyword(self, text: str, k: int) -> list[int]:
        query, _errors = self._index.parse_query_lenient(text, ["text"])
        hits = self._searcher.search(query, k, count=False).hits
        return [self._searcher.doc(address).to_dict()["number"][0] for _score, address in hits]
