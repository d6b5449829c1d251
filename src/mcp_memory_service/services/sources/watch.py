"""Watching a folder: an index run after each burst of changes."""

import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

from watchfiles import Change, awatch  # pyright: ignore[reportUnknownVariableType] -- one of its types is a bare Any
from watchfiles.main import FileChange

from ...indexing.ignore import GITIGNORE, IgnoreRules, document_kind

QUIET_MILLISECONDS = 400
"""Editors write by renaming, and git checks out a thousand files: so long nothing more must come."""
BURST_MILLISECONDS = 5_000
"""After so long a burst is looked at, whether or not it is over."""
LOOKED_AGAIN_MILLISECONDS = 60_000
"""Without any change a folder is looked at again after so long: what happened before it was watched is not told."""


async def changes_below(target: Path, *, polls: bool = False) -> AsyncGenerator[int, None]:
    """How many files of a folder were changed by each burst, or whether a single file was, and 0 now and then, for as
    long as somebody asks. A network mount tells of no changes: with `polls` it is asked for them."""

    ours = IgnoreRules()
    # Of a file that is replaced, who watches it hears no more.
    folder = target if await asyncio.to_thread(target.is_dir) else target.parent

    def concerns_documents(change: Change, path: str) -> bool:
        changed = Path(path)
        if folder != target:
            return changed == target
        inside = changed.relative_to(folder) if changed.is_relative_to(folder) else changed
        hidden = any(ours.skips(part, is_folder=True) for part in inside.parts)
        # A folder that is renamed or removed may be told of by its own name alone.
        is_document = change != Change.modified or document_kind(changed.name) is not None
        return changed.name == GITIGNORE or (is_document and not hidden)

    watched: AsyncGenerator[set[FileChange], None] = awatch(
        folder,
        watch_filter=concerns_documents,
        debounce=BURST_MILLISECONDS,
        step=QUIET_MILLISECONDS,
        force_polling=polls or None,
        rust_timeout=LOOKED_AGAIN_MILLISECONDS,
        yield_on_timeout=True,
    )
    async for burst in watched:
        yield len(burst)
