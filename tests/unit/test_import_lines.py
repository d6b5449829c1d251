"""Lines of a file to import: memories, or errors that say which line and what is wrong."""

import io
import json

import pytest

from mcp_memory_service.cli import lines
from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.models import Memory, MemoryDraft, content_hash
from mcp_memory_service.schemas import ExportOut


def read(text: bytes) -> list[tuple[int, MemoryDraft | InvalidInput]]:
    return [(line.number, line.draft) for part in lines.parts(io.BytesIO(text)) for line in part]


def test_a_line_is_a_memory_as_rest_takes_it():
    full = MemoryDraft(
        "fact", ("a", "b"), "note", {"n": [1]}, 1_000_000, source="me", session="talk", sequence=3, updated_at=None
    )
    text = json.dumps(
        {
            "content": "fact",
            "tags": ["a", "b"],
            "memory_type": "note",
            "metadata": {"n": [1]},
            "created_at": "1970-01-01T00:00:01Z",
            "source": "me",
            "session": "talk",
            "sequence": 3,
        }
    )
    assert read(text.encode()) == [(1, full)]


def test_a_line_may_be_what_export_writes():
    memory = Memory("fact", content_hash("fact"), 5, 7, ("a",), "note", {"n": 1.0}, "default", "me", "talk", 0)
    exported = ExportOut.of(memory).model_dump_json().encode()
    assert read(exported) == [
        (1, MemoryDraft("fact", ("a",), "note", {"n": 1.0}, 5, "me", "talk", 0, updated_at=7)),
    ]


def test_empty_lines_ends_of_lines_and_a_byte_order_mark_are_no_memories():
    text = b'\xef\xbb\xbf{"content": "a"}\r\n\n  \n{"content": "b"}'
    assert read(text) == [(1, MemoryDraft("a")), (4, MemoryDraft("b"))]


@pytest.mark.parametrize(
    ("line", "reason", "said"),
    [
        (b"{", "malformed_json", "not valid JSON: Expecting property name enclosed in double quotes at character 2"),
        (b"[1]", "malformed_json", "no object"),
        (b'{"content": "\xff"}', "not_utf8", "not UTF-8: see its byte 14"),
        (b'{"content": 1}', "validation_failed", "content: Input should be a valid string"),
        (b'{"tags": []}', "validation_failed", "content: Field required"),
        (b'{"content": "a", "tag": "b"}', "validation_failed", "tag: Extra inputs are not permitted"),
        (b'{"content": "a", "created_at": 5}', "validation_failed", "created_at"),
        (b'{"content": "a", "content_hash": "b"}', "content_hash_mismatch", "not that of the content"),
        (b'{"content": "a", "metadata": {"n": ' + b"9" * 5000 + b"}}", "malformed_json", "cannot be read"),
        (b"[" * 100_000, "malformed_json", "cannot be read"),
    ],
)
def test_a_bad_line_is_an_error_and_the_next_one_is_read(line: bytes, reason: str, said: str):
    (number, error), following = read(line + b'\n{"content": "next"}\n')
    assert number == 1
    assert isinstance(error, InvalidInput)
    assert (error.code, said in error.message) == (reason, True), error.message
    assert following == (2, MemoryDraft("next"))


def test_a_line_without_end_is_never_held_whole(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 1000)
    stream = io.BytesIO(b'{"content": "' + b"x" * 100_000 + b'"}\n{"content": "next"}')
    asked: list[int] = []
    whole_read = stream.readline

    class Watched(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            assert size is not None
            asked.append(size)
            return whole_read(size)

    (first, error), following = [(line.number, line.draft) for part in lines.parts(Watched()) for line in part]
    assert first == 1
    assert isinstance(error, InvalidInput)
    assert error.code == "line_too_long"
    assert following == (2, MemoryDraft("next"))
    assert max(asked) == 1001


def test_parts_are_bounded_in_lines_and_bytes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lines, "PART_LINES", 3)
    monkeypatch.setattr(lines, "PART_BYTES", 100)
    short, long = b'{"content": "a"}\n', b'{"content": "' + b"b" * 100 + b'"}\n'
    sizes = [len(part) for part in lines.parts(io.BytesIO(short * 4 + long + short))]
    assert sizes == [3, 2, 1]
