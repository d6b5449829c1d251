"""What a store must hold after a history of operations, some of which have an unknown outcome."""

from collections import Counter
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple, Protocol, TypeAlias

from mcp_memory_service.models import EmbeddedMemory, Memory, MemoryPatch
from mcp_memory_service.storage import ports
from mcp_memory_service.storage.merging import apply_patch, unite, unite_tags

# A store that refuses everything after a fault leaves many operations unknown; more than this many of them that took
# effect after all is no explanation that we would accept.
MAX_UNKNOWN_THAT_TOOK_EFFECT = 2


class Held(NamedTuple):
    """A memory as a store holds it."""

    memory: Memory
    vectors: tuple[bytes, ...]


State: TypeAlias = dict[str, Held]


def held(item: EmbeddedMemory) -> Held:
    return Held(item.memory, tuple(vector.tobytes() for vector in item.vectors))


class Operation(Protocol):
    async def perform(self, store: ports.Store) -> object: ...

    def apply(self, state: State) -> None:
        """What it makes of a state, if it is carried out."""
        ...


@dataclass(frozen=True, slots=True)
class Store:
    """One memory or a batch, which is there as a whole or not at all."""

    items: tuple[EmbeddedMemory, ...]

    async def perform(self, store: ports.Store) -> object:
        return await store.store_batch(self.items)

    def apply(self, state: State) -> None:
        for item in self.items:
            known = state.get(item.memory.content_hash)
            if known is None:
                new = held(item)
                united = Held(replace(new.memory, tags=unite_tags(new.memory.tags)), new.vectors)
            else:
                united = Held(unite(known.memory, item.memory), known.vectors)
            state[item.memory.content_hash] = united


@dataclass(frozen=True, slots=True)
class Update:
    content_hash: str
    patch: MemoryPatch
    now: int

    async def perform(self, store: ports.Store) -> object:
        return await store.update("default", self.content_hash, self.patch, self.now)

    def apply(self, state: State) -> None:
        known = state.get(self.content_hash)
        if known is not None:
            state[self.content_hash] = Held(apply_patch(known.memory, self.patch, self.now), known.vectors)


@dataclass(frozen=True, slots=True)
class Delete:
    content_hash: str

    async def perform(self, store: ports.Store) -> object:
        return await store.delete("default", self.content_hash)

    def apply(self, state: State) -> None:
        state.pop(self.content_hash, None)


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


def differences(found: Mapping[str, Held], history: History) -> Differences:
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


def _differences(found: Mapping[str, Held], state: State) -> Differences:
    return Differences(
        lost=len(state.keys() - found.keys()),
        changed=sum(found[each] != state[each] for each in state.keys() & found.keys()),
        undead=len(found.keys() - state.keys()),
    )


def tag_counts(state: Mapping[str, Held]) -> Counter[str]:
    return Counter(tag for each in state.values() for tag in each.memory.tags)
