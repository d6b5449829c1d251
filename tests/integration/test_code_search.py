"""Code is found by name, by place and by meaning, where it is asked for and nowhere else."""

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from tests.integration.code_stores import StoreName, opened_store
from tests.support.code import look_alikes, names, store_code, symbol
from tests.support.fakes import MeaningEmbedder, WordEmbedder

from mcp_memory_service.errors import InvalidInput, MemoryNotFound
from mcp_memory_service.hybrid_search import NAME, RankingPolicy
from mcp_memory_service.models import MemoryDraft, MemoryKind, SearchRequest
from mcp_memory_service.services import MemoryService, SearchResult
from mcp_memory_service.storage.ports import Store

WITH_CODE: tuple[tuple[MemoryKind, ...], ...] = (("code",), ("memory", "code"))
SHOP = [
    symbol("shop.auth", "Who may do what.", kind="module", lines=(1, 60)),
    symbol("shop.auth.authenticate_user", "Check the password of a user.", lines=(10, 20)),
    symbol("shop.auth.SessionStore", "Keeps sessions of users.", kind="class", lines=(24, 60)),
    symbol("shop.auth.SessionStore.load", "Read one session.", kind="method", lines=(30, 40)),
    symbol("shop.basket", "What is to be bought.", kind="module", lines=(1, 30)),
    symbol("shop.basket.load", "Read the basket from the disk.", lines=(5, 12)),
    symbol("shop.basket.parseHTTPResponse", "Take a response of the server apart.", lines=(14, 20)),
    symbol("shop.util", "", kind="module", path="shop/util/__init__.py", lines=(1, 9)),
    symbol("shop.util.text", "", kind="module", path="shop/util/text.py", lines=(1, 9)),
    symbol("shop.util.text.slug", "Lower case, with hyphens.", path="shop/util/text.py", lines=(3, 6)),
]


@pytest.fixture(params=["memory", "sqlite", "indexed"])
async def shop(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncGenerator[Store, None]:
    name: StoreName = request.param
    async with opened_store(name, tmp_path) as store:
        await store_code(store, SHOP)
        yield store


async def found(store: Store, query: str, policy: RankingPolicy | None = None, **asked: object) -> SearchResult:
    service = MemoryService(store, WordEmbedder(), policy)
    request = SearchRequest(query, kinds=("code",), **asked)  # pyright: ignore[reportArgumentType]
    return await service.search(request)


# --- by words and names


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("authenticate_user", "shop.auth.authenticate_user"),
        ("shop.auth.SessionStore.load", "shop.auth.SessionStore.load"),
        ("SessionStore.load", "shop.auth.SessionStore.load"),
        ("what does authenticate_user() check?", "shop.auth.authenticate_user"),
        ("class SessionStore", "shop.auth.SessionStore"),
        ("parseHTTPResponse", "shop.basket.parseHTTPResponse"),
        ("slug", "shop.util.text.slug"),
    ],
)
async def test_a_symbol_is_found_by_its_name_in_full_or_in_part(shop: Store, query: str, name: str):
    result = await found(shop, query)
    assert names(result)[0] == name
    assert result.results[0].provenance[NAME].rank == 1


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("parse response", "shop.basket.parseHTTPResponse"),
        ("authenticate", "shop.auth.authenticate_user"),
        ("session store", "shop.auth.SessionStore"),
    ],
)
async def test_parts_of_a_name_find_it(shop: Store, query: str, name: str):
    assert names(await found(shop, query, mode="keyword"))[0] == name


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("shop/auth.py", "shop.auth"),
        ("auth.py", "shop.auth"),
        ("what is in shop/util/__init__.py", "shop.util"),
        ("shop/auth.py:12", "shop.auth.authenticate_user"),
        ("auth.py:35", "shop.auth.SessionStore.load"),
        ("auth.py:25", "shop.auth.SessionStore"),
        ('File "shop/basket.py:16", in parse', "shop.basket.parseHTTPResponse"),
    ],
)
async def test_a_place_in_a_file_finds_what_stands_there(shop: Store, query: str, name: str):
    assert names(await found(shop, query))[0] == name


async def test_what_is_named_comes_first_among_thousands_that_are_alike(store: Store):
    await store_code(store, [*look_alikes(3_000), *SHOP])
    for query in ("authenticate_user", "where is authenticate_user called with token and order", "auth.py:12"):
        assert names(await found(store, query))[0] == "shop.auth.authenticate_user"
    assert names(await found(store, "check_price_user_1337"))[0] == "shop.part26.check_price_user_1337"


async def test_a_name_that_several_have_leaves_the_order_to_other_signals(shop: Store):
    first, second = names(await found(shop, "load() of a session"))[:2]
    assert (first, second) == ("shop.auth.SessionStore.load", "shop.basket.load")


async def test_what_is_named_must_pass_the_filters_all_the_same(shop: Store):
    assert names(await found(shop, "authenticate_user", types=("class",)))[0] == "shop.auth.SessionStore"
    assert "shop.auth.authenticate_user" not in names(await found(shop, "authenticate_user", scope="shop.basket"))


# --- by meaning


MEANINGS = (("hyphens", "dashes"), ("apart", "decode"), ("disk", "storage"))
MEANT = [symbol("m.f1", "hyphens"), symbol("m.f2", "disk"), symbol("m.f3", "apart"), symbol("m.f4", "sums")]


@pytest.mark.parametrize(("query", "name"), [("dashes", "m.f1"), ("storage", "m.f2"), ("decode", "m.f3")])
async def test_code_is_found_by_what_it_means(store: Store, query: str, name: str):
    embedder = MeaningEmbedder(*MEANINGS)
    await store_code(store, MEANT, embedder=embedder)
    result = await MemoryService(store, embedder).search(SearchRequest(query, kinds=("code",)))
    assert names(result)[0] == name
    assert set(result.results[0].provenance) == {"vector"}


async def test_similarity_alone_orders_where_it_is_asked_for(shop: Store):
    result = await found(shop, "read one session", mode="semantic")
    similar = [hit.similarity or 0.0 for hit in result.results]
    assert names(result)[0] == "shop.auth.SessionStore.load"
    assert similar == sorted(similar, reverse=True)
    assert NAME not in result.results[0].provenance


async def test_a_least_similarity_drops_what_is_far(shop: Store):
    result = await found(shop, "read one session", mode="semantic", min_similarity=0.5)
    assert 0 < len(result.results) < len(SHOP)
    assert all((hit.similarity or 0.0) >= 0.5 for hit in result.results)


# --- in scopes


@pytest.mark.parametrize(
    ("scope", "count"),
    [
        ("/projects/shop", 10),
        ("/projects/shop/shop/util", 3),
        ("/projects/shop/shop/auth.py", 4),
        ("shop.auth", 4),
        ("auth", 4),
        ("shop/auth.py", 4),
        ("shop.util", 3),
        ("util.text", 2),
        ("shop.nowhere", 0),
    ],
)
async def test_a_scope_is_a_path_a_package_or_a_module(shop: Store, scope: str, count: int):
    assert (await found(shop, "load session of user", scope=scope, page_size=50)).paging.total == count


async def test_a_project_is_a_scope_by_its_id(shop: Store):
    other = Path("/projects/other")
    await store_code(shop, [symbol("shop.auth.authenticate_user", "Of another project.", root=other)])
    both = await found(shop, "authenticate_user")
    assert names(both)[:2] == ["shop.auth.authenticate_user"] * 2
    (one, *_) = (await found(shop, "authenticate_user", scope=other.as_posix())).results
    assert one.memory.source == "/projects/other/shop/auth.py"


async def test_a_scope_that_may_be_two_things_is_asked_back(shop: Store):
    await store_code(shop, [symbol("other.auth", "", kind="module")])
    with pytest.raises(InvalidInput, match=r"may be /projects/shop/other/auth.py or /projects/shop/shop/auth.py"):
        await found(shop, "user", scope="auth")


# --- where it is not asked for


async def test_code_is_in_no_plain_search_list_or_count(shop: Store):
    service = MemoryService(shop, WordEmbedder())
    await service.store_memory(MemoryDraft("authenticate_user was discussed", tags=("auth",)))
    assert names(await service.search(SearchRequest("authenticate_user"))) == ["authenticate_user was discussed"]
    assert (await service.list_memories()).paging.total == 1
    assert (await service.stats()).memories == 1
    assert [tag.tag for tag in await service.list_tags()] == ["auth"]


async def test_code_of_one_namespace_is_not_found_in_another(shop: Store):
    other = MemoryService(shop, WordEmbedder()).within("team")
    assert (await other.search(SearchRequest("authenticate_user", kinds=("code",)))).results == ()
    await store_code(shop, [symbol("shop.only", "Of the team.", namespace="team")])
    assert names(await other.search(SearchRequest("only", kinds=("code",)))) == ["shop.only"]


async def test_a_caller_held_to_tags_finds_no_code(shop: Store):
    held = MemoryService(shop, WordEmbedder()).held_to(("mine",))
    for kinds in WITH_CODE:
        assert (await held.search(SearchRequest("authenticate_user", kinds=kinds))).results == ()
    (hit, *_) = (await found(shop, "authenticate_user")).results
    with pytest.raises(MemoryNotFound):
        await held.get_memory(hit.memory.content_hash)


async def test_a_symbol_is_read_by_the_id_that_a_search_shows(shop: Store):
    service = MemoryService(shop, WordEmbedder())
    (hit, *_) = (await found(shop, "authenticate_user")).results
    assert (await service.get_memory(hit.memory.short_id)).anchor == "shop.auth.authenticate_user"
    assert (await service.get_version(hit.memory.content_hash)).anchor == "shop.auth.authenticate_user"
    with pytest.raises(MemoryNotFound):
        await service.delete_memory(hit.memory.content_hash)


async def test_an_explanation_follows_a_symbol(shop: Store):
    service = MemoryService(shop, WordEmbedder())
    (hit, *_) = (await found(shop, "authenticate_user")).results
    for kinds in WITH_CODE:
        explained = await service.explain(SearchRequest("authenticate_user", kinds=kinds), hit.memory.content_hash)
        assert (explained.rank, explained.signals[NAME].rank) == (1, 1)
