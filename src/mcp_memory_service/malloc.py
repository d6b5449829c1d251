"""When malloc returns memory to the system. glibc only; elsewhere nothing is changed."""

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
    """A search in an index allocates arrays as long as the store has memories. By default glibc unmaps each when it is
    freed, faults in the next page by page, and keeps a heap for each thread."""
    mallopt = _of_glibc("mallopt")
    if mallopt:
        mallopt(_ARENA_MAX, _HEAPS)
        mallopt(_MMAP_THRESHOLD, _MAX_KEPT_ARRAY)
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)


def return_unused_memory() -> None:
    """Return what is free now: 60 MB after the model was loaded, as much again after 32 concurrent searches."""
    malloc_trim = _of_glibc("malloc_trim")
    if malloc_trim:
        malloc_trim(0)


def _of_glibc(name: str) -> Any:
    return getattr(ctypes.CDLL(None), name, None) if sys.platform == "linux" else None
