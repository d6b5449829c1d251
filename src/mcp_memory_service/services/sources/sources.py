"""The use cases of files: index a folder, say what is indexed, take it out again."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...errors import Forbidden, IndexRunning, InvalidInput, MemoryServiceError
from ...models import Progress, SourceRecord, in_scope
from ...storage.ports import Store
from .names import NEVER_INDEXED
from .reports import IndexedRoot, IndexReport, IndexStatus, Running
from .root_records import is_root, is_settled, links_of, open_root, record_name, root_of
from .vectors import VectorBacklog, unseen

logger = logging.getLogger(__name__)

ANSWER_SECONDS = 20.0
"""So long a door waits for a run before it answers that it goes on: clients give up after a minute."""


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


@dataclass
class Runs:
    """Of one namespace: what goes on, and what came of the last."""

    one_at_a_time: asyncio.Lock = field(default_factory=asyncio.Lock)
    task: asyncio.Task[None] | None = None
    target: Path | None = None
    running: Running | None = None
    last: IndexReport | None = None
    failed: str | None = None

    @property
    def is_idle(self) -> bool:
        return self.task is None or self.task.done()

    def require_idle(self) -> None:
        if not self.is_idle:
            raise IndexRunning(str(self.target))

    async def close(self) -> None:
        """Ends what is under way; the next run goes on where it was."""
        if self.task is not None:
            self.task.cancel()
            await asyncio.wait({self.task})


class Sources:
    """Of one namespace. `require_room` is asked before memories come in addition, `changed` told after a run."""

    def __init__(
        self,
        storage: Store,
        backlog: VectorBacklog,
        namespace: str,
        options: DocumentOptions,
        require_room: Callable[[int], Awaitable[None]],
        changed: Callable[[], None],
        runs: Runs,
    ) -> None:
        self._storage = storage
        self._backlog = backlog
        self._namespace = namespace
        self._options = options
        self._require_room = require_room
        self._changed = changed
        self._runs = runs

    def with_room(self, require_room: Callable[[int], Awaitable[None]]) -> "Sources":
        """The same for a caller who may only store so many."""
        held = copy(self)
        held._require_room = require_room
        return held

    async def index(self, path: Path, *, dry_run: bool = False, progress: Progress = unseen) -> IndexReport:
        """Bring a folder, or one file, up to date; its words can be found when this returns, its vectors follow."""
        return await self._index(await asyncio.to_thread(self._target, path), progress, dry_run=dry_run)

    async def _index(self, target: Path, progress: Progress, *, dry_run: bool = False) -> IndexReport:
        """Of a path without links in it, as it was looked up."""
        from .index_run import IndexRun  # noqa: PLC0415 - with the parsers, which few commands need
        from .reading import Reading  # noqa: PLC0415

        async with self._runs.one_at_a_time:
            roots = [Path(root_of(each)) for each in await self._records() if is_root(each)]
            root = await asyncio.to_thread(_root_of, target, roots)
            reading = Reading(root, self._namespace, self._options.mentions)
            run = IndexRun(
                self._storage,
                reading,
                target,
                self._require_room,
                progress,
                own_folder=self._options.own_folder,
                dry_run=dry_run,
            )
            try:
                report = await run.run()
            finally:
                self._changed()
            if not dry_run:
                # A larger folder has the documents of those within it now; a file that was refused leaves no folder.
                ended = [inner for inner in roots if inner != root and inner.is_relative_to(root)]
                if target != root and root not in roots and not report.documents:
                    ended.append(root)
                for each in ended:
                    await self._storage.replace_source(self._namespace, record_name(each.as_posix()), (), ())
            return report

    async def embed(self, progress: Progress = unseen) -> int:
        """Give vectors to what an index run stored without; returns how many memories got some."""
        waiting = (await self._storage.stats(self._namespace)).awaiting_vectors
        return await self._backlog.work_off(self._namespace, progress, waiting)

    async def start(self, path: str, *, dry_run: bool = False) -> IndexStatus:
        """For callers who may only name what the owner allows: a run that goes on in the background if it takes long.
        Asked for again, it is waited for once more."""
        target = await asyncio.to_thread(self._allowed, Path(path))
        runs = self._runs
        if dry_run or target != runs.target:
            runs.require_idle()
        if dry_run:
            return replace(await self.status(), last=await self._index(target, unseen, dry_run=True))
        if runs.is_idle:
            runs.last = runs.failed = None
            runs.target, runs.running = target, Running(target.as_posix(), "Looking for changes", 0, 0)
            runs.task = asyncio.create_task(self._run(target))
        assert runs.task is not None
        await asyncio.wait({runs.task}, timeout=ANSWER_SECONDS)
        return await self.status()

    async def _run(self, target: Path) -> None:
        runs = self._runs

        def progress(doing: str, done: int, total: int) -> None:
            runs.running = Running(target.as_posix(), doing, done, total)

        try:
            runs.last = await self._index(target, progress)
        except MemoryServiceError as error:
            runs.failed = error.message
            logger.warning("The index run of %s did not come to its end: %s", target, error.message)
        except Exception as error:  # nobody awaits it: who asks for its state must hear of it
            runs.failed = f"An error of the service: {type(error).__name__}."
            logger.exception("The index run of %s did not come to its end.", target)
        finally:
            runs.running = None
            self._backlog.wake()

    async def status(self) -> IndexStatus:
        records, stats = await self._records(), await self._storage.stats(self._namespace)
        documents = [each.source for each in records if not is_root(each)]
        return IndexStatus(
            tuple(
                IndexedRoot(root_of(each), _within(root_of(each), documents), is_settled(each), links_of(each))
                for each in filter(is_root, records)
            ),
            stats,
            self._runs.running,
            self._runs.last,
            self._runs.failed,
        )

    async def forget(self, path: Path) -> int:
        """Take a folder or a file out of the store, whether or not it is still there; the files stay as they are.
        Returns how many documents were taken out; IndexRunning if a run goes on, which may take minutes."""
        self._runs.require_idle()
        asked = (await asyncio.to_thread(_resolved, path)).as_posix()
        async with self._runs.one_at_a_time:
            records = await self._records()
            inside = [each for each in records if in_scope(each.source, asked)]
            for record in inside:
                await self._storage.replace_source(self._namespace, record.source, (), ())
            for root in map(root_of, filter(is_root, records)):
                if root != asked and in_scope(asked, root):  # its links may have led there
                    await self._storage.relink_source(self._namespace, record_name(root), (), open_root(root))
            self._changed()
        return sum(not is_root(each) for each in inside)

    async def _records(self) -> list[SourceRecord]:
        return await self._storage.list_sources(self._namespace, details=False)

    def _target(self, path: Path) -> Path:
        """The folder or file itself, whatever links lead there."""
        target = _resolved(path)
        _require_there(target, path)
        if not NEVER_INDEXED.isdisjoint(map(str.casefold, target.parts)):
            raise InvalidInput(f"{target} is of a program, and never indexed.", reason="path_ignored", field="path")
        if target == self._options.own_folder:
            raise InvalidInput(f"{target} is where the memories are kept.", reason="own_folder", field="path")
        return target

    def _allowed(self, path: Path) -> Path:
        """The same, if it is in a folder that the owner has named."""
        if not self._options.roots:
            raise Forbidden("No folder may be indexed from here: its owner names some with MCP_MEMORY_INDEX_ROOTS.")
        if not path.is_absolute():
            raise InvalidInput("path must be absolute.", reason="path_invalid", field="path")
        # What is outside is refused alike, whether or not it is there.
        target, roots = _resolved(path), [root.resolve() for root in self._options.roots]
        if not any(target.is_relative_to(root) for root in roots):
            raise Forbidden("This path is in none of the folders of MCP_MEMORY_INDEX_ROOTS.")
        return self._target(target)


def _resolved(path: Path) -> Path:
    """Without links, whether or not it is there."""
    try:
        resolved = path.expanduser().resolve()
        resolved.as_posix().encode()
    except (OSError, RuntimeError, ValueError) as error:
        raise InvalidInput("This is no path that can be read here.", reason="path_invalid", field="path") from error
    return resolved


def _require_there(target: Path, asked: Path) -> None:
    try:
        target.stat()
    except PermissionError as error:
        raise InvalidInput(f"{asked} may not be looked at.", reason="path_unreadable", field="path") from error
    except OSError as error:  # it is not there, or has too long a name
        raise InvalidInput(f"{asked} cannot be found.", reason="path_not_found", field="path") from error


def _within(root: str, sources: Sequence[str]) -> int:
    return sum(in_scope(each, root) for each in sources)


def _root_of(target: Path, known: Sequence[Path]) -> Path:
    """The largest folder around it that was indexed, else its own."""
    around = [root for root in known if target.is_relative_to(root)]
    return min(around, key=lambda root: len(root.parts), default=target if target.is_dir() else target.parent)
