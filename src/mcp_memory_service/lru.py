"""A cache of bounded size."""

from collections import OrderedDict
from collections.abc import ItemsView
from typing import Generic, TypeVar

K = TypeVar("K")
V = TypeVar("V")


class LruCache(Generic[K, V]):
    """Keeps the values that were used last, at most `limit` of them."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._kept: OrderedDict[K, V] = OrderedDict()
        """The one that was used last comes last."""

    def get(self, key: K) -> V | None:
        if key in self._kept:
            self._kept.move_to_end(key)
        return self._kept.get(key)

    def put(self, key: K, value: V) -> None:
        self._kept[key] = value
        self._kept.move_to_end(key)
        if len(self._kept) > self._limit:
            self._kept.popitem(last=False)

    def forget(self, key: K) -> None:
        self._kept.pop(key, None)

    def items(self) -> ItemsView[K, V]:
        """All that are kept."""
        return self._kept.items()
