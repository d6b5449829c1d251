"""Vectors that must never reach an index: one NaN or zero vector would rank first for every query."""

from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np

from ..errors import InvalidVector
from ..models import EmbeddedMemory, Vector

# Within these, squares of the numbers and their sums can be computed with as few digits as the numbers have.
_MIN_LENGTH, _MAX_LENGTH = 1e-15, 1e15


def checked_items(
    items: Iterable[EmbeddedMemory], dimension: int | None, *, may_wait: bool = True
) -> list[EmbeddedMemory]:
    """The items with vectors that are fit to be stored; without a dimension, the first vector gives it. `may_wait`:
    whether all but plain memories may still have none."""
    checked: list[EmbeddedMemory] = []
    for item in items:
        if not item.vectors and (item.memory.kind == "memory" or not may_wait):
            raise InvalidVector("A memory cannot be stored without an embedding.")
        if dimension is None and item.vectors:
            dimension = checked_vector(item.vectors[0], None).size
        vectors = tuple(checked_vector(vector, dimension) for vector in item.vectors)
        checked.append(replace(item, vectors=vectors))
    return checked


def checked_vector(vector: Vector, dimension: int | None) -> Vector:
    """The vector as contiguous float32; raises InvalidVector if it is unfit."""
    checked = np.ascontiguousarray(vector, dtype=np.float32)
    if checked.ndim != 1 or checked.size == 0:
        raise InvalidVector("An embedding must be a non-empty list of numbers.")
    if dimension is not None and checked.size != dimension:
        raise InvalidVector(f"An embedding has {checked.size} numbers where this store holds {dimension}.")
    if not np.isfinite(checked).all():
        raise InvalidVector("An embedding contains NaN or infinite numbers.")
    if not checked.any():
        raise InvalidVector("An embedding is all zeros, which has no direction to compare.")
    if not _MIN_LENGTH <= float(np.linalg.norm(checked.astype(np.float64))) <= _MAX_LENGTH:
        raise InvalidVector("An embedding is too short or too long to be compared: its numbers are next to 0 or huge.")
    return checked


def cosines(query: Vector, vectors: Sequence[Vector]) -> list[float]:
    """Of vectors that are fit to be stored with one that is."""
    rows, asked = np.array(vectors, np.float64), query.astype(np.float64)
    return (rows @ asked / (np.linalg.norm(rows, axis=1) * np.linalg.norm(asked))).tolist()
