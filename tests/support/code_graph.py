"""A small shop: files, their symbols and edges in the form in which an index run stores them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.support.code import PROJECT
from tests.support.vaults import write

from mcp_memory_service.models import (
    Certainty,
    Edge,
    EdgeKind,
    EmbeddedMemory,
    Memory,
    SourceRecord,
    code_of,
    identity_hash,
)
from mcp_memory_service.services.code.stored_symbols import WEIGHTS, symbol_name
from mcp_memory_service.services.sources.names import span_of
from mcp_memory_service.storage.ports import GraphStore

FILES = {
    "shop/auth.py": """\
def authenticate_user(name, password):
    \"\"\"Whether the password is theirs.\"\"\"
    return check(name, password)


def check(name, password):
    return hash_of(password) == name
""",
    "shop/web.py": """\
class Handler:
    def login(self, form):
        return authenticate_user(form.name, form.password)

    def run(self):
        self.login({})
        self.login({})


class AdminHandler(Handler):
    def login(self, form):
        return authenticate_user(form.name, form.password) and form.admin


def main():
    Handler().run()
    loop()


def loop():
    loop()
    main()
""",
    "shop/jobs.py": """\
class Store:
    def run(self):
        retry(authenticate_user)


def nightly():
    anything.authenticate_user()
""",
    "tests/test_auth.py": """\
def test_login():
    assert authenticate_user("a", "a")
""",
}


@dataclass(frozen=True)
class Shop:
    root: Path
    symbols: dict[str, Memory]

    def id_of(self, qualified_name: str) -> str:
        return self.symbols[qualified_name].content_hash


def shop_in(folder: Path, namespace: str = "default") -> tuple[Shop, list[Edge]]:
    root = write(folder, FILES)
    places = {
        "shop/auth.py": [("shop.auth", 1, 7, "module"), ("shop.auth.authenticate_user", 1, 3, "function"),
                         ("shop.auth.check", 6, 7, "function")],
        "shop/web.py": [("shop.web", 1, 21, "module"), ("shop.web.Handler", 1, 7, "class"),
                        ("shop.web.Handler.login", 2, 3, "method"), ("shop.web.Handler.run", 5, 7, "method"),
                        ("shop.web.AdminHandler", 10, 12, "class"),
                        ("shop.web.AdminHandler.login", 11, 12, "method"), ("shop.web.main", 15, 17, "function"),
                        ("shop.web.loop", 20, 22, "function")],
        "shop/jobs.py": [("shop.jobs", 1, 7, "module"), ("shop.jobs.Store", 1, 3, "class"),
                         ("shop.jobs.Store.run", 2, 3, "method"), ("shop.jobs.nightly", 6, 7, "function")],
        "tests/test_auth.py": [("tests.test_auth", 1, 2, "module"), ("tests.test_auth.test_login", 1, 2, "function")],
    }  # fmt: skip
    symbols = {
        name: _symbol(root / path, name, first, last, kind=kind, root=root, namespace=namespace)
        for path, named in places.items()
        for name, first, last, kind in named
    }
    shop = Shop(root, symbols)
    calls = [
        _edge(shop, "shop.auth.authenticate_user", "shop.auth.check", (3,)),
        _edge(shop, "shop.web.Handler.login", "shop.auth.authenticate_user", (3,)),
        _edge(shop, "shop.web.AdminHandler.login", "shop.auth.authenticate_user", (12,), "likely"),
        _edge(shop, "shop.web.Handler.run", "shop.web.Handler.login", (6, 7)),
        _edge(shop, "shop.web.Handler.run", "shop.web.AdminHandler.login", (6, 7), "likely"),
        _edge(shop, "shop.web.main", "shop.web.Handler.run", (16,), "likely"),
        _edge(shop, "shop.web.main", "shop.web.loop", (17,)),
        _edge(shop, "shop.web.loop", "shop.web.loop", (21,)),
        _edge(shop, "shop.web.loop", "shop.web.main", (22,)),
        _edge(shop, "tests.test_auth.test_login", "shop.auth.authenticate_user", (2,)),
        _edge(shop, "tests.test_auth.test_login", "shop.auth.authenticate_user", (2,), kind="tests"),
        _edge(shop, "shop.jobs.Store.run", "shop.auth.authenticate_user", (3,), "guess", "references"),
        _edge(shop, "shop.web.AdminHandler", "shop.web.Handler", (10,), kind="inherits"),
        _edge(shop, "shop.web.AdminHandler.login", "shop.web.Handler.login", (11,), kind="overrides"),
        _open(shop, "shop.jobs.nightly", "authenticate_user", (7,)),
        _open(shop, "shop.auth.check", "hash_of", (7,)),
    ]
    return shop, calls


async def store_shop(store: GraphStore, folder: Path, namespace: str = "default") -> Shop:
    shop, edges = shop_in(folder, namespace)
    for source in dict.fromkeys(symbol.source or "" for symbol in shop.symbols.values()):
        own = [symbol for symbol in shop.symbols.values() if symbol.source == source]
        await store_symbols(store, source, own, edges, namespace)
    return shop


async def store_symbols(
    store: GraphStore, source: str, symbols: Sequence[Memory], edges: Sequence[Edge], namespace: str = "default"
) -> None:
    ids = {symbol.content_hash for symbol in symbols}
    await store.replace_source(
        code_of(namespace),
        source,
        [EmbeddedMemory(symbol, ()) for symbol in symbols],
        [edge for edge in edges if edge.from_id in ids],
        SourceRecord(source, "as read"),
    )


def _edge(
    shop: Shop,
    origin: str,
    to: str,
    lines: tuple[int, ...],
    certainty: Certainty = "certain",
    kind: EdgeKind = "calls",
) -> Edge:
    return Edge(
        shop.id_of(origin),
        symbol_name(PROJECT, to),
        kind,
        WEIGHTS[certainty],
        by_name=True,
        lines=lines,
        certainty=certainty,
    )


def _open(shop: Shop, origin: str, name: str, lines: tuple[int, ...]) -> Edge:
    return Edge(shop.id_of(origin), f"open:{PROJECT}:{name}", "calls", 0.0, by_name=False, lines=lines)


def _symbol(
    file: Path,
    qualified_name: str,
    first_line: int = 1,
    last_line: int = 1,
    *,
    body: str | None = None,
    docstring: str = "",
    kind: str = "function",
    root: Path | None = None,
    namespace: str = "default",
) -> Memory:
    """Of a file that is there its lines and its date; else of `body`."""
    name = qualified_name.rpartition(".")[2]
    there = file.exists()
    lines = (
        file.read_text().split("\n")[first_line - 1 : last_line]
        if there
        else (body or f"def {name}(): ...").split("\n")
    )
    modified = file.stat().st_mtime_ns // 1_000 if there else 0
    text, signature = "\n".join(lines), next((line.strip() for line in lines if name in line), name)
    content = "\n".join(filter(None, [signature, docstring, text if body is None else body]))
    return Memory(
        content,
        identity_hash("code", file.as_posix(), qualified_name, content),
        modified,
        modified,
        memory_type=kind,
        metadata={
            "path": file.relative_to(root or file.parent).as_posix(),
            "root": (root or file.parent).as_posix(),
            "project": PROJECT,
            "language": "python",
            "symbol": qualified_name,
            "symbol_kind": kind,
            "signature": signature,
            "lines": [first_line, last_line],
            "span": span_of(text),
            "since": modified,
        },
        namespace=code_of(namespace),
        source=file.as_posix(),
        sequence=first_line,
        kind="code",
        anchor=qualified_name,
        names=(symbol_name(PROJECT, qualified_name), f"symbol:{name}"),
    )
