"""What was said about a symbol, and what a change of it may touch, on every store."""

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from tests.contract.memories import embedded, memory
from tests.support.code_graph import Shop, store_shop

from mcp_memory_service.errors import AmbiguousSymbol, SymbolNotFound
from mcp_memory_service.models import SourceRecord, code_of
from mcp_memory_service.services.code.code_graph import CodeGraph
from mcp_memory_service.services.code.findings import LinkedAnswer
from mcp_memory_service.services.code.questions import Asked, ImpactRequest, LinkedRequest
from mcp_memory_service.services.sources.root_records import record_name
from mcp_memory_service.storage.ports import Store

NOW = 3_000_000_000_000_000
LATER = 2_500_000_000_000_000
"""Than any file was written."""
SAID = [
    memory("We hash in authenticate_user with scrypt, not md5.", memory_type="decision", at=1_000),
    memory("Traceback: auth.py:3 in authenticate_user: KeyError", memory_type="error", at=LATER),
    memory("Users authenticate once a day.", at=3_000),
    memory("jobs.py:3 is slow, and nobody knows why", at=4_000),
    memory("`main` starts all", at=5_000, kind="note", source="docs/start.md", anchor="Start"),
    memory("The main thing is the shop", at=6_000),
    memory("Cache.authenticate_user is a copy", at=7_000),
    replace(memory("authenticate_user was better before", at=8_000), expires_at=9_000),
]


@pytest.fixture
async def shop(store: Store, tmp_path: Path) -> Shop:
    await store.store_batch([embedded(each) for each in SAID if each.kind == "memory"])
    for each in SAID:
        if each.kind == "note":
            await store.replace_source("default", each.source or "", [embedded(each)], ())
    return await store_shop(store, tmp_path / "project")


@pytest.fixture
def graph(store: Store) -> CodeGraph:
    return CodeGraph(store, "default", lambda: NOW)


async def ask(graph: CodeGraph, symbol: str, limit: int = 10) -> LinkedAnswer:
    return await graph.linked(LinkedRequest(Asked(symbol), limit))


def texts(answer: LinkedAnswer) -> list[str]:
    return [each.memory.content for each in answer.spoken]


async def test_a_symbol_comes_with_its_calls_and_what_was_said_newest_first(shop: Shop, graph: CodeGraph):
    answer = await ask(graph, "authenticate_user")
    assert [each.qualified_name for each in answer.symbols] == ["shop.auth.authenticate_user"]
    assert (answer.callers.total, answer.callees.total, answer.by_search) == (3, 1, False)
    assert texts(answer) == [SAID[1].content, SAID[6].content, SAID[0].content]
    assert [each.role for each in answer.spoken] == ["error", "memory", "decision"]
    since = shop.symbols["shop.auth.authenticate_user"].updated_at
    assert [each.changed_since for each in answer.spoken] == [None, since, since]
    assert len((await ask(graph, "authenticate_user", limit=1)).spoken) == 1


async def test_a_line_of_its_file_and_code_in_a_note_speak_of_a_symbol(shop: Shop, graph: CodeGraph):
    assert texts(await ask(graph, "jobs.Store.run")) == [SAID[3].content]
    main = await ask(graph, "main")
    assert [(each.memory.kind, each.role, each.form) for each in main.spoken] == [("note", "note", "name")]


async def test_what_was_deleted_or_is_of_another_namespace_is_not_said(store: Store, shop: Shop, graph: CodeGraph):
    await store.delete("default", SAID[0].content_hash)
    theirs = replace(memory("authenticate_user is theirs", namespace="theirs"), created_at=NOW)
    await store.store_batch([embedded(theirs)])
    assert texts(await ask(graph, "authenticate_user")) == [SAID[1].content, SAID[6].content]


async def test_a_question_is_answered_by_what_its_words_find(shop: Shop, graph: CodeGraph):
    answer = await ask(graph, "where is the password of a user checked when they authenticate")
    assert answer.by_search
    assert "shop.auth.authenticate_user" in [each.qualified_name for each in answer.symbols]
    with pytest.raises(SymbolNotFound):
        await ask(graph, "quantum entanglement")
    with pytest.raises(AmbiguousSymbol):
        await ask(graph, "run")


async def test_the_impact_has_callers_by_depth_heirs_tests_and_what_was_said(shop: Shop, graph: CodeGraph):
    answer = await graph.impact(ImpactRequest(Asked("authenticate_user")))
    assert [(group.depth, group.weight, group.total) for group in answer.callers] == [
        (1, 1.0, 3),
        (2, 0.6, 1),
        (3, 0.3, 1),
    ]
    assert {each.symbol.name for each in answer.callers[0].shown} == {"login", "run"}
    assert [each.symbol.qualified_name for each in answer.tests] == ["tests.test_auth.test_login"]
    assert (answer.files, answer.tests_total, answer.heirs, answer.history) == (2, 1, (), None)
    assert [each.role for each in answer.spoken] == ["decision", "error", "note", "memory", "memory"]
    assert answer.completeness.open_calls.sites == 1
    parts = {part.name for part in answer.risk.parts}
    assert parts == {"callers", "untested", "errors", "files", "decisions", "open calls"}
    heirs = (await graph.impact(ImpactRequest(Asked("shop.web.Handler.login")))).heirs
    assert [each.symbol.qualified_name for each in heirs] == ["shop.web.AdminHandler.login"]


async def test_nobody_calls_it_is_hardly_a_risk(shop: Shop, graph: CodeGraph):
    answer = await graph.impact(ImpactRequest(Asked("nightly")))
    assert (answer.callers, answer.risk.score) == ((), 0)


async def test_the_history_of_an_indexed_folder_says_what_changed_together(store: Store, shop: Shop, graph: CodeGraph):
    await record_root(store, shop)
    commit(shop.root, "init", "-q")
    for number in range(3):
        for name in ("shop/auth.py", "tests/test_auth.py"):
            (shop.root / name).write_text(f"{(shop.root / name).read_text()}# {number}\n")
        commit(shop.root, "add", "-A")
        commit(shop.root, "commit", "-q", "-m", f"Change {number}")
    history = (await graph.impact(ImpactRequest(Asked("authenticate_user")))).history
    assert history is not None
    assert (history.commits, [(each.path, each.commits) for each in history.together]) == (
        3,
        [("tests/test_auth.py", 3)],
    )


async def test_a_folder_that_is_not_indexed_is_not_looked_into(shop: Shop, graph: CodeGraph):
    commit(shop.root, "init", "-q")
    commit(shop.root, "add", "-A")
    commit(shop.root, "commit", "-q", "-m", "All")
    assert (await graph.impact(ImpactRequest(Asked("authenticate_user")))).history is None


async def record_root(store: Store, shop: Shop) -> None:
    source = record_name(shop.root.as_posix())
    await store.replace_source(code_of("default"), source, (), (), SourceRecord(source, "root:settled:{}"))


def commit(root: Path, *command: str) -> None:
    who = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", "-C", str(root), *who, *command], check=True, capture_output=True)
