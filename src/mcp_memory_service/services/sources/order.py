"""What an index run is asked to do."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from ...models import Progress
from ...storage.ports import Store
from .reports import IndexReport


@dataclass(frozen=True, slots=True)
class DocumentOptions:
    roots: tuple[Path, ...] = ()
    """Folders that REST and MCP may have indexed."""
    own_folder: Path | None = None
    """Where the store is: never indexed."""
    mentions: bool = False
    """Whether titles that stand in a text count as weak links."""
    folder_context: bool = False
    """Whether what folders say of themselves comes along with what is found in them."""


@dataclass(frozen=True, slots=True)
class RunOrder:
    storage: Store
    namespace: str
    root: Path
    target: Path
    """At or below the root."""
    require_room: Callable[[int], Awaitable[None]]
    """Asked before memories come in addition."""
    progress: Progress
    options: DocumentOptions
    dry_run: bool = False
    """Only say what would be done."""
    anew: bool = False
    """Read every file again, whatever is known of it."""
    kept: dict[str, Any] = field(default_factory=dict[str, Any])
    """What the last run of each root has left in this process for the next one."""


class IndexRuns(Protocol):
    """Reads what changed at or below the target of an order, and brings the store up to date."""

    async def __call__(self, order: RunOrder) -> IndexReport: ...


async def run_documents(order: RunOrder) -> IndexReport:
    from .index_run import IndexRun  # noqa: PLC0415 - with the parsers, which few commands need
    from .reading import Reading  # noqa: PLC0415

    reading = Reading(order.root, order.namespace, order.options.mentions)
    return await IndexRun(order, reading).run()
