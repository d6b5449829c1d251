"""Re-ranking from the settings to the answer: REST, MCP and the command line, with a model of a few nodes and with
servers on loopback."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import Finished, rest_client, server_process
from tests.integration.test_evaluation import write_set
from tests.support.patience import HANG_SECONDS
from tests.support.rerank_server import cohere, rerank_server, tei
from tests.support.tiny_cross_encoder import MAX_TOKENS, write_cross_encoder

from mcp_memory_service.config import load_settings
from mcp_memory_service.errors import ConfigurationError

Run = Callable[..., Finished]

QUERY = "which port has the tunnel"
TEXTS = (
    "The tunnel of the mountain railway is the longest of the country.",
    "Ships wait in the port for the tide.",
    "which port has the tunnel : the port of the tunnel is 2333",
    "The tunnel to the lab at home is down again.",
    "A port of the game to another platform takes years.",
    "Wine from the port is sweet.",
)
ANSWER = TEXTS[2]
PREFIX = "MCP_MEMORY_RERANK_"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write_cross_encoder(tmp_path / "tiny", texts=(*TEXTS, QUERY))


@pytest.fixture
def backwards(tmp_path: Path) -> Path:
    """Prefers what shares the fewest words with the query."""
    return write_cross_encoder(tmp_path / "backwards", texts=(*TEXTS, QUERY), sign=-1.0)


def environment_of(folder: Path, **more: str) -> dict[str, str]:
    return {f"{PREFIX}BACKEND": "onnx", f"{PREFIX}FOLDER": str(folder), **{f"{PREFIX}{k}": v for k, v in more.items()}}


def retrieved(client: TestClient, **asked: Any) -> dict[str, Any]:
    answer = client.post("/memories/retrieve", json={"query": QUERY, **asked})
    assert answer.status_code == 200, answer.text
    return answer.json()


def contents(answer: dict[str, Any]) -> list[str]:
    return [hit["memory"]["content"] for hit in answer["results"]]


def store_all(client: TestClient) -> None:
    assert client.post("/memories/batch", json={"memories": [{"content": text} for text in TEXTS]}).status_code == 200


def test_rest_answers_in_the_new_order_and_shows_its_arithmetic(tmp_path: Path, backwards: Path):
    chosen = {"rerank_backend": "onnx", "rerank_folder": backwards, "rerank_weight": 1.0}
    with rest_client(tmp_path / "rest.db", **chosen) as client:
        store_all(client)
        plain, found = retrieved(client, rerank=False), retrieved(client, debug=True)
        assert (contents(plain)[0], contents(found)[-1]) == (ANSWER, ANSWER)
        scores = [hit["provenance"]["rerank"]["score"] for hit in found["results"]]
        assert scores == sorted(scores, reverse=True)
        last = found["results"][-1]
        rerank = last["debug"]["rerank"]
        assert (rerank["weight"], rerank["rank"], rerank["score"]) == (1.0, 6, scores[-1])
        assert last["debug"]["final_score"] == rerank["contribution"]
        assert (found["degraded"], "rerank" in plain["results"][0]["provenance"]) == ([], False)
        explained = client.post(
            "/memories/explain", json={"query": QUERY, "content_hash": last["memory"]["content_hash"]}
        ).json()
        assert (explained["rank"], explained["rank_before_rerank"]) == (6, 1)
        assert explained["summary"] == "It is number 6 of 6, and was number 1 before re-ranking."
        assert explained["signals"]["rerank"]["rank"] == 6
        assert explained["rerank"] == rerank


def test_without_the_setting_answers_are_as_ever(rest: TestClient):
    store_all(rest)
    plain = retrieved(rest, debug=True)
    assert "rerank" not in plain["results"][0]["debug"]
    assert "rerank" not in plain["results"][0]["provenance"]
    asked = retrieved(rest, rerank=True)
    assert (contents(asked), asked["degraded"]) == (contents(plain), ["rerank_off"])
    explained = rest.post(
        "/memories/explain", json={"query": QUERY, "content_hash": plain["results"][0]["memory"]["content_hash"]}
    ).json()
    assert not {"rank_before_rerank", "rerank"} & explained.keys()


@pytest.mark.parametrize("api", ["tei", "cohere"])
def test_a_server_re_ranks(tmp_path: Path, api: str):
    with rerank_server(tei if api == "tei" else cohere) as server:
        chosen = {"rerank_url": server.url, "rerank_api": api, "rerank_model": "m", "rerank_api_key": "a key"}
        with rest_client(tmp_path / "rest.db", rerank_backend="http", **chosen) as client:
            store_all(client)
            found = retrieved(client)
    assert (contents(found)[0], found["results"][0]["provenance"]["rerank"]) == (ANSWER, {"rank": 1, "score": 5.0})
    assert {key for _, key, _ in server.asked} == {"Bearer a key"}


def test_a_server_that_is_late_or_down_costs_the_order_and_not_the_answer(tmp_path: Path):
    with rerank_server(None) as late:
        for url, reason, seconds in (
            (late.url, "rerank_timed_out", 0.2),
            ("http://127.0.0.1:9", "rerank_unavailable", HANG_SECONDS),
        ):
            chosen = {"rerank_backend": "http", "rerank_url": url, "rerank_timeout_seconds": seconds}
            with rest_client(tmp_path / f"{reason}.db", **chosen) as client:
                store_all(client)
                found = retrieved(client)
                assert (found["degraded"], contents(found)) == ([reason], contents(retrieved(client, rerank=False)))


def test_a_served_model_re_ranks_for_mcp_too(tmp_path: Path, backwards: Path):
    with server_process(tmp_path, "--rerank-backend", "onnx", "--rerank-folder", str(backwards)) as server:
        assert server.http.post("/memories/batch", json={"memories": [{"content": t} for t in TEXTS]}).is_success
        call = {"name": "retrieve_memory", "arguments": {"query": QUERY, "debug": True}}
        sent = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
        answer = server.http.post("/mcp", json=sent, headers={"Accept": "application/json, text/event-stream"})
    assert '\\"rerank\\"' in answer.text or '"rerank"' in answer.text, answer.text


def test_the_command_line_re_ranks_and_says_so(run_cli: Run, backwards: Path):
    environment = environment_of(backwards, WEIGHT="1")
    assert run_cli("import", "-", stdin="\n".join(json.dumps({"content": text}) for text in TEXTS)).code == 0
    plain, found = run_cli("search", QUERY, "--json"), run_cli("search", QUERY, "--json", **environment)
    assert contents(json.loads(plain.out))[0] == contents(json.loads(found.out))[-1] == ANSWER
    assert run_cli("search", QUERY, "--no-rerank", "--json", **environment).out.count('"rerank"') == 0
    flags = ("--rerank-backend", "onnx", "--rerank-folder", str(backwards))
    shown = run_cli("search", QUERY, "--debug", *flags)
    assert "rerank #1" in shown.out
    assert " x 0.5 + rerank 0." in shown.out
    off = run_cli("search", QUERY, "--rerank")
    assert "Searched without: rerank_off" in off.out
    answer = json.loads(plain.out)["results"][0]["memory"]["content_hash"]
    explained = run_cli("search", QUERY, "--explain", answer, **environment)
    assert explained.out.startswith("It is number 6 of 6, and was number 1 before re-ranking.")
    assert "rerank    #6" in explained.out


def test_a_folder_that_works_is_described_with_the_settings_to_use(run_cli: Run, folder: Path):
    said = run_cli("rerank", "check", str(folder))
    assert said.code == 0, said.err
    for line in (
        f"file        {folder}/model.onnx",
        "inputs      input_ids, attention_mask, token_type_ids",
        "output      logits",
        f"max tokens  {MAX_TOKENS}, query and text",
        "scores      4.67 for answers, 1 for other texts",
        f'  {PREFIX}BACKEND="onnx"',
        f'  {PREFIX}FOLDER="{folder}"',
    ):
        assert line in said.out.splitlines()
    report = json.loads(run_cli("rerank", "check", "--json", **environment_of(folder)).out)
    assert (report["works"], report["problems"], report["folder"]["max_tokens"]) == (True, [], MAX_TOKENS)
    assert report["model_id"].startswith(f"onnx:{MAX_TOKENS}:")
    assert report["settings"] == environment_of(folder)
    with rerank_server(tei) as server:
        asked = run_cli("rerank", "check", **{f"{PREFIX}BACKEND": "http", f"{PREFIX}URL": server.url})
    assert (asked.code, asked.out.splitlines()[0]) == (0, "model       tei")


def test_what_is_wrong_has_an_exit_code_and_a_reason(run_cli: Run, backwards: Path):
    useless = run_cli("rerank", "check", str(backwards), "--json")
    assert (useless.code, json.loads(useless.out)["problems"][0]["code"]) == (8, "relevance_lost")
    down = run_cli("rerank", "check", **{f"{PREFIX}BACKEND": "http", f"{PREFIX}URL": "http://127.0.0.1:9"})
    assert (down.code, "[reranker_unavailable]" in down.out) == (8, True)
    nothing = run_cli("rerank", "check")
    assert (nothing.code, "set MCP_MEMORY_RERANK_BACKEND" in nothing.err) == (6, True)
    (backwards / "tokenizer.json").unlink()
    for said in (
        run_cli("rerank", "check", str(backwards)),
        run_cli("search", QUERY, **environment_of(backwards)),
        run_cli("serve", "--http-port", "0", **environment_of(backwards)),
    ):
        assert said.code == 6
        assert f"There is no tokenizer.json in {backwards}" in said.err


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ({"rerank_backend": "onnx"}, "BACKEND=onnx needs MCP_MEMORY_RERANK_FOLDER"),
        ({"rerank_backend": "http"}, "BACKEND=http needs MCP_MEMORY_RERANK_URL"),
        (
            {"rerank_backend": "http", "rerank_url": "http://a", "rerank_api": "cohere"},
            "API=cohere needs MCP_MEMORY_RERA",
        ),
        ({"rerank_top_n": 4}, r"MCP_MEMORY_RERANK_TOP_N: .* \(allowed: 5 to 100\)"),
        ({"rerank_weight": 0}, r"MCP_MEMORY_RERANK_WEIGHT: .* \(allowed: above 0 to 1\)"),
        ({"rerank_url": "ftp://a"}, "MCP_MEMORY_RERANK_URL: must be an http or https address"),
        ({"rerank_api_key": "a\nb"}, "MCP_MEMORY_RERANK_API_KEY: must be printable ASCII"),
    ],
)
def test_settings_that_cannot_work_are_refused(chosen: dict[str, Any], told: str):
    with pytest.raises(ConfigurationError, match=told):
        load_settings(chosen)


def test_an_evaluation_has_a_row_for_it(run_cli: Run, tmp_path: Path, folder: Path, backwards: Path):
    data = write_set(
        tmp_path / "set",
        corpus=[{"id": str(number), "text": text} for number, text in enumerate(TEXTS)],
        queries=[{"id": "q", "text": QUERY}],
        relevant=[("q", "2")],
    )
    flags = ("--cache", str(tmp_path / "cache"), "--rerank-backend", "onnx", "--rerank-folder")
    ran = run_cli("eval", "run", "--data", str(data), *flags, str(folder), "--out", str(tmp_path / "out"))
    assert ran.code == 0, ran.err
    (result,) = json.loads((tmp_path / "out" / "results.json").read_text())
    row = result["rows"]["hybrid, re-ranked"]
    assert (row["means"]["hit_at_1"], row["paired_difference"]["reference"], row["degraded"]) == (1.0, "hybrid", {})
    assert "| hybrid, re-ranked |" in ran.out
    worse = run_cli("eval", "run", "--data", str(data), *flags, str(backwards), "--json", MCP_MEMORY_RERANK_WEIGHT="1")
    rows = json.loads(worse.out)[0]["rows"]
    assert (rows["hybrid"]["means"]["hit_at_1"], rows["hybrid, re-ranked"]["means"]["hit_at_1"]) == (1.0, 0.0)
    down = {f"{PREFIX}BACKEND": "http", f"{PREFIX}URL": "http://127.0.0.1:9", f"{PREFIX}TIMEOUT_SECONDS": "0.05"}
    told = run_cli("eval", "run", "--data", str(data), "--cache", str(tmp_path / "cache"), **down)
    assert "hybrid, re-ranked: rerank_" in told.out
    assert " in 1 of 1 queries." in told.out
