"""How a model tells an answer from the stored texts in it.

Lines of ours begin with ¶, lines of stored text with `>`. A line break cannot be forged, for every character that
breaks a line is shown escaped or begins a new line of stored text. Some clients hand an answer on as a JSON string, in
which a stored backslash and n look much like a line break; but no stored text shows a ¶ or what looks like one. So the
same memories always make the same answer, and no text can know of anything that would let it out of its fence.
"""

import json
import re

from ..visible_text import escaped, visible

MARK = "¶"
_LIKE_THE_MARK = re.compile("[¶⁋❡⸿]")
# A name that needs no quotes: nothing in it that ends it.
_PLAIN = re.compile(r"\w[\w.:/+#@-]*")


def ours(line: str) -> str:
    return f"{MARK} {line}"


def quoted(text: str) -> str:
    """Stored text, every line of it marked as such; an empty one can say nothing."""
    return "\n".join(f"> {line}" if line else "" for line in harmless(text.replace("\r\n", "\n")).split("\n"))


def label(name: str) -> str:
    """A stored tag, type, source or session within a line of ours, in quotes unless it is plain."""
    shown = harmless(name).replace("\n", "\\n")
    return shown if _PLAIN.fullmatch(shown) else json.dumps(shown, ensure_ascii=False)


def as_json(value: object) -> str:
    """Stored values within a line of ours."""
    return harmless(json.dumps(value, ensure_ascii=False, separators=(",", ":")))


def harmless(text: str) -> str:
    return _LIKE_THE_MARK.sub(lambda found: escaped(found[0]), visible(text))
