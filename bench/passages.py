"""How often the passages of a long text have the note that answers: `python -m bench.passages`.

The notes of our own corpus are put together, in random order, to texts of 20,000 characters; of each query and each
text that has an expected note, it counts whether at least 80 % of one such note are shown.
"""

import asyncio
import random
from collections.abc import Sequence

from tests.eval.own_corpus import labelled_queries, memory_drafts

from mcp_memory_service.embeddings.chunks import chunk_spans, embed_chunks
from mcp_memory_service.embeddings.local_onnx import LocalEmbedder
from mcp_memory_service.hybrid_search.text import passages
from mcp_memory_service.hybrid_search.text.passages import Span, best_passages
from mcp_memory_service.models import content_hash
from mcp_memory_service.storage.vectors import cosines

TEXT_CHARS = 20_000
BREAK = "\n\n"


def texts() -> list[list[str]]:
    """The notes of each text."""
    notes = [draft.content for draft in memory_drafts()]
    random.Random(1).shuffle(notes)
    found: list[list[str]] = [[]]
    for note in notes:
        if len(BREAK.join(found[-1])) > TEXT_CHARS:
            found.append([])
        found[-1].append(note)
    return found


def spans_of(notes: Sequence[str], wanted: Sequence[str]) -> list[Span]:
    text = BREAK.join(notes)
    return [(text.index(note), text.index(note) + len(note)) for note in notes if content_hash(note) in wanted]


def is_shown(note: Span, shown: Sequence[Span]) -> bool:
    seen = sum(max(0, min(note[1], high) - max(note[0], low)) for low, high in shown)
    return seen >= 0.8 * (note[1] - note[0])


async def main() -> None:
    embedder, parts = LocalEmbedder(threads=1), texts()
    vectors = await embed_chunks(embedder, [("", BREAK.join(notes)) for notes in parts])
    cases: list[tuple[str, str, list[Span], list[float]]] = []
    for case in labelled_queries():
        query = await embedder.embed_query(case.query)
        for notes, chunks in zip(parts, vectors, strict=True):
            if answers := spans_of(notes, case.expected_hashes):
                cases.append((case.query, BREAK.join(notes), answers, cosines(query, chunks)))
    for share in (0.9, 0.8, 0.7, 0.6, 0.5):
        passages.SECOND_SHARE = share
        for name in ("words", "both"):
            found = [
                (answers, best_passages(text, query, chunk_spans(text), near if name == "both" else ()))
                for query, text, answers, near in cases
            ]
            hits = sum(any(is_shown(answer, shown) for answer in answers) for answers, shown in found)
            chars = sum(high - low for _, shown in found for low, high in shown)
            print(
                f"{name:5} share {share}: {hits / len(cases):.3f} of {len(cases)}, {chars / len(cases):.0f} characters"
            )
    await embedder.close()


if __name__ == "__main__":
    asyncio.run(main())
