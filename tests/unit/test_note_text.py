"""The bytes of a file as text, or the reason why they are none."""

import codecs
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.indexing import Unreadable, decoded

TEXT = "Zürich, 日本語\nsecond line\n"


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        codecs.BOM_UTF16_LE + TEXT.encode("utf-16-le"),
        codecs.BOM_UTF16_BE + TEXT.encode("utf-16-be"),
        TEXT.replace("\n", "\r\n").encode(),
        TEXT.replace("\n", "\r").encode(),
        TEXT.replace("\n", "\r\n").encode("utf-16"),
    ],
    ids=["utf-8", "utf-8 with mark", "utf-16 little", "utf-16 big", "CRLF", "CR", "utf-16 with CRLF"],
)
def test_every_encoding_and_line_break_gives_the_same_text(data: bytes):
    assert decoded(data) == TEXT


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"a\x00b", "it is a binary file: it has NUL characters"),
        (b"\x89PNG\r\n\x1a\n\x00", "it is not UTF-8 text: byte 0 cannot be decoded"),
        ("Zürich".encode("latin-1"), "it is not UTF-8 text: byte 1 cannot be decoded"),
        (codecs.BOM_UTF16_LE + b"\x00\xd8", "it is not UTF-16 text: byte 2 cannot be decoded"),
        (codecs.BOM_UTF32_LE + "a".encode("utf-32-le"), "it is a binary file: it has NUL characters"),
        ("\ud800".encode("utf-8", "surrogatepass"), "it is not UTF-8 text: byte 0 cannot be decoded"),
    ],
    ids=["NUL", "picture", "Latin-1", "half a pair in UTF-16", "UTF-32", "half a pair in UTF-8"],
)
def test_what_is_no_text_is_refused_with_a_reason(data: bytes, reason: str):
    with pytest.raises(Unreadable) as refused:
        decoded(data)
    assert refused.value.reason == reason


def test_an_empty_file_is_an_empty_text():
    assert decoded(b"") == decoded(codecs.BOM_UTF8) == decoded(codecs.BOM_UTF16_LE) == ""


@given(st.binary())
def test_any_bytes_are_text_without_nul_and_carriage_return_or_unreadable(data: bytes):
    with suppress(Unreadable):
        text = decoded(data)
        assert not set(text) & {"\x00", "\r"}
        assert text.encode().decode() == text
