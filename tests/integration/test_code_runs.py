"""A folder of code becomes symbols and edges, and stays in step with its files."""

import os
import sys
from pathlib import Path

import pytest
from tests.support.code_folders import edges_in, indexed_code, symbols_in
from tests.support.fakes import WordEmbedder
from tests.support.vaults import age, write

from mcp_memory_service.errors import Forbidden, InvalidInput, QuotaExceeded
from mcp_memory_service.models import MemoryDraft, MemoryFilter, SearchRequest, code_of
from mcp_memory_service.services import DocumentOptions, MemoryService, ServiceLimits
from mcp_memory_service.storage.memory import MemoryStore

CODE = {
    "shop/__init__.py": "from .orders import place\n",
    "shop/orders.py": (
        'from .stock import Stock, take\n\n\ndef place(name: str) -> int:\n    """Places an order."""\n'
        "    stock = Stock()\n    stock.check()\n    return take(name)\n"
    ),
    "shop/stock.py": (
        "class Stock:\n    def check(self):\n        return self.count()\n\n"
        "    def count(self):\n        return 3\n\n\ndef take(name):\n    return name\n"
    ),
    "web/app.js": "import { price } from './price.js';\n\nexport function show() {\n  return price();\n}\n",
    "web/price.js": "export function price() {\n  return 1;\n}\n",
}
CALLS = {
    ("shop.orders.place", "calls", "shop.stock.Stock.check"),
    ("shop.orders.place", "calls", "shop.stock.take"),
    ("shop.stock.Stock.check", "calls", "shop.stock.Stock.count"),
}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = write(tmp_path / "project", CODE)
    for file in folder.rglob("*.*"):
        age(file)
    return folder


def names(files: list[str]) -> list[str]:
    return sorted(Path(each).name for each in files)


async def test_a_folder_becomes_symbols_and_edges(service: MemoryService, store: MemoryStore, project: Path):
    report = await service.code_index.index(project)
    assert (len(report.added), report.documents, report.refused) == (5, 5, [])
    assert report.code is not None
    assert report.code.languages == {"javascript": 2, "python": 3}
    assert report.code.symbols == report.chunks_created == len(await symbols_in(store))
    assert await edges_in(store) >= CALLS
    place = (await symbols_in(store))["shop.orders.place"]
    digits = str(place.metadata["project"])
    file = project / "shop/orders.py"
    assert (place.kind, place.memory_type, place.source) == ("code", "function", file.as_posix())
    assert place.names == (f"symbol:{digits}:shop.orders.place", "symbol:place")
    assert place.content == "\n".join(CODE["shop/orders.py"].split("\n")[3:8])
    assert place.metadata == {
        "path": "shop/orders.py",
        "root": project.as_posix(),
        "project": digits,
        "language": "python",
        "symbol": "shop.orders.place",
        "symbol_kind": "function",
        "signature": "def place(name: str) -> int",
        "lines": [4, 8],
        "span": place.metadata["span"],
        "since": file.stat().st_mtime_ns // 1_000,
    }


async def test_edges_say_lines_and_certainty(service: MemoryService, store: MemoryStore, project: Path):
    await service.code_index.index(project)
    symbols = await symbols_in(store)
    place = symbols["shop.orders.place"]
    edges = (await store.edges_from(code_of("default"), [place.content_hash], ["calls"]))[place.content_hash]
    taken = next(edge for edge in edges if edge.to == symbols["shop.stock.take"].names[0])
    assert (taken.lines, taken.certainty, taken.weight, taken.by_name) == ((8,), "certain", 1.0, True)


async def test_code_counts_for_nothing_in_its_namespace(service: MemoryService, store: MemoryStore, project: Path):
    await service.store_memory(MemoryDraft("orders are placed by hand", ("shop",)))
    await service.code_index.index(project)
    assert (await service.stats()).memories == 1
    assert [hit.memory.kind for hit in (await service.search(SearchRequest("place orders"))).results] == ["memory"]
    assert (await store.list_memories(MemoryFilter("default", kinds=("code",)), 0, 10)).total == 0
    assert [count.tag for count in await service.list_tags()] == ["shop"]


async def test_symbols_get_vectors_later(store: MemoryStore, project: Path):
    service = MemoryService(store, WordEmbedder())
    report = await service.code_index.index(project)
    assert (await service.code_index.status()).stats.awaiting_vectors == report.chunks_created
    assert await service.code_index.embed() == report.chunks_created
    assert (await service.code_index.status()).stats.awaiting_vectors == 0


async def test_a_second_run_reads_nothing_and_an_edit_only_its_file(
    service: MemoryService, store: MemoryStore, project: Path
):
    await service.code_index.index(project)
    before = await indexed_code(store)
    again = await service.code_index.index(project)
    assert (again.unchanged, again.added, again.changed, again.chunks_updated) == (5, [], [], 0)
    assert await indexed_code(store) == before
    write(project, {"shop/stock.py": CODE["shop/stock.py"].replace("return 3", "return take('x')")})
    changed = await service.code_index.index(project)
    assert (names(changed.changed), changed.unchanged) == (["stock.py"], 4)
    assert ("shop.stock.Stock.count", "calls", "shop.stock.take") in await edges_in(store)


async def test_edges_of_other_files_follow_a_definition(service: MemoryService, store: MemoryStore, project: Path):
    await service.code_index.index(project)
    write(project, {"shop/stock.py": "class Stock:\n    def check(self):\n        return 1\n"})
    await service.code_index.index(project)
    assert ("shop.orders.place", "calls", "shop.stock.take") not in await edges_in(store)
    write(project, {"shop/stock.py": CODE["shop/stock.py"]})
    report = await service.code_index.index(project)
    assert names(report.changed) == ["stock.py"]
    assert await edges_in(store) >= CALLS


async def test_another_process_knows_what_this_one_read(store: MemoryStore, project: Path):
    await MemoryService(store, WordEmbedder()).code_index.index(project)
    write(project, {"shop/stock.py": CODE["shop/stock.py"] + "\n\ndef give():\n    return take(1)\n"})
    report = await MemoryService(store, WordEmbedder()).code_index.index(project)
    assert (names(report.changed), report.unchanged) == (["stock.py"], 4)
    assert await edges_in(store) >= {*CALLS, ("shop.stock.give", "calls", "shop.stock.take")}


async def test_since_is_kept_as_long_as_the_text_of_a_symbol_is(
    service: MemoryService, store: MemoryStore, project: Path
):
    await service.code_index.index(project)
    before = await symbols_in(store)
    write(
        project, {"shop/stock.py": "import os\n\n\n" + CODE["shop/stock.py"].replace("return name", "return name * 2")}
    )
    await service.code_index.index(project)
    after = await symbols_in(store)
    assert after["shop.stock.Stock.check"].metadata["since"] == before["shop.stock.Stock.check"].metadata["since"]
    assert after["shop.stock.Stock.check"].metadata["lines"] == [5, 6]
    modified = (project / "shop/stock.py").stat().st_mtime_ns // 1_000
    assert after["shop.stock.take"].metadata["since"] == after["shop.stock"].metadata["since"] == modified
    (project / "shop/stock.py").rename(project / "shop/store.py")
    report = await service.code_index.index(project)
    assert [tuple(map(os.path.basename, each)) for each in report.renamed] == [("stock.py", "store.py")]
    moved = (await symbols_in(store))["shop.store.Stock.check"]
    assert moved.metadata["since"] == before["shop.stock.Stock.check"].metadata["since"]


async def test_removed_files_vanish_with_their_symbols(service: MemoryService, store: MemoryStore, project: Path):
    await service.code_index.index(project)
    (project / "shop/stock.py").unlink()
    report = await service.code_index.index(project)
    assert (names(report.removed), report.documents) == (["stock.py"], 4)
    assert not [name for name in await symbols_in(store) if name.startswith("shop.stock")]
    assert not {edge for edge in await edges_in(store) if edge[2].startswith("shop.stock")}


async def test_what_is_not_read_is_named_and_counted(service: MemoryService, project: Path):
    write(
        project,
        {
            "node_modules/left/pad.js": "x",
            "dist/app.js": "x",
            ".git/hook.py": "x",
            "out/made.py": "x",
            "app.min.js": "var a=1",
            "wide.js": "var a = 1; " * 500,
            "made_pb2.py": "# Generated by a tool. DO NOT EDIT!\nx = 1\n",
            "binary.py": b"\x00\x01",
            "latin.py": b"x = '\xe9'",
            "huge.py": b"x = 1\n" * 200_000,
            "readme.md": "no code",
            ".gitignore": "out/\nlocal.py\n",
            "shop/.gitignore": "!local.py\nsecret.py\n",
            "local.py": "x",
            "shop/local.py": "def local():\n    pass\n",
            "shop/secret.py": "x",
        },
    )
    (project / "linked.py").symlink_to(project / "shop/stock.py")
    report = await service.code_index.index(project)
    refused = {Path(each.source).relative_to(project).as_posix() for each in report.refused}
    assert refused == {
        *("node_modules", "dist", "out", "app.min.js", "wide.js", "made_pb2.py", "binary.py", "latin.py", "huge.py"),
        *("local.py", "shop/secret.py", "linked.py"),
    }
    assert (report.documents, names(report.added)[3]) == (6, "orders.py")
    assert report.code is not None
    assert sum(report.code.left_out.values()) == len(refused)
    assert report.code.left_out["a folder of what others wrote or programs made"] == 2
    assert report.code.left_out["it is minified"] == 2
    again = await service.code_index.index(project)
    assert again.code == report.code
    assert {each.source for each in again.refused} == {each.source for each in report.refused}


async def test_a_file_that_is_refused_later_loses_its_symbols(
    service: MemoryService, store: MemoryStore, project: Path
):
    await service.code_index.index(project)
    write(project, {"shop/stock.py": b"\x00"})
    report = await service.code_index.index(project)
    assert (names(report.removed), report.documents) == (["stock.py"], 4)
    assert "shop.stock" not in await symbols_in(store)
    write(project, {"shop/stock.py": CODE["shop/stock.py"]})
    assert (await service.code_index.index(project)).documents == 5
    assert await edges_in(store) >= CALLS


async def test_a_file_with_faults_is_read_as_far_as_it_goes(service: MemoryService, store: MemoryStore, project: Path):
    write(project, {"broken.py": "def good():\n    return 1\n\n\ndef bad(:\n    return (\n"})
    report = await service.code_index.index(project)
    assert names([each.source for each in report.problems]) == ["broken.py"]
    assert "broken.good" in await symbols_in(store)


async def test_a_dry_run_changes_nothing(service: MemoryService, store: MemoryStore, project: Path):
    report = await service.code_index.index(project, dry_run=True)
    assert (len(report.added), report.code) == (5, None)
    assert await store.namespaces() == []
    await service.code_index.index(project)
    before = await indexed_code(store)
    write(project, {"shop/stock.py": "", "new.py": "x = 1\n"})
    (project / "web/app.js").unlink()
    report = await service.code_index.index(project, dry_run=True)
    assert [names(each) for each in (report.added, report.changed, report.removed)] == [
        ["new.py"],
        ["stock.py"],
        ["app.js"],
    ]
    assert await indexed_code(store) == before


async def test_a_full_refresh_reads_everything_again(service: MemoryService, store: MemoryStore, project: Path):
    await service.code_index.index(project)
    before = await indexed_code(store)
    report = await service.code_index.index(project, anew=True)
    assert (len(report.changed), report.unchanged) == (5, 0)
    assert await indexed_code(store) == before


async def test_a_new_package_names_its_modules_anew(service: MemoryService, store: MemoryStore, project: Path):
    (project / "shop/__init__.py").unlink()
    await service.code_index.index(project)
    before = set(await symbols_in(store))
    write(project, {"shop/__init__.py": CODE["shop/__init__.py"]})
    await service.code_index.index(project / "shop/__init__.py")
    assert set(await symbols_in(store)) >= {"shop", "shop.orders.place", "shop.stock.Stock"}
    assert before != set(await symbols_in(store))


async def test_two_projects_have_names_of_their_own(
    service: MemoryService, store: MemoryStore, project: Path, tmp_path: Path
):
    other = write(tmp_path / "other", {"shop/stock.py": "def take():\n    return 1\n"})
    await service.code_index.index(project)
    await service.code_index.index(other)
    symbols = (await store.list_memories(MemoryFilter(code_of("default"), kinds=("code",)), 0, 100)).memories
    taken = [memory for memory in symbols if memory.anchor and memory.anchor.endswith("stock.take")]
    assert len({memory.names[0] for memory in taken}) == 2
    ours = next(memory for memory in taken if memory.metadata["root"] == project.as_posix())
    callers = await store.edges_to(code_of("default"), [memory.content_hash for memory in taken], ["calls"])
    assert list(callers) == [ours.content_hash]


async def test_a_larger_folder_takes_over_a_smaller_one(service: MemoryService, store: MemoryStore, project: Path):
    await service.code_index.index(project / "shop")
    report = await service.code_index.index(project)
    assert report.documents == 5
    assert [root.root for root in (await service.code_index.status()).roots] == [project.as_posix()]
    roots = {memory.metadata["root"] for memory in (await symbols_in(store)).values()}
    assert roots == {project.as_posix()}


async def test_what_is_forgotten_is_gone(service: MemoryService, store: MemoryStore, project: Path):
    await service.code_index.index(project)
    assert await service.code_index.forget(project / "web") == 2
    assert (await service.code_index.status()).roots[0].settled is False
    assert await service.code_index.forget(project) == 3
    assert await symbols_in(store) == {}
    assert (await service.code_index.status()).roots == ()


async def test_only_folders_that_the_owner_allows_are_read(store: MemoryStore, project: Path, tmp_path: Path):
    service = MemoryService(store, WordEmbedder(), documents=DocumentOptions((project,), own_folder=project / "own"))
    write(project, {"own/code.py": "x = 1\n"})
    status = await service.code_index.start(project.as_posix())
    assert status.last is not None
    assert status.last.documents == 5
    with pytest.raises(Forbidden):
        await service.code_index.start(tmp_path.as_posix())
    with pytest.raises(InvalidInput):
        await service.code_index.start((project / "missing").as_posix())


async def test_a_namespace_has_room_for_so_many_symbols(store: MemoryStore, project: Path):
    service = MemoryService(store, WordEmbedder(), limits=ServiceLimits(max_memories=5))
    with pytest.raises(QuotaExceeded):
        await service.code_index.index(project)
    await service.store_memory(MemoryDraft("there is room for memories"))


@pytest.mark.skipif(sys.platform == "win32", reason="files without rights")
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root reads everything")
async def test_a_file_that_cannot_be_opened_for_a_while_keeps_its_symbols(
    service: MemoryService, store: MemoryStore, project: Path
):
    await service.code_index.index(project)
    (project / "shop/stock.py").chmod(0)
    age(project / "shop/stock.py")
    report = await service.code_index.index(project)
    assert [Path(each.source).name for each in report.refused] == ["stock.py"]
    assert "shop.stock.take" in await symbols_in(store)
