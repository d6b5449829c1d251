"""REST as a client sees it: shapes, statuses, paging, errors."""

from typing import Any

import pytest
from starlette.testclient import TestClient

RATHOLE = {
    "content": "Rathole forwards port 2333",
    "tags": ["Rathole", "vps"],
    "memory_type": "fact",
    "metadata": {"p": 1},
}


def store(rest: TestClient, **fields: Any) -> dict[str, Any]:
    answer = rest.post("/memories", json=fields)
    assert answer.status_code in {200, 201}, answer.text
    return answer.json()


def test_store_get_patch_delete(rest: TestClient):
    created = rest.post("/memories", json=RATHOLE)
    assert created.status_code == 201
    body = created.json()
    assert body["created"] is True
    assert body["memory"].items() >= RATHOLE.items()
    assert body["content_hash"] == body["memory"]["content_hash"]
    assert body["memory"]["created_at"].endswith("Z")
    again = rest.post("/memories", json={**RATHOLE, "tags": ["new"]})
    assert (again.status_code, again.json()["created"]) == (200, False)
    assert again.json()["memory"]["tags"] == ["Rathole", "vps", "new"]
    url = f"/memories/{body['content_hash']}"
    patched = rest.patch(url, json={"tags": ["only"], "memory_type": None, "metadata": {"p": None, "q": 2}})
    assert patched.status_code == 200
    assert rest.get(url).json() == patched.json()
    assert patched.json()["tags"] == ["only"]
    assert (patched.json()["memory_type"], patched.json()["metadata"]) == (None, {"q": 2})
    assert rest.patch(url, json={}).json() == patched.json()
    deleted = rest.delete(url)
    assert (deleted.status_code, deleted.content) == (204, b"")
    for answer in (rest.get(url), rest.delete(url), rest.patch(url, json={})):
        assert (answer.status_code, answer.json()["code"]) == (404, "memory_not_found")


def test_a_batch_answers_in_order_and_is_all_or_nothing(rest: TestClient):
    texts = [f"memory {i}" for i in range(5)]
    answer = rest.post("/memories/batch", json={"memories": [{"content": text} for text in [*texts, texts[0]]]})
    results = answer.json()["results"]
    assert [result["memory"]["content"] for result in results] == [*texts, texts[0]]
    assert [result["created"] for result in results] == [True] * 5 + [False]
    refused = rest.post("/memories/batch", json={"memories": [{"content": "fine"}, {"content": ""}]})
    assert (refused.status_code, refused.json()["code"]) == (422, "content_empty")
    assert refused.json()["errors"][0]["field"] == "memories.1.content"
    assert rest.get("/memories").json()["total"] == 5


def test_retrieve_has_the_agreed_shape(rest: TestClient):
    store(rest, **RATHOLE)
    answer = rest.post("/memories/retrieve", json={"query": "rathole port", "debug": True}).json()
    assert set(answer) == {
        "results", "query", "mode", "page", "page_size", "total", "total_pages", "has_more", "alpha_used", "evidence",
        "confidence", "confidence_note", "cut", "keywords", "degraded", "time_understood", "after", "before", "took_ms",
    }  # fmt: skip
    hit = answer["results"][0]
    assert set(hit) == {"memory", "score", "similarity", "provenance", "snippet", "debug"}
    assert set(hit["debug"]) >= {
        "vector_score", "vector_rank", "vector_rrf", "tag_boost", "tag_matches", "recency_factor", "final_score",
        "alpha_used",
    }  # fmt: skip
    assert hit["debug"]["tag_matches"] == ["Rathole"]
    assert hit["provenance"]["tag"]["rank"] == 1
    assert hit["memory"]["content"] == RATHOLE["content"]
    plain = rest.post("/memories/retrieve", json={"query": "rathole port"}).json()
    assert plain["results"][0]["debug"] is None


def test_pages_are_disjoint_ordered_and_complete(rest: TestClient):
    rest.post(
        "/memories/batch",
        json={"memories": [{"content": f"server note {i}", "tags": [f"t{i % 4}"]} for i in range(25)]},
    )
    pages = [
        rest.post(
            "/memories/retrieve", json={"query": "notes of the server t1 t2", "page": page, "page_size": 10}
        ).json()
        for page in (1, 2, 3, 4)
    ]
    hashes = [hit["memory"]["content_hash"] for page in pages for hit in page["results"]]
    scores = [hit["score"] for page in pages for hit in page["results"]]
    assert len(hashes) == len(set(hashes)) == 25
    assert scores == sorted(scores, reverse=True)
    assert [len(page["results"]) for page in pages] == [10, 10, 5, 0]
    assert [page["has_more"] for page in pages] == [True, True, False, False]
    assert {(page["total"], page["total_pages"]) for page in pages} == {(25, 3)}


def test_listing_filters_and_pages(rest: TestClient):
    store(rest, content="old", tags=["a"], created_at="2025-01-01T00:00:00Z", memory_type="fix")
    store(rest, content="new", tags=["a", "b"], created_at="2025-06-01T02:00:00+02:00")
    assert [m["content"] for m in rest.get("/memories").json()["memories"]] == ["new", "old"]
    assert rest.get("/memories").json()["memories"][0]["created_at"] == "2025-06-01T00:00:00Z"

    def listed(query: str) -> list[str]:
        return [memory["content"] for memory in rest.get(f"/memories?{query}").json()["memories"]]

    assert listed("tags=A&tags=b") == ["new", "old"]
    assert listed("tags=a&tags=b&tag_match=all") == ["new"]
    assert listed("memory_type=fix") == ["old"]
    assert listed("before=2025-03-01T00:00:00Z") == ["old"]
    assert listed("after=2025-03-01") == ["new"]
    assert listed("page=2&page_size=1") == ["old"]


def test_tags_stats_health_ready_metrics(rest: TestClient):
    store(rest, **RATHOLE)
    store(rest, content="other", tags=["VPS"])
    assert rest.get("/tags").json() == {"tags": [{"tag": "vps", "memories": 2}, {"tag": "Rathole", "memories": 1}]}
    stats = rest.get("/stats").json()
    assert (stats["memories"], stats["embedding_model"]) == (2, "all-MiniLM-L6-v2-onnx-int8")
    assert rest.get("/health").json()["status"] == "ok"
    assert rest.get("/ready").json() == {"ready": True, "can_store": True, "can_search": True, "problems": []}
    metrics = rest.get("/metrics").text
    assert 'mcp_memory_requests_total{method="POST",route="/memories",status="201"} 2.0' in metrics
    assert "Rathole" not in metrics


# --- odd input: a 4xx with a stable code and a sentence, never a 500, never a silent change

ODD_MEMORIES: list[tuple[str, str, int, str]] = [
    ("empty content", '{"content": ""}', 422, "content_empty"),
    ("blank content", '{"content": " \\n\\t"}', 422, "content_empty"),
    ("1 MB content", '{"content": "' + "x" * 1_000_000 + '"}', 422, "content_too_long"),
    ("10,000 tags", '{"content": "x", "tags": [' + ",".join(['"t"'] * 10_000) + "]}", 422, "too_many_tags"),
    ("empty tag", '{"content": "x", "tags": [""]}', 422, "tag_empty"),
    ("NaN", '{"content": "x", "metadata": {"n": NaN}}', 422, "number_not_finite"),
    ("1e999", '{"content": "x", "metadata": {"n": 1e999}}', 422, "number_not_finite"),
    ("surrogate in content", '{"content": "a\\ud800b"}', 422, "lone_surrogate"),
    ("surrogate in metadata", '{"content": "x", "metadata": {"k": ["\\udc00"]}}', 422, "lone_surrogate"),
    ("surrogate in a key", '{"content": "x", "metadata": {"\\ud800": 1}}', 422, "lone_surrogate"),
    ("surrogate in a field name", '{"content": "x", "\\ud800": 1}', 422, "validation_failed"),
    ("surrogate in a tag", '{"content": "x", "tags": ["\\ud800"]}', 422, "lone_surrogate"),
    ("integer beyond 64 bit", '{"content": "x", "metadata": {"n": 9223372036854775808}}', 422, "integer_out_of_range"),
    ("integer of 5,000 digits", '{"content": "x", "metadata": {"n": ' + "9" * 5_000 + "}}", 400, "malformed_request"),
    ("sequence beyond 64 bit", '{"content": "x", "sequence": 9223372036854775808}', 422, "sequence_out_of_range"),
    ("NUL", '{"content": "a\\u0000b"}', 422, "control_character"),
    ("escape sequence", '{"content": "\\u001b[31m"}', 422, "control_character"),
    ("future", '{"content": "x", "created_at": "2999-01-01T00:00:00Z"}', 422, "timestamp_in_future"),
    ("before year 1", '{"content": "x", "created_at": "0001-01-01T00:00:00+14:00"}', 422, "timestamp_out_of_range"),
    ("digits as time", '{"content": "x", "created_at": "1700000000"}', 422, "validation_failed"),
    ("sequence is no number", '{"content": "x", "sequence": true}', 422, "validation_failed"),
    ("invisible content", '{"content": "\\u200b"}', 422, "content_empty"),
    ("line break in a tag", '{"content": "x", "tags": ["a\\r\\nb"]}', 422, "control_character"),
    ("number as time", '{"content": "x", "created_at": 1700000000}', 422, "validation_failed"),
    ("no time", '{"content": "x", "created_at": "yesterday"}', 422, "validation_failed"),
    ("deep metadata", '{"content": "x", "metadata": ' + '{"k":' * 50 + "1" + "}" * 51, 422, "metadata_too_deep"),
    ("endless nesting", '{"content": "x", "metadata": ' + "[" * 100_000, 413, "body_too_complex"),
    (
        "large metadata",
        '{"content": "x", "metadata": {"k": ["' + '","'.join(["y" * 99] * 900) + '"]}}',
        422,
        "metadata_too_large",
    ),
    ("no content", "{}", 422, "validation_failed"),
    ("misspelt field", '{"content": "x", "tag": ["a"]}', 422, "validation_failed"),
    ("wrong type", '{"content": 5}', 422, "validation_failed"),
    ("metadata is a list", '{"content": "x", "metadata": []}', 422, "validation_failed"),
    ("not an object", "[]", 422, "validation_failed"),
    ("not JSON", "{content}", 400, "malformed_json"),
    ("nothing", "", 422, "validation_failed"),
]


@pytest.mark.parametrize(
    ("body", "status", "code"), [case[1:] for case in ODD_MEMORIES], ids=[case[0] for case in ODD_MEMORIES]
)
def test_an_odd_memory_is_refused_and_nothing_is_stored(rest: TestClient, body: str, status: int, code: str):
    answer = rest.post("/memories", content=body, headers={"content-type": "application/json"})
    problem = answer.json()
    assert answer.status_code == status, problem
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["status"] == status
    assert problem["code"] == (code or problem["code"])
    assert len(problem["detail"]) > 5
    assert rest.get("/memories").json()["total"] == 0


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"query": ""}, 422),
        ({"query": "  "}, 422),
        ({"query": "x" * 10_001}, 422),
        ({"query": "a\x00b"}, 422),
        ({"query": "x", "page": 0}, 422),
        ({"query": "x", "page": -1}, 422),
        ({"query": "x", "page": 10**30}, 422),
        ({"query": "x", "page_size": 0}, 422),
        ({"query": "x", "page_size": 10**9}, 422),
        ({"query": "x", "page_size": 1.5}, 422),
        ({"query": "x", "page_size": True}, 422),
        ({"query": "x", "after": "-5.3e-14"}, 422),
        ({"query": "x", "alpha": 1.01}, 422),
        ({"query": "x", "alpha": -1}, 422),
        ({"query": "x", "min_similarity": 2}, 422),
        ({"query": "x", "tags": ["t"] * 10_000}, 422),
        ({"query": "x", "tag_match": "some"}, 422),
        ({"query": "x", "limit": 5}, 422),
        ({"query": "x", "mode": "magic"}, 422),
        ({"query": "x", "fts_weight": 0, "vector_weight": 0}, 422),
        ({"query": "x", "alpha": 0.5, "fts_weight": 0.5}, 422),
        ({"query": "x", "alpha": 5e-324}, 200),
        ({"query": "🚀🎉"}, 200),
        ({"query": "שלום עולם"}, 200),
        ({"query": "如何部署服务"}, 200),
        ({"query": '"unbalanced NEAR( AND * OR -- ; DROP TABLE memories'}, 200),
        ({"query": "content:foo^2 {a b} [c] \\ % _ ' ` $"}, 200),
        ({"query": "line\nbreak\tand tab"}, 200),
        ({"query": "the of and"}, 200),
        ({"query": "...!!!???"}, 200),
        ({"query": "word " * 2_000}, 200),
        ({"query": "x", "page": 1_000_000, "page_size": 100}, 200),
        ({"query": "x", "after": "2025-01-01", "before": "2024-01-01"}, 200),
    ],
    ids=lambda value: str(value)[:40],
)
def test_odd_queries_are_answered_or_refused_clearly(rest: TestClient, fields: dict[str, Any], status: int):
    store(rest, **RATHOLE)
    answer = rest.post("/memories/retrieve", json=fields)
    assert answer.status_code == status, answer.text
    if status == 200:
        assert answer.json()["query"] == fields["query"]
        assert answer.json()["degraded"] == []
    else:
        assert answer.json()["code"]


@pytest.mark.parametrize(
    "text", ["שלום עולם", "部署 🚀", "e\u0301 'quoted' \"text\"", "\u202eright to left\u202c", "a\u200bb"]
)
def test_text_of_any_script_is_stored_as_it_came(rest: TestClient, text: str):
    stored = store(rest, content=text, tags=[text], memory_type=text, metadata={text: text}, source=text)
    assert rest.get(f"/memories/{stored['content_hash']}").json()["content"] == text
    found = rest.post("/memories/retrieve", json={"query": text, "tags": [text], "memory_type": text}).json()
    assert [hit["memory"]["content"] for hit in found["results"]] == [text]


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/memories?page=0", 422),
        ("GET", "/memories?page_size=1000000000", 422),
        ("GET", "/memories?after=soon", 422),
        ("GET", "/memories?unknown=1", 422),
        ("GET", "/memories/%00", 404),
        ("GET", "/memories/%ED%A0%80", 404),
        ("GET", "/nowhere", 404),
        ("PUT", "/memories", 405),
        ("DELETE", "/memories/..%2f..%2fetc", 404),
    ],
)
def test_odd_addresses_get_a_problem(rest: TestClient, method: str, path: str, status: int):
    answer = rest.request(method, path)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"
    assert answer.json()["code"]


def test_a_patch_that_is_refused_changes_nothing(rest: TestClient):
    stored = store(rest, **RATHOLE)
    url = f"/memories/{stored['content_hash']}"
    for body in ({"content": " "}, {"tags": [""]}, {"metadata": {"n": 2**64}}, {"memory_type": " "}):
        assert rest.patch(url, json=body).status_code == 422
    assert rest.get(url).json() == stored["memory"]


def test_the_openapi_document_describes_the_service(rest: TestClient):
    document = rest.get("/openapi.json").json()
    assert set(document["paths"]) == {
        "/memories", "/memories/batch", "/memories/retrieve", "/memories/explain", "/memories/feedback",
        "/memories/purge", "/memories/{content_hash}", "/tags", "/stats", "/health", "/overview", "/trash", "/index",
        "/memories/{content_hash}/history", "/memories/{content_hash}/restore", "/memories/context",
        "/memories/delete", "/memories/retag",
        "/ready", "/metrics", "/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource/mcp",
    }  # fmt: skip
    retrieve = document["components"]["schemas"]["RetrieveIn"]
    assert all("description" in field or "$ref" in field for field in retrieve["properties"].values())
    assert retrieve["examples"]


def test_modes_and_weights_by_rest(rest: TestClient):
    store(rest, content="authenticate_user() checks the password", tags=["auth"])
    store(rest, content="The bakery opens at seven")

    def found(**fields: Any) -> dict[str, Any]:
        return rest.post("/memories/retrieve", json={"query": "authenticate_user", **fields}).json()

    keyword = found(mode="keyword")
    assert [hit["memory"]["content"] for hit in keyword["results"]] == ["authenticate_user() checks the password"]
    assert keyword["results"][0]["snippet"].startswith("**authenticate_user**")
    assert set(keyword["results"][0]["provenance"]) == {"keyword"}
    assert found(mode="semantic")["total"] == 2
    assert found(fts_weight=0.3, vector_weight=0.7)["alpha_used"] == pytest.approx(0.7)
    assert found(vector_threshold=0.99, tags=[])["total"] == 1


def test_explain_by_rest(rest: TestClient):
    for i in range(12):
        store(rest, content=f"server note {i}", tags=["server"])
    chosen = store(rest, content="The bakery opens at seven", memory_type="fact")["content_hash"]
    explained = rest.post("/memories/explain", json={"query": "server note 3", "content_hash": chosen}).json()
    assert (explained["rank"], explained["page"], explained["total"]) == (13, 2, 13)
    assert explained["signals_without_it"] == ["keyword", "tag"]
    assert len(explained["outranked_by"]) == 5
    assert explained["alpha_for_first_page"] is None
    assert "no alpha would" in explained["summary"]
    filtered = rest.post("/memories/explain", json={"query": "x", "content_hash": chosen, "memory_type": "note"}).json()
    assert (filtered["filtered_by"], filtered["rank"]) == (["memory_type"], None)
    unknown = rest.post("/memories/explain", json={"query": "x", "content_hash": "0" * 64})
    assert (unknown.status_code, unknown.json()["code"]) == (404, "memory_not_found")
    for bad in (
        {"query": "", "content_hash": chosen},
        {"query": "x"},
        {"query": "x", "content_hash": chosen, "debug": True},
    ):
        assert rest.post("/memories/explain", json=bad).status_code == 422


@pytest.mark.parametrize(
    ("path", "methods"),
    [
        ("/memories", {"GET", "POST"}),
        (f"/memories/{'0' * 64}", {"GET", "PATCH", "DELETE"}),
        ("/memories/batch", {"POST"}),
    ],
)
def test_a_method_that_is_not_allowed_is_told_all_that_are(rest: TestClient, path: str, methods: set[str]):
    answer = rest.put(path)
    assert (answer.status_code, set(answer.headers["allow"].split(", "))) == (405, methods)


def test_a_parameter_of_a_listing_is_given_once_but_tags(rest: TestClient):
    answer = rest.get("/memories?memory_type=a&memory_type=b")
    assert (answer.status_code, answer.json()["code"]) == (422, "parameter_repeated")
    assert rest.get("/memories?tags=a&tags=b").status_code == 200
