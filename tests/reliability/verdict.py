"""Opens a store file as the next start would, and says what is wrong with what it holds."""

from collections.abc import Sequence
from dataclasses import astuple, dataclass, field
from pathlib import Path

import apsw
from tests.contract.memories import vector
from tests.reliability.expectations import SECTIONS, Held, History, differences, held, tag_counts
from tests.reliability.oracle import problems_of
from tests.reliability.random_operations import COMMON_WORD, DIMENSION, one_more, own_word
from tests.reliability.stores import open_store

from mcp_memory_service.errors import MemoryServiceError
from mcp_memory_service.hybrid_search import query_terms
from mcp_memory_service.models import Candidate, EmbeddedMemory, MemoryFilter
from mcp_memory_service.storage.sqlite_vec import SqliteVecStorage

EVERY_ROW = 10_000
REASONS_TOLD = 10
# What reading a damaged file raises: the store's and the driver's errors, and values that no row of ours has.
SIGNS_OF_DAMAGE = (MemoryServiceError, apsw.Error, ValueError, TypeError)


@dataclass
class Damage:
    """How often each thing was found; all zero for a sound store."""

    lost: int = 0
    changed: int = 0
    undead: int = 0
    not_searchable: int = 0
    corrupt: int = 0
    """Files with a problem inside, and files that could not be read to the end."""
    unopenable: int = 0
    unusable: int = 0
    """Stores that opened, but took no new memory."""
    reasons: list[str] = field(default_factory=list[str])
    """The first problems and errors, in words."""

    @property
    def clean(self) -> bool:
        return not any(self._counts())

    def plus(self, other: "Damage") -> "Damage":
        counts = (one + another for one, another in zip(self._counts(), other._counts(), strict=True))
        return Damage(*counts, reasons=(self.reasons + other.reasons)[:REASONS_TOLD])

    def _counts(self) -> tuple[int, ...]:
        return astuple(self)[:-1]


async def damage_of(path: Path, history: History) -> Damage:
    damage = Damage()
    try:
        store = await open_store(path)
    except SIGNS_OF_DAMAGE as error:
        return Damage(unopenable=1, reasons=[repr(error)])
    try:
        try:
            await _look(store, history, damage)
        finally:
            await store.close()
        problems = problems_of(path)
        damage.corrupt += bool(problems)
        damage.reasons += problems
    except SIGNS_OF_DAMAGE as error:
        damage.corrupt += 1
        damage.reasons.append(repr(error))
    return damage


async def _look(store: SqliteVecStorage, history: History, damage: Damage) -> None:
    scan = await store.scan(None, EVERY_ROW)
    found = {(item.memory.namespace, item.memory.content_hash): await _held(store, item) for item in scan.items}
    damage.lost, damage.changed, damage.undead = differences(found, history)
    for section in SECTIONS:
        there = {content_hash: each for (namespace, content_hash), each in found.items() if namespace == section}
        damage.not_searchable += await _not_searchable(store, section, there)
    try:
        await one_more("afterwards").perform(store)
    except SIGNS_OF_DAMAGE as error:
        damage.unusable = 1
        damage.reasons.append(repr(error))


async def _held(store: SqliteVecStorage, item: EmbeddedMemory) -> Held:
    memory = item.memory
    edges = await store.edges_from(memory.namespace, [memory.content_hash], ["supersedes"])
    return held(item, frozenset(edge.to for edge in edges.get(memory.content_hash, ())))


async def _not_searchable(store: SqliteVecStorage, section: str, found: dict[str, Held]) -> int:
    """Memories that are there, but not for a search by words or meaning, or for the list of tags."""
    where = MemoryFilter(section)
    by_words = (await store.search_by_text(query_terms(COMMON_WORD), EVERY_ROW, where)).candidates
    by_meaning = await store.retrieve(vector(*([1.0] * DIMENSION)), EVERY_ROW, where)
    missing = len(found.keys() ^ _hashes(by_words)) + len(found.keys() ^ _hashes(by_meaning))
    tags = {each.tag: each.memories for each in await store.get_all_tags(section)}
    missing += tags != tag_counts(found.values())
    for content_hash in list(found)[-2:]:
        word = own_word(found[content_hash].memory.content)
        hits = (await store.search_by_text(query_terms(word), EVERY_ROW, where)).candidates
        missing += _hashes(hits) != {content_hash}
    return missing


def _hashes(candidates: Sequence[Candidate]) -> set[str]:
    return {candidate.content_hash for candidate in candidates}
