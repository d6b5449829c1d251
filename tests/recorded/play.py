"""Plays the recorded requests on a store of its own and returns what comes back, without what differs by run."""

import asyncio
import hashlib
import io
import json
import re
import sys
from collections.abc import Generator, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any, cast

import pytest
from mcp import Client
from starlette.testclient import TestClient
from tests.recorded import requests
from tests.recorded.corpus import memories
from tests.support.fakes import WordEmbedder
from tests.support.index_ready import wait_for_index

from mcp_memory_service.api import create_app
from mcp_memory_service.bootstrap import open_service
from mcp_memory_service.cli import main
from mcp_memory_service.config import Settings, load_settings
from mcp_memory_service.mcp_server import build_mcp_server

RESPONSE_CHARS = 6_000

# What differs from run to run, or with the version of the schema.
_VARYING = {"took_ms", "size_bytes", "schema_version", "version", "database_bytes"}
_FLOAT_DIGITS = 5
_TEXT_PATTERNS = (
    (re.compile(r"\d+ ms\)"), "N ms)"),
    (re.compile(r"schema version \d+"), "schema version N"),
    (re.compile(r"\d+\.\d MiB"), "N MiB"),
    (re.compile(r"\d+ bytes\.$"), "N bytes."),
    (re.compile(r"\b20[2-9]\d-\d\d-\d\d(T\d\d:\d\dZ)?"), "TODAY"),
    (re.compile(r"(\d+\.\d{4})\d*"), r"\1"),
    (re.compile(r"newest .*"), "newest N"),
    (re.compile(r"python -m \S*mcp-memory"), "mcp-memory"),
)


def play(folder: Path) -> dict[str, Any]:
    """Every request, by its door and number, with its answer."""
    with embedding_server() as url:
        settings = load_settings(
            {
                "sqlite_path": folder / "recorded.db",
                "search_index": False,
                "embedding": {"backend": "http", "url": url, "model": WordEmbedder.model_id, "dimension": 64},
            }
        )
        answers = dict(_by_rest(settings))
        answers |= _by_rest_with_index(settings)
        answers |= asyncio.run(_by_mcp(settings))
        answers |= _by_cli(settings, url)
    return answers


def _by_rest(settings: Settings) -> Iterator[tuple[str, Any]]:
    with TestClient(create_app(settings), base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        stored = memories()
        for start in range(0, len(stored), 100):
            client.post("/memories/batch", json={"memories": stored[start : start + 100]}).raise_for_status()
        for number, call in enumerate(requests.searches()):
            yield f"rows {number:03} {_title(call)}", _answer(client, call)
        for number, call in enumerate([*requests.reads_and_writes(), *requests.bad_requests()]):
            yield f"rest {number:03} {_title(call)}", _answer(client, call)
        schema: dict[str, Any] = client.get("/openapi.json").json()
        yield "rest openapi", {path: sorted(methods) for path, methods in schema["paths"].items()}


def _by_rest_with_index(settings: Settings) -> dict[str, Any]:
    indexed = settings.model_copy(update={"search_index": True, "search_index_min_memories": 1})
    with TestClient(create_app(indexed), base_url="http://127.0.0.1:8000", raise_server_exceptions=False) as client:
        wait_for_index(client, settings.sqlite_path)
        return {
            f"index {number:03} {_title(call)}": _answer(client, call)
            for number, call in enumerate(requests.searches())
        }


async def _by_mcp(settings: Settings) -> dict[str, Any]:
    answers: dict[str, Any] = {}
    async with open_service(settings) as service:
        server = build_mcp_server(service, RESPONSE_CHARS, settings.mcp_toolsets)
        async with Client(server) as client:
            for tool in (await client.list_tools()).tools:
                answers[f"tool {tool.name}"] = normal(tool.model_dump(mode="json"))
            for number, call in enumerate(requests.tool_calls()):
                result = await client.call_tool(call.tool, call.arguments)
                answers[f"mcp {number:03} {call.tool} {_short(call.arguments)}"] = normal(
                    {
                        "is_error": bool(result.is_error),
                        "text": [getattr(block, "text", "") for block in result.content],
                        "structured": result.structured_content,
                    }
                )
    return answers


def _by_cli(settings: Settings, url: str) -> dict[str, Any]:
    environment = {
        "MCP_MEMORY_SQLITE_PATH": str(settings.sqlite_path),
        "MCP_MEMORY_EMBEDDING_BACKEND": "http",
        "MCP_MEMORY_EMBEDDING_URL": url,
        "MCP_MEMORY_EMBEDDING_MODEL": WordEmbedder.model_id,
        "MCP_MEMORY_EMBEDDING_DIMENSION": "64",
        "COLUMNS": "100",
    }
    return {
        f"cli {number:03} {' '.join(command.arguments)[:100]}": _run(command, environment, settings.sqlite_path.parent)
        for number, command in enumerate(requests.commands())
    }


def _run(command: requests.Command, environment: Mapping[str, str], folder: Path) -> Any:
    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in environment.items():
            patch.setenv(name, value)
        patch.chdir(folder)
        patch.setattr(sys, "argv", ["mcp-memory", *command.arguments])
        patch.setattr(sys, "stdin", io.TextIOWrapper(_Pipe(command.stdin.encode())))
        code: Any = 0
        with redirect_stdout(out), redirect_stderr(err):
            try:
                main()
            except SystemExit as ended:
                code = ended.code or 0
    shown = [text.getvalue().replace(str(folder), "FOLDER") for text in (out, err)]
    parsed = _json_or_text(shown[0])
    return normal({"code": code, "out": parsed, "err": shown[1]})


class _Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


def _json_or_text(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _answer(client: TestClient, call: requests.RestCall) -> Any:
    sent: dict[str, Any] = {"json": call.json} if call.json is not None else {}
    if call.body is not None:
        sent = {"content": call.body.encode()}
    response = client.request(call.method, call.path, headers=call.headers, **sent)
    kinds = {name: response.headers[name] for name in ("content-type", "retry-after") if name in response.headers}
    return normal({"status": response.status_code, **kinds, "body": _json_or_text(response.text)})


def normal(value: Any) -> Any:
    """Rounded, without what varies; a memory as a digest of all it says, so that the record stays small."""
    if isinstance(value, dict):
        fields = cast("dict[str, Any]", value)
        if {"content", "content_hash", "metadata", "tags"} <= fields.keys():
            return _memory(fields)
        return {name: normal(item) for name, item in fields.items() if name not in _VARYING}
    if isinstance(value, list):
        return [normal(item) for item in cast("list[Any]", value)]
    if isinstance(value, float):
        return round(value, _FLOAT_DIGITS)
    if isinstance(value, str):
        for pattern, replacement in _TEXT_PATTERNS:
            value = pattern.sub(replacement, value)
        return value if len(value) < 4_000 else f"{value[:200]} … {hashlib.sha256(value.encode()).hexdigest()}"
    return value


def _memory(fields: dict[str, Any]) -> str:
    said = {name: item for name, item in fields.items() if name not in {"updated_at", "edited_at"}}
    if str(said.get("created_at", "")) >= "2020":
        said["created_at"] = "TODAY"
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()[:16]


def _title(call: requests.RestCall) -> str:
    return f"{call.method} {call.path[:60]} {_short(call.body or call.json)}".strip()


def _short(value: Any) -> str:
    text = "" if value is None else json.dumps(value, ensure_ascii=True)
    return text if len(text) <= 100 else f"{text[:100]}…"


@contextmanager
def embedding_server() -> Generator[str, None, None]:
    """The words of a text as a vector, by the protocol of OpenAI: the same on every machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Embeddings)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


class _Embeddings(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        data = [
            {"index": number, "embedding": WordEmbedder.vector(text).tolist()}
            for number, text in enumerate(asked["input"])
        ]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 -- as its base calls it
        pass
