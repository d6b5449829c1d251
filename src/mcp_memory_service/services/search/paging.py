"""One page of a ranking: what has to be read to cut it, and what is on it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...hybrid_search import Fused, page_places
from ...models import KINDS_OF_FILES, Memory, MemoryFilter
from ...storage.ports import SearchReads
from .results import Paging


async def read_page(
    fused: Fused, paging: Paging, max_chunks: int, first: int, where: MemoryFilter, reads: SearchReads
) -> tuple[Fused, Sequence[Memory], Paging]:
    """A page with at most `max_chunks` of one document, if that is not 0, and its memories in order, as far as they are
    there; and how many pages there are then. With `first`, also the memories that come first in the ranking, and all
    else that was read."""
    offset = paging.offset
    end = offset + paging.page_size
    if not max_chunks or fused.pool.sequences is None or not _has_chunks(fused, end):
        page = fused[offset:end]
        ids = page.content_hashes
        if first:
            ids = list(dict.fromkeys([*ids, *fused[:first].content_hashes]))
        return page, await reads.get_many(where.namespace, ids) if ids else [], paging
    ahead = max(2 * end, first)
    while True:  # the pages before it decide what is left for this one
        found = await reads.get_many(where.namespace, fused[:ahead].content_hashes)
        read = {memory.content_hash: memory for memory in found}
        page, cut = cut_page(fused[:ahead], paging, max_chunks, read)
        if len(page) == paging.page_size or ahead >= len(fused):
            return page, found if first else memories_on(page, read), cut
        ahead *= 2


def cut_page(fused: Fused, paging: Paging, max_chunks: int, read: Mapping[str, Memory]) -> tuple[Fused, Paging]:
    """Of what was read, the documents are known."""
    if not max_chunks or {memory.kind for memory in read.values()}.isdisjoint(KINDS_OF_FILES):
        return fused[paging.offset : paging.offset + paging.page_size], paging
    documents = [_document_of(read.get(each)) for each in fused.content_hashes]
    spread = page_places(documents, paging.page, paging.page_size, max_chunks)
    return fused.at(spread.places), replace(paging, placed=spread.placed, pages=spread.pages)


def memories_on(page: Fused, read: Mapping[str, Memory]) -> Sequence[Memory]:
    """In the order of the page; one that was deleted since the signals answered is not there."""
    return [read[each] for each in page.content_hashes if each in read]


def _has_chunks(fused: Fused, end: int) -> bool:
    """Whether one of the first is a chunk: it has a place in its document, and no session."""
    sessions, sequences = fused.pool.sessions, fused.pool.sequences
    assert sequences is not None, "who has none is no chunk"
    leading: list[int] = fused.order[:end].tolist()
    chunks = [place for place in leading if sequences[place] is not None and (not sessions or sessions[place] is None)]
    return bool(chunks)


def _document_of(memory: Memory | None) -> str | None:
    return None if memory is None or memory.kind == "memory" else memory.source
