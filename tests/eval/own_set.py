"""Our own corpus as an evaluation set, for `mcp-memory eval run --data FOLDER`.

`python -m tests.eval.own_set FOLDER`.
"""

import json
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from mcp_memory_service.models import MemoryDraft, content_hash
from mcp_memory_service.timestamps import from_microseconds

from .own_corpus import NOW, labelled_queries, memory_drafts


def write_set(folder: Path) -> None:
    """Sessions are in the order of the corpus; queries without an answer are left out, as they have nothing to find."""
    folder.mkdir(parents=True, exist_ok=True)
    drafts = sorted(memory_drafts(), key=lambda draft: (draft.session or "", draft.sequence or 0))
    queries = {f"q{number}": case for number, case in enumerate(labelled_queries()) if case.relevant}
    asked_at = from_microseconds(NOW).isoformat()
    _write_lines(folder / "corpus.jsonl", map(_document, drafts))
    _write_lines(
        folder / "queries.jsonl",
        (
            {"id": name, "text": case.query, "meta": {"type": case.category, "asked_at": asked_at}}
            for name, case in queries.items()
        ),
    )
    grades = [f"{name}\t{key}\t{grade}\n" for name, case in queries.items() for key, grade in case.relevant.items()]
    (folder / "qrels.tsv").write_text("".join(grades), encoding="utf-8")


def _document(draft: MemoryDraft) -> dict[str, Any]:
    assert isinstance(draft.created_at, int), "every note of ours has a date"
    return {
        "id": content_hash(draft.content),
        "text": draft.content,
        "tags": list(draft.tags),
        "created_at": from_microseconds(draft.created_at).isoformat(),
        "meta": {"session": draft.session} if draft.session else {},
    }


def _write_lines(path: Path, rows: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows), encoding="utf-8")


if __name__ == "__main__":
    write_set(Path(sys.argv[1]))
