"""Valid JSON made wrong, by chance that a seed repeats."""

import copy
import json
import random
from collections.abc import Callable
from typing import Any, cast

MAX_MUTATIONS = 3
DEPTH = 5_000  # deeper than any parser should follow
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2**31, 2**63, 2**64, -(2**70), 10**400, 0.1, 1e308, -0.0, float("nan"), float("inf"),
    "", " ", "0", "null", "a" * 70_000, "\x00", "\x1b[2J", "\u202e", "\ud800", "ﷺ" * 2_000, "../../etc/passwd", "'; --",
    [], [None], [[]], [0] * 300, {}, {"": ""}, {"a": {"b": {}}}, {"\x00": 1},
)  # fmt: skip
ODD_BYTES = (
    b"\x00", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\x1b", b"\x7f", b"\r", b"'", b'"', b"\\", b"{", b"}",
    b"[", b"]", b",", b":", b"NaN", b"-", b"1e999", b"/**/",
)  # fmt: skip


def mutated(value: Any, chance: random.Random) -> Any:
    """A copy with a few places changed: replaced, left out, doubled, nested, or joined by what nobody asked for."""
    value = copy.deepcopy(value)
    for _ in range(chance.randint(1, MAX_MUTATIONS)):
        value = _changed_somewhere(value, chance)
    return value


def _changed_somewhere(value: Any, chance: random.Random) -> Any:
    """Walks down from the root and stops by chance, so that the outer fields are hit as often as the inner ones."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        return _changed_object(cast("dict[str, Any]", value), chance)
    if isinstance(value, list) and value and chance.random() < 0.8:
        items = cast("list[Any]", value)
        at = chance.randrange(len(items))
        items[at] = _changed_somewhere(items[at], chance)
        return items
    return _odd_value(chance)


def _changed_object(fields: dict[str, Any], chance: random.Random) -> dict[str, Any]:
    name = chance.choice(list(fields))
    match chance.randrange(8):
        case 0:
            del fields[name]
        case 1:
            fields[chance.choice(("", "unknown", "__proto__", "x" * 500, "\ud800"))] = _odd_value(chance)
        case 2:
            fields[name] = [fields[name]]
        case 3:
            fields[name] = {name: fields[name]}
        case 4:
            fields[name.upper()] = fields.pop(name)
        case _:
            fields[name] = _changed_somewhere(fields[name], chance)
    return fields


def _odd_value(chance: random.Random) -> Any:
    """A copy: what is changed further must not end inside itself."""
    return copy.deepcopy(chance.choice(ODD_VALUES))


def written(value: Any) -> bytes:
    """As a careless client writes it: NaN and lone surrogates included."""
    return json.dumps(value, ensure_ascii=True).encode()


def mangled(text: bytes, chance: random.Random) -> bytes:
    """Bytes changed after the value was written: no JSON any more, or not the one that was meant."""
    return chance.choice(_MANGLERS)(text, chance)


def _cut(text: bytes, chance: random.Random) -> bytes:
    return text[: chance.randrange(len(text) + 1)]


def _inserted(text: bytes, chance: random.Random) -> bytes:
    at = chance.randrange(len(text) + 1)
    return text[:at] + chance.choice(ODD_BYTES) + text[at:]


def _overwritten(text: bytes, chance: random.Random) -> bytes:
    changed = bytearray(text)
    for _ in range(chance.randint(1, 5)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


def _twice(text: bytes, chance: random.Random) -> bytes:
    return chance.choice((text + text, b"[" + text + b"," + text + b"]", text + b" garbage"))


def _field_twice(text: bytes, chance: random.Random) -> bytes:
    return text.replace(b"{", chance.choice((b'{"id":1,', b'{"method":"ping",', b'{"jsonrpc":"1.0",')), 1)


def _in_another_encoding(text: bytes, chance: random.Random) -> bytes:
    return text.decode().encode(chance.choice(("utf-16", "utf-16-le", "utf-32", "utf-8-sig")))


def _nested(text: bytes, chance: random.Random) -> bytes:
    opening, closing = chance.choice(((b"[", b"]"), (b'{"a":', b"}")))
    nested = opening * DEPTH + b"1" + closing * chance.choice((0, DEPTH))
    return chance.choice((nested, text.replace(b'"params": {', b'"params": {"deep": ' + nested + b", ", 1)))


_MANGLERS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    _cut, _inserted, _overwritten, _twice, _field_twice, _in_another_encoding, _nested,
)  # fmt: skip
