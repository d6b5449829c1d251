"""The promises of `search_by_text`, asked of every backend."""

import pytest
from tests.contract.memories import EVERYTHING, embedded, memory
from tests.support.one_memory import store_one

from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import MemoryFilter, MemoryPatch, QueryTerms, content_hash
from mcp_memory_service.storage.ports import Store


async def contents_with(store: Store, query: str, where: MemoryFilter = EVERYTHING, limit: int = 10) -> list[str]:
    found = (await store.search_by_text(query_terms(query), limit, where)).candidates
    memories = await store.get_many(where.namespace, [candidate.content_hash for candidate in found])
    return [stored.content for stored in memories]


async def test_text_is_found_by_any_of_its_words_best_first(store: Store):
    await store.store_batch(
        [
            embedded(memory("JWT token validation")),
            embedded(memory("tokens are rotated weekly by the cron job on the server")),
            embedded(memory("nothing to see")),
        ]
    )
    assert (await contents_with(store, "JWT tokens"))[0] == "JWT token validation"
    assert len(await contents_with(store, "JWT tokens")) == 2
    assert await contents_with(store, "validating") == ["JWT token validation"]
    assert await contents_with(store, "missing words entirely") == []
    assert not (await store.search_by_text(QueryTerms((), ()), 10, EVERYTHING)).candidates
    found = (await store.search_by_text(query_terms("jwt tokens"), 10, EVERYTHING)).candidates
    assert found[0].score > found[1].score > 0


@pytest.mark.parametrize(
    ("content", "query"),
    [
        ("call authenticate_user first", "authenticate_user"),
        ("call authenticateUser first", "authenticate user"),
        ("runs on Node.js", "node.js"),
        ("connect failed: ECONNREFUSED", "econnrefused"),
        ("fixed CVE-2025-1234", "CVE-2025-1234"),
        ("see src/bm25_search.rs:287", "src/bm25_search.rs:287"),
        ("see src/bm25_search.rs:287", "bm25_search.rs"),
        ("Größe der Datei", "GRÖSSE"),
        ("如何部署服务", "部署"),
        ("如何部署服务", "署"),
        ("サーバーの設定方法", "設定"),
        ("как настроить туннель", "ТУННЕЛЬ"),
        ("written in C++", "c++"),
        ("to be or not to be", "to be"),
    ],
)
async def test_names_and_scripts_are_found_among_others(store: Store, content: str, query: str):
    await store.store_batch(
        [embedded(memory(f"authentication users server connection file note {i}")) for i in range(20)]
    )
    await store_one(store, embedded(memory(content)))
    assert (await contents_with(store, query))[0] == content


async def test_a_word_that_is_said_twice_counts_twice(store: Store):
    await store.store_batch([embedded(memory(f"{word} beside")) for word in ("heron", "plover")])
    once = (await store.search_by_text(query_terms("heron plover"), 10, EVERYTHING)).candidates
    assert once[0].score == once[1].score
    twice = (await store.search_by_text(query_terms("heron plover heron"), 10, EVERYTHING)).candidates
    assert twice[0].content_hash == content_hash("heron beside")
    assert twice[0].score == 2.0 * twice[1].score == 2.0 * once[0].score


async def test_a_word_that_all_memories_have_still_counts(store: Store):
    await store.store_batch([embedded(memory(f"heron {rest}")) for rest in ("one", "two", "heron")])
    found = (await store.search_by_text(query_terms("heron"), 10, EVERYTHING)).candidates
    assert [candidate.score > 0.1 for candidate in found] == [True] * 3
    assert found[0].content_hash == content_hash("heron heron")


async def test_a_quoted_phrase_stands_together(store: Store):
    await store.store_batch([embedded(memory("connection was refused")), embedded(memory("refused connection again"))])
    await store_one(store, embedded(memory("a connection refused by the server")))
    assert await contents_with(store, '"connection refused"') == ["a connection refused by the server"]


async def test_tags_are_searched_as_text_and_follow_their_changes(store: Store):
    await store_one(store, embedded(memory("plain", "Home-Lab")))
    assert await contents_with(store, "lab") == ["plain"]
    await store.update("default", content_hash("plain"), MemoryPatch(tags=("garage",)), now=2)
    assert await contents_with(store, "lab") == []
    assert await contents_with(store, "garage") == ["plain"]
    await store_one(store, embedded(memory("plain", "cellar")))
    assert await contents_with(store, "cellar") == ["plain"]
    await store.delete("default", content_hash("plain"))
    assert await contents_with(store, "plain garage cellar") == []


async def test_filters_namespaces_and_limits_apply_to_text_search(store: Store):
    await store.store_batch(
        [embedded(memory(f"tunnel {i}", at=i, memory_type="fix" if i == 3 else None)) for i in range(8)]
    )
    await store_one(store, embedded(memory("tunnel elsewhere", namespace="other")))
    assert await contents_with(store, "tunnel", MemoryFilter(types=("fix",))) == ["tunnel 3"]
    assert await contents_with(store, "tunnel", MemoryFilter(after=2, before=4)) == ["tunnel 3", "tunnel 2"]
    assert await contents_with(store, "tunnel", MemoryFilter(namespace="other")) == ["tunnel elsewhere"]
    assert await contents_with(store, "tunnel", limit=3) == ["tunnel 7", "tunnel 6", "tunnel 5"]


async def test_hostile_queries_are_only_text(store: Store):
    await store_one(store, embedded(memory("harmless")))
    hostile = [
        '" OR 1=1',
        "NEAR(a b)",
        "a AND NOT *",
        "words : x",
        "{labels} : y",
        "^a",
        "a*",
        "-b",
        "'); DROP",
        "\\",
        '""',
    ]
    for query in [*hostile, " ".join(hostile), '"' + '" "'.join(hostile) + '"']:
        await store.search_by_text(query_terms(query), 10, EVERYTHING)
    assert await contents_with(store, "harmless") == ["harmless"]
