"""What is printed for people: nothing in it that a terminal would obey, or that an eye would miss."""

import click

from ..visible_text import visible, visible_json

printable = visible
printable_json = visible_json


def say(text: str, *, err: bool = False) -> None:
    click.echo(printable(text), err=err)


def printable_line(text: str) -> str:
    """The same in one line, for text that must not look like several."""
    return printable(text).replace("\n", "\\n")
