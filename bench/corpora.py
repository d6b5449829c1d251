"""Memories to fill stores with: real texts, random vectors of the usual length."""

import gzip
import json
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from mcp_memory_service.models import EmbeddedMemory, Memory, Vector, content_hash

ROOT = Path(__file__).parent.parent
DIMENSION = 384


def texts_of(data: Path | None) -> list[tuple[str, tuple[str, ...]]]:
    file = data / "corpus.jsonl.gz" if data else ROOT / "tests" / "eval" / "memories.jsonl"
    with gzip.open(file, "rt") if data else file.open() as lines:
        rows = [json.loads(line) for line in lines]
    return [(row.get("text") or row["content"], tuple(row.get("tags") or ())) for row in rows]


def memories(count: int, data: Path | None) -> list[EmbeddedMemory]:
    chance = np.random.default_rng(1)
    made: list[EmbeddedMemory] = []
    for number, (text, tags) in enumerate(islice(cycle(texts_of(data)), count)):
        content = f"{text} ({number})"  # so that none comes twice
        vector = unit_vector(chance)
        note = Memory(content, content_hash(content), number, number, tags=tags[:20], memory_type="note")
        made.append(EmbeddedMemory(note, (vector,)))
    return made


def unit_vector(chance: np.random.Generator) -> Vector:
    vector = chance.normal(size=DIMENSION).astype(np.float32)
    vector /= np.linalg.norm(vector)
    return vector
