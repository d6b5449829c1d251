"""Who calls whom, on every store: the answers of the code graph are the same wherever the symbols are."""

from pathlib import Path
from typing import Any

import pytest
from tests.support.code_graph import Shop, store_shop

from mcp_memory_service.errors import AmbiguousSymbol, InvalidInput, SymbolNotFound
from mcp_memory_service.services.code.answers import CallsAnswer, Direction
from mcp_memory_service.services.code.code_graph import CodeGraph
from mcp_memory_service.services.code.questions import Asked, CallsRequest, ChainRequest
from mcp_memory_service.storage.ports import Store

NOW = 2_000_000_000_000_000


@pytest.fixture
async def shop(store: Store, tmp_path: Path) -> Shop:
    return await store_shop(store, tmp_path / "project")


@pytest.fixture
def graph(store: Store) -> CodeGraph:
    return CodeGraph(store, "default", lambda: NOW)


def request(symbol: str, direction: Direction = "callers", **options: Any) -> CallsRequest:
    return CallsRequest(Asked(symbol), direction, **options)


def names(answer: CallsAnswer) -> list[tuple[int, str, str | None, tuple[int, ...]]]:
    return [(each.depth, each.symbol.qualified_name, each.certainty, each.sites[0].lines) for each in answer.found]


async def test_callers_come_with_their_lines_surest_first(shop: Shop, graph: CodeGraph):
    answer = await graph.calls(request("authenticate_user"))
    assert set(names(answer)[:2]) == {
        (1, "shop.web.Handler.login", "certain", (3,)),
        (1, "tests.test_auth.test_login", "certain", (2,)),
    }
    assert names(answer)[2:] == [(1, "shop.web.AdminHandler.login", "likely", (12,))]
    (site,) = answer.found[2].sites
    assert (site.path, site.refers_to) == ("shop/web.py", "shop.auth.authenticate_user")
    assert {each.symbol.freshness for each in answer.found} == {"fresh"}
    assert [each.qualified_name for each in answer.symbols] == ["shop.auth.authenticate_user"]


async def test_an_answer_says_what_it_leaves_out(shop: Shop, graph: CodeGraph):
    found = (await graph.calls(request("authenticate_user"))).completeness
    assert (found.open_calls.sites, found.open_calls.symbols, found.complete) == (1, 1, False)
    assert found.other_kinds == {"references": 1, "tests": 1}
    sure = await graph.calls(request("authenticate_user", min_certainty="certain"))
    assert (sure.total, sure.completeness.left_out) == (2, 1)
    assert (await graph.calls(request("shop.web.loop", min_certainty="certain"))).completeness.complete


async def test_each_caller_comes_once_at_its_least_depth_and_cycles_end(shop: Shop, graph: CodeGraph):
    answer = await graph.calls(request("authenticate_user", depth=10))
    assert [(depth, name) for depth, name, *_ in names(answer)][3:] == [
        (2, "shop.web.Handler.run"),
        (3, "shop.web.main"),
        (4, "shop.web.loop"),
    ]
    assert [each.certainty for each in answer.found[3:]] == ["certain", "likely", "likely"]
    assert not answer.recursive
    run = answer.found[3]
    assert [site.refers_to for site in run.sites] == ["shop.web.AdminHandler.login", "shop.web.Handler.login"]
    looped = await graph.calls(request("loop", depth=2))
    assert (names(looped), looped.recursive) == ([(1, "shop.web.main", "certain", (17,))], True)


async def test_callees_are_told_with_calls_that_lead_nowhere(shop: Shop, graph: CodeGraph):
    answer = await graph.calls(request("authenticate_user", "callees", depth=2))
    assert names(answer) == [(1, "shop.auth.check", "certain", (3,))]
    assert answer.found[0].sites[0].path == "shop/auth.py"
    assert answer.completeness.open_calls.names == ("hash_of",)


async def test_other_relations_are_asked_for_by_kind(shop: Shop, graph: CodeGraph):
    references = await graph.calls(request("authenticate_user", kinds=("references", "tests")))
    assert {name for _, name, *_ in names(references)} == {"shop.jobs.Store.run", "tests.test_auth.test_login"}
    assert references.completeness.other_kinds == {"calls": 3}
    heirs = await graph.calls(request("shop.web.Handler", kinds=("inherits",)))
    assert [name for _, name, *_ in names(heirs)] == ["shop.web.AdminHandler"]


@pytest.mark.parametrize("limit", [1, 2, 4])
async def test_pages_give_everything_once_in_order(shop: Shop, graph: CodeGraph, limit: int):
    whole = names(await graph.calls(request("authenticate_user", depth=10)))
    paged, cursor = list[tuple[int, str, str | None, tuple[int, ...]]](), None
    for _ in range(len(whole)):
        answer = await graph.calls(request("authenticate_user", depth=10, limit=limit, cursor=cursor))
        paged += names(answer)
        assert answer.completeness.not_shown == len(whole) - len(paged)
        cursor = answer.next_cursor
        if cursor is None:
            break
    assert paged == whole


async def test_a_budget_shows_at_least_one_and_where_to_go_on(shop: Shop, graph: CodeGraph):
    answer = await graph.calls(request("authenticate_user", max_tokens=1, detail="code"))
    assert (len(answer.found), answer.completeness.not_shown) == (1, 2)
    rest = await graph.calls(request("authenticate_user", cursor=answer.next_cursor, max_tokens=10_000))
    assert (len(rest.found), rest.next_cursor) == (2, None)


@pytest.mark.parametrize(
    "asked",
    [
        "shop.web.Handler.login",
        "web.Handler.login",
        "Handler.login",
        "Handler::login()",
        "handler.LOGIN",
        "shop/web.py:3",
        "web.py:2",
    ],
)
async def test_a_symbol_is_found_by_what_a_user_types(shop: Shop, graph: CodeGraph, asked: str):
    answer = await graph.calls(request(asked))
    assert [each.qualified_name for each in answer.symbols] == ["shop.web.Handler.login"]


async def test_a_symbol_is_found_by_its_id_its_place_and_its_file(shop: Shop, graph: CodeGraph):
    for asked, name in {
        shop.id_of("shop.web.main")[:12]: "shop.web.main",
        f"{shop.root}/shop/web.py:16": "shop.web.main",
        "web.py:8": "shop.web",
        "web.py:1": "shop.web.Handler",
        "shop/web.py": "shop.web",
        "shop.web": "shop.web",
    }.items():
        answer = await graph.calls(request(asked))
        assert [each.qualified_name for each in answer.symbols] == [name], asked


async def test_several_that_fit_are_named_and_can_be_narrowed(shop: Shop, graph: CodeGraph):
    with pytest.raises(AmbiguousSymbol) as error:
        await graph.calls(request("run"))
    assert error.value.candidates == ("shop.jobs.Store.run (shop/jobs.py:2)", "shop.web.Handler.run (shop/web.py:5)")
    for path in ("shop/jobs.py", "jobs.py", f"{shop.root}/shop/jobs.py"):
        answer = await graph.calls(CallsRequest(Asked("run", path=path), "callers"))
        assert answer.symbols[0].qualified_name == "shop.jobs.Store.run"
    with pytest.raises(AmbiguousSymbol):
        await graph.calls(CallsRequest(Asked("run", project="project", path="shop"), "callers"))
    with pytest.raises(SymbolNotFound):
        await graph.calls(CallsRequest(Asked("run", project="other"), "callers"))


async def test_what_is_not_there_is_said_with_names_that_are_near(shop: Shop, graph: CodeGraph):
    with pytest.raises(SymbolNotFound) as error:
        await graph.calls(request("authenticate_users"))
    assert "shop.auth.authenticate_user (shop/auth.py:1)" in error.value.near
    with pytest.raises(SymbolNotFound, match="mcp-memory code index"):
        await graph.calls(request("Nothing.like.it"))


async def test_equal_names_of_two_namespaces_do_not_meet(store: Store, graph: CodeGraph, shop: Shop, tmp_path: Path):
    await store_shop(store, tmp_path / "other", "theirs")
    answer = await graph.calls(request("authenticate_user", depth=10))
    assert {each.symbol.root for each in answer.found} == {shop.root.as_posix()}


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"depth": 0}, "depth_out_of_range"),
        ({"limit": 201}, "limit_out_of_range"),
        ({"max_tokens": 0}, "max_tokens_out_of_range"),
        ({"kinds": ("link",)}, "kinds_unknown"),
        ({"cursor": "12"}, "cursor_invalid"),
    ],
)
async def test_what_cannot_be_asked_is_refused(shop: Shop, graph: CodeGraph, options: dict[str, Any], code: str):
    with pytest.raises(InvalidInput) as error:
        await graph.calls(request("authenticate_user", **options))
    assert error.value.code == code


async def test_a_chain_is_the_shortest_way_with_its_lines(shop: Shop, graph: CodeGraph):
    answer = await graph.chain(ChainRequest(Asked("main"), Asked("check")))
    ways = [[step.symbol.name for step in chain] for chain in answer.chains]
    assert ways == [["main", "run", "login", "authenticate_user", "check"]] * 2
    lines = [step.site.lines for step in answer.chains[0] if step.site]
    assert (lines[:2], lines[3:], answer.chains[0][-1].site) == ([(16,), (6, 7)], [(3,)], None)
    assert not answer.more
    there = await graph.chain(ChainRequest(Asked("main"), Asked("check"), max_depth=3))
    assert there.chains == ()
    nowhere = await graph.chain(ChainRequest(Asked("check"), Asked("authenticate_user")))
    assert (nowhere.chains, nowhere.completeness.open_calls.sites) == ((), 1)


async def test_what_is_indexed_is_counted_and_compared_with_its_files(shop: Shop, graph: CodeGraph):
    stats = await graph.stats()
    assert (stats.files, stats.symbols, stats.open_calls, stats.awaiting_vectors) == (4, 17, 2, 17)
    assert stats.symbols_by_kind == {"class": 3, "function": 6, "method": 4, "module": 4}
    assert stats.edges == {
        "calls": {"certain": 7, "likely": 3},
        "inherits": {"certain": 1},
        "overrides": {"certain": 1},
        "references": {"guess": 1},
        "tests": {"certain": 1},
    }
    assert (stats.freshness, stats.files_by_language) == ({"fresh": 4}, {"python": 4})
    assert stats.resolved_share == 10 / 12
    (shop.root / "shop/web.py").unlink()
    assert (await graph.stats()).freshness == {"fresh": 3, "stale_with_risk": 1}


async def test_where_no_code_is_there_is_nothing_to_count(graph: CodeGraph):
    stats = await graph.stats()
    assert (stats.files, stats.symbols, stats.edges, stats.resolved_share) == (0, 0, {}, 1.0)
