"""How much code is indexed, how far it is resolved, and whether it is still what the files say."""

import asyncio
from collections import Counter
from collections.abc import Sequence

from ...models import EdgeCount, Freshness, Memory, MemoryFilter, code_of, in_scope
from ...storage.ports import Store
from ..sources.root_records import is_root, is_settled, root_of
from .findings import CodeRoot, CodeStats
from .freshness import code_freshness

MAX_LOOKED_AT = 5_000
"""Files whose date is compared: a walk through more is an index run."""


async def code_stats(storage: Store, namespace: str) -> CodeStats:
    code = code_of(namespace)
    stats, records = await storage.stats(code), await storage.list_sources(code, details=False)
    files = [record.source for record in records if not is_root(record)]
    counts = await storage.count_edges(code)
    modules = await _modules(storage, code)
    freshness = await asyncio.to_thread(_freshness_of, modules)
    return CodeStats(
        roots=tuple(
            CodeRoot(root_of(each), sum(in_scope(file, root_of(each)) for file in files), is_settled(each))
            for each in filter(is_root, records)
        ),
        files=len(files),
        symbols=stats.memories,
        symbols_by_kind=dict(sorted(stats.memories_by_type.items())),
        files_by_language=dict(sorted(Counter(str(each.metadata.get("language")) for each in modules).items())),
        edges=_by_kind([each for each in counts if each.leads]),
        open_calls=sum(each.edges for each in counts if not each.leads),
        freshness=freshness,
        looked_at=len(modules),
        awaiting_vectors=stats.awaiting_vectors,
    )


def _freshness_of(modules: Sequence[Memory]) -> dict[Freshness, int]:
    return dict(Counter(each for memory in modules if (each := code_freshness(memory))))


async def _modules(storage: Store, code: str) -> Sequence[Memory]:
    """One for each file, in one page: each page counts them all."""
    return (await storage.list_memories(MemoryFilter(code, types=("module",)), 0, MAX_LOOKED_AT)).memories


def _by_kind(counts: Sequence[EdgeCount]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for each in counts:
        by_certainty = found.setdefault(each.kind, {})
        certainty = each.certainty or "certain"
        by_certainty[certainty] = by_certainty.get(certainty, 0) + each.edges
    return found
