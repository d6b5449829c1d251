"""What is said of the files of what a search found."""

import asyncio
from dataclasses import replace

from ...models import KINDS_OF_FILES
from ...storage.ports import Store
from ..search.results import SearchResult
from .folder_context import contexts_of
from .freshness import freshness_of


async def with_files(found: SearchResult, storage: Store, namespace: str, *, folder_context: bool) -> SearchResult:
    """With whether each file still has what was found in it, and with what the folders say of themselves."""
    if {hit.memory.kind for hit in found.results}.isdisjoint(KINDS_OF_FILES):
        return found
    memories = [hit.memory for hit in found.results]
    unseen = [hit.memory for hit in found.results if hit.freshness is None]
    looked_at = await asyncio.to_thread(lambda: {memory.content_hash: freshness_of(memory) for memory in unseen})
    results = tuple(
        hit if hit.freshness else replace(hit, freshness=looked_at[hit.memory.content_hash]) for hit in found.results
    )
    contexts = await contexts_of(storage, namespace, memories) if folder_context else ()
    return replace(found, results=results, contexts=contexts)
