"""What a memory that was just stored may repeat, correct or contradict.

It is asked after the write: whatever fails here, the memory is stored, and the answer names no others.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from ...errors import MemoryServiceError
from ...hybrid_search import MIN_LIKENESS, compared_words, likeness, mean_direction
from ...models import EmbeddedMemory, MemoryFilter, QueryTerms, SimilarMemory, StoreOutcome
from ...storage.ports import Snapshot, Store

logger = logging.getLogger(__name__)

MAX_SIMILAR = 3
MAX_ASKED_ITEMS = 10
"""Of a larger batch nobody reads what is similar to each, and an import would take longer for it."""
TIMEOUT_SECONDS = 2.0
"""A store that takes longer is busy: the memory is stored, and its writer has waited enough."""

# All 90 labelled pairs of our own corpus are among them (python -m tests.eval.similar_pairs).
NEAREST = 10
BEST_BY_WORDS = 5
# The longest, which are the rarest more often than not: each costs a walk through its postings.
MAX_WORDS_ASKED = 12


async def with_similar(
    storage: Store, items: Sequence[EmbeddedMemory], outcomes: Sequence[StoreOutcome], where: MemoryFilter
) -> list[StoreOutcome]:
    """The outcomes of these items, each with the memories that pass the filter and are most like it."""
    try:
        async with asyncio.timeout(TIMEOUT_SECONDS):
            found = [await similar_to(storage, item, where) for item in items]
    except (MemoryServiceError, TimeoutError) as error:
        logger.warning("A store is answered without what is similar: %s", error)
        return list(outcomes)
    return [replace(outcome, similar=similar) for outcome, similar in zip(outcomes, found, strict=True)]


async def similar_to(storage: Store, item: EmbeddedMemory, where: MemoryFilter) -> tuple[SimilarMemory, ...]:
    """Those most like it, by vector and words together, most similar first."""
    own, direction = item.memory, mean_direction(item.vectors)
    own_words = compared_words(own.content)

    async def candidates(snapshot: Snapshot) -> list[str]:
        terms = QueryTerms(tuple(sorted(own_words, key=lambda word: (-len(word), word))[:MAX_WORDS_ASKED]), ())
        by_vector = snapshot.start(snapshot.reads.retrieve(direction, NEAREST + 1, where))
        by_words = snapshot.start(snapshot.reads.search_by_text(terms, BEST_BY_WORDS + 1, where))
        found = dict.fromkeys(each.content_hash for each in (*await by_vector, *(await by_words).candidates))
        return [content_hash for content_hash in found if content_hash != own.content_hash]

    ids = await storage.search(candidates)
    alike: list[tuple[float, SimilarMemory]] = []
    for other in await storage.get_embedded(own.namespace, ids):
        # What is no plain memory belongs to its source, which alone can correct it, and may wait for its vectors.
        if other.memory.kind != own.kind or not other.vectors:
            continue
        similarity = float(direction @ mean_direction(other.vectors))
        score = likeness(similarity, own_words, compared_words(other.memory.content))
        if score >= MIN_LIKENESS:
            alike.append((score, SimilarMemory(other.memory, similarity)))
    alike.sort(key=lambda each: (-each[0], each[1].memory.content_hash))
    return tuple(sorted((similar for _, similar in alike[:MAX_SIMILAR]), key=lambda each: -each.similarity))
