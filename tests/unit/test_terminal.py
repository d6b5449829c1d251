"""What reaches a terminal: nothing that it would obey, or that an eye would miss."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.cli.terminal import printable, printable_json


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]0;title\x07", r"\x1b]0;title\x07"),
        ("a\rb\x08\x7f\x9b", r"a\x0db\x08\x7f\x9b"),
        ("\u202egnp.exe\u2066", r"\u202egnp.exe\u2066"),
        ("zero\u200b\u200d\ufeffwidth", r"zero\u200b\u200d\ufeffwidth"),
        ("\U000e0041\U000e0100", r"\U000e0041\U000e0100"),
        ("\udcff", r"\udcff"),
        ("two\n\tlines, ❤️, é, 日本語, עברית", "two\n\tlines, ❤️, é, 日本語, עברית"),
        (
            "می\u200cخواهم, क्\u200dष, 👩\u200d💻, ❤\ufe0f\u200d🔥, 1\ufe0f\u20e3",
            "می\u200cخواهم, क्\u200dष, 👩\u200d💻, ❤\ufe0f\u200d🔥, 1\ufe0f\u20e3",
        ),
        ("a\u200db, 👩\u200d\u200d💻, \u200cخ", r"a\u200db, 👩\u200d\u200d💻, \u200cخ"),
        ("a\ufe0f, 👩\ufe0f\ufe0e\ufe0f", "a\\ufe0f, 👩\ufe0f\\ufe0e\\ufe0f"),
        ("\u2028\u2029\x85", r"\u2028\u2029\x85"),
    ],
)
def test_hidden_characters_are_shown_as_a_programmer_writes_them(text: str, shown: str):
    assert printable(text) == shown


@given(st.text())
def test_nothing_that_a_terminal_obeys_is_printed(text: str):
    assert all(
        character.isprintable() or character in "\n\t\xa0" or ord(character) > 0xA0 for character in printable(text)
    )


@given(st.text())
def test_json_stays_the_same_json(text: str):
    written = printable_json(json.dumps({"text": text}, ensure_ascii=False, indent=2))
    assert json.loads(written) == {"text": text}
    assert printable(written) == written
