"""Whether a text speaks of a symbol, and what finds such texts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import indexed_text
from mcp_memory_service.services.code.mentions import MentionedSymbol, mention_of, mention_terms, same_file

LOGIN = MentionedSymbol("shop.auth.authenticate_user", "src/shop/auth.py", 10, 20)
RUN = MentionedSymbol("shop.jobs.Store.run", "src/shop/jobs.py", 30, 40, rivals=frozenset({"Cache"}))
STORE = MentionedSymbol("shop.jobs.Store", "src/shop/jobs.py", 25, 60)
MODULE = MentionedSymbol("shop.auth", "src/shop/auth.py", 1, 90, is_file=True)


@pytest.mark.parametrize(
    ("symbol", "text", "form"),
    [
        (LOGIN, "We rewrote authenticate_user today.", "name"),
        (LOGIN, "client.authenticate_user fails", "name"),
        (LOGIN, "auth.authenticate_user fails", "qualified"),
        (LOGIN, "authenticate_user_twice and re_authenticate_user", None),
        (LOGIN, "Authenticate_User", None),
        (LOGIN, "it broke at shop/auth.py:15", "place"),
        (LOGIN, "it broke at auth.py:5-11, once", "place"),
        (LOGIN, "it broke at auth.py:21", None),
        (LOGIN, "it broke at oauth.py:15", None),
        (LOGIN, 'File "/srv/app/src/shop/auth.py", line 12, in x', "place"),
        (LOGIN, "see auth.py", None),
        (RUN, "we run it and then run(s) go on", None),
        (RUN, "a `run` is slow", "name"),
        (RUN, "`run tests` is slow", None),
        (RUN, "run() is slow", "name"),
        (RUN, "self.run() is slow", "name"),
        (RUN, "subprocess.run() is slow", None),
        (RUN, "Store.run is slow", "qualified"),
        (RUN, "Cache.run() is slow", None),
        (RUN, "```\nrun\n```", None),
        (STORE, "Store the keys in the Store", None),
        (STORE, "the `Store` keeps keys", "name"),
        (STORE, "`Store.keep()` keeps keys", "name"),
        (STORE, "`Store keys` by hand", None),
        (MODULE, "auth.py needs a review", "place"),
        (MODULE, "the auth needs a review", None),
        (MODULE, "`shop.auth` needs a review", "qualified"),
    ],
)
def test_a_text_speaks_of_a_symbol_or_does_not(symbol: MentionedSymbol, text: str, form: str | None):
    found = mention_of(text, symbol)
    assert (found and found.form) == form


SYMBOLS = st.builds(
    MentionedSymbol,
    st.sampled_from(["shop.auth.authenticate_user", "shop.jobs.Store.run", "a.parseHeader", "shop.auth", "m.__call__"]),
    st.sampled_from(["src/shop/auth.py", "web/app.test.ts"]),
    st.integers(1, 30),
    st.integers(31, 60),
    st.booleans(),
)
PIECES = st.sampled_from(
    ["authenticate_user", "Store.run", "`run`", "run()", "parseHeader", "auth.py", "shop/auth.py:40", "app.test.ts:35",
     "`shop.auth`", "self.__call__", "and", "the", "(", "`", "\n", "/", ".", "über", 'File "src/shop/auth.py", line 40']
)  # fmt: skip


@given(SYMBOLS, st.lists(PIECES, max_size=8), st.sampled_from([" ", "", ", "]))
def test_what_speaks_of_a_symbol_is_found_by_its_terms(symbol: MentionedSymbol, pieces: list[str], between: str):
    text = between.join(pieces)
    if mention_of(text, symbol):
        terms, indexed = mention_terms([symbol]), indexed_text(text)
        assert set(terms.words) & set(indexed.words.split()) or set(terms.names) & set(indexed.names.split())


SEGMENTS = st.lists(st.sampled_from(["a", "b.py", "ab"]), min_size=1, max_size=4).map("/".join)


@given(SEGMENTS, SEGMENTS)
def test_a_path_is_known_by_its_end(front: str, end: str):
    assert same_file(end, f"{front}/{end}")
    assert same_file(f"./{front}/{end}", end)
    assert not same_file(f"x{end}", f"{front}/{end}")


def test_long_runs_cost_no_more_than_their_length():
    text = "a" * 100_000 + " " + "a." * 50_000 + " " + "`" * 50_000 + "/" * 50_000
    assert mention_of(text, LOGIN) is None
    assert mention_of(text + " authenticate_user", LOGIN)
