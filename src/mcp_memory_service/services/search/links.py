"""Where the best of a ranking lead: along the links of notes, or the edges that a search asks to follow."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...hybrid_search import FOLLOWED, LEADERS, MAX_REACHED, Fused, Links, RankingPolicy, links_count
from ...hybrid_search.columns.digests import Digests
from ...models import CODE_ALONE, GraphStrategy, Linked, MemoryFilter, SearchRequest
from ...storage.ports import SearchReads
from .query import Missing
from .signals import answered

# Ten leaders with ten links each, half of them to documents of twenty chunks.
MAX_LINKED = 1_000
# Of one step of an expansion in one direction: more than anybody pages through.
MAX_FOLLOWED_AT_ONCE = 200


def graph_policy(request: SearchRequest, weights: Mapping[str, float], policy: RankingPolicy) -> RankingPolicy | None:
    """By what links count in a search: as it asks for itself, else as the policy says, which has notes in mind and
    follows nothing in code. None if they do not count."""
    expansion = request.graph_expansion
    if expansion is None:
        return None if request.kinds == CODE_ALONE or not links_count(weights, policy) else policy
    if expansion.strategy == "none":
        return None
    form = "rank" if policy.graph_form == "rank" else "decay"
    return replace(policy, graph_form=form, graph_hops=expansion.depth, graph_weight=policy.graph_weight or 1.0)


async def ask_links(
    fused: Fused,
    where: MemoryFilter,
    policy: RankingPolicy,
    reads: SearchReads,
    *,
    strategy: GraphStrategy | None = None,
    brings_in: bool,
) -> Links | Missing | None:
    """Where the best of a ranking lead, by any link or as an expansion goes; None if nowhere."""
    ids, places = fused.pool.content_hashes, fused.order[:LEADERS]
    leading: list[int] = places.tolist()
    asked = list(ids.take(places)) if isinstance(ids, Digests) else [ids[place] for place in leading]
    hops: list[Sequence[Linked]] = []
    breadth, passed = LEADERS if strategy is None else MAX_REACHED, set(asked)
    for _ in range(1 if policy.graph_form == "boost" else policy.graph_hops):
        step = reads.linked(asked, MAX_LINKED, where) if strategy is None else _step(asked, where, strategy, reads)
        found = await answered(step, "graph_unavailable")
        if isinstance(found, Missing):
            return found
        if not found:
            break
        hops.append(found)
        reached = dict.fromkeys(linked.candidate.content_hash for linked in found)
        asked = [each for each in reached if each not in passed][:breadth]
        passed.update(asked)
    return Links(fused.pool.take(places), tuple(hops), policy, brings_in) if hops else None


async def _step(
    asked: Sequence[str], where: MemoryFilter, strategy: GraphStrategy, reads: SearchReads
) -> Sequence[Linked]:
    found: list[Linked] = []
    for direction, kinds in FOLLOWED[strategy].items():
        found += await reads.followed(asked, MAX_FOLLOWED_AT_ONCE, where, kinds, out=direction == "out")
    return found
