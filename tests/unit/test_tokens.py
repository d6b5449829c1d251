"""How texts and queries are cut into the words of the keyword signal."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import indexed_text, matched_spans, query_terms, snippet, word_tokens
from mcp_memory_service.hybrid_search.text.tokens import MAX_QUERY_TERMS
from mcp_memory_service.models import QueryTerms


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("call authenticate_user() first", "authenticate_user"),
        ("AuthService.authenticate_user(request)", "authenticate_user"),
        ("runs on Node.js 20", "node.js"),
        ("fixed CVE-2025-1234 today", "cve-2025-1234"),
        ("see src/bm25_search.rs:287.", "src/bm25_search.rs:287"),
        ("see src/bm25_search.rs:287.", "bm25_search.rs"),
        ("parseHTTPResponse is slow", "parsehttpresponse"),
        ("written in C++ and C#", "c++"),
        ("def __init__(self):", "__init__"),
        ("version v1.2.3 is out", "v1.2.3"),
        ("部署", "部"),
    ],
)
def test_names_are_kept_exact(text: str, name: str):
    assert name in indexed_text(text).names.split()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("authenticate_user", "authent user"),
        ("parseHTTPResponse", "pars http respons"),
        ("running tests", "run test"),
        ("ECONNREFUSED", "econnrefus"),
        ("Größe der Datei", "grösse der datei"),
        ("如何部署", "如何 何部 部署"),
        ("テスト", "テス スト"),
        ("a 字 b", "a 字 b"),
        ("", ""),
        ("... !!!", ""),
    ],
)
def test_words_are_folded_stemmed_and_in_order(text: str, words: str):
    assert indexed_text(text).words == words


def test_headings_and_tags_are_labels():
    indexed = indexed_text("# Tunnel setup\nbody text\n## Second part", ["home-lab", "Größe"])
    assert indexed.labels == "tunnel setup second part home lab grösse"
    assert indexed.words == "tunnel setup bodi text second part"
    assert "home-lab" in indexed.names.split()


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("how does auth work", QueryTerms(("auth", "work"), ())),
        ("the of and", QueryTerms(("the", "of", "and"), ())),
        ("", QueryTerms((), ())),
        ("!?", QueryTerms((), ())),
        ('"connection refused" error', QueryTerms(("error",), (), (("connect", "refus"),))),
        ('"single"', QueryTerms(("singl",), ())),
        ('unbalanced "quote', QueryTerms(("unbalanc", "quot"), ())),
        ("word word WORD", QueryTerms(("word",), (), (), (3.0,))),
    ],
)
def test_queries_become_alternatives(query: str, terms: QueryTerms):
    assert query_terms(query) == terms


def weights(query: str) -> dict[str, float]:
    terms = query_terms(query)
    return dict(zip(terms.words, terms.weights, strict=False))


def test_a_word_counts_as_often_as_the_query_says_it():
    assert weights("titles of articles, and how titles are chosen") == {"titl": 2.0, "articl": 1.0, "chosen": 1.0}


@pytest.mark.parametrize(
    ("query", "parts"),
    [
        ("timeout at 10.0.3.17:8080", {"10", "0", "3", "17", "8080"}),
        ("timeout 3fa85f64-5717-4562-b3fc-2c963f66afa6", {"3fa85f64", "5717", "4562", "b3fc", "2c963f66afa6"}),
        ("timeout, says anna.berg@mail.example", {"anna", "berg", "mail", "exampl"}),
        ("timeout https://tracker.example/OPS-12", {"https", "tracker", "exampl", "op", "12"}),
        ("timeout since 2026-05-12", {"2026", "05", "12"}),
    ],
)
def test_parts_of_addresses_and_ids_count_little_beside_words(query: str, parts: set[str]):
    counted = weights(query)
    assert counted["timeout"] == 1.0
    assert {word for word, weight in counted.items() if weight < 0.5} == parts


@pytest.mark.parametrize("query", ["IL-6 receptor", "node.js timeout", "OPS-1234 blocked", "authenticate_user", "c++"])
def test_names_are_no_addresses(query: str):
    assert set(weights(query).values()) == {1.0}


def test_a_query_has_bounded_terms():
    terms = query_terms(" ".join(f"word{i} name_{i} " + f'"quoted phrase {i}"' for i in range(500)))
    assert max(len(terms.words), len(terms.names), len(terms.phrases)) == MAX_QUERY_TERMS


@given(st.text(max_size=200))
@example("0\ufe70")  # folds to a digit, a space and a mark
def test_every_word_of_a_query_finds_the_text_it_came_from(text: str):
    indexed, terms = indexed_text(text), query_terms(text.replace('"', " "))
    assert set(terms.words) <= set(indexed.words.split()) or len(terms.words) == MAX_QUERY_TERMS
    assert set(terms.names) <= set(indexed.names.split()) or len(terms.names) == MAX_QUERY_TERMS


@given(st.text(max_size=200))
def test_tokens_hold_no_separators(text: str):
    indexed = indexed_text(text)
    for tokens in (indexed.labels, indexed.words, indexed.names):
        assert tokens == " ".join(tokens.split())


def test_a_snippet_shows_the_matched_words():
    assert snippet("The tunnel forwards ports to the lab", "forwarding ports") == (
        "The tunnel **forwards** **ports** to the lab"
    )
    assert snippet("nothing here", "something else entirely") is None
    long = "filler words " * 100 + "then authenticate_user checks the token " + "more filler " * 100
    shown = snippet(long, "authenticate_user token")
    assert shown is not None
    assert "**authenticate_user** checks the **token**" in shown
    assert shown.startswith("…")
    assert shown.endswith("…")
    assert len(shown) < 250


@given(st.text("ab_é7 .+東京", max_size=60), st.text('ab_é7 "東京', max_size=20))
def test_matched_spans_are_all_words_that_share_a_token_with_the_query(content: str, query: str):
    terms = query_terms(query)
    wanted = {*terms.words, *(word for phrase in terms.phrases for word in phrase)}
    wanted.update(word for name in terms.names for word in word_tokens(name))
    expected = [word.span() for word in re.finditer(r"\w+", content) if wanted & set(word_tokens(word.group()))]
    assert matched_spans(content, query) == expected


def test_of_many_matches_the_densest_part_is_shown():
    content = "port " + "filler " * 60 + "port and port " + "filler " * 60 + "port port port " + "filler " * 60
    assert (snippet(content, "port") or "").count("**port**") == 3
    assert (snippet(content + "port port port", "port") or "").endswith("…"), "of equals the first"


@given(st.text(max_size=300), st.text(max_size=50))
def test_snippets_and_spans_never_fail(content: str, query: str):
    for low, high in matched_spans(content, query):
        assert 0 <= low < high <= len(content)
    shown = snippet(content, query)
    assert (shown is None) == (matched_spans(content, query) == [])
