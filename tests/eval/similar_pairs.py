"""How well a store names what it repeats, corrects or contradicts, on our own corpus.

similar_pairs.json has the pairs of notes of which the later one does that to the earlier one, by the first 12 digits of
their ids. They were judged by hand from 251 pairs: the 190 nearest by vectors and the 110 with the most rare words in
common. Every other pair counts as wrong, also where nobody judged it.

python -m tests.eval.similar_pairs
"""

import asyncio
import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from tests.eval.own_corpus import FOLDER, store_corpus

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.config import load_settings
from mcp_memory_service.hybrid_search import MIN_LIKENESS, compared_words, likeness, mean_direction
from mcp_memory_service.models import EmbeddedMemory, MemoryFilter
from mcp_memory_service.services import MemoryService
from mcp_memory_service.services.write.similar import BEST_BY_WORDS, MAX_SIMILAR, NEAREST, similar_to
from mcp_memory_service.storage.ports import Store

ID_DIGITS = 12
THRESHOLDS = (0.25, 0.28, MIN_LIKENESS, 0.31, 0.33, 0.35, 0.4)


@dataclass(frozen=True)
class Named:
    """What the stores of a corpus named."""

    right: int
    memories: int
    expected: int

    @property
    def precision(self) -> float:
        return self.right / max(1, self.memories)

    @property
    def recall(self) -> float:
        return self.right / self.expected


def alike_pairs() -> set[tuple[str, str]]:
    """The earlier one first."""
    return {(earlier, later) for earlier, later in json.loads((FOLDER / "similar_pairs.json").read_text())["pairs"]}


async def stored(storage: Store) -> list[EmbeddedMemory]:
    """All of the corpus, oldest first."""
    items = (await storage.scan(None, 1_000)).items
    return sorted(items, key=lambda item: item.memory.created_at)


async def named_by_stores(storage: Store) -> Named:
    """Of every note, what its store would have named on the day it was written."""
    expected = alike_pairs()
    named = [
        (_id(similar.memory.content_hash), _id(item.memory.content_hash))
        for item in await stored(storage)
        for similar in await similar_to(storage, item, MemoryFilter(before=item.memory.created_at))
    ]
    return Named(len(expected.intersection(named)), len(named), len(expected))


def named_above(items: Sequence[EmbeddedMemory], scores: np.ndarray, threshold: float) -> Named:
    """The same from the scores of all pairs."""
    expected, named = alike_pairs(), set[tuple[str, str]]()
    for later in range(len(items)):
        best = np.argsort(-scores[later, :later])[:MAX_SIMILAR]
        named |= {(_digits(items, each), _digits(items, later)) for each in best if scores[later, each] >= threshold}
    return Named(len(expected & named), len(named), len(expected))


def all_scores(items: Sequence[EmbeddedMemory]) -> Mapping[str, np.ndarray]:
    """Of all pairs, by cosine, by shared words and by both."""
    directions = np.stack([mean_direction(item.vectors) for item in items])
    words = [compared_words(item.memory.content) for item in items]
    cosine = directions @ directions.T
    shared = np.array([[len(one & other) / max(1, len(one | other)) for other in words] for one in words])
    both = [
        [likeness(float(cosine[row, column]), words[row], words[column]) for column in range(len(items))]
        for row in range(len(items))
    ]
    return {"cosine": cosine, "words": shared, "likeness": np.array(both)}


def report(items: Sequence[EmbeddedMemory]) -> str:
    scores = all_scores(items)
    lines = ["threshold  named  right  precision  recall"]
    lines += [f"{each:>9.2f}  {_row(named_above(items, scores['likeness'], each))}" for each in THRESHOLDS]
    chosen = named_above(items, scores["likeness"], MIN_LIKENESS)
    for signal in ("cosine", "words"):  # naming as many
        pairs = scores[signal][np.tril_indices(len(items), -1)]
        threshold = float(np.sort(pairs)[-chosen.memories])
        lines.append(f"{signal} alone  {_row(named_above(items, scores[signal], threshold))}  from {threshold:.2f}")
    places = {_digits(items, place): place for place in range(len(items))}
    found = [_is_candidate(scores, places[earlier], places[later]) for earlier, later in alike_pairs()]
    lines.append(f"among {NEAREST} nearest and {BEST_BY_WORDS} best by words: {sum(found)} of {len(found)}")
    pairs = scores["likeness"][np.tril_indices(len(items), -1)]
    lines.append(f"of all {pairs.size:,} pairs {int((pairs >= MIN_LIKENESS).sum())} are above {MIN_LIKENESS}")
    for threshold in (0.75, 0.8, 0.85, 0.9):
        near = np.argwhere(np.tril(scores["cosine"], -1) >= threshold)
        right = [(_digits(items, earlier), _digits(items, later)) in alike_pairs() for later, earlier in near]
        lines.append(f"cosine from {threshold}: {len(right)} pairs, {sum(right)} right")
    return "\n".join(lines)


def _is_candidate(scores: Mapping[str, np.ndarray], earlier: int, later: int) -> bool:
    def place(signal: str) -> int:
        row = scores[signal][later, :later]
        return int((row > row[earlier]).sum())

    return place("cosine") < NEAREST or place("words") < BEST_BY_WORDS


def _row(named: Named) -> str:
    return f"{named.memories:>5}  {named.right:>5}  {named.precision:>9.2f}  {named.recall:>6.2f}"


def _digits(items: Sequence[EmbeddedMemory], place: int) -> str:
    return _id(items[place].memory.content_hash)


def _id(content_hash: str) -> str:
    return content_hash[:ID_DIGITS]


async def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        settings = load_settings({"sqlite_path": Path(folder) / "pairs.db"})
        async with open_backends(settings) as (storage, embedder):
            await store_corpus(MemoryService(storage, embedder))
            print(report(await stored(storage)))
            print(f"by the service  {_row(await named_by_stores(storage))}")


if __name__ == "__main__":
    asyncio.run(main())
