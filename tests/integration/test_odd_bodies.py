"""Whatever is sent to whatever route, with whatever content type: a problem that says why, never a 500."""

from collections.abc import Generator

import pytest
from starlette.testclient import TestClient
from tests.integration.conftest import rest_client

from mcp_memory_service.api.headers import SECURITY_HEADERS
from mcp_memory_service.api.security import OPEN_PATHS

JSON = {"content-type": "application/json"}
ROUTES = (
    "POST /memories",
    "POST /memories/batch",
    "POST /memories/purge",
    "POST /memories/retrieve",
    "POST /memories/explain",
    "POST /memories/feedback",
    "POST /memories/context",
    "POST /memories/delete",
    "POST /memories/retag",
    "PATCH /memories/abc",
    "POST /index",
)
OTHER_ROUTES = (
    *("GET /memories", "GET /memories/abc", "DELETE /memories/abc", "GET /tags", "GET /stats", "GET /metrics"),
    *("GET /health", "GET /ready", "GET /openapi.json", "GET /nowhere", "PUT /memories", "POST /mcp"),
    *("GET /index", "DELETE /index"),
)
ODD_BODIES: dict[str, tuple[bytes, int]] = {
    "list": (b"[]", 422),
    "text": (b'"content"', 422),
    "null": (b"null", 422),
    "number": (b"1", 422),
    "true": (b"true", 422),
    "NaN": (b"NaN", 422),
    "1e999": (b"1e999", 422),
    "lone surrogate": (b'"\\ud800"', 422),
    "lone surrogate as a key": (b'{"\\ud800": 1}', 422),
    "key twice": (b'{"content_hash": 1, "content_hash": [], "content": 1, "content": []}', 422),
    "byte order mark": (b"\xef\xbb\xbf[]", 422),
    "nothing": (b"", 422),
    "no JSON": (b"{content}", 400),
    "cut off": (b'{"content": "', 400),
    "not UTF-8": (b'"\xff"', 400),
    "UTF-16": ("{}".encode("utf-16"), 400),
    "NUL": (b"\0", 400),
    "nested": (b"[" * 10_000, 400),
    "long number": (b"9" * 5_000, 400),
}


@pytest.fixture(scope="module")
def rest(tmp_path_factory: pytest.TempPathFactory) -> Generator[TestClient, None, None]:
    with rest_client(tmp_path_factory.mktemp("odd") / "a.db") as client:
        yield client


def test_the_list_of_routes_is_complete(rest: TestClient):
    paths = rest.get("/openapi.json").json()["paths"]
    with_body = {
        f"{method.upper()} {path.replace('{content_hash}', 'abc')}"
        for path, methods in paths.items()
        for method, operation in methods.items()
        if "requestBody" in operation
    }
    assert with_body == set(ROUTES)


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(("body", "status"), ODD_BODIES.values(), ids=ODD_BODIES.keys())
def test_an_odd_body_gets_a_problem(rest: TestClient, route: str, body: bytes, status: int):
    answer = rest.request(*route.split(), content=body, headers=JSON)
    assert answer.status_code == status
    assert answer.headers["content-type"] == "application/problem+json"


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize(
    "content_type", ["text/plain", "text/json", "application/x-json-like", "multipart/form-data", "json", ""]
)
def test_what_is_not_announced_as_json_is_not_read(rest: TestClient, route: str, content_type: str):
    answer = rest.request(*route.split(), content=b'{"content": "x"}', headers={"content-type": content_type})
    assert (answer.status_code, answer.json()["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("route", [*ROUTES, *OTHER_ROUTES])
def test_every_answer_tells_browsers_and_caches_to_leave_it_alone(rest: TestClient, route: str):
    method, path = route.split()
    foreign = rest.request(method, path, headers={"host": "evil.example"})
    for answer in (rest.request(method, path), foreign):
        assert {name: answer.headers[name] for name in SECURITY_HEADERS} == SECURITY_HEADERS


def test_an_unexpected_error_has_the_headers_too(rest: TestClient, monkeypatch: pytest.MonkeyPatch):
    app = rest.app
    monkeypatch.delattr(app.state, "metrics")  # type: ignore[attr-defined]
    answer = rest.get("/metrics")
    assert (answer.status_code, answer.headers["cache-control"]) == (500, "no-store")


def test_the_openapi_document_tells_every_error_and_the_key(rest: TestClient):
    document = rest.get("/openapi.json").json()
    assert document["components"]["securitySchemes"] == {"bearer": {"type": "http", "scheme": "bearer"}}
    always, behind_the_key = {"400", "403", "408", "413", "421", "431", "503"}, {"401", "422", "429"}
    for path, methods in document["paths"].items():
        for operation in methods.values():
            is_open = path in OPEN_PATHS
            assert always <= operation["responses"].keys()
            assert is_open or behind_the_key <= operation["responses"].keys()
            assert ("415" in operation["responses"]) == ("requestBody" in operation)
            assert operation["security"] == ([] if is_open else [{"bearer": []}, {}])
            for status, response in operation["responses"].items():
                if int(status) >= 400:
                    problem = response["content"]["application/problem+json"]["schema"]
                    assert problem == {"$ref": "#/components/schemas/Problem"}
    assert "HTTPValidationError" not in document["components"]["schemas"]


def test_with_a_key_the_document_says_that_it_is_needed(tmp_path_factory: pytest.TempPathFactory):
    key = "0123456789abcdef-key"
    with rest_client(tmp_path_factory.mktemp("key") / "a.db", api_key=key) as client:
        document = client.get("/openapi.json", headers={"authorization": f"Bearer {key}"}).json()
    assert document["paths"]["/memories"]["post"]["security"] == [{"bearer": []}]
