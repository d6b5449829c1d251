"""The scope of a search of code: a path, or what a project, a package or a module is called."""

from pathlib import PurePath

from ...errors import InvalidInput
from ...models import Memory
from ...storage.ports import Store

MAX_NAMED = 5
"""Of places that a scope may mean, in the error that asks for more of it."""


async def code_scope(scope: str, namespace: str, storage: Store) -> str:
    """The path of the only module, package or project that is called so by its dotted name, by the end of that or by
    its folder; itself if nobody is, or it is a whole path already."""
    if PurePath(scope).is_absolute():
        return scope
    parts = [
        part for part in scope.strip("/").removesuffix(".py").replace("\\", "/").replace("/", ".").split(".") if part
    ]
    if not parts:
        return scope
    ids = await storage.resolve(namespace, [f"symbol:{parts[-1]}"])
    found = await storage.get_many(namespace, ids.get(f"symbol:{parts[-1]}", []))
    named = [memory for memory in found if _is_module(memory) and memory.anchor]
    whole = [memory for memory in named if (memory.anchor or "").split(".") == parts]
    ending = [memory for memory in named if (memory.anchor or "").split(".")[-len(parts) :] == parts]
    paths = sorted({_path_of(memory) for memory in whole or ending})
    if len(paths) > 1:
        raise InvalidInput(
            f"The scope {scope} may be {' or '.join(paths[:MAX_NAMED])}: give more of it.",
            reason="scope_ambiguous",
            field="scope",
        )
    return paths[0] if paths else scope


def _is_module(memory: Memory) -> bool:
    return memory.metadata.get("symbol_kind") == "module" and memory.source is not None


def _path_of(memory: Memory) -> str:
    """A package is its folder: the file that makes it one is not called as it is."""
    path = PurePath(memory.source or "")
    name = (memory.anchor or "").rpartition(".")[2]
    return (path if path.name.partition(".")[0] == name else path.parent).as_posix()
