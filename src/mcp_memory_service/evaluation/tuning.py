"""Weights fitted to one corpus: proposed on half of the queries, accepted only if they win on the other half.

The queries are known items made from the memories themselves, and what users said of results, if anything.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import product
from typing import Any

from ..embeddings.base import Embedder
from ..errors import InvalidInput
from ..hybrid_search import VECTOR, RankingPolicy
from ..models import Feedback, Memory, MemoryDraft, Progress, TunedWeights, content_hash
from ..services import MemoryService
from ..storage.ports import Store
from .confidence import Interval, PairedDifference, paired_difference
from .known_items import KnownItem, known_item
from .metrics import Grades, mean_measures
from .runner import ANY_LENGTH, STORED_AT_ONCE
from .sweep import Judged, measure_policy
from .tables import difference_table, markdown_table

# Enough for a gain of 0.03 NDCG@10 to be seen on the held-out half, and a minute of work.
MAX_QUERIES = 400
# With fewer a win is luck.
MIN_QUERIES = 30
# Distractors: finding one text among so many is as hard as it gets for these queries.
MAX_MEMORIES = 5_000

# Around the defaults: what is fitted to made-up queries must not run away from what serves real ones.
TRUSTS = (0.5, 1.0, 2.0)
TAG_WEIGHTS = (0.5, 1.0, 2.0)
NEIGHBOUR_WEIGHTS = (0.0, 0.35, 0.7, 0.85)


@dataclass(frozen=True, slots=True)
class TuningReport:
    current: TunedWeights
    proposed: TunedWeights
    training: tuple[float, float]
    """NDCG@10 on the training half, with the current and with the proposed weights."""
    held_out_queries: int
    held_out: tuple[float, float]
    gain_interval_95: Interval
    """Of the gain on held-out queries."""
    accepted: bool

    @property
    def gain(self) -> PairedDifference:
        """Of the proposed weights over the current ones, on held-out queries."""
        return PairedDifference(self.held_out[1] - self.held_out[0], self.gain_interval_95)

    @property
    def in_force(self) -> TunedWeights:
        return self.proposed if self.accepted else self.current

    @property
    def reason(self) -> str:
        if self.proposed == self.current:
            return "No other weights are better on the training queries."
        if self.accepted:
            return "The proposed weights win on queries that did not choose them."
        return "They do not win on held-out queries beyond chance: the weights stay as they are."


async def load_for_tuning(
    memories: Mapping[str, Sequence[Memory]],
    storage: Store,
    embedder: Embedder,
    progress: Progress,
    policy: RankingPolicy | None = None,
) -> list[tuple[MemoryService, str, Grades]]:
    """Store the memories of each namespace in an empty store, those that make a query without it; returns the queries
    with what they shall find."""
    total = sum(len(group) for group in memories.values())
    share = MAX_QUERIES / max(1, total)
    queries: list[tuple[MemoryService, str, Grades]] = []
    done = 0
    of_any_namespace = MemoryService(storage, embedder, policy, ANY_LENGTH)
    for namespace, group in memories.items():
        service = of_any_namespace.within(namespace)
        items = _known_items(group, max(1, round(len(group) * share)))
        drafts = [_draft(memory, items.get(memory.content_hash)) for memory in group]
        for start in range(0, len(drafts), STORED_AT_ONCE):
            await service.store_batch(drafts[start : start + STORED_AT_ONCE])
            done += len(drafts[start : start + STORED_AT_ONCE])
            progress("prepare", done, total)
        queries += [(service, item.query, {content_hash(item.rest): 1.0}) for item in items.values()]
    return queries


async def tune(
    judged: Sequence[Judged], policy: RankingPolicy, progress: Progress, fixed: Collection[str] = ()
) -> TuningReport:
    """Try every combination of weights on the even queries, and the best of them on the odd ones.

    Weights named in `fixed` stay as they are.
    """
    if len(judged) < MIN_QUERIES:
        raise InvalidInput(
            f"Tuning needs at least {MIN_QUERIES} queries, and {len(judged)} could be made: memories of two sentences"
            " or more make queries, and so does feedback.",
            reason="too_little_to_tune_on",
        )
    training, held_out = judged[::2], judged[1::2]
    current = weights_of(policy)
    before = await _ndcg(training, policy)
    best, best_score = current, before
    has_sessions = any(found.session for query in judged for found in query.asked.results.of(VECTOR).candidates)
    grid = _grid(current, fixed, has_sessions=has_sessions)
    for number, weights in enumerate(grid, start=1):
        score = await _ndcg(training, with_weights(policy, weights))
        if score > best_score:
            best, best_score = weights, score
        progress("try weights", number, len(grid))
    old = [measures.ndcg_at_10 for measures in await measure_policy(held_out, policy)]
    new = [measures.ndcg_at_10 for measures in await measure_policy(held_out, with_weights(policy, best))]
    gain = paired_difference(new, old).interval_95
    return TuningReport(
        current=current,
        proposed=best,
        training=(before, best_score),
        held_out_queries=len(held_out),
        held_out=(sum(old) / len(old), sum(new) / len(new)),
        gain_interval_95=gain,
        accepted=best != current and gain.low > 0.0,
    )


def render_tuning(report: TuningReport) -> str:
    choices = {"now": report.current, "proposed": report.proposed}
    table = markdown_table(
        ["weights", *asdict(report.current), "NDCG@10, held-out"],
        [
            [name, *(f"{value:g}" for value in asdict(weights).values()), f"{ndcg:.4f}"]
            for (name, weights), ndcg in zip(choices.items(), report.held_out, strict=True)
        ],
    )
    said = f"{report.reason} ({report.held_out_queries} held-out queries)"
    return "\n\n".join([table, difference_table({("proposed", "now"): report.gain}), said])


def tuning_json(report: TuningReport) -> dict[str, Any]:
    return asdict(report) | {"held_out_paired_difference": report.gain.as_json(), "reason": report.reason}


def _grid(current: TunedWeights, fixed: Collection[str], *, has_sessions: bool) -> list[TunedWeights]:
    tried = {
        "vector_trust": TRUSTS,
        "tag_weight": TAG_WEIGHTS,
        "neighbour_weight": NEIGHBOUR_WEIGHTS if has_sessions else (),
    }
    values = {
        name: (getattr(current, name),) if name in fixed or not choices else choices for name, choices in tried.items()
    }
    return [TunedWeights(*combination) for combination in product(*values.values())]


def feedback_queries(service: MemoryService, feedback: Sequence[Feedback]) -> list[tuple[MemoryService, str, Grades]]:
    """What was found useful, by query; a query of which nothing was useful teaches no order."""
    useful: dict[str, dict[str, float]] = {}
    for said in feedback:
        if said.useful:
            useful.setdefault(said.query, {})[said.content_hash] = 1.0
    return [(service, query, relevant) for query, relevant in useful.items()]


def weights_of(policy: RankingPolicy) -> TunedWeights:
    return TunedWeights(policy.vector_trust, policy.tag_weight, policy.neighbour_weight)


def with_weights(policy: RankingPolicy, weights: TunedWeights) -> RankingPolicy:
    return replace(policy, **asdict(weights))


async def _ndcg(judged: Sequence[Judged], policy: RankingPolicy) -> float:
    return mean_measures(await measure_policy(judged, policy)).ndcg_at_10


def _known_items(memories: Sequence[Memory], limit: int) -> dict[str, KnownItem]:
    """Up to so many known items by the hash of their memory; hashes put them in an order that means nothing."""
    items: dict[str, KnownItem] = {}
    for memory in sorted(memories, key=lambda memory: memory.content_hash):
        item = known_item(memory.content) if len(items) < limit else None
        if item:
            items[memory.content_hash] = item
    return items


def _draft(memory: Memory, item: KnownItem | None) -> MemoryDraft:
    return MemoryDraft(
        item.rest if item else memory.content,
        tags=memory.tags,
        memory_type=memory.memory_type,
        created_at=memory.created_at,
        session=memory.session,
        sequence=memory.sequence,
    )
