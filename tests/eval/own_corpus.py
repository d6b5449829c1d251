"""Our own evaluation corpus: a year of a developer's notes over nine projects, and what queries shall find in it."""

import json
from datetime import datetime
from pathlib import Path

from mcp_memory_service.evaluation.ground_truth import LabelledQuery, load_ground_truth
from mcp_memory_service.evaluation.runner import STORED_AT_ONCE
from mcp_memory_service.models import MemoryDraft
from mcp_memory_service.services import MemoryService
from mcp_memory_service.timestamps import to_microseconds

FOLDER = Path(__file__).parent
# The day after the last note: the notes are as old as they were to their writer.
NOW = to_microseconds(datetime.fromisoformat("2026-06-01T00:00:00+00:00"))


def memory_drafts() -> list[MemoryDraft]:
    lines = (FOLDER / "memories.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        MemoryDraft(
            content=row["content"],
            tags=tuple(row["tags"]),
            memory_type=row["memory_type"],
            created_at=to_microseconds(datetime.fromisoformat(row["created_at"])),
            session=row.get("session"),
            sequence=row.get("sequence"),
        )
        for row in map(json.loads, lines)
    ]


async def store_corpus(service: MemoryService) -> None:
    drafts = memory_drafts()
    for start in range(0, len(drafts), STORED_AT_ONCE):
        await service.store_batch(drafts[start : start + STORED_AT_ONCE])


def labelled_queries() -> list[LabelledQuery]:
    return load_ground_truth(FOLDER / "ground_truth.json")
