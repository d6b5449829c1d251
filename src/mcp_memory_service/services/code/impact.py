"""What a change of a symbol may touch: who reaches it, what was said of them, what changed with it, and a risk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...models import EdgeKind, Memory, code_of
from ...storage.ports import Store
from ..sources.root_records import is_root, record_name
from .answers import CodeSymbol, Completeness, Related
from .calls import Calls, check_bound, open_calls, shown_symbols, sites_of
from .findings import ImpactAnswer, ImpactGroup, SpokenOf
from .history import FileHistory, file_history
from .names import open_name
from .questions import MAX_GROUP, MAX_IMPACT_DEPTH, ImpactRequest
from .reach import Graph, Node, Reached
from .risk import DEPTH_WEIGHTS, Findings, risk_of
from .spoken import Mentions
from .symbols import Symbols, Target

MAX_READ = 1_000
"""Of the symbols that were reached: the nearest and surest, whose files are told apart."""
USES: tuple[EdgeKind, ...] = ("calls", "references", "tests")
HEIRS: tuple[EdgeKind, ...] = ("overrides", "inherits")
_TEST_PARTS = ("test", "tests", "__tests__", "spec", "specs")


@dataclass(frozen=True, slots=True)
class _Found:
    """What was reached, as far as it was read."""

    reached: Reached
    memories: Mapping[str, Memory]

    @property
    def is_cut(self) -> bool:
        return len(self.reached.nodes) > MAX_READ

    def of(self, *, tests: bool) -> list[tuple[str, Node]]:
        return [item for item in self.reached.in_order() if self._is_test(*item) == tests]

    def _is_test(self, symbol_id: str, node: Node) -> bool:
        memory = self.memories.get(symbol_id)
        by_path = memory is not None and is_test_path(CodeSymbol.of(memory).path)
        return by_path or any(step.edge.kind == "tests" for step in node.steps)


class Impact:
    """Of one namespace."""

    def __init__(self, storage: Store, namespace: str, symbols: Symbols, calls: Calls, mentions: Mentions) -> None:
        self._storage = storage
        self._code = code_of(namespace)
        self._symbols = symbols
        self._calls = calls
        self._mentions = mentions
        self._graph = Graph(storage, self._code)

    async def ask(self, request: ImpactRequest) -> ImpactAnswer:
        check_bound("depth", request.depth, MAX_IMPACT_DEPTH)
        check_bound("limit", request.limit, MAX_GROUP)
        target = await self._symbols.find(request.asked)
        start = await self._calls.with_constructors(target)
        names = [open_name(target.project, target.name)]
        reached = await self._graph.walk(start, "callers", request.depth, USES, open_names=names)
        found = await self._found(reached, target)
        heirs = await self._found(await self._graph.walk(target.ids, "callers", 1, HEIRS), target)
        spoken = await self._spoken(target, found)
        return await self._answer(request, target, found, heirs, spoken)

    async def _answer(
        self, request: ImpactRequest, target: Target, found: _Found, heirs: _Found, spoken: SpokenOf
    ) -> ImpactAnswer:
        open_ones = open_calls(found.reached.open_edges)
        history = await self._history(target.memories[0])
        callers, tests, inherited = found.of(tests=False), found.of(tests=True), heirs.of(tests=False)
        own = {memory.source for memory in target.memories}
        files = {found.memories[each].source for each, _ in callers if each in found.memories} - own
        by_role = tuple(each for role in ("decision", "error", "note", "memory") for each in spoken.of_role(role))
        findings = Findings(
            callers_by_depth=by_depth([node for _, node in callers]),
            files=len(files),
            overrides=len(inherited),
            decisions=len(spoken.of_role("decision")),
            errors=len(spoken.of_role("error")),
            open_calls=open_ones.sites,
            changed_together=len(history.together) if history else 0,
            tests=len(tests),
        )
        shown = request.limit
        return ImpactAnswer(
            symbols=await shown_symbols(target.memories),
            depth=request.depth,
            callers=await self._groups(found, callers, shown),
            heirs=await related(inherited[:shown], heirs.memories),
            tests=await related(tests[:shown], found.memories),
            tests_total=len(tests),
            files=len(files),
            spoken=by_role[:shown],
            spoken_total=len(by_role),
            history=history,
            risk=risk_of(findings),
            completeness=Completeness(open_ones, found.reached.bounded or spoken.bounded or found.is_cut),
        )

    async def _found(self, reached: Reached, target: Target) -> _Found:
        ids = [each for each, _ in reached.in_order()[:MAX_READ]]
        memories = {memory.content_hash: memory for memory in await self._storage.get_many(self._code, ids)}
        return _Found(reached, memories | {memory.content_hash: memory for memory in target.memories})

    async def _groups(self, found: _Found, callers: Sequence[tuple[str, Node]], limit: int) -> tuple[ImpactGroup, ...]:
        groups: list[ImpactGroup] = []
        for depth, total in enumerate(by_depth([node for _, node in callers]), start=1):
            inside = [item for item in callers if item[1].depth == depth]
            weight = DEPTH_WEIGHTS[min(depth, len(DEPTH_WEIGHTS)) - 1]
            groups.append(ImpactGroup(depth, weight, total, await related(inside[:limit], found.memories)))
        return tuple(groups)

    async def _spoken(self, target: Target, found: _Found) -> SpokenOf:
        reached = [found.memories[each] for each, _ in found.reached.in_order() if each in found.memories]
        return await self._mentions.of([CodeSymbol.of(memory) for memory in (*target.memories, *reached)])

    async def _history(self, memory: Memory) -> FileHistory | None:
        """Of a folder that was indexed, and of no other."""
        symbol = CodeSymbol.of(memory)
        records = await self._storage.list_sources(self._code, record_name(symbol.root), details=False)
        if not symbol.root or not any(map(is_root, records)):
            return None
        return await file_history(Path(symbol.root), symbol.path)


async def related(items: Sequence[tuple[str, Node]], memories: Mapping[str, Memory]) -> tuple[Related, ...]:
    there = [(memories[each], node) for each, node in items if each in memories]
    symbols = await shown_symbols([memory for memory, _ in there])
    pairs = zip(symbols, there, strict=True)
    return tuple(Related(symbol, node.depth, node.certainty, sites_of(node, memories)) for symbol, (_, node) in pairs)


def by_depth(nodes: Sequence[Node]) -> tuple[int, ...]:
    deepest = max((node.depth for node in nodes), default=0)
    return tuple(sum(node.depth == depth for node in nodes) for depth in range(1, deepest + 1))


def is_test_path(path: str) -> bool:
    """By the ways of pytest, unittest, jest, mocha and vitest."""
    *folders, file = path.split("/")
    stem = file.partition(".")[0]
    in_name = stem.startswith("test_") or stem.endswith("_test") or ".test." in file or ".spec." in file
    return in_name or any(folder in _TEST_PARTS for folder in folders)
