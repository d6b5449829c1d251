"""What is printed for people: nothing in it that a terminal would obey, or that an eye would miss."""

import re

import click

# Control characters but tab and line feed, half surrogate pairs, and what Unicode calls ignorable by default: marks
# that turn text around, spaces without width, fillers, tags. The two that choose how an emoji looks stay.
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U0001bca0-\U0001bca3"
    "\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
)


def say(text: str, *, err: bool = False) -> None:
    click.echo(printable(text), err=err)


def printable(text: str) -> str:
    """The text with its hidden characters as a programmer writes them, such as \\x1b."""
    return _HIDDEN.sub(lambda found: _escaped(ord(found[0])), text)


def printable_line(text: str) -> str:
    """The same in one line, for text that must not look like several."""
    return printable(text).replace("\n", "\\n")


def printable_json(text: str) -> str:
    """The same JSON with its hidden characters escaped as JSON does; they stand in strings alone."""
    return _HIDDEN.sub(
        lambda found: "".join(
            f"\\u{unit}" for unit in found[0].encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
        ),
        text,
    )


def _escaped(code: int) -> str:
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
