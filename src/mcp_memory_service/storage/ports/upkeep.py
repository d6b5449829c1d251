"""What is done to a store as a whole, by commands that run beside the services that use it."""

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Protocol, TypeAlias

from ...models import Vector
from ...models.upkeep import Inspection, Manifest, Repaired, Restored

EmbedTexts: TypeAlias = Callable[[Sequence[tuple[str, str]]], Awaitable[Sequence[Sequence[Vector]]]]
"""The vectors of each text, one for each of its chunks. Before the text comes its heading, which may be empty."""


class Upkeep(Protocol):
    def inspect(self) -> Inspection:
        """Check every part of the store, or of a backup; nothing is changed."""
        ...

    async def repair(self, model_id: str, embed: EmbedTexts) -> Repaired:
        """Rebuild what can be rebuilt, after a copy of the store was made. Vectors are made again if `model_id` is the
        model of the store."""
        ...

    def back_up(self, target: Path, *, into_folder: bool = False) -> tuple[Path, Manifest]:
        """Copy the store to a new file, or into a folder under a name with the time in it, and verify the copy."""
        ...

    def restore(self, backup: Path) -> Restored:
        """Put what a backup holds in the place of what the store holds, of which a copy is made first."""
        ...
