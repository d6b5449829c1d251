"""Vectors that must never reach an index: one NaN or zero vector would rank first for every query."""

import numpy as np

from ..errors import InvalidVector
from ..models import Vector

# Within these, squares of the numbers and their sums can be computed with as few digits as the numbers have.
_MIN_LENGTH, _MAX_LENGTH = 1e-15, 1e15


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
