"""The record of a root, among those of its files: whether its links or edges are settled, and what is said of all.

What is counted is in the fingerprint, which is read without any details; what documents are called is in the details
(`catalogue.py`), so that an edit of two files does not need the records of all.
"""

import json
from collections.abc import Mapping
from secrets import token_hex
from typing import cast

from ...models import JsonValue, SourceRecord

_OPEN, _SETTLED = "root:open:", "root:settled:"
_NAME = "/.index"
"""Below the root, where no document has a hidden name."""


def record_name(root: str) -> str:
    return root.rstrip("/") + _NAME


def root_of(record: SourceRecord) -> str:
    return record.source.removesuffix(_NAME) or "/"


def open_root(root: str) -> SourceRecord:
    """Of one whose links may lead to where documents were, and no longer are. Each is told from all others: a run that
    finds another one's mark at its end was not alone."""
    return SourceRecord(record_name(root), _OPEN + token_hex(8))


def settled_root(root: str, said: Mapping[str, JsonValue], details: Mapping[str, JsonValue]) -> SourceRecord:
    return SourceRecord(record_name(root), _SETTLED + json.dumps(dict(said)), details)


def is_root(record: SourceRecord) -> bool:
    return record.source.endswith(_NAME)


def is_settled(record: SourceRecord) -> bool:
    return record.fingerprint.startswith(_SETTLED)


def said_of(record: SourceRecord) -> Mapping[str, JsonValue]:
    """What was counted when its files were last settled."""
    return json.loads(record.fingerprint.removeprefix(_SETTLED)) if is_settled(record) else {}


def links_of(record: SourceRecord) -> Mapping[str, int]:
    """How many links the documents of a root had, by what became of them."""
    return cast("Mapping[str, int]", said_of(record))
