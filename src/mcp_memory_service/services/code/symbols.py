"""From what a caller calls a symbol to the symbol."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import chain

from ...errors import AmbiguousSymbol, SymbolNotFound
from ...hybrid_search.text.tokens import query_terms
from ...models import MIN_PREFIX_DIGITS, Memory, MemoryFilter, code_of
from ...storage.ports import Store
from .answers import CodeSymbol, project_of
from .freshness import span_of
from .mentions import same_file
from .names import symbol_name
from .questions import MAX_ASKED_CHARS, PLACE, Asked

MAX_SAME_NAME = 500
"""Of symbols that share their last part, so many are looked at one by one."""
MAX_CANDIDATES = 10
"""Named when several fit."""
MAX_NEAR = 5
MAX_BY_WORDS = 200
MAX_IN_FILE = 5_000

_FILE = re.compile(r"\.\w{1,5}$")
_DIGITS = re.compile(rf"[0-9a-f]{{{MIN_PREFIX_DIGITS},64}}")


@dataclass(frozen=True, slots=True)
class Target:
    """A symbol with all its definitions: edges lead to its name."""

    qualified_name: str
    project: str
    memories: tuple[Memory, ...]

    @property
    def ids(self) -> list[str]:
        return [memory.content_hash for memory in self.memories]

    @property
    def name(self) -> str:
        return self.qualified_name.rpartition(".")[2]


class Symbols:
    """The symbols that belong to a namespace."""

    def __init__(self, storage: Store, namespace: str) -> None:
        self._storage = storage
        self._code = self.namespace = code_of(namespace)

    async def find(self, asked: Asked) -> Target:
        """SymbolNotFound with names that are near, AmbiguousSymbol with those that fit."""
        found = await self.fitting(asked)
        targets = targets_of(found)
        if not targets:
            raise SymbolNotFound(asked.symbol, await self._near(asked))
        if len(targets) > 1:
            raise AmbiguousSymbol(asked.symbol, _candidates(targets), len(targets))
        return targets[0]

    async def fitting(self, asked: Asked) -> list[Memory]:
        """All that it may mean, by the first way of naming that fits any."""
        if not asked.name or len(asked.symbol) > MAX_ASKED_CHARS:
            return []
        by_name = (self._by_name, self._by_folded_name, self._by_place, self._by_id)
        for way in (self._by_place,) if asked.is_place else by_name:
            found = [memory for memory in await way(asked) if asked.admits(memory)]
            if found:
                return found
        return []

    async def called(self, project: str, qualified_names: Iterable[str]) -> list[Memory]:
        """All definitions of these exact names."""
        names = [symbol_name(project, each) for each in qualified_names]
        return await self._get(chain(*(await self._storage.resolve(self._code, names)).values()))

    async def in_file(self, source: str) -> list[Memory]:
        page = await self._storage.list_memories(MemoryFilter(self._code, source=source), 0, MAX_IN_FILE)
        return list(page.memories)

    async def like(self, words: str, limit: int) -> list[Memory]:
        """By the words of a name or a sentence, best first."""
        terms = query_terms(words)
        found = await self._storage.search_by_text(terms, limit, MemoryFilter(self._code))
        return await self._get(each.content_hash for each in found.candidates)

    async def _by_place(self, asked: Asked) -> list[Memory]:
        """The innermost symbol around a line; of a path without a line, what is the file itself."""
        place = PLACE.fullmatch(asked.symbol.strip())
        path = place["path"] if place else asked.symbol.strip()
        if not asked.is_place and not _FILE.search(path):
            return []
        line = int(place["line"]) if place else None
        records = await self._storage.list_sources(self._code, details=False)
        sources = [each.source for each in records if same_file(path, each.source) and len(each.source) >= len(path)]
        found = [_innermost(await self.in_file(source), line) for source in sources[:MAX_CANDIDATES]]
        return list(chain(*found))

    async def _by_name(self, asked: Asked) -> list[Memory]:
        same = (await self._storage.resolve(self._code, [f"symbol:{asked.name}"])).get(f"symbol:{asked.name}", [])
        if len(same) > MAX_SAME_NAME and "." in asked.dotted:
            return await self._by_container(asked)
        is_narrowed = asked.path is not None or asked.project is not None
        memories = await self._get(same if is_narrowed else same[:MAX_SAME_NAME])
        exact = [memory for memory in memories if memory.anchor == asked.dotted and asked.admits(memory)]
        return exact or [memory for memory in memories if (memory.anchor or "").endswith(f".{asked.dotted}")]

    async def _by_container(self, asked: Asked) -> list[Memory]:
        """Through what it stands in, where too many share its own name: a class has a rarer one than its `__init__`."""
        container = Asked(asked.dotted.rpartition(".")[0], asked.project)
        around = await self._by_name(container)
        found = [await self.called(project_of(each), [f"{each.anchor}.{asked.name}"]) for each in around]
        return list({memory.content_hash: memory for memory in chain(*found)}.values())

    async def _by_folded_name(self, asked: Asked) -> list[Memory]:
        wanted = asked.dotted.casefold()
        return [
            memory
            for memory in await self.like(asked.name, MAX_BY_WORDS)
            if f".{(memory.anchor or '').casefold()}".endswith(f".{wanted}")
        ]

    async def _by_id(self, asked: Asked) -> list[Memory]:
        digits = asked.symbol.strip().lower()
        if not _DIGITS.fullmatch(digits):
            return []
        return await self._get(await self._storage.find_ids(self._code, digits, MAX_CANDIDATES + 1))

    async def _near(self, asked: Asked) -> list[str]:
        """What is called nearly so, however it is narrowed; nothing, if no code is there."""
        if not await self._storage.count_all_memories(self._code):
            return []
        alike = [CodeSymbol.of(memory) for memory in await self.like(asked.dotted, MAX_BY_WORDS)]
        alike.sort(key=lambda symbol: (-_likeness(symbol.name, asked.name), symbol.qualified_name))
        return [symbol.described for symbol in alike[:MAX_NEAR]]

    async def _get(self, ids: Iterable[str]) -> list[Memory]:
        return await self._storage.get_many(self._code, list(dict.fromkeys(ids)))


def _likeness(name: str, asked: str) -> float:
    return SequenceMatcher(None, name.casefold(), asked.casefold()).ratio()


def targets_of(memories: Sequence[Memory]) -> list[Target]:
    """Definitions of one name are one target."""
    grouped: dict[tuple[str, str], list[Memory]] = {}
    for memory in memories:
        grouped.setdefault((project_of(memory), memory.anchor or ""), []).append(memory)
    return [Target(name, project, tuple(sorted(each, key=_in_files))) for (project, name), each in grouped.items()]


def _in_files(memory: Memory) -> tuple[str, int]:
    return memory.source or "", memory.sequence or 0


def _innermost(memories: Sequence[Memory], line: int | None) -> list[Memory]:
    if line is None:
        return [memory for memory in memories if CodeSymbol.of(memory).kind == "module"]
    around = [
        (span.last_line - span.first_line, -span.first_line, memory)
        for memory in memories
        if (span := span_of(memory)) and span.first_line <= line <= span.last_line
    ]
    return [min(around, key=lambda each: each[:2])[2]] if around else []


def _candidates(targets: Sequence[Target]) -> list[str]:
    projects = {target.project for target in targets}
    shown = [(CodeSymbol.of(target.memories[0]), target) for target in targets]
    named = [
        f"{symbol.qualified_name} ({symbol.place}{f', project {target.project}' if len(projects) > 1 else ''})"
        for symbol, target in shown
    ]
    return sorted(named)[:MAX_CANDIDATES]
