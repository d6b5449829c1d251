"""When this process gives memory back to the system. glibc only; elsewhere nothing is changed."""

import ctypes
import sys
from typing import Any

# Parameters of mallopt(3).
_TRIM_THRESHOLD = -1
_MMAP_THRESHOLD = -3
_ARENA_MAX = -8

_KEPT_BYTES = 64 << 20
_MAX_KEPT_ARRAY = 32 << 20
_HEAPS = 2


def keep_memory_of_arrays() -> None:
    """A search by an index makes arrays as long as the store has memories. glibc would give each of them back and take
    it anew page by page, and keep a heap for each thread."""
    mallopt = _of_glibc("mallopt")
    if mallopt:
        mallopt(_ARENA_MAX, _HEAPS)
        mallopt(_MMAP_THRESHOLD, _MAX_KEPT_ARRAY)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def return_unused_memory() -> None:
    """Give back what is free now: 60 MB after the model was loaded, as much again after 32 searches at once."""
    trim = _of_glibc("malloc_trim")
    if trim:
        trim(0)


def _of_glibc(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
