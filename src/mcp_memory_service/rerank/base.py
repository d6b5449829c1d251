"""The re-ranking port."""

from collections.abc import Sequence
from typing import Protocol

MAX_SCORE = 1e30
"""Beyond this no model means a score, and sums of squares would overflow."""


class Reranker(Protocol):
    """Says how well texts answer a query. All failures surface as RerankerUnavailable."""

    @property
    def model_id(self) -> str:
        """Names the model."""
        ...

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """A number of at most MAX_SCORE for each text, in order, higher for what answers the query better. The scale is
        the model's own; a number depends on its text and the query alone. A text beyond the model's limit counts by
        its beginning."""
        ...

    async def warm_up(self) -> None:
        """Get ready, so that the first call is as fast as the next."""
        ...

    async def close(self) -> None: ...
