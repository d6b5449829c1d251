"""Text with nothing in it that a terminal would obey, or that an eye or a model would miss."""

import re

# Control characters but tab and line feed, half surrogate pairs, and what Unicode calls ignorable by default: marks
# that turn text around, spaces without width, fillers, tags, and the controls of hieroglyphs. Of those that join and
# choose, one at a time stays where writing needs it and nothing can be hidden in it: the two joiners between letters or
# pictures beyond Latin, the two that choose how a picture looks after one (or before the box of a key).
_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u2028-\u202e"
    "\u2060-\u206f\u2800\u3164\ud800-\udfff\ufe00-\ufe0d\ufeff\uffa0\ufff0-\ufffb\U00013430-\U0001343f"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff]"
    "|(?<![\u0600-\u1fff\u2190-\u2bff\ufe0f\U0001f000-\U0001faff])[\u200c\u200d]"
    "|[\u200c\u200d](?![\u0600-\u1fff\u2190-\u2bff\U0001f000-\U0001faff])"
    "|(?<![\xa9\xae\u203c-\u2bff\u3030\u303d\u3297\u3299\U0001f000-\U0001faff])[\ufe0e\ufe0f](?!\u20e3)"
)


def visible(text: str) -> str:
    """The text with its hidden characters as a programmer writes them, such as \\x1b."""
    return _HIDDEN.sub(lambda found: escaped(found[0]), text)


def visible_json(text: str) -> str:
    """The same JSON with its hidden characters escaped as JSON does; they stand in strings alone."""
    return _HIDDEN.sub(
        lambda found: "".join(
            f"\\u{unit}" for unit in found[0].encode("utf-16-be", "surrogatepass").hex(" ", 2).split()
        ),
        text,
    )


def escaped(character: str) -> str:
    code = ord(character)
    if code < 0x100:
        return f"\\x{code:02x}"
    return f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
