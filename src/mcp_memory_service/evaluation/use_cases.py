"""The evaluations that a user can start, from opening a store to the finished report."""

import tempfile
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path

from ..bootstrap import Backends, open_backends, open_reranking
from ..config import Settings
from ..errors import ConfigurationError, InvalidInput
from ..hybrid_search import RankingPolicy
from ..models import DEFAULT_NAMESPACE, Memory, MemoryFilter, Progress, Tuning, content_hash
from ..services import MemoryService
from ..timestamps import now_microseconds
from .dataset import Dataset
from .embedding_cache import CachedEmbedder
from .ground_truth import LabelledQuery, answerable
from .report import DatasetReport, report_of
from .runner import Collections, Row, ask_dataset, clean_text, filtered_rows, rows_of, without_links
from .sweep import SweepRow, judge, judge_dataset, sweep
from .tuning import MAX_MEMORIES, TuningReport, feedback_queries, load_for_tuning, tune, with_weights


@dataclass(frozen=True, slots=True)
class StoreTuning:
    """What came of tuning a store."""

    memories: int
    known_items: int
    feedback_queries: int
    report: TuningReport
    saved: Tuning | None
    """The weights as they are now in force; None if they were not accepted, or should not be saved."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """What is measured beside vector, keyword and hybrid search, each in a store of its own."""

    tuned: bool = False
    """Weights fitted to the dataset."""
    filtered: bool = True
    """All collections in one store, told apart by a filter; of a dataset with only one this would be the same again."""
    compared: Mapping[str, RankingPolicy] = field(default_factory=dict[str, RankingPolicy])
    """Hybrid search by other policies, by the name of the row."""


async def run_dataset(
    dataset: Dataset, settings: Settings, cache: Path, progress: Progress, options: RunOptions | None = None
) -> tuple[DatasetReport, TuningReport | None]:
    """Store a dataset in a temporary store and measure every row."""
    options, policy = options or RunOptions(), settings.hybrid.policy()
    async with _temporary_store(settings, cache) as (storage, embedder), AsyncExitStack() as opened:
        reranking = await opened.enter_async_context(open_reranking(settings))
        collections = Collections(storage, embedder, policy, reranking=reranking)
        await collections.load(dataset, progress)
        rows = rows_of(collections)
        if dataset.links and policy.graph_weight > 0:
            rows |= without_links(collections, policy)
        if reranking:
            rows["hybrid, re-ranked"] = Row(collections, "hybrid", compared_with=("hybrid",), rerank=True)
        if options.filtered and len(dataset.collections) > 1:
            one_store, _ = await opened.enter_async_context(_temporary_store(settings, cache))
            together = Collections(one_store, embedder, policy, filtered=True)
            await together.load(dataset, progress)
            rows |= filtered_rows(together)
        tuning = await _tune_dataset(dataset, settings, cache, progress) if options.tuned else None
        fitted = {"tuned": with_weights(policy, tuning.in_force)} if tuning else {}
        for name, other in {**fitted, **options.compared}.items():
            rows[name] = Row(collections.with_policy(other), "hybrid", compared_with=("hybrid",))
        answers = await ask_dataset(dataset, rows, progress)
    return report_of(dataset, rows, answers), tuning


async def sweep_dataset(
    dataset: Dataset, settings: Settings, cache: Path, weight: str, values: Sequence[float], progress: Progress
) -> list[SweepRow]:
    async with _temporary_store(settings, cache) as (storage, embedder):
        policy = settings.hybrid.policy()
        collections = Collections(storage, embedder, policy)
        await collections.load(dataset, progress)
        judged = await judge_dataset(dataset, collections, progress)
        if not judged:
            raise InvalidInput(f"No relevant document of {dataset.name} is in its corpus.", reason="dataset_empty")
        return await sweep(judged, policy, weight, values, progress)


async def sweep_store(
    cases: Sequence[LabelledQuery], settings: Settings, weight: str, values: Sequence[float], progress: Progress
) -> list[SweepRow]:
    """The same over the user's own store, with ground truth for what is in it."""
    async with open_backends(settings, must_exist=True) as (storage, embedder):
        tuning = await storage.current_tuning(DEFAULT_NAMESPACE)
        policy = settings.hybrid.policy(tuning.weights if tuning else None)
        service = MemoryService(storage, embedder, policy)
        queries = [(service, case.query, case.relevant) for case in answerable(cases)]
        expected = list({key for _, _, relevant in queries for key in relevant})
        if not await storage.get_many(DEFAULT_NAMESPACE, expected):
            raise InvalidInput("The store has none of the memories that are expected.", reason="ground_truth_empty")
        return await sweep(await judge(queries, progress), policy, weight, values, progress)


async def tune_store(
    settings: Settings, progress: Progress, namespace: str = DEFAULT_NAMESPACE, *, save: bool = True
) -> StoreTuning:
    """Fit weights to a namespace of the user's own store and put them in force there if they win."""
    if not settings.hybrid.is_tunable or settings.hybrid.hybrid_alpha is not None:
        raise ConfigurationError(
            "Weights are tuned for scores and an alpha that adapts to the query: unset MCP_MEMORY_RANKING,"
            " MCP_MEMORY_FUSION and MCP_MEMORY_HYBRID_ALPHA first."
        )
    async with open_backends(settings, must_exist=True) as (storage, embedder):
        current = await storage.current_tuning(namespace)
        policy = settings.hybrid.policy(current.weights if current else None)
        page = await storage.list_memories(MemoryFilter(namespace), offset=0, limit=MAX_MEMORIES)
        feedback = await storage.list_feedback(namespace)
        said = feedback_queries(MemoryService(storage, embedder, policy, namespace=namespace), feedback)
        async with _temporary_store(settings, cache=None) as (scratch, scratch_embedder):
            memories = {DEFAULT_NAMESPACE: page.memories}
            made = await load_for_tuning(memories, scratch, scratch_embedder, progress, policy)
            judged = await judge([*made, *said], progress)
            report = await tune(judged, policy, progress, fixed=settings.hybrid.model_fields_set)
        saved = None
        if report.accepted and save:
            proposed = Tuning(report.proposed, now_microseconds(), report.held_out_queries, *report.held_out)
            saved = await storage.save_tuning(namespace, proposed)
    return StoreTuning(len(page.memories), len(made), len(said), report, saved)


async def roll_back_tuning(
    settings: Settings, namespace: str = DEFAULT_NAMESPACE
) -> tuple[Tuning | None, Tuning | None]:
    """Put the current weights out of force; returns them and those that are in force now."""
    async with open_backends(settings, must_exist=True) as (storage, _):
        return await storage.roll_back_tuning(namespace), await storage.current_tuning(namespace)


async def _tune_dataset(dataset: Dataset, settings: Settings, cache: Path, progress: Progress) -> TuningReport:
    room = max(1, MAX_MEMORIES // len(dataset.collections))
    groups = {name: _as_memories(dataset, name)[:room] for name in dataset.collections}
    async with _temporary_store(settings, cache) as (storage, embedder):
        policy = settings.hybrid.policy()
        made = await load_for_tuning(groups, storage, embedder, progress, policy)
        return await tune(await judge(made, progress), policy, progress, fixed=settings.hybrid.model_fields_set)


def _as_memories(dataset: Dataset, collection: str) -> list[Memory]:
    """The documents of a collection as memories, in an order that means nothing."""
    memories: dict[str, Memory] = {}
    for document in dataset.collections[collection]:
        text = clean_text(document)
        if text.strip():
            created_at = document.created_at or 0
            memory = Memory(
                text,
                content_hash(text),
                created_at,
                created_at,
                tags=document.tags,
                session=document.session,
                sequence=document.sequence,
            )
            memories[memory.content_hash] = memory
    return [memories[key] for key in sorted(memories)]


@asynccontextmanager
async def _temporary_store(settings: Settings, cache: Path | None) -> AsyncGenerator[Backends, None]:
    with tempfile.TemporaryDirectory(prefix="mcp-memory-eval-") as folder:
        scratch = settings.model_copy(update={"storage_backend": "sqlite_vec", "sqlite_path": Path(folder) / "eval.db"})
        async with open_backends(
            scratch, lambda embedder: CachedEmbedder(embedder, cache) if cache else embedder
        ) as backends:
            yield backends
