"""The embedding port."""

from collections.abc import Sequence
from typing import Protocol

from ..models import Vector


class Embedder(Protocol):
    """Turns texts into vectors of one model. All failures surface as EmbedderUnavailable."""

    @property
    def model_id(self) -> str:
        """Names the model and whatever else its vectors depend on; a store is pinned to it."""
        ...

    @property
    def dimension(self) -> int | None:
        """Length of the vectors; None while it is not known."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of length 1 for each text, in order. A text beyond the model's limit counts by its beginning;
        see `chunks.py` for long texts."""
        ...

    async def warm_up(self) -> None:
        """Get ready, so that the first call is as fast as the next."""
        ...

    async def close(self) -> None: ...
