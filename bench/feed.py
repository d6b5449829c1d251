"""What every measured system is fed with and asked: the same files for all, read in pieces so that they do not count as
memory of the system."""

import argparse
import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]

DIMENSION = 384
ROW_BYTES = DIMENSION * 4
BATCH = 1000


class Batch(NamedTuple):
    first: int
    """The number of the first of these texts; a text is known by its number."""
    texts: list[str]
    tags: list[list[str]]
    vectors: Vector


class Question(NamedTuple):
    text: str
    vector: Vector


@dataclass(frozen=True)
class Feed:
    """Where texts and vectors are, as `prepared.py` wrote them."""

    folder: Path
    size: int

    @property
    def texts(self) -> Path:
        return self.folder / f"corpus-{self.size}.jsonl"

    @property
    def vectors(self) -> Path:
        return self.folder / f"corpus-{self.size}.f32"

    def batches(self) -> Iterator[Batch]:
        with self.texts.open(encoding="utf-8") as lines, self.vectors.open("rb") as numbers:
            first = 0
            while rows := [json.loads(line) for line in islice(lines, BATCH)]:
                vectors = np.frombuffer(numbers.read(len(rows) * ROW_BYTES), np.float32).reshape(-1, DIMENSION)
                yield Batch(first, [row["text"] for row in rows], [row["tags"] for row in rows], vectors)
                first += len(rows)

    def questions(self) -> list[Question]:
        with (self.folder / "queries.jsonl").open(encoding="utf-8") as lines:
            texts: list[str] = [json.loads(line)["text"] for line in lines]
        vectors = np.fromfile(self.folder / "queries.f32", np.float32).reshape(-1, DIMENSION)
        return [Question(text, vector) for text, vector in zip(texts, vectors, strict=True)]


def worker_arguments(description: str | None) -> argparse.Namespace:
    """What `run.py` tells a process that builds or asks one system."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("phase", choices=["build", "tune", "ask", "calls"])
    parser.add_argument("system")
    parser.add_argument("--feed", type=Path, required=True)
    parser.add_argument("--size", type=int, required=True)
    parser.add_argument("--folder", type=Path, required=True, help="where the system keeps its files")
    parser.add_argument("--out", type=Path, required=True, help="where the figures go")
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=30, help="limit for each measurement")
    parser.add_argument("--settings", type=json.loads, default={}, help="of the searches of a peer, as JSON")
    parser.add_argument("--started", type=float, default=0.0, help="when the process was started, as time.monotonic()")
    return parser.parse_args()
