"""What is learned about a corpus, kept beside its memories."""

from typing import Protocol

from ...models import Feedback, Tuning


class LearningStore(Protocol):
    async def add_feedback(self, namespace: str, feedback: Feedback) -> bool:
        """Keep what was said of a result, in place of what was said before of the same query and memory. False if there
        is no such memory. Feedback goes when its memory goes."""
        ...

    async def list_feedback(self, namespace: str) -> list[Feedback]:
        """All of it, oldest first."""
        ...

    async def save_tuning(self, namespace: str, tuning: Tuning) -> Tuning:
        """Put weights in force; returns them with their version."""
        ...

    async def current_tuning(self, namespace: str) -> Tuning | None:
        """The newest weights that were not rolled back; None if there are none."""
        ...

    async def roll_back_tuning(self, namespace: str) -> Tuning | None:
        """Put the current weights out of force for good and return them; None if there are none."""
        ...
