"""What a note stands under is among its words, and before each chunk that is embedded."""

from collections.abc import Sequence
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.contract.memories import memory, note
from tests.support.fakes import WordEmbedder

from mcp_memory_service.embeddings.chunks import embed_chunks, text_chunks
from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.models import ANCHOR_DIVIDER, Vector
from mcp_memory_service.models.memory import MAX_HEADING_CHARS


def test_a_plain_memory_is_labelled_by_its_tags_alone():
    plain = memory("# Title\n\ntext", "a", "b", anchor="Elsewhere")
    assert (plain.labels, plain.heading) == (("a", "b"), "")


def test_a_note_is_labelled_by_the_headings_above_it():
    chunk = replace(note("## Valves ##\n\nclosed in winter", anchor="Garden > Water > Valves"), tags=("outside",))
    assert chunk.labels == ("outside", "Garden", "Water")
    assert chunk.heading == "Garden > Water > Valves"
    assert indexed_text(chunk.content, chunk.labels).labels.split() == ["valv", "outsid", "garden", "water"]


def test_a_heading_in_the_text_may_end_in_any_sign():
    assert note("# C#\r\ntext", anchor="Languages > C#").labels == ("Languages",)
    assert note("Valves\n===\n\ntext", anchor="Valves").labels == ("Valves",), "only lines with # are indexed as labels"


def test_what_has_no_anchor_stands_under_nothing():
    assert (note("text").labels, note("text").heading) == ((), "")


@given(
    st.text(min_size=1), st.text(), st.lists(st.text(min_size=1).map(lambda part: part.replace(">", "")), max_size=4)
)
def test_no_heading_is_lost_and_none_is_invented(content: str, tag: str, parts: list[str]):
    chunk = replace(note(content, anchor=ANCHOR_DIVIDER.join(parts)), tags=(tag,))
    indexed = indexed_text(chunk.content, chunk.labels).labels.split()
    assert set(indexed) >= set(indexed_text("", parts).labels.split())
    assert set(chunk.labels) <= {tag, *parts}
    assert len(chunk.heading) <= MAX_HEADING_CHARS


class Listening(WordEmbedder):
    def __init__(self) -> None:
        self.heard: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.heard += texts
        return await super().embed(texts)


async def test_every_chunk_is_embedded_under_its_heading():
    embedder, long = Listening(), "closed in winter " * 200
    vectors = await embed_chunks(embedder, [("Garden > Water", long), ("", "plain")])
    chunks = text_chunks(long)
    assert len(chunks) > 2
    assert embedder.heard == [*(f"Garden > Water\n\n{chunk}" for chunk in chunks), "plain"]
    assert [len(each) for each in vectors] == [len(chunks), 1]
