"""Evaluation through the real service and the real command line."""

import asyncio
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import pytest
from tests.support.fakes import WordEmbedder
from tests.unit.test_evaluation import write_dataset

from mcp_memory_service.bootstrap import open_backends
from mcp_memory_service.config import HybridSearchSettings, load_settings
from mcp_memory_service.errors import InvalidInput
from mcp_memory_service.evaluation.embedding_cache import CachedEmbedder
from mcp_memory_service.evaluation.sweep import judge
from mcp_memory_service.evaluation.tuning import (
    feedback_queries,
    load_for_tuning,
    render_tuning,
    tune,
    tuning_json,
    weights_of,
)
from mcp_memory_service.hybrid_search import RankingPolicy
from mcp_memory_service.models import (
    Feedback,
    ListRequest,
    Memory,
    MemoryDraft,
    TunedWeights,
    Tuning,
    Vector,
    content_hash,
)
from mcp_memory_service.services import MemoryService
from mcp_memory_service.storage.memory import MemoryStore

from .conftest import Finished

RunCli = Callable[..., Finished]


def quiet(doing: str, done: int, total: int) -> None:
    assert doing
    assert 0 < done <= total


class CountingEmbedder(WordEmbedder):
    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        self.asked += texts
        return await super().embed(texts)


def write_set(
    folder: Path,
    corpus: Sequence[Mapping[str, object]],
    queries: Sequence[Mapping[str, object]],
    relevant: Sequence[tuple[str, str]],
    haystacks: Sequence[Mapping[str, object]] = (),
) -> Path:
    folder.mkdir()
    files = {"corpus": corpus, "queries": queries} | ({"haystacks": haystacks} if haystacks else {})
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "qrels.tsv").write_text("".join(f"{query}\t{document}\t1\n" for query, document in relevant))
    return folder


async def test_a_cached_text_is_embedded_once_also_by_the_next_process(tmp_path: Path):
    first = CountingEmbedder()
    cached = CachedEmbedder(first, tmp_path / "cache" / "vectors.db")
    one, two, again = await cached.embed(["a b", "c d", "a b"])
    assert first.asked == ["a b", "c d"]
    assert (one == again).all()
    await cached.close()
    second = CountingEmbedder()
    reopened = CachedEmbedder(second, tmp_path / "cache" / "vectors.db")
    kept, new = await reopened.embed(["c d", "e f"])
    assert second.asked == ["e f"]
    assert (kept == two).all()
    assert (new == (await WordEmbedder().embed(["e f"]))[0]).all()
    assert b"c d" not in (tmp_path / "cache" / "vectors.db").read_bytes()
    await reopened.close()


class AsymmetricEmbedder(CountingEmbedder):
    async def embed_query(self, query: str) -> Vector:
        return await super().embed_query(f"query: {query}")


async def test_a_query_is_cached_apart_from_a_document_of_the_same_words(tmp_path: Path):
    behind = AsymmetricEmbedder()
    cached = CachedEmbedder(behind, tmp_path / "vectors.db")
    (document,) = await cached.embed(["a b"])
    query = await cached.embed_query("a b")
    assert (query == await cached.embed_query("a b")).all()
    assert (query != document).any()
    assert behind.asked == ["a b", "query: a b"]
    await cached.close()


def notes(count: int) -> list[Memory]:
    texts = [
        f"Project number{i} uses port {9000 + i} for its tunnel. Its owner{i} lives in city{i}, river{i} and hill{i}."
        for i in range(count)
    ]
    return [Memory(text, content_hash(text), 0, 0, tags=(f"number{i}",)) for i, text in enumerate(texts)]


async def test_tuning_refuses_to_learn_from_too_little(store: MemoryStore):
    made = await load_for_tuning({"default": notes(5)}, store, WordEmbedder(), quiet)
    with pytest.raises(InvalidInput, match="at least 30 queries, and 5"):
        await tune(await judge(made, quiet), RankingPolicy(), quiet)


async def test_queries_for_tuning_do_not_stand_in_the_store(store: MemoryStore):
    memories = notes(40)
    made = await load_for_tuning({"default": memories}, store, WordEmbedder(), quiet)
    assert len(made) == 40
    stored = {
        memory.content_hash: memory for memory in (await made[0][0].list_memories(ListRequest(page_size=100))).memories
    }
    for _, query, relevant in made:
        (target,) = relevant
        assert query not in stored[target].content


async def test_weights_that_win_by_chance_are_not_accepted(store: MemoryStore):
    made = await load_for_tuning({"default": notes(60)}, store, WordEmbedder(), quiet)
    judged = await judge(made, quiet)
    report = await tune(judged, RankingPolicy(), quiet)
    assert report.accepted == (report.proposed != report.current and report.gain_interval_95.low > 0)
    assert report.held_out_queries == 30
    assert report.in_force == (report.proposed if report.accepted else report.current)
    assert f"| proposed              | now | {report.gain.mean:+.4f} | " in render_tuning(report)
    assert tuning_json(report)["held_out_paired_difference"]["is_noise"] == (not report.accepted)


async def test_bad_weights_are_replaced_by_better_ones(store: MemoryStore):
    """Queries name a tag that only their memory carries; with hardly a vote for tags and words they cannot be found."""
    service = MemoryService(store, WordEmbedder())
    drafts = [
        MemoryDraft(f"the same words in every text {i % 3} {'x' * (i + 1)}", tags=(f"tag{i}",)) for i in range(80)
    ]
    await service.store_batch(drafts)
    queries = [(service, f"same words tag{i}", {content_hash(draft.content): 1.0}) for i, draft in enumerate(drafts)]
    judged = await judge(queries, quiet)
    hobbled = RankingPolicy(vector_trust=100.0, tag_weight=0.0, keyword_weight=0.001)
    report = await tune(judged, hobbled, quiet)
    assert report.accepted
    assert report.held_out[1] > report.held_out[0]
    fixed = await tune(judged, hobbled, quiet, fixed={"vector_trust", "tag_weight"})
    assert (fixed.proposed.vector_trust, fixed.proposed.tag_weight) == (100.0, 0.0)


def test_feedback_becomes_queries(service: MemoryService):
    said = [Feedback("q", "1" * 64, True, 1), Feedback("q", "2" * 64, False, 2), Feedback("r", "3" * 64, False, 3)]
    assert feedback_queries(service, said) == [(service, "q", {"1" * 64: 1.0})]


def test_run_and_sweep_from_the_command_line(run_cli: RunCli, tmp_path: Path):
    folder = write_dataset(tmp_path / "tiny")
    cache, out = str(tmp_path / "cache"), tmp_path / "out"
    ran = run_cli("eval", "run", "--data", str(folder), "--cache", cache, "--out", str(out))
    assert ran.code == 0, ran.err
    assert "## tiny: 3 documents, 2 queries" in ran.out
    header, _, *rows = [line.split("|")[1].strip() for line in ran.out.splitlines()[2:9]]
    assert [header, *rows] == ["search", "vector", "keyword", "hybrid", "keyword, filtered", "hybrid, filtered"]
    (result,) = json.loads((out / "results.json").read_text())
    assert result["rows"]["hybrid"]["means"]["ndcg_at_10"] == 1.0
    difference = result["rows"]["hybrid"]["paired_difference"]
    assert difference["reference"] in {"vector", "keyword"}
    assert difference["by_measure"]["ndcg_at_10"] == {"mean": 0.0, "interval_95": [0.0, 0.0], "is_noise": True}
    assert difference["ndcg_at_10_by_category"] == {"kind": {"mean": 0.0, "interval_95": [0.0, 0.0], "is_noise": True}}
    assert result["rows"]["vector"]["paired_difference"] is None
    assert re.search(r"\| hybrid +\| (vector|keyword) +\| \+0.0000 \| \+0.0000 to \+0.0000 \| noise \|", ran.out)
    assert (out / "results.svg").read_text().startswith("<?xml")
    swept = run_cli("eval", "sweep", "--data", str(folder), "--cache", cache, "--out", str(out))
    assert swept.code == 0, swept.err
    assert swept.out.startswith("Alpha    | Hit@10 | MRR    | NDCG@10\n")
    assert swept.out.count("← Optimal") == 1
    assert swept.out.count("| default | ") == 11
    assert len(json.loads((out / "sweep.json").read_text())["rows"]) == 12
    assert (out / "sweep.svg").is_file()


def test_a_query_means_the_time_when_it_was_asked(run_cli: RunCli, tmp_path: Path):
    days = ("2021-05-10", "2022-05-10", "2023-05-10")
    others = ("Bread needs flour", "Rain in the mountains", "A song of the sea", "Shoes for the run", "Tea is ready")
    folder = write_set(
        tmp_path / "moves",
        corpus=[
            *({"id": day, "text": f"The server has moved {day}", "created_at": f"{day}T12:00:00"} for day in days),
            *({"id": text, "text": text, "created_at": "2020-01-01"} for text in others),
        ],
        queries=[
            {"id": day, "text": "Has the server moved yesterday?", "meta": {field: f"{day[:-2]}11T08:00:00"}}
            for day, field in zip(days, ("asked_at", "asked_after", "asked_at"), strict=True)
        ],
        relevant=[(day, day) for day in days],
    )
    cache = str(tmp_path / "cache")
    (ran,) = json.loads(run_cli("eval", "run", "--data", str(folder), "--cache", cache, "--json").out)
    assert ran["rows"]["hybrid"]["means"]["hit_at_1"] == 1.0
    swept = json.loads(run_cli("eval", "sweep", "--data", str(folder), "--cache", cache, "--json").out)
    assert swept["rows"][0]["hit_at_1"] == 1.0


def test_collections_are_also_measured_filtered_in_one_store(run_cli: RunCli, tmp_path: Path):
    """Two conversations say the same words, and share one text: each query must find its own, and both the shared."""
    told = {"a": "Anna bought a green bicycle", "b": "Boris bought a green bicycle"}
    asked = ("who bought a green bicycle", "when does the shop close")
    scopes = write_set(
        tmp_path / "scopes",
        corpus=[
            {"id": f"{scope}{number}", "text": text, "meta": {"scope": scope}}
            for scope in told
            for number, text in enumerate((told[scope], "The shop closes at noon", f"Only {scope} was there"))
        ],
        queries=[
            {"id": f"{scope}/{number}", "text": text, "meta": {"scope": scope}}
            for scope in told
            for number, text in enumerate(asked)
        ],
        relevant=[(f"{scope}/{number}", f"{scope}{number}") for scope in told for number in range(len(asked))],
    )
    haystacks = write_set(
        tmp_path / "haystacks",
        corpus=[{"id": name, "text": f"{name} bought a green bicycle"} for name in ("Anna", "Boris", "Clara")],
        queries=[{"id": name, "text": "who bought a green bicycle"} for name in ("Anna", "Boris")],
        relevant=[("Anna", "Anna"), ("Boris", "Boris")],
        haystacks=[{"qid": "Anna", "ids": ["Anna"]}, {"qid": "Boris", "ids": ["Boris"]}],
    )
    single = write_set(
        tmp_path / "single", [{"id": "a", "text": "a note"}], [{"id": "q", "text": "note"}], [("q", "a")]
    )
    out = tmp_path / "out"
    sets = [flag for folder in (scopes, haystacks, single) for flag in ("--data", str(folder))]
    ran = run_cli("eval", "run", *sets, "--cache", str(tmp_path / "cache"), "--out", str(out))
    assert ran.code == 0, ran.err
    one, other, alone = json.loads((out / "results.json").read_text())
    for result in (one, other):
        assert list(result["rows"]) == ["vector", "keyword", "hybrid", "keyword, filtered", "hybrid, filtered"]
        assert [row["means"]["recall_all_at_5"] for row in result["rows"].values()] == [1.0] * 5
        assert result["rows"]["hybrid, filtered"]["paired_difference"]["reference"] == "hybrid"
    assert [row["means"]["hit_at_1"] for row in other["rows"].values()] == [1.0] * 5, "nothing but the haystack"
    assert list(alone["rows"]) == ["vector", "keyword", "hybrid"]
    ran = run_cli("eval", "run", "--data", str(scopes), "--no-filtered", "--cache", str(tmp_path / "cache"), "--json")
    assert list(json.loads(ran.out)[0]["rows"]) == ["vector", "keyword", "hybrid"]


def test_other_policies_are_rows_beside_the_default(run_cli: RunCli, tmp_path: Path):
    folder = write_dataset(tmp_path / "tiny")
    compared = ("--compare", "fusion=rrf,rrf_k=20", "--compare", "hybrid_alpha=0.5")
    ran = run_cli("eval", "run", "--data", str(folder), "--cache", str(tmp_path / "cache"), "--json", *compared)
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)[0]["rows"]
    assert rows["hybrid_alpha=0.5"]["mean_alpha"] == 0.5
    assert rows["hybrid_alpha=0.5"]["paired_difference"]["reference"] == "hybrid"
    assert rows["fusion=rrf,rrf_k=20"]["mean_alpha"] == 0.5, "alpha by the size of the corpus"


def test_a_linked_set_is_also_measured_without_its_links(run_cli: RunCli, tmp_path: Path):
    filler = [f"Bicycle {number} stands in the shed beside the others" for number in range(20)]
    folder = write_set(
        tmp_path / "linked",
        corpus=[
            {"id": "asked", "text": "The green bicycle belongs to the owner of the mill"},
            {"id": "answer", "text": "Ada Quill, third house on the left"},
            *({"id": f"filler {number}", "text": text} for number, text in enumerate(filler)),
        ],
        queries=[{"id": "q", "text": "whose is the green bicycle"}],
        relevant=[("q", "asked"), ("q", "answer")],
    )
    (folder / "links.tsv").write_text("asked\tanswer\tthe owner\n")
    ran = run_cli("eval", "run", "--data", str(folder), "--cache", str(tmp_path / "cache"), "--json")
    assert ran.code == 0, ran.err
    rows = json.loads(ran.out)[0]["rows"]
    assert list(rows) == ["vector", "keyword", "hybrid", "hybrid, without links"]
    assert rows["hybrid"]["means"]["recall_all_at_5"] == 1.0
    assert rows["hybrid, without links"]["means"]["recall_all_at_5"] == 0.0
    assert rows["hybrid, without links"]["paired_difference"]["reference"] == "hybrid"
    unlinked = run_cli(
        "eval", "run", "--data", str(folder), "--cache", str(tmp_path / "cache"), "--json", MCP_MEMORY_GRAPH_WEIGHT="0"
    )
    assert list(json.loads(unlinked.out)[0]["rows"]) == ["vector", "keyword", "hybrid"]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("run", "--data", "no-such-folder"), "is not a folder"),
        (("sweep",), "either --data or --ground-truth"),
        (("sweep", "--data", "x", "--weight", "luck"), "--weight must be one of alpha"),
        (("sweep", "--data", "x", "--weight", "tag_weight"), "--values is needed"),
        (("sweep", "--data", "x", "--values", "1,two"), "must be numbers"),
        (("sweep", "--data", "x", "--values", "0.5,7"), "MCP_MEMORY_HYBRID_ALPHA"),
        (("run", "--data", "x", "--compare", "luck=1"), "luck is no number of the ranking: ranking, hybrid_alpha, "),
        (("run", "--data", "x", "--compare", "rrf_k"), "NAME=VALUE is expected"),
        (("run", "--data", "x", "--compare", "hybrid_alpha=7"), "MCP_MEMORY_HYBRID_ALPHA"),
        (("run", "--data", "x", "--compare", "fusion=luck"), "allowed: one of rrf, score"),
        (("run", "--data", "x", "--compare", "date_floor=low"), "date_floor: Input should be a valid number"),
        (("tune",), "at least 30 queries"),
    ],
)
def test_bad_requests_are_one_clear_line(run_cli: RunCli, arguments: tuple[str, ...], says: str):
    assert run_cli("import", "-", stdin="").code == 0, "there is a store"
    ran = run_cli("eval", *arguments)
    assert ran.code != 0
    assert says in ran.err
    assert "Traceback" not in ran.err


def test_feedback_and_rollback_from_the_command_line(run_cli: RunCli):
    stored = run_cli("store", "Rathole forwards port 2333")
    key = stored.out.split()[-1]
    assert run_cli("feedback", "rathole port", key, "--useful").code == 0
    missing = run_cli("feedback", "rathole port", "0" * 64, "--useful")
    assert missing.code != 0
    assert "memory_not_found" in missing.err
    assert run_cli("eval", "rollback").out == "No tuned weights are in force.\n"


def test_tuned_weights_count_unless_set_and_never_for_ranks():
    tuned = TunedWeights(vector_trust=2.0, tag_weight=0.5, neighbour_weight=0.35)
    assert weights_of(HybridSearchSettings().policy(tuned)) == tuned
    explicit = HybridSearchSettings(tag_weight=3.0).policy(tuned)
    assert (explicit.tag_weight, explicit.vector_trust) == (3.0, 2.0)
    assert HybridSearchSettings(fusion="rrf").policy(tuned) == HybridSearchSettings(fusion="rrf").policy()


def test_a_tuned_store_ranks_by_its_weights_until_they_are_rolled_back(run_cli: RunCli, tmp_path: Path):
    key = run_cli("store", "Rathole forwards port 2333", "--tag", "rathole").out.split()[-1]

    async def save() -> None:
        async with open_backends(load_settings({"sqlite_path": tmp_path / "cli.db"})) as (store, _):
            weights = TunedWeights(vector_trust=1.0, tag_weight=0.0, neighbour_weight=0.7)
            await store.save_tuning("default", Tuning(weights, 1, 40, 0.5, 0.6))

    def tag_boost(**environment: str) -> float:
        shown = json.loads(run_cli("search", "rathole", "--debug", "--json", **environment).out)
        assert shown["results"][0]["memory"]["content_hash"].startswith(key)
        return shown["results"][0]["debug"]["tag_boost"]

    assert tag_boost() > 0
    asyncio.run(save())
    assert tag_boost() == 0
    assert tag_boost(MCP_MEMORY_TAG_WEIGHT="1.0") > 0
    assert run_cli("eval", "rollback").out.startswith("Version 1 is out of force; the defaults count again.")
    assert tag_boost() > 0


def test_results_and_caches_that_cannot_be_written_are_said_first(run_cli: RunCli, tmp_path: Path):
    folder = write_dataset(tmp_path / "tiny")
    (tmp_path / "file").write_text("no folder")
    for flag in ("--out", "--cache"):
        ran = run_cli("eval", "run", "--data", str(folder), flag, str(tmp_path / "file"))
        assert ran.code != 0
        assert "configuration_error" in ran.err
        assert "Traceback" not in ran.err


def test_tuning_refuses_a_fixed_alpha(run_cli: RunCli):
    ran = run_cli("eval", "tune", MCP_MEMORY_HYBRID_ALPHA="0.5")
    assert ran.code != 0
    assert "MCP_MEMORY_HYBRID_ALPHA" in ran.err


def test_nothing_is_reported_about_who_uses_the_model(run_cli: RunCli, tmp_path: Path):
    assert run_cli("store", "a private note", HOME=str(tmp_path), XDG_CACHE_HOME=str(tmp_path / "cache")).code == 0
    assert not list(tmp_path.rglob("*onnxruntime*"))
    assert not list(tmp_path.rglob("Microsoft"))
