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

    @property
    def max_tokens(self) -> int | None:
        """How much of a text the model reads; None if nobody said."""
        ...

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """One vector of length 1 for each text to be found, in order. A text beyond the model's limit counts by its
        beginning; see `chunks.py` for long texts."""
        ...

    async def embed_query(self, query: str) -> Vector:
        """The vector to find texts with. Some models are told by a prefix which of the two a text is."""
        ...

    async def warm_up(self) -> None:
        """Get ready, so that the first call is as fast as the next."""
        ...

    async def close(self) -> None: ...
