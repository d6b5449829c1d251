"""What a folder says of itself, given along with what was found in it."""

from collections.abc import Sequence
from pathlib import PurePosixPath

from ...models import FolderContext, Memory
from ...storage.ports import Store
from .names import KIND, context_name

MAX_CONTEXT_CHARS = 1_000
"""Of one folder: more would leave less room for what was asked for."""


async def contexts_of(storage: Store, namespace: str, found: Sequence[Memory]) -> tuple[FolderContext, ...]:
    """Of the folders that these memories come from and of those around them, outermost first; each once."""
    folders = dict.fromkeys(folder for memory in found if memory.kind == KIND for folder in _folders_of(memory))
    if not folders:
        return ()
    named = await storage.resolve(namespace, [context_name(folder) for folder in folders])
    folder_of = {ids[0]: name.removeprefix(context_name("")) for name, ids in named.items()}
    shown = {memory.content_hash for memory in found}
    describing = await storage.get_many(namespace, [each for each in folder_of if each not in shown])
    contexts = [_context(memory, folder_of[memory.content_hash]) for memory in describing]
    return tuple(sorted(contexts, key=lambda context: (context.folder.count("/"), context.folder)))


def _folders_of(memory: Memory) -> list[str]:
    root = memory.metadata.get("root")
    if memory.source is None or not isinstance(root, str):
        return []
    above = [folder.as_posix() for folder in PurePosixPath(memory.source).parents]
    return [folder for folder in above if PurePosixPath(folder).is_relative_to(root)]


def _context(memory: Memory, folder: str) -> FolderContext:
    said = memory.metadata.get("context")
    text = said if isinstance(said, str) else memory.content
    root = str(memory.metadata.get("root", folder))
    relative = PurePosixPath(folder).relative_to(root).as_posix()
    return FolderContext(relative, memory.source or "", text[:MAX_CONTEXT_CHARS])
