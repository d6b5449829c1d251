"""The classic ranking over a real store with the real model, switched on by its variable."""

import json
import math
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import Finished, rest_client
from tests.support.corpus import RATHOLE, RATHOLE_QUERY, corpus_with_rathole
from tests.unit.test_evaluation import write_dataset

MEMORIES = 300


@pytest.fixture(scope="module")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("classic") / "filled.db"
    notes = corpus_with_rathole(MEMORIES)
    with rest_client(path) as client:
        for start in range(0, MEMORIES, 100):
            answer = client.post("/memories/batch", json={"memories": notes[start : start + 100]})
            assert answer.status_code == 200, answer.text
    return path


@pytest.fixture
def classic(filled: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[TestClient, None, None]:
    monkeypatch.setenv("MCP_MEMORY_RANKING", "classic")
    with rest_client(filled) as client:
        yield client


def retrieved(client: TestClient, **request: Any) -> dict[str, Any]:
    answer = client.post("/memories/retrieve", json={"query": RATHOLE_QUERY, "page_size": 100, **request})
    assert answer.status_code == 200, answer.text
    return answer.json()


def place(answer: dict[str, Any]) -> int:
    return [hit["memory"]["content"] for hit in answer["results"]].index(RATHOLE["content"]) + 1


@pytest.mark.parametrize("query", [RATHOLE_QUERY, "rathole project architecture"])
def test_the_rathole_memory_is_first(classic: TestClient, query: str):
    answer = retrieved(classic, query=query)
    assert place(answer) == 1
    assert answer["keywords"] == ["rathole", "project", "architecture"]
    assert answer["alpha_used"] == 1 - 1.5 * 0.5
    assert answer["evidence"] is None


def test_vectors_alone_get_it_wrong(classic: TestClient):
    """Or the case would prove nothing."""
    assert retrieved(classic, alpha=1.0)["results"][0]["memory"]["content"] != RATHOLE["content"]


def test_from_the_middle_size_on_vectors_outvote_the_tag(filled: Path, monkeypatch: pytest.MonkeyPatch):
    """What the requirements ask for costs their own example, unless vectors place it near the top; so the default
    ranks otherwise (docs/adr/0004)."""
    monkeypatch.setenv("MCP_MEMORY_RANKING", "classic")
    monkeypatch.setenv("MCP_MEMORY_ADAPTIVE_THRESHOLD_SMALL", "100")
    with rest_client(filled) as client:
        answer = retrieved(client)
    assert answer["alpha_used"] == pytest.approx(1 - 1.5 * 0.3)
    assert place(answer) > 1


def test_the_debug_fields_are_the_formula_for_every_result(classic: TestClient):
    answer = retrieved(classic, debug=True)
    assert len(answer["results"]) == 100
    for hit in answer["results"]:
        debug = hit["debug"]
        assert (debug["ranking"], debug["fusion"], debug["alpha_used"]) == ("classic", "rrf", 0.25)
        assert debug["vector_rrf"] == 0.25 / (60 + debug["vector_rank"])
        assert debug["tag_boost"] == (0.75 / (60 + debug["tag_rank"]) if debug["tag_rank"] else 0.0)
        assert bool(debug["tag_matches"]) == bool(debug["tag_rank"])
        assert debug["final_score"] == (debug["vector_rrf"] + debug["tag_boost"]) * debug["recency_factor"]
        assert (debug["keyword_rrf"], debug["neighbour_boost"], debug["time_factor"]) == (0.0, 0.0, 1.0)


def test_age_is_a_plain_exponential(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_MEMORY_RANKING", "classic")
    with rest_client(tmp_path / "aged.db") as client:
        stored = {"content": "the exact answer", "created_at": "2020-01-01T00:00:00"}
        assert client.post("/memories", json=stored).status_code == 201
        (hit,) = retrieved(client, query="the exact answer", debug=True)["results"]
    assert 0 < hit["debug"]["recency_factor"] < math.exp(-0.01 * 365 * 5)


def test_the_same_request_has_an_answer_of_the_same_shape_in_both(filled: Path, classic: TestClient):
    with rest_client(filled, ranking="measured") as client:
        measured = retrieved(client, debug=True)
    answer = retrieved(classic, debug=True)
    assert measured.keys() == answer.keys()
    assert measured["results"][0].keys() == answer["results"][0].keys()
    assert measured["results"][0]["debug"].keys() == answer["results"][0]["debug"].keys()
    assert (measured["results"][0]["debug"]["ranking"], place(measured)) == ("measured", 1)


def test_it_is_measured_and_swept_by_its_flag_and_not_tuned(run_cli: Callable[..., Finished], tmp_path: Path):
    folder, cache = str(write_dataset(tmp_path / "tiny")), ("--cache", str(tmp_path / "cache"))
    ran = run_cli("eval", "run", "--data", folder, *cache, "--ranking", "classic", "--json")
    assert ran.code == 0, ran.err
    (result,) = json.loads(ran.out)
    assert (result["policy"]["ranking"], result["policy"]["fusion"]) == ("classic", "rrf")
    assert result["rows"]["hybrid"]["mean_alpha"] == 0.5
    assert result["rows"]["hybrid"]["means"].keys() >= {"recall_any_at_10", "mrr_at_10", "ndcg_at_10"}
    swept = run_cli("eval", "sweep", "--data", folder, *cache, "--ranking", "classic")
    assert swept.out.startswith("Alpha    | Hit@10 | MRR    | NDCG@10\n")
    tuned = run_cli("eval", "tune", MCP_MEMORY_RANKING="classic")
    assert (tuned.code, "unset MCP_MEMORY_RANKING" in tuned.err) == (6, True)
    assert run_cli("search", "x", "--ranking", "modern").code == 6
