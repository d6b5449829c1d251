"""Lines of a file to import: read one after the other, each either a memory or an error that says what is wrong."""

import json
from collections.abc import Iterator
from typing import Any, BinaryIO, cast

from ..errors import InvalidInput
from ..schemas import ImportIn
from ..services import ImportLine
from .flags import parsed

# The longest content that a setting allows fits: a million characters, each escaped as a pair of 6 bytes.
MAX_LINE_BYTES = 16 * 1024 * 1024
# What is lost when an import is killed, and embedded again by the next one: about a second's work.
PART_LINES = 100
PART_BYTES = 4 * 1024 * 1024
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


def parts(stream: BinaryIO) -> Iterator[list[ImportLine]]:
    """The lines in parts, bounded in their number and roughly in their size; empty lines are left out."""
    part: list[ImportLine] = []
    size = 0
    for number, line in enumerate(_raw_lines(stream), start=1):
        content = line.removeprefix(_BYTE_ORDER_MARK).strip() if number == 1 else line.strip()
        if content:
            part.append(_import_line(number, content))
            size += len(content)
        if len(part) == PART_LINES or size >= PART_BYTES:
            yield part
            part, size = [], 0
    if part:
        yield part


def _raw_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Each line; of one that is too long, its beginning."""
    while line := stream.readline(MAX_LINE_BYTES + 1):
        yield line
        while line and not line.endswith(b"\n"):  # read over the rest
            line = stream.readline(MAX_LINE_BYTES)


def _import_line(number: int, line: bytes) -> ImportLine:
    try:
        parsed_line = _parsed(line)
        return ImportLine(number, parsed_line.draft(), parsed_line.namespace)
    except InvalidInput as error:
        return ImportLine(number, error)


def _parsed(line: bytes) -> ImportIn:
    if len(line) > MAX_LINE_BYTES:
        raise InvalidInput(f"It is longer than {MAX_LINE_BYTES:,} bytes.", reason="line_too_long")
    try:
        fields = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise InvalidInput(f"It is not UTF-8: see its byte {error.start + 1}.", reason="not_utf8") from None
    except json.JSONDecodeError as error:
        problem = f"It is not valid JSON: {error.msg} at character {error.pos + 1}."
        raise InvalidInput(problem, reason="malformed_json") from None
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"It is JSON that cannot be read: {error}.", reason="malformed_json") from None
    if not isinstance(fields, dict):
        raise InvalidInput("It is JSON, but no object with a content.", reason="malformed_json")
    return parsed(ImportIn, cast("dict[str, Any]", fields))
