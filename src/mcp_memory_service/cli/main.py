"""`mcp-memory`: the overview of all commands, and how it ends."""

import os
import sys
from importlib import import_module
from io import StringIO
from pathlib import Path
from typing import Any

import click

from .. import __version__
from ..access.error_table import ERROR_TABLE, ExitCode
from ..errors import MemoryServiceError
from .terminal import printable_line, say

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def main() -> None:
    """Entry point: errors of ours become one line on stderr and an exit code with a meaning."""
    # Read by numpy when a command imports it. No product of ours is worth a second thread, and those that wait for one
    # take a core from the searches.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    try:
        cli(standalone_mode=False)
    except click.ClickException as error:
        shown = StringIO()
        error.show(shown)
        say(shown.getvalue().rstrip("\n"), err=True)
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        sys.exit(ExitCode.INTERRUPTED)
    except MemoryServiceError as error:
        say(f"mcp-memory: {printable_line(error.message)} [{error.code}]", err=True)
        sys.exit(ERROR_TABLE[type(error)].exit_code)


class LazyCommand(click.Command):
    """Stands in the overview for a command whose module is imported when it is asked for."""

    def __init__(self, name: str, target: str, summary: str) -> None:
        super().__init__(name, help=summary)
        self._module, self._command = target.split(".")

    def load(self) -> click.Command:
        return getattr(import_module(f"{__package__}.commands.{self._module}"), self._command)

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        """The context in which click goes on is that of the command itself."""
        return self.load().make_context(*args, **extra)


@click.group(context_settings=CONTEXT)
@click.version_option(__version__, prog_name="mcp-memory")
@click.option(
    "--env-file",
    type=click.Path(path_type=Path),
    help="File to read settings from [default: ~/.config/mcp-memory/.env; for serve, .env of the current folder first]",
)
def cli(env_file: Path | None) -> None:
    """Memory for AI agents: store short texts, find the few that matter, see why.

    \b
    Example:
      mcp-memory store "Rathole forwards port 2333 to the home lab" --tag rathole
      mcp-memory search "rathole port"

    Settings come from flags, MCP_MEMORY_* variables, or a .env file; mcp-memory config shows them.
    """


# Each with the first sentence of its help, which the overview shows without importing it; a test compares them.
for _name, _target, _summary in (
    ("serve", "serve.serve", "Serve REST and MCP (at /mcp) over HTTP."),
    ("mcp", "serve.mcp", "Serve MCP over standard input and output, for one client."),
    ("store", "store.store", "Remember CONTENT; - reads it from standard input."),
    ("get", "life.get", "Show the memory ID, whole."),
    ("edit", "life.edit", "Change the memory ID; with CONTENT (- is standard input) its text becomes that."),
    ("delete", "store.delete", "Put the memory ID, or all that pass filters, into the trash."),
    ("trash", "life.trash", "Show what was deleted, and bring it back."),
    ("history", "life.history", "Show all versions of the memory ID, and what they took the place of."),
    ("expire", "life.expire", "Count what has expired, or erase it."),
    ("purge", "store.purge", "Delete memories so that their bytes are gone from the store's files, log included."),
    (
        "feedback",
        "store.feedback",
        "Note whether the memory ID answers QUERY, for eval tune to learn from.",
    ),
    ("search", "search.search", "Find what is remembered about QUERY, best first."),
    ("list", "search.list_memories", "List memories, newest first."),
    (
        "recall",
        "life.recall",
        "Show what to know before a task: the pinned memories, and what QUERY finds or the newest.",
    ),
    ("tags", "life.tags", "List, rename and merge tags."),
    ("retag", "life.retag", "Add tags to all memories that pass the filters, and remove others."),
    ("duplicates", "duplicates.duplicates", "List memories that say nearly the same, and merge them."),
    ("index", "index.index", "Take in PATH, a folder or file of Markdown, text or PDF, or what changed in it."),
    ("notes", "notes.notes", "Look at the notes of a folder and at their links."),
    ("config", "config.config", "Show every setting, its value and where that comes from."),
    ("stats", "search.stats", "Show how much is stored, and with which model."),
    (
        "doctor",
        "upkeep.doctor",
        "Check every part of the SQLite file: pages, schema, texts, vectors, tags, text index; and the search index.",
    ),
    (
        "backup",
        "upkeep.backup",
        "Copy the SQLite store to the new file TARGET, or into the folder TARGET, and verify the copy.",
    ),
    ("restore", "upkeep.restore", "Put what BACKUP holds in the place of what the SQLite store holds."),
    ("migrate", "migrate.migrate", "Copy all memories from one store to another, and check the copy."),
    ("import", "transfer.import_memories", "Store every line of FILE (JSON Lines; - is standard input)."),
    ("export", "transfer.export", "Write all memories as JSON Lines to the new file FILE, or to standard output."),
    ("embeddings", "embeddings.embeddings", "Check a model that turns texts into vectors."),
    ("rerank", "rerank.rerank", "Check a model that puts the first results of a search in a new order."),
    ("keys", "keys.keys", "Keys for several callers, each with its namespaces and scopes."),
    ("demo", "demo.demo", "Store a dozen memories in a temporary file and show a search with its score breakdown."),
    ("eval", "eval.evaluation", "Measure how well memories are found, and fit the weights to a store."),
):
    cli.add_command(LazyCommand(_name, _target, _summary))
