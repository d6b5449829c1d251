"""The wire format of protobuf, as far as ONNX files need it: the ONNX library takes more memory to import than a slim
model saves."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

_VARINT, _FIXED_64, _LENGTH_DELIMITED, _FIXED_32 = 0, 1, 2, 5
_FIXED_BYTES = {_FIXED_64: 8, _FIXED_32: 4}


class Field(NamedTuple):
    number: int
    value: int
    """Of a varint; 0 for others."""
    payload: memoryview
    """Of a length-delimited field; empty for others."""
    raw: memoryview
    """All of the field, with its tag."""


def fields(message: memoryview) -> Iterator[Field]:
    """ValueError if it is no message, or cut off."""
    position = 0
    while position < len(message):
        start = position
        tag, position = _read_varint(message, position)
        kind, value, length = tag & 7, 0, 0
        if kind == _VARINT:
            value, position = _read_varint(message, position)
        elif kind == _LENGTH_DELIMITED:
            length, position = _read_varint(message, position)
        elif kind in _FIXED_BYTES:
            position += _FIXED_BYTES[kind]
        else:
            raise ValueError(f"a protobuf field of the unexpected kind {kind}")
        end = position + length
        if end > len(message):
            raise ValueError("a protobuf message that is cut off")
        yield Field(tag >> 3, value, message[position:end], message[start:end])
        position = end


def delimited(number: int, payload: Sequence[bytes | memoryview]) -> list[bytes | memoryview]:
    """A length-delimited field, in parts: the payload of a model is large, and each copy of it takes 10 ms."""
    return [varint(number << 3 | _LENGTH_DELIMITED), varint(sum(map(len, payload))), *payload]


def varint(value: int) -> bytes:
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes((*encoded, value))


def _read_varint(message: memoryview, position: int) -> tuple[int, int]:
    value, shift = 0, 0
    while position < len(message):
        byte = message[position]
        value |= (byte & 0x7F) << shift
        position += 1
        shift += 7
        if byte < 0x80:
            return value, position
    raise ValueError("a protobuf message that is cut off")
