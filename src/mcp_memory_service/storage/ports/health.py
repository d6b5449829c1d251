"""Whether a store works, and its end."""

from typing import Protocol


class StoreHealth(Protocol):
    @property
    def degraded(self) -> tuple[str, ...]:
        """What searches do without at this moment, as codes; what they find is right all the same, but found more
        slowly."""
        ...

    async def wait_ready(self) -> None:
        """Return when searches are as fast as they get: an index that is being built or brought up to date is waited
        for."""
        ...

    async def check_search(self) -> None:
        """Raise what keeps searches from working now, if anything does."""
        ...

    async def check_write(self) -> None:
        """Raise what keeps a memory from being stored now, if anything does; nothing is changed that anybody sees."""
        ...

    async def close(self) -> None:
        """Finish accepted writes and let go of the store; closing twice is harmless."""
        ...
