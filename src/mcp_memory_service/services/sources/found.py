"""What is said of the files of what a search found."""

import asyncio
from dataclasses import replace

from ...models import KINDS_OF_FILES
from ...storage.ports import Store
from ..search.results import SearchResult
from .folder_context import contexts_of
from .freshness import FreshnessCheck


async def with_files(
    found: SearchResult, storage: Store, namespace: str, check: FreshnessCheck, *, folder_context: bool
) -> SearchResult:
    """With whether each file still has what was found in it, and with what the folders say of themselves."""
    if {hit.memory.kind for hit in found.results}.isdisjoint(KINDS_OF_FILES):
        return found
    memories = [hit.memory for hit in found.results]
    freshness = await asyncio.to_thread(check.of, memories)
    results = tuple(replace(hit, freshness=each) for hit, each in zip(found.results, freshness, strict=True))
    contexts = await contexts_of(storage, namespace, memories) if folder_context else ()
    return replace(found, results=results, contexts=contexts)
