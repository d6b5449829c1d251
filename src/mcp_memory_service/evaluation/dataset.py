"""Evaluation sets as folders: `corpus.jsonl`, `queries.jsonl`, `qrels.tsv`, perhaps `haystacks.jsonl` and `links.tsv`.

The JSON files may be gzipped. Where `meta.scope` is set, a query searches only the documents of the same scope; with
haystacks, a query searches only the documents that its haystack names.
"""

import gzip
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

from ..errors import InvalidInput
from ..timestamps import to_microseconds
from .metrics import Grades

T = TypeVar("T")

WHOLE_CORPUS = "all"


Link: TypeAlias = tuple[str, str]
"""The id of a document, and that of the one it points at."""


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    text: str
    tags: tuple[str, ...] = ()
    created_at: int | None = None
    scope: str | None = None
    session: str | None = None
    sequence: int | None = None
    """Place within its session, in the order of the corpus."""


@dataclass(frozen=True, slots=True)
class EvaluationQuery:
    id: str
    text: str
    relevant: Grades
    collection: str
    """The name of the group of documents that this query searches."""
    category: str | None = None
    asked_at: int | None = None
    """When it was asked, for what `last week` and recency mean; None is now."""


@dataclass(frozen=True, slots=True)
class Dataset:
    name: str
    collections: Mapping[str, Sequence[Document]]
    """Documents in groups; a query searches one of them. A document may be in several."""
    queries: Sequence[EvaluationQuery]
    """Only those that have a relevant document."""
    links: Sequence[Link] = ()
    """Between documents of the corpus."""

    @property
    def documents(self) -> int:
        return len({document.id for documents in self.collections.values() for document in documents})

    @property
    def unknown_relevant(self) -> int:
        """How many judgements name a document that its query cannot find; they count as not found."""
        known = {name: {document.id for document in documents} for name, documents in self.collections.items()}
        return sum(document not in known[query.collection] for query in self.queries for document in query.relevant)

    def with_queries(self, limit: int) -> "Dataset":
        """So many queries, evenly chosen, and the documents that they search."""
        if limit >= len(self.queries):
            return self
        step = len(self.queries) / limit
        queries = [self.queries[int(number * step)] for number in range(limit)]
        searched = {query.collection: self.collections[query.collection] for query in queries}
        return replace(self, queries=queries, collections=searched)


def load_dataset(folder: Path) -> Dataset:
    """Read a folder; what is missing or malformed is said with file and line."""
    if not folder.is_dir():
        raise InvalidInput(f"{folder} is not a folder.", reason="dataset_not_found")
    documents = {document.id: document for document in _in_sessions(_read(folder, "corpus", _document))}
    relevant = _relevant(folder / "qrels.tsv")
    haystacks = dict(_read(folder, "haystacks", _haystack)) if _json_file(folder, "haystacks") else {}
    queries = [
        replace(
            query,
            relevant=relevant[query.id],
            collection=query.id if query.id in haystacks else query.collection,
        )
        for query in _read(folder, "queries", _query)
        if query.id in relevant
    ]
    if not (documents and queries):
        raise InvalidInput(f"{folder} has no document, or no query with a relevant one.", reason="dataset_empty")
    links = [link for link in _links(folder / "links.tsv") if documents.keys() >= set(link)]
    return Dataset(folder.resolve().name, _collections(documents, queries, haystacks), queries, links)


def _collections(
    documents: Mapping[str, Document], queries: Sequence[EvaluationQuery], haystacks: Mapping[str, Sequence[str]]
) -> dict[str, list[Document]]:
    by_scope: dict[str | None, list[Document]] = defaultdict(list)
    for document in documents.values():
        by_scope[document.scope].append(document)
    collections: dict[str, list[Document]] = {}
    for collection in dict.fromkeys(query.collection for query in queries):
        if collection in haystacks:
            collections[collection] = [_known(documents, name, collection) for name in haystacks[collection]]
        elif collection == WHOLE_CORPUS:
            collections[collection] = list(documents.values())
        else:
            collections[collection] = by_scope[collection]
    return collections


def _known(documents: Mapping[str, Document], name: str, query: str) -> Document:
    if name not in documents:
        raise InvalidInput(f"The haystack of {query} names {name}, which is no document.", reason="dataset_malformed")
    return documents[name]


def _json_file(folder: Path, name: str) -> Path | None:
    candidates = (folder / f"{name}.jsonl", folder / f"{name}.jsonl.gz")
    return next((path for path in candidates if path.is_file()), None)


def _read(folder: Path, name: str, parse: Callable[[dict[str, Any]], T]) -> Iterator[T]:
    path = _json_file(folder, name)
    if path is None:
        raise InvalidInput(f"{folder} has no {name}.jsonl or {name}.jsonl.gz.", reason="dataset_incomplete")
    number = 0  # of the line that is read; what fails may be the reading itself
    try:
        with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as lines:
            for line in lines:
                number += 1
                if line.strip():
                    yield parse(json.loads(line))
    except (KeyError, ValueError, TypeError, AttributeError, EOFError, gzip.BadGzipFile) as error:
        raise InvalidInput(f"{path}, line {max(1, number)}: {_explained(error)}", reason="dataset_malformed") from error


def _explained(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"the field {error} is missing."
    if isinstance(error, (TypeError, AttributeError)):
        return f"an object with other fields is expected ({error})."
    return f"{error}."


def _document(row: dict[str, Any]) -> Document:
    meta: dict[str, Any] = row.get("meta") or {}
    return Document(
        id=str(row["id"]),
        text=str(row["text"]),
        tags=tuple(map(str, row.get("tags") or ())),
        created_at=_moment(row.get("created_at")),
        scope=meta.get("scope"),
        session=meta.get("session"),
    )


def _query(row: dict[str, Any]) -> EvaluationQuery:
    """What is relevant to it, and its haystack, stand in files of their own."""
    meta: dict[str, Any] = row.get("meta") or {}
    category = meta.get("type", meta.get("category"))
    return EvaluationQuery(
        id=str(row["id"]),
        text=str(row["text"]),
        relevant={},
        collection=meta.get("scope") or WHOLE_CORPUS,
        category=None if category is None else str(category),
        asked_at=_moment(meta.get("asked_at", meta.get("asked_after"))),
    )


def _moment(text: str | None) -> int | None:
    return None if text is None else to_microseconds(datetime.fromisoformat(text))


def _haystack(row: dict[str, Any]) -> tuple[str, list[str]]:
    return str(row["qid"]), [str(name) for name in row["ids"]]


def _in_sessions(documents: Iterator[Document]) -> Iterator[Document]:
    """The documents with their place in their session."""
    length: dict[str, int] = defaultdict(int)
    for document in documents:
        if document.session is None:
            yield document
        else:
            length[document.session] += 1
            yield replace(document, sequence=length[document.session])


def _links(path: Path) -> Iterator[Link]:
    """Source, target and perhaps the words of the link; a set without the file has none."""
    for number, fields in _tab_separated(path) if path.is_file() else ():
        if len(fields) < 2:
            raise InvalidInput(
                f"{path}, line {number}: two document ids are expected, divided by a tab.", reason="dataset_malformed"
            )
        yield fields[0], fields[1]


def _tab_separated(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Lines that are not blank, with their numbers."""
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        if line.strip():
            yield number, line.split("\t")


def _relevant(path: Path) -> dict[str, dict[str, float]]:
    if not path.is_file():
        raise InvalidInput(f"{path.parent} has no {path.name}.", reason="dataset_incomplete")
    relevant: dict[str, dict[str, float]] = defaultdict(dict)
    for number, fields in _tab_separated(path):
        if number == 1 and fields[-1] == "score":  # the header of BEIR
            continue
        try:
            query, document, grade = fields
            if float(grade) > 0:
                relevant[query][document] = float(grade)
        except ValueError:
            raise InvalidInput(
                f"{path}, line {number}: query id, document id and a number are expected, divided by tabs.",
                reason="dataset_malformed",
            ) from None
    return relevant
