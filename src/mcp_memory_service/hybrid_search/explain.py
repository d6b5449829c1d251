"""Why a memory is where it is: what keeps it out, and which alpha would bring it to the first page."""

from collections.abc import Callable, Sequence
from dataclasses import replace

from ..models import Memory, MemoryFilter, fold_tag, in_scope, is_alive, metadata_is
from .columns.fused import Fused, FusedCandidate

ALPHA_STEPS = 100


def failed_filters(memory: Memory, where: MemoryFilter) -> list[str]:
    """The names of the filters that this memory does not pass."""
    carried = {fold_tag(tag) for tag in memory.tags}
    wanted = set(where.tags)
    passes_tags = wanted <= carried if where.tag_match == "all" else not wanted or bool(wanted & carried)
    passed = {
        "tags": passes_tags,
        "memory_type": not where.types or memory.memory_type in where.types,
        "after": where.after is None or memory.created_at >= where.after,
        "before": where.before is None or memory.created_at < where.before,
        "scope": where.scope is None or in_scope(memory.source, where.scope),
        "kind": not where.kinds or memory.kind in where.kinds,
        "session": where.session in {None, memory.session},
        "source": where.source in {None, memory.source},
        "metadata": all(metadata_is(memory.metadata, asked) for asked in where.metadata),
        "pinned": where.pinned in {None, memory.pinned},
        "expires_at": is_alive(memory, replace(where, as_of=None)),
        "as_of": is_alive(memory, replace(where, alive_at=None)),
    }
    return [name for name, passes in passed.items() if not passes]


def place_of(content_hash: str, fused: Sequence[FusedCandidate]) -> int | None:
    """1-based place in a ranking; None if it is not there."""
    return Fused.of(fused).place_of(content_hash)


def nearest_alpha(
    content_hash: str, alpha: float, first_page: int, fuse_at: Callable[[float], Sequence[FusedCandidate]]
) -> float | None:
    """The alpha nearest to the present one, in steps of 0.01, that ranks the memory on the first page; None if no
    alpha does. The place is no monotone function of alpha, so all steps are tried, nearest first."""
    steps = sorted(
        (step / ALPHA_STEPS for step in range(ALPHA_STEPS + 1)), key=lambda tried: (abs(tried - alpha), tried)
    )
    for tried in steps:
        place = place_of(content_hash, fuse_at(tried)[:first_page])
        if place is not None:
            return tried
    return None
