"""The record of a root, among those of its documents: whether its links are settled, and what its documents are called.

How links were resolved is in the fingerprint, which is read without any details; the names are in the details
(`catalogue.py`), so that an edit of two files does not need the records of all.
"""

import json
from collections.abc import Mapping
from secrets import token_hex

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


def settled_root(root: str, links: Mapping[str, int], names: JsonValue) -> SourceRecord:
    return SourceRecord(record_name(root), _SETTLED + json.dumps(dict(links)), {"names": names})


def is_root(record: SourceRecord) -> bool:
    return record.source.endswith(_NAME)


def is_settled(record: SourceRecord) -> bool:
    return record.fingerprint.startswith(_SETTLED)


def links_of(record: SourceRecord) -> Mapping[str, int]:
    """How many links its documents had, by what became of them, when they were last settled."""
    return json.loads(record.fingerprint.removeprefix(_SETTLED)) if is_settled(record) else {}
