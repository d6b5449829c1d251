"""Which parts of a long memory an answer shows in place of the whole."""

from collections.abc import Sequence

from ...embeddings.chunks import chunk_spans
from ...hybrid_search import best_passages
from ...models import Memory
from .results import Passage


def passages_of(memory: Memory, query: str, similarities: Sequence[float] = ()) -> tuple[Passage, ...]:
    """Chosen among its chunks; by words alone if there is no similarity for each of them, as of a memory that was
    embedded by other cuts."""
    content = memory.content
    spans = best_passages(content, query, chunk_spans(content), similarities)
    return tuple(Passage(start, content[start:end]) for start, end in spans)
