"""What was said about symbols: the memories, notes, decisions and errors that mention them."""

from collections.abc import Callable, Mapping, Sequence

from ...models import Memory, MemoryFilter, MemoryKind
from ...storage.ports import Store
from .answers import CodeSymbol
from .findings import Role, Spoken, SpokenOf
from .mentions import MentionedSymbol, mention_of, mention_terms
from .symbols import Symbols

MAX_LOOKED_AT = 500
"""Texts that have the words of a name, best first; which of them mention the symbol, is read in them."""
MAX_MENTIONED = 40
"""Symbols that are looked for at once: the first of those that are given."""
MAX_RIVALS = 200

_ROLES_OF_KINDS: Mapping[MemoryKind, Role] = {"decision": "decision", "error": "error", "note": "note"}
_ROLES_OF_TYPES: Mapping[str, Role] = {
    **dict.fromkeys(("decision", "adr", "architecture", "rationale"), "decision"),
    **dict.fromkeys(("error", "bug", "fix", "incident", "failure", "exception", "regression"), "error"),
}


class Mentions:
    """In one namespace, at one moment; looked up when they are asked for, so that nothing can be out of step."""

    def __init__(self, storage: Store, namespace: str, symbols: Symbols, now: Callable[[], int]) -> None:
        self._storage = storage
        self._namespace = namespace
        self._symbols = symbols
        self._now = now

    async def of(self, symbols: Sequence[CodeSymbol]) -> SpokenOf:
        """Of any of these; the first that a text mentions is named."""
        asked = symbols[:MAX_MENTIONED]
        if not asked:
            return SpokenOf()
        rivals = await self._rivals(asked)
        wanted = [(each, _mentioned(each, rivals)) for each in asked]
        where = MemoryFilter(self._namespace, alive_at=self._now())
        terms = mention_terms([each for _, each in wanted])
        matches = await self._storage.search_by_text(terms, MAX_LOOKED_AT, where)
        ids = [candidate.content_hash for candidate in matches.candidates]
        memories = await self._storage.get_many(self._namespace, ids)
        found = [spoken for memory in memories if (spoken := _spoken(memory, wanted))]
        found.sort(key=lambda each: (-_written_at(each.memory), each.memory.content_hash))
        return SpokenOf(tuple(found), len(ids) == MAX_LOOKED_AT)

    async def _rivals(self, symbols: Sequence[CodeSymbol]) -> dict[str, set[str]]:
        """What symbols of each of these last parts stand in."""
        same = await self._storage.resolve(self._symbols.namespace, [f"symbol:{each.name}" for each in symbols])
        ids = [each for called in same.values() for each in called[:MAX_RIVALS]]
        rivals: dict[str, set[str]] = {}
        for memory in await self._storage.get_many(self._symbols.namespace, ids):
            *_, container, name = ["", *(memory.anchor or "").split(".")]
            rivals.setdefault(name, set()).add(container)
        return rivals


def role_of(memory: Memory) -> Role:
    """By its kind, and of a plain memory by its type."""
    own = _ROLES_OF_KINDS.get(memory.kind)
    return own or _ROLES_OF_TYPES.get((memory.memory_type or "").casefold(), "memory")


def _mentioned(symbol: CodeSymbol, rivals: dict[str, set[str]]) -> MentionedSymbol:
    containers = symbol.qualified_name.split(".")[:-1]
    others = rivals.get(symbol.name, set()) - set(containers) - {""}
    return MentionedSymbol(
        symbol.qualified_name,
        f"{symbol.root}/{symbol.path}" if symbol.root else symbol.path,
        symbol.first_line,
        symbol.last_line,
        symbol.kind == "module",
        frozenset(others),
    )


def _spoken(memory: Memory, wanted: Sequence[tuple[CodeSymbol, MentionedSymbol]]) -> Spoken | None:
    for symbol, mentioned in wanted:
        found = mention_of(memory.content, mentioned)
        if found:
            changed = symbol.since if symbol.since and symbol.since > _written_at(memory) else None
            return Spoken(memory, role_of(memory), symbol.qualified_name, found.form, changed)
    return None


def _written_at(memory: Memory) -> int:
    return memory.edited_at or memory.created_at
