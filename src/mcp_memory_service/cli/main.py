"""The commands. Each parses, calls one use case, and renders; heavy modules are imported by who needs them, so that
`--help` answers at once."""

import sys
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..errors import MemoryServiceError, error_code
from .eval_commands import evaluation
from .exit_codes import INTERRUPTED, exit_code
from .flags import filter_flags, json_flag, paging_flags, plain_json_flag, ranking_flags, storage_flags

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main() -> None:
    """Entry point: errors of ours become one line on stderr and an exit code with a meaning."""
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(INTERRUPTED)
    except MemoryServiceError as error:
        click.echo(f"mcp-memory: {error.message} [{error_code(error)}]", err=True)
        sys.exit(exit_code(error))


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="mcp-memory")
def cli() -> None:
    """Memory for AI agents: store short texts, find the few that matter, see why.

    \b
    Example:
      mcp-memory store "Rathole forwards port 2333 to the home lab" --tag rathole
      mcp-memory search "rathole port"

    Settings come from MCP_MEMORY_* variables, a .env file, or flags.
    """


@cli.command()
@storage_flags
@ranking_flags
@click.option("--http-host", help="Address to serve on [MCP_MEMORY_HTTP_HOST]")
@click.option("--http-port", type=int, help="Port to serve on [MCP_MEMORY_HTTP_PORT]")
def serve(**flags: Any) -> None:
    """Serve REST and MCP (at /mcp) over HTTP.

    \b
    Example:
      mcp-memory serve --http-port 8000
    """
    from .serving import serve_http

    serve_http(flags)


@cli.command()
@storage_flags
@ranking_flags
def mcp(**flags: Any) -> None:
    """Serve MCP over standard input and output, for one client.

    \b
    Example, in an MCP client's configuration:
      {"command": "mcp-memory", "args": ["mcp"]}
    """
    from .serving import serve_stdio

    serve_stdio(flags)


@cli.command()
@click.argument("content")
@click.option("--tag", "tags", multiple=True, help="A name to find it by; may be repeated")
@click.option("--type", "memory_type", help="What kind of memory it is, such as decision or fix")
@click.option("--metadata", help="Any JSON object")
@click.option("--created-at", help="When it came about, if not now (ISO 8601)")
@click.option("--source", help="Who or what wrote it")
@json_flag
@storage_flags
def store(content: str, as_json: bool, **options: Any) -> None:
    """Remember CONTENT; - reads it from standard input.

    \b
    Example:
      mcp-memory store "Use port 2333 for rathole" --tag rathole --type decision
    """
    from .commands import store_memory

    store_memory(content, options, as_json=as_json)


@cli.command()
@click.argument("query")
@paging_flags
@filter_flags
@click.option("--mode", type=click.Choice(["hybrid", "semantic", "keyword"]), default="hybrid", show_default=True)
@click.option("--no-tags", is_flag=True, help="Do not look for tags in the query")
@click.option("--min-similarity", type=float, help="Least cosine similarity of vector hits")
@click.option("--vector-threshold", type=float, help="Another name of --min-similarity")
@click.option("--alpha", type=float, help="Weight of the vector signal for this search")
@click.option("--fts-weight", type=float, help="Weight of words and tags, with --vector-weight in place of --alpha")
@click.option("--vector-weight", type=float, help="Weight of meaning, with --fts-weight in place of --alpha")
@click.option("--explain", "explained_hash", metavar="CONTENT_HASH", help="Say why this memory is where it is")
@click.option("--debug", is_flag=True, help="Show how each score came about")
@json_flag
@storage_flags
@ranking_flags
def search(query: str, as_json: bool, **options: Any) -> None:
    """Find what is remembered about QUERY, best first.

    \b
    Example:
      mcp-memory search "rathole project architecture" --limit 5 --debug
      mcp-memory search "ECONNREFUSED" --mode keyword
    """
    from .commands import search_memories

    search_memories(query, options, as_json=as_json)


@cli.command(name="list")
@paging_flags
@filter_flags
@json_flag
@storage_flags
def list_(as_json: bool, **options: Any) -> None:
    """List memories, newest first.

    \b
    Example:
      mcp-memory list --tag rathole --limit 20
    """
    from .commands import list_memories

    list_memories(options, as_json=as_json)


@cli.command()
@click.argument("content_hash")
@click.option("--idempotency-key", metavar="KEY", help="Makes it safe to run again: with the same KEY it is done once")
@json_flag
@storage_flags
def delete(content_hash: str, as_json: bool, **options: Any) -> None:
    """Forget the memory with CONTENT_HASH for good.

    \b
    Example:
      mcp-memory delete 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    from .commands import delete_memory

    delete_memory(content_hash, options, as_json=as_json)


@cli.command()
@click.argument("content_hashes", nargs=-1, metavar="[CONTENT_HASH]...")
@json_flag
@storage_flags
def purge(content_hashes: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """Delete memories so that their bytes are gone from the store's files, log included.

    What was deleted earlier is erased as well. Says `erased` or `pending` (exit code 7: somebody still reads, or the
    disk is full; without arguments it tries again). A memory that is not there is exit code 3. The whole file is
    rewritten. Backups and other copies keep what they hold. `list` and `search` show the hash of each memory.

    \b
    Example:
      mcp-memory purge 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
    """
    from .commands import purge_memories

    purge_memories(content_hashes, options, as_json=as_json)


@cli.command()
@click.argument("query")
@click.argument("content_hash")
@click.option("--useful/--not-useful", required=True, help="Whether this memory answers the query")
@storage_flags
def feedback(query: str, content_hash: str, **options: Any) -> None:
    """Note whether the memory with CONTENT_HASH answers QUERY, for eval tune to learn from.

    \b
    Example:
      mcp-memory feedback "rathole port" 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08 --useful
    """
    from .commands import record_feedback

    record_feedback(query, content_hash, options)


@cli.command()
@json_flag
@storage_flags
def stats(as_json: bool, **options: Any) -> None:
    """Show how much is stored, and with which model.

    \b
    Example:
      mcp-memory stats --json
    """
    from .commands import show_stats

    show_stats(options, as_json=as_json)


@cli.command()
@click.option("--repair", is_flag=True, help="Rebuild what is wrong, after a copy of the file was made")
@plain_json_flag
@storage_flags
def doctor(repair: bool, as_json: bool, **options: Any) -> None:
    """Check every part of the SQLite file: pages, texts, vectors, tags, text index.

    Exit code 0 if it is sound, 8 if something is wrong, 5 if there is no store. Services may go on meanwhile; writes
    wait while the text index is compared. Of a backup (--sqlite-path FILE.backup) it verifies the checksum.

    \b
    Example:
      mcp-memory doctor
      mcp-memory doctor --repair
    """
    from .upkeep import examine

    examine(options, repair=repair, as_json=as_json)


@cli.command()
@click.argument("target")
@plain_json_flag
@storage_flags
def backup(target: str, as_json: bool, **options: Any) -> None:
    """Copy the SQLite store to the new file TARGET, or into the folder TARGET, and verify the copy.

    Services go on meanwhile; the copy is of one moment. In a folder it gets a name with the time in it; a folder
    that is not there yet is made if TARGET ends in a slash.

    \b
    Example:
      mcp-memory backup ~/backups/
      mcp-memory backup memories.backup
    """
    from .upkeep import back_up

    back_up(target, options, as_json=as_json)


@cli.command()
@click.argument("source", metavar="BACKUP", type=click.Path(path_type=Path))
@plain_json_flag
@storage_flags
def restore(source: Path, as_json: bool, **options: Any) -> None:
    """Put what BACKUP holds in the place of what the SQLite store holds.

    The backup is verified first, and what the store holds is kept as a backup beside it. Services that have the file
    open see the restored memories with their next query.

    \b
    Example:
      mcp-memory restore memories.backup
    """
    from .upkeep import restore_backup

    restore_backup(source, options, as_json=as_json)


@cli.command()
@click.option("--from", "source", required=True, metavar="STORE", help="The store to copy; it is not changed")
@click.option("--to", "target", required=True, metavar="STORE", help="Where to; made if missing")
@click.option("--log-level", help="DEBUG, INFO, WARNING or ERROR [MCP_MEMORY_LOG_LEVEL]")
@json_flag
def migrate(source: str, target: str, log_level: str | None, as_json: bool) -> None:
    """Copy all memories from one store to another, and check the copy.

    A STORE is sqlite:PATH, qdrant:URL/COLLECTION or qdrant:COLLECTION; what is left out comes from the settings. If it
    is interrupted, the same command goes on. Vectors are taken over if the configured embedding model made them.

    \b
    Example:
      mcp-memory migrate --from sqlite:memories.db --to qdrant:http://127.0.0.1:6333/memories
      mcp-memory migrate --from qdrant: --to sqlite:copy.db
    """
    from .migrating import migrate_store

    migrate_store(source, target, log_level, as_json=as_json)


@cli.command(name="import")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True, dir_okay=False))
@click.option(
    "--on-error",
    type=click.Choice(["stop", "skip"]),
    default="stop",
    show_default=True,
    help="At a bad line: stop (exit code 2), or leave it out and go on (exit code 7 at the end)",
)
@plain_json_flag
@storage_flags
def import_(file: Path, on_error: str, as_json: bool, **options: Any) -> None:
    """Store every line of FILE (JSON Lines; - is standard input).

    A line is a memory as for POST /memories, or as `export` writes it. What is there already is recognised and only
    united with what the line brings: if an import is interrupted, the same command goes on where it ended.

    \b
    Example:
      mcp-memory import memories.jsonl
      echo '{"content": "Deploys go out on Tuesdays", "tags": ["process"]}' | mcp-memory import -
    """
    from .transfer import import_file

    import_file(file, options, skips_bad=on_error == "skip", as_json=as_json)


@cli.command()
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True), default="-")
@storage_flags
def export(file: Path, **options: Any) -> None:
    """Write all memories as JSON Lines to the new file FILE, or to standard output.

    Vectors, feedback and tuned weights are not in it: `backup` keeps everything.

    \b
    Example:
      mcp-memory export memories.jsonl
      mcp-memory export | gzip > memories.jsonl.gz
    """
    from .transfer import export_file

    export_file(file, options)


@cli.command()
@json_flag
def demo(as_json: bool) -> None:
    """Store a dozen memories in a temporary file and show a search with its score breakdown.

    \b
    Example:
      mcp-memory demo
    """
    from .demo import run_demo

    run_demo(as_json=as_json)


cli.add_command(evaluation)
