"""Which files are code, or say where code is; and what of them is read: no bundles, nothing that a program wrote."""

import re

from ...indexing import Unreadable, decoded
from ...indexing.code import language_of
from ...indexing.code.javascript.project_files import is_project_file
from ..sources.files import FileChoice

MAX_CODE_BYTES = 1024 * 1024
"""What is larger was not written by hand."""

VENDORED_FOLDERS = frozenset({
    "node_modules", "bower_components", "jspm_packages", "vendor", "vendored", "third_party", "site-packages",
    "dist-packages", "dist", "build", "venv", "virtualenv",
})  # fmt: skip

CODE = FileChoice(
    lambda name: language_of(name) is not None or is_project_file(name),
    "it is no code of a language that is read here",
    VENDORED_FOLDERS,
    names_left_out=True,
)

MINIFIED, GENERATED = "it is minified", "it says that a program generated it"
TOO_LARGE = f"it is larger than {MAX_CODE_BYTES // 1024**2} MB"

_MINIFIED_NAME = re.compile(r"[.-](min|bundle|umd)\.[cm]?js$", re.IGNORECASE)
_COMMENT = re.compile(r"\s*(#|//|/?\*)")
_WARNING = re.compile(r"@generated\b|\bgenerated\b.*\bdo not (edit|modify)\b", re.IGNORECASE | re.DOTALL)
HEAD_LINES = 10
"""Of a file, in which it says by whom it was written."""
MAX_MEAN_LINE, MIN_MINIFIED_CHARS = 300, 2_000
"""Of what people read. No short file is minified, and a few long strings make none so."""


def code_in(name: str, data: bytes) -> str:
    """The text of a file; Unreadable if it is none that people write."""
    if _MINIFIED_NAME.search(name):
        raise Unreadable(MINIFIED)
    text = decoded(data)
    if len(text) > MIN_MINIFIED_CHARS and len(text) > MAX_MEAN_LINE * (text.count("\n") + 1):
        raise Unreadable(MINIFIED)
    head = "\n".join(filter(_COMMENT.match, text.split("\n", HEAD_LINES)[:HEAD_LINES]))
    if _WARNING.search(head):
        raise Unreadable(GENERATED)
    return text
