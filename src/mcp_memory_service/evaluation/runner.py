"""A dataset through the real service: stored in a real store, asked query by query, measured.

A query finds only what it may find: its collection of documents is a namespace of its own, or a filter of one that has
them all.
"""

import sys
import time
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..embeddings.base import Embedder
from ..hybrid_search import RankingPolicy
from ..models import (
    DEFAULT_NAMESPACE,
    Edge,
    JsonValue,
    MemoryDraft,
    MetadataIs,
    Progress,
    SearchMode,
    SearchRequest,
    content_hash,
)
from ..services import AskedSignals, MemoryService, Reranking, ServiceLimits
from ..storage.ports import Store
from ..timestamps import now_microseconds
from .dataset import WHOLE_CORPUS, Dataset, Document, EvaluationQuery, Link
from .metrics import DEPTH, Measures, measure

STORED_AT_ONCE = 200
ANY_LENGTH = ServiceLimits(max_content_chars=sys.maxsize)

# Each row of a report: how the search is asked.
ROWS: Mapping[str, SearchMode] = {"vector": "semantic", "keyword": "keyword", "hybrid": "hybrid"}
SIGNAL_ROWS = ("vector", "keyword")
# The vector signal orders by similarity alone, which no filter changes.
FILTERED_ROWS = ("keyword", "hybrid")


@dataclass(frozen=True, slots=True)
class Answer:
    """One query as one row of the report answered it."""

    query: EvaluationQuery
    measures: Measures
    took_ms: float
    alpha: float
    degraded: tuple[str, ...] = ()
    """What the search did without."""


class Clock:
    """The time for a service: that of a query if it has one, else the real one."""

    def __init__(self) -> None:
        self.moment: int | None = None

    def __call__(self) -> int:
        return now_microseconds() if self.moment is None else self.moment


class Collections:
    """The collections of a dataset: each a namespace of one store, or all in one namespace and told apart by a filter.

    The filter asks for a metadata key, of which a document has one for each collection that it is in.
    """

    def __init__(
        self,
        storage: Store,
        embedder: Embedder,
        policy: RankingPolicy,
        *,
        filtered: bool = False,
        reranking: Reranking | None = None,
    ) -> None:
        self._storage = storage
        self._embedder = embedder
        self._filtered = filtered
        self._clock = Clock()
        self._service = MemoryService(storage, embedder, policy, ANY_LENGTH, now=self._clock, reranking=reranking)
        self._documents: dict[str, dict[str, list[str]]] = defaultdict(dict)
        self._hashes: dict[str, dict[str, str]] = defaultdict(dict)
        self._keys: dict[str, str] = {}

    def service(self, collection: str) -> MemoryService:
        return self._service if self._filtered else self._service.within(collection)

    def with_policy(self, policy: RankingPolicy) -> "Collections":
        """The same documents, ranked by other numbers."""
        other = Collections(self._storage, self._embedder, policy, filtered=self._filtered)
        other._documents, other._hashes, other._keys = self._documents, self._hashes, self._keys
        return other

    async def load(self, dataset: Dataset, progress: Progress) -> None:
        for number, (name, documents) in enumerate(dataset.collections.items()):
            self._keys[name] = f"in_{number}"  # its name may be long, and a document may be in hundreds
            for document in _usable(documents):
                stored_as = content_hash(clean_text(document))
                self._documents[name].setdefault(stored_as, []).append(document.id)
                self._hashes[name][document.id] = stored_as
        drafts = self._drafts(dataset)
        total, done = sum(map(len, drafts.values())), 0
        for name, group in drafts.items():
            for start in range(0, len(group), STORED_AT_ONCE):
                batch = group[start : start + STORED_AT_ONCE]
                await self.service(name).store_batch(batch)
                done += len(batch)
                progress(f"store {dataset.name}", done, total)
        for name in drafts if dataset.links else ():
            namespace = DEFAULT_NAMESPACE if self._filtered else name
            await self._storage.add_edges(
                namespace, self._edges(dataset.links, self._hashes if self._filtered else [name])
            )

    def _edges(self, links: Sequence[Link], collections: Iterable[str]) -> list[Edge]:
        """The links between documents of these collections."""
        hashes = {document: stored_as for name in collections for document, stored_as in self._hashes[name].items()}
        return [
            Edge(hashes[source], hashes[target], "link", by_name=False)
            for source, target in links
            if source in hashes and target in hashes and hashes[source] != hashes[target]
        ]

    def _drafts(self, dataset: Dataset) -> dict[str, list[MemoryDraft]]:
        """What is stored by the name of a collection; for a filter, every document once and all by one name."""
        if not self._filtered:
            return {
                name: [_draft(document) for document in _usable(documents)]
                for name, documents in dataset.collections.items()
            }
        keys: dict[Document, dict[str, JsonValue]] = defaultdict(dict)
        for name, documents in dataset.collections.items():
            for document in _usable(documents):
                keys[document][self._keys[name]] = True
        return {WHOLE_CORPUS: [replace(_draft(document), metadata=metadata) for document, metadata in keys.items()]}

    def hashes(self, query: EvaluationQuery) -> dict[str, float]:
        """What is relevant to a query, by content hash; of equal texts the highest grade counts."""
        hashes = self._hashes[query.collection]
        relevant: dict[str, float] = {}
        for document, grade in query.relevant.items():
            if document in hashes:
                relevant[hashes[document]] = max(grade, relevant.get(hashes[document], 0.0))
        return relevant

    async def answer(self, query: EvaluationQuery, mode: SearchMode, *, rerank: bool = False) -> Answer:
        service = self._service_for(query)
        await service.prepare_expansion()
        where = (MetadataIs(self._keys[query.collection]),) if self._filtered else ()
        started = time.perf_counter()
        request = SearchRequest(query.text, page_size=DEPTH, mode=mode, metadata=where, rerank=rerank)
        found = await service.search(request)
        took_ms = (time.perf_counter() - started) * 1000.0
        ranked = self.documents(query.collection, [hit.memory.content_hash for hit in found.results])
        return Answer(query, measure(ranked, query.relevant), took_ms, found.alpha_used, found.degraded)

    async def ask_signals(self, query: EvaluationQuery) -> AskedSignals:
        assert not self._filtered, "signals are asked without a filter"
        return await self._service_for(query).ask_signals(query.text)

    def _service_for(self, query: EvaluationQuery) -> MemoryService:
        self._clock.moment = query.asked_at
        return self.service(query.collection)

    def documents(self, collection: str, hashes: Sequence[str]) -> list[str]:
        """The documents behind memories; those of equal text are one memory, and count in the order of the corpus."""
        known = self._documents[collection]
        return [document for found in hashes for document in known[found]]


@dataclass(frozen=True, slots=True)
class Row:
    """One way of asking all queries."""

    collections: Collections
    mode: SearchMode
    compared_with: tuple[str, ...] = ()
    """Other rows, the best of which is the reference."""
    rerank: bool = False


def rows_of(collections: Collections) -> dict[str, Row]:
    """Each signal alone, and hybrid search against the better of them."""
    return {row: Row(collections, mode, SIGNAL_ROWS if mode == "hybrid" else ()) for row, mode in ROWS.items()}


def without_links(collections: Collections, policy: RankingPolicy) -> dict[str, Row]:
    """The same search as if nothing were linked."""
    other = collections.with_policy(replace(policy, graph_weight=0.0))
    return {"hybrid, without links": Row(other, "hybrid", compared_with=("hybrid",))}


def filtered_rows(collections: Collections) -> dict[str, Row]:
    """Those whose order may depend on what else is in the store, each against the same in a store of its own."""
    return {f"{row}, filtered": Row(collections, ROWS[row], (row,)) for row in FILTERED_ROWS}


async def ask_dataset(dataset: Dataset, rows: Mapping[str, Row], progress: Progress) -> dict[str, list[Answer]]:
    """Every query of a loaded dataset by every row. The rows take turns, so that a busy machine slows them alike."""
    answers: dict[str, list[Answer]] = {name: [] for name in rows}
    for number, query in enumerate(dataset.queries, start=1):
        for name, row in rows.items():
            answers[name].append(await row.collections.answer(query, row.mode, rerank=row.rerank))
        progress(f"ask {dataset.name}", number, len(dataset.queries))
    return answers


def _usable(documents: Sequence[Document]) -> list[Document]:
    return [document for document in documents if document.text.strip()]


def clean_text(document: Document) -> str:
    """Without control characters, which memories do not take."""
    return "".join(
        character for character in document.text if character in "\t\n\r" or unicodedata.category(character) != "Cc"
    )


def _draft(document: Document) -> MemoryDraft:
    return MemoryDraft(
        clean_text(document),
        tags=document.tags,
        created_at=document.created_at,
        session=document.session,
        sequence=document.sequence,
    )
