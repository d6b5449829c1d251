"""A dozen memories of an imaginary home lab, and one search that vectors alone get wrong."""

import asyncio
import tempfile
from pathlib import Path

import click

from ...config import Settings, load_settings
from ...models import MemoryDraft, SearchRequest
from ...schemas import RetrieveOut
from ..flags import JSON, chosen_env_file
from ..local_service import open_local
from ..logs import log_to_stderr
from ..rendering import render_hits, show

QUERY = "rathole project codebase architecture"

_MEMORIES: tuple[tuple[str, tuple[str, ...], str], ...] = (
    ("Rathole runs on the VPS and tunnels port 2333 to the home lab behind NAT", ("rathole", "project"), "fact"),
    ("Cachekit codebase architecture: adapters, an eviction core and a thin client", ("cachekit", "project"), "note"),
    (
        "Cachekit project layout: core in Rust, bindings in Python, docs beside the code",
        ("cachekit", "project"),
        "note",
    ),
    ("Litesearch codebase: tokenizer, inverted index and ranking in three modules", ("litesearch", "project"), "note"),
    ("Litesearch project architecture was simplified to a single writer", ("litesearch", "project"), "decision"),
    ("Quillpad architecture decision: plain files in a folder, no database", ("quillpad", "project"), "decision"),
    ("Quillpad codebase uses a hexagonal architecture with ports and adapters", ("quillpad", "project"), "note"),
    ("ECONNREFUSED from Postgres in CI: the service container was not healthy yet", ("postgres", "ci"), "fix"),
    ("Deploys go out on Tuesdays after the stand-up", ("process",), "preference"),
    ("The staging database is restored from production every Sunday night", ("postgres", "staging"), "fact"),
    ("Prefer composition over inheritance in all Python services", ("python", "style"), "preference"),
    ("The monorepo build cache lives on the NAS and may be deleted at any time", ("build", "nas"), "fact"),
)


@click.command()
@JSON
def demo(as_json: bool) -> None:
    """Store a dozen memories in a temporary file and show a search with its score breakdown.

    \b
    Example:
      mcp-memory demo
    """
    env_file = chosen_env_file()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-demo-") as folder:
        settings = load_settings({"storage_backend": "sqlite_vec", "sqlite_path": Path(folder) / "demo.db"}, env_file)
        log_to_stderr(settings, env_file)
        found = asyncio.run(_search_in(settings))
    text = (
        f"Stored {len(_MEMORIES)} memories in a temporary file. Searching for: {QUERY}",
        render_hits(found, len(_MEMORIES)),
        "Try your own: mcp-memory store '...' --tag ..., then mcp-memory search '...' --debug",
    )
    show(found, "\n\n".join(text), as_json=as_json)


async def _search_in(settings: Settings) -> RetrieveOut:
    async with open_local(settings, may_create=True) as service:
        await service.store_batch(
            [MemoryDraft(content=content, tags=tags, memory_type=kind) for content, tags, kind in _MEMORIES]
        )
        return RetrieveOut.of(await service.search(SearchRequest(QUERY, page_size=5, debug=True)))
