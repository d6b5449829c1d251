"""How long to wait before a failed attempt is made again."""

import random
from collections.abc import Iterator


def backoff(first_seconds: float, max_seconds: float) -> Iterator[float]:
    """Pauses in seconds, without end: each about twice as long as the one before, up to about `max_seconds`.

    The jitter of half a pause either way keeps clients that failed together from coming back together.
    """
    pause = first_seconds
    while True:
        yield pause * random.uniform(0.5, 1.5)
        pause = min(2 * pause, max_seconds)
