"""Which words and tags are found in a query, in any script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import STOP_WORDS, TagVocabulary, extract_query_keywords
from mcp_memory_service.hybrid_search.text.words import split_any_script, split_words
from mcp_memory_service.models import fold_tag


@pytest.mark.parametrize(
    ("query", "keywords"),
    [
        ("rathole project", ["rathole", "project"]),
        ("the quick brown fox", ["quick", "brown", "fox"]),
        ("python,api,bug-fix", ["python", "api", "bug", "fix"]),
        ("Rathole RATHOLE rathole", ["rathole"]),
        ("", []),
        ("the of and", []),
        ("?!… — ()", []),
        ("what's up?", []),
        ("C++ or C# or a+b", ["c++", "c#", "b"]),
        ("Größe", ["grösse"]),
        ("ﬁle Ｆｕｌｌ", ["file", "full"]),
        ("🚀 launch", ["🚀", "launch"]),
    ],
)
def test_words_of_a_query(query: str, keywords: list[str]):
    assert extract_query_keywords(query) == keywords


@pytest.mark.parametrize(
    ("query", "tag"),
    [
        ("rathole project architecture", "rathole"),
        ("rathole project architecture", "Rathole"),
        ("how does RATHOLE work?", "rathole"),
        ("rathole project architecture", "project:rathole"),
        ("project:rathole", "project:rathole"),
        ("python in the monorepo", "lang/python"),
        ("memory service design", "memory_service"),
        ("memory_service design", "memory service"),
        ("which Node.js version", "node.js"),
        ("node js", "Node.JS"),
        ("my home lab setup notes", "home-lab-setup"),
        ("GRÖSSE der Datei", "größe"),
        ("如何部署服务", "部署"),
        ("サーバーの設定方法", "設定"),
        ("วิธีติดตั้งระบบ", "ติดตั้ง"),
        ("как настроить Туннель", "туннель"),
        ("why c++ here", "c++"),
        ("ship it 🚀 now", "🚀"),
        ("state of the art", "state-of-the-art"),
        ("e\u0301tude", "\u00e9tude"),
    ],
)
def test_a_tag_is_found_however_it_is_written(query: str, tag: str):
    assert extract_query_keywords(query, {tag, "unrelated"}) == [fold_tag(tag)]


@pytest.mark.parametrize(
    ("query", "tag"),
    [
        ("vitamin c", "c++"),
        ("the it of the", "the"),
        ("setup of the lab at home", "home-lab-setup"),
        ("ratholes", "rathole"),
        ("部门", "部署"),
        ("project plan", "project:rathole"),
        ("anything", "!!!"),
    ],
)
def test_a_tag_that_the_query_does_not_name_is_not_found(query: str, tag: str):
    assert extract_query_keywords(query, {tag}) == []


def test_tags_come_in_the_order_of_their_mention_each_once():
    tags = ["architecture", "home", "home lab", "rathole"]
    found = extract_query_keywords("Rathole in the home lab: rathole architecture", tags)
    assert found == ["rathole", "home", "home lab", "architecture"]


def test_no_tags_at_all_match_nothing():
    assert extract_query_keywords("rathole", set()) == []


@given(st.text(max_size=60), st.lists(st.text(min_size=1, max_size=12), max_size=8))
def test_only_existing_tags_are_returned_and_none_twice(query: str, tags: list[str]):
    found = extract_query_keywords(query, tags)
    assert len(found) == len(set(found))
    assert set(found) <= {fold_tag(tag) for tag in tags}


@given(
    st.lists(st.sampled_from(["home", "lab", "node", "js", "größe", "部署"]), min_size=1, max_size=3),
    st.sampled_from("-_.: /"),
)
def test_a_tag_is_found_whatever_separates_its_words(words: list[str], separator: str):
    tag = separator.join(words)
    assert TagVocabulary([tag]).tags_in(f"about {' '.join(words)}, please") == [fold_tag(tag)]


@given(st.text(max_size=80))
def test_words_are_folded_and_free_of_stop_words(query: str):
    for word in extract_query_keywords(query):
        assert word not in STOP_WORDS
        assert split_words(word) == [word]


@given(
    st.text(alphabet=st.characters(max_codepoint=127), max_size=80)
    | st.text(max_size=80)
    | st.text(alphabet="aB1+# .\t\n\u00a0\u0085\u2003\u3000\x1c\u200bäßﬁカｶ部ͅ\u0301º́🚀", max_size=40)
)
def test_the_fast_way_agrees_with_the_way_for_all_scripts(text: str):
    assert split_words(text) == split_any_script(text)
