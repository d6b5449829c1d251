"""The text of a file, or the reason why it has none."""

import codecs


class Unreadable(Exception):
    """A file that cannot be read as text; `reason` goes on after its name."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def decoded(data: bytes) -> str:
    """UTF-8 with or without a byte order mark, or UTF-16 with one; every line break becomes a line feed."""
    wide = data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    try:
        text = data.decode("utf-16" if wide else "utf-8-sig")
    except UnicodeDecodeError as error:
        expected = "UTF-16" if wide else "UTF-8"
        raise Unreadable(f"it is not {expected} text: byte {error.start} cannot be decoded") from error
    if "\x00" in text:
        raise Unreadable("it is a binary file: it has NUL characters")
    return text.replace("\r\n", "\n").replace("\r", "\n")
