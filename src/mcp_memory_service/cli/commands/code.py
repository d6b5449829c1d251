"""`code`: the symbols of a project, who calls whom, and what was said of them."""

import click

from .code_graph import QUESTIONS
from .code_index import edges, index


@click.group()
def code() -> None:
    """Take the code of a project in, ask who calls whom, what a change may break, and what was said about it.

    \b
    Example:
      mcp-memory code index ~/project
      mcp-memory code callers Store.save
      mcp-memory code impact Store.save
    """


for _command in (index, edges, *QUESTIONS):
    code.add_command(_command)
