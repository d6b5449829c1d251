"""How often a caller may ask, and how often somebody may guess."""

import math
import time
from collections import OrderedDict
from collections.abc import Callable

from ..errors import TooManyRequests
from .caller import Caller

MINUTE = 60.0
MAX_REMEMBERED = 10_000
"""Callers and addresses that are remembered; the one that was quiet for longest is forgotten first."""

FREE_GUESSES = 5
"""Wrong keys in a minute that are answered at once: somebody mistypes."""
MAX_GUESSES = 60
GUESS_DELAY_SECONDS = 0.1
MAX_DELAY_SECONDS = 2.0


class Buckets:
    """Token buckets: a minute's worth may be used at once, and comes back evenly."""

    def __init__(self, monotonic_seconds: Callable[[], float] = time.monotonic) -> None:
        self._seconds = monotonic_seconds
        self._used: OrderedDict[str, tuple[float, float]] = OrderedDict()
        """By name: how much is used, and when that was so."""

    def take(self, name: str, per_minute: float) -> float:
        """Use one; returns how much is used, or is more than there was."""
        now = self._seconds()
        used, since = self._used.pop(name, (0.0, now))
        used = max(0.0, used - (now - since) * per_minute / MINUTE) + 1.0
        self._used[name] = min(used, per_minute + 1.0), now
        if len(self._used) > MAX_REMEMBERED:
            self._used.popitem(last=False)
        return used


class RateLimits:
    def __init__(self, monotonic_seconds: Callable[[], float] = time.monotonic) -> None:
        self._requests = Buckets(monotonic_seconds)
        self._guesses = Buckets(monotonic_seconds)

    def take(self, caller: Caller) -> None:
        """Count a request; TooManyRequests if it is one too many."""
        if caller.requests_per_minute is None or caller.id is None:
            return
        used = self._requests.take(caller.id, caller.requests_per_minute)
        if used > caller.requests_per_minute:
            wait = math.ceil((used - caller.requests_per_minute) * MINUTE / caller.requests_per_minute)
            raise TooManyRequests(f"This key may be used {caller.requests_per_minute} times a minute.", wait)

    def delay_of_wrong_key(self, address: str) -> float:
        """For how many seconds the answer to a wrong key from there is held back; TooManyRequests after very many."""
        used = self._guesses.take(address, MAX_GUESSES)
        if used > MAX_GUESSES:
            raise TooManyRequests("Too many wrong keys came from this address.", math.ceil(MINUTE))
        return min(MAX_DELAY_SECONDS, max(0.0, used - FREE_GUESSES) * GUESS_DELAY_SECONDS)
