"""What a store must hold after a history of operations, some of which have an unknown outcome."""

from collections import Counter
from collections.abc import Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple, Protocol, TypeAlias

from mcp_memory_service.models import EmbeddedMemory, Memory, MemoryPatch, Vector, history_of, trash_of
from mcp_memory_service.storage import ports
from mcp_memory_service.storage.merging import apply_patch, unite, unite_tags

# A store that refuses everything after a fault leaves many operations unknown; more than this many of them that took
# effect after all is no explanation that we would accept.
MAX_UNKNOWN_THAT_TOOK_EFFECT = 2


class Held(NamedTuple):
    """A memory as a store holds it."""

    memory: Memory
    vectors: tuple[bytes, ...]
    supersedes: frozenset[str] = frozenset()
    """Ids."""


Place: TypeAlias = tuple[str, str]
"""Namespace and id."""
State: TypeAlias = dict[Place, Held]
LIVE, HISTORY, TRASH = SECTIONS = ("default", history_of("default"), trash_of("default"))


def held(item: EmbeddedMemory, supersedes: frozenset[str] = frozenset()) -> Held:
    return Held(item.memory, tuple(vector.tobytes() for vector in item.vectors), supersedes)


def live(state: State) -> list[str]:
    return sorted(content_hash for section, content_hash in state if section == LIVE)


class Operation(Protocol):
    async def perform(self, store: ports.Store) -> object: ...

    def apply(self, state: State) -> None:
        """What it makes of a state, if it is carried out."""
        ...


@dataclass(frozen=True, slots=True)
class Store:
    """One memory or a batch, which is there as a whole or not at all, with what it supersedes gone or not."""

    items: tuple[EmbeddedMemory, ...]

    async def perform(self, store: ports.Store) -> object:
        return await store.store_batch(self.items)

    def apply(self, state: State) -> None:
        for item in self.items:
            _put(state, item)
        for item in self.items:
            for old in item.supersedes:
                _supersede(state, item.memory, old)


@dataclass(frozen=True, slots=True)
class Update:
    content_hash: str
    patch: MemoryPatch
    now: int
    vectors: tuple[Vector, ...] = ()
    """Of an edit."""

    async def perform(self, store: ports.Store) -> object:
        return await store.update(LIVE, self.content_hash, self.patch, self.now, None, self.vectors)

    def apply(self, state: State) -> None:
        known = state.get((LIVE, self.content_hash))
        if known is None:
            return
        patched = apply_patch(known.memory, self.patch, self.now)
        if patched.content_hash == self.content_hash:
            state[LIVE, self.content_hash] = known._replace(memory=patched)
            return
        _put(state, EmbeddedMemory(patched, self.vectors), known.supersedes)
        state[LIVE, self.content_hash] = known._replace(supersedes=frozenset())
        _supersede(state, patched, self.content_hash)


@dataclass(frozen=True, slots=True)
class Delete:
    content_hash: str
    trashed_at: int | None = None

    async def perform(self, store: ports.Store) -> object:
        return await store.delete(LIVE, self.content_hash, trashed_at=self.trashed_at)

    def apply(self, state: State) -> None:
        if self.trashed_at is None:
            state.pop((LIVE, self.content_hash), None)
        else:
            _move(state, LIVE, TRASH, self.content_hash, self.trashed_at)


@dataclass(frozen=True, slots=True)
class Restore:
    content_hash: str

    async def perform(self, store: ports.Store) -> object:
        return await store.restore(LIVE, self.content_hash, now=0)

    def apply(self, state: State) -> None:
        _move(state, TRASH, LIVE, self.content_hash, None)


def _put(state: State, item: EmbeddedMemory, supersedes: frozenset[str] = frozenset()) -> None:
    """A new memory, or one that is united with what is there."""
    place = (LIVE, item.memory.content_hash)
    known = state.get(place)
    if known is None:
        new = replace(item.memory, tags=unite_tags(item.memory.tags))
        state[place] = held(replace(item, memory=new), supersedes)
    else:
        united = unite(known.memory, item.memory)
        state[place] = known._replace(memory=united, supersedes=known.supersedes | supersedes)


def _supersede(state: State, new: Memory, old: str) -> None:
    if (LIVE, old) in state:
        _move(state, LIVE, HISTORY, old, new.updated_at)
        known = state[LIVE, new.content_hash]
        state[LIVE, new.content_hash] = known._replace(supersedes=known.supersedes | {old})


def _move(state: State, section: str, to: str, content_hash: str, ended_at: int | None) -> None:
    known = state.pop((section, content_hash), None)
    if known is not None:
        moved = replace(known.memory, namespace=to, ended_at=ended_at)
        state[to, content_hash] = known._replace(memory=moved)


@dataclass
class History:
    """Operations in their order; the unknown ones may have been carried out or not, each as a whole."""

    before: State = field(default_factory=State)
    operations: list[Operation] = field(default_factory=list[Operation])
    unknown: set[int] = field(default_factory=set[int])
    """Positions in `operations`."""

    def acknowledge(self, operation: Operation) -> None:
        self.operations.append(operation)

    def doubt(self, operation: Operation) -> None:
        self.unknown.add(len(self.operations))
        self.operations.append(operation)

    def state(self, took_effect: frozenset[int] = frozenset()) -> State:
        state = dict(self.before)
        for position, operation in enumerate(self.operations):
            if position not in self.unknown or position in took_effect:
                operation.apply(state)
        return state

    def possible_states(self) -> Generator[State, None, None]:
        """The likely ones first."""
        for size in range(min(len(self.unknown), MAX_UNKNOWN_THAT_TOOK_EFFECT) + 1):
            for took_effect in combinations(sorted(self.unknown), size):
                yield self.state(frozenset(took_effect))


class Differences(NamedTuple):
    lost: int
    """Acknowledged and not there."""
    changed: int
    """There, but not as it was acknowledged."""
    undead: int
    """There, but deleted, of a batch that is not there as a whole, or never stored at all."""


def differences(found: Mapping[Place, Held], history: History) -> Differences:
    """From the nearest of the states that the history allows; all zero if it is one of them."""
    nearest: Differences | None = None
    for state in history.possible_states():
        different = _differences(found, state)
        if not any(different):
            return different
        if nearest is None or sum(different) < sum(nearest):
            nearest = different
    assert nearest is not None
    return nearest


def _differences(found: Mapping[Place, Held], state: State) -> Differences:
    return Differences(
        lost=len(state.keys() - found.keys()),
        changed=sum(found[each] != state[each] for each in state.keys() & found.keys()),
        undead=len(found.keys() - state.keys()),
    )


def tag_counts(state: Iterable[Held]) -> Counter[str]:
    return Counter(tag for each in state for tag in each.memory.tags)
