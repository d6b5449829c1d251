"""The passages of a long text: those that the query is about, with their places in it."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.long_texts import ANSWER, runbook

from mcp_memory_service.embeddings.chunks import chunk_spans
from mcp_memory_service.hybrid_search import MAX_PASSAGE_CHARS, best_passages

QUERY = "what to do when the pgbouncer pool is exhausted"
SECOND_ANSWER = "After the pgbouncer pool was exhausted, finch is rebooted in the next maintenance window."


def passages(content: str, query: str, similarities: list[float] | None = None) -> list[str]:
    return [content[low:high] for low, high in best_passages(content, query, chunk_spans(content), similarities or [])]


@pytest.mark.parametrize("place", [0, 1, 20, 45, 70, 89, 90])
def test_the_passage_has_the_paragraph_that_answers_wherever_it_stands(place: int):
    content = runbook((place, ANSWER))
    assert len(content) > 19_000
    shown = passages(content, QUERY)
    assert any(ANSWER in passage for passage in shown)


def test_similarity_finds_what_no_word_does():
    content = runbook((60, ANSWER))
    spans = chunk_spans(content)
    low, high = content.index(ANSWER), content.index(ANSWER) + len(ANSWER)
    near = [0.1 + max(0, min(end, high) - max(start, low)) / len(ANSWER) / 2 for start, end in spans]
    (shown,) = passages(content, "kassiererin verzweifelt", near)
    assert ANSWER in shown


def test_similarities_that_do_not_fit_the_chunks_are_ignored():
    content = runbook((60, ANSWER))
    assert passages(content, QUERY, [0.9, 0.1]) == passages(content, QUERY)


def test_two_distant_parts_are_both_shown_in_their_order():
    content = runbook((10, ANSWER), (70, SECOND_ANSWER))
    first, second = passages(content, "pgbouncer pool exhausted on finch")
    assert ANSWER in first
    assert SECOND_ANSWER in second


def test_parts_that_touch_are_one():
    birds = f"The heron {'stands in the reeds by the water. ' * 26}The bittern hides."
    content = runbook((40, birds))
    (shown,) = passages(content, "heron bittern")
    assert birds in shown


def test_where_nothing_matches_the_beginning_is_shown():
    (shown,) = passages(runbook(), "zzz")
    assert runbook().startswith(shown)


def test_a_passage_begins_and_ends_with_a_sentence_or_line():
    content = runbook((45, ANSWER))
    for low, high in best_passages(content, QUERY, chunk_spans(content)):
        assert low == 0 or content[low - 1] == "\n" or content[low - 2 : low] == ". "
        assert high == len(content) or content[high] == "\n" or content[high - 1] == "."


def test_a_text_without_spaces_is_shown_around_the_words():
    filler = "設定ファイルの変更は承認された担当者のみが行うこと。" * 200
    content = filler[:2_400] + "接続プールが枯渇したら再起動する。" + filler[:2_000]
    (shown,) = passages(content, "接続プール枯渇")
    assert "接続プールが枯渇したら再起動する。" in shown


PARTS = ["pool ", "exhausted. ", "日本語。", "\n", " " * 700, "x" * 900, "Some words here. "]
contents = (
    st.lists(st.sampled_from(PARTS), max_size=300).map("".join)
    | st.text(alphabet="ab cd.\n日本。é\u3000\t", max_size=6_000)
    | st.text(max_size=3_000)
).filter(str.strip)
queries = st.sampled_from(["pool exhausted", "日本", "", "nothing of it", '"some words"'])


@given(contents, queries, st.none() | st.lists(st.floats(-1, 1), min_size=1))
def test_passages_are_bounded_in_order_and_apart(content: str, query: str, drawn: list[float] | None):
    spans = chunk_spans(content)
    near = [drawn[place % len(drawn)] for place in range(len(spans))] if drawn else []
    found = best_passages(content, query, spans, near)
    assert 1 <= len(found) <= 2
    assert sum(high - low for low, high in found) <= MAX_PASSAGE_CHARS
    assert all(0 <= low <= high <= len(content) for low, high in found)
    assert all(before[1] < after[0] for before, after in pairwise(found))
    assert all(content[low:high].strip() == content[low:high] != "" for low, high in found)
    assert found == best_passages(content, query, spans, near)
