"""A re-ranking server on loopback, which answers as it is told; by default with the words that query and text share."""

import json
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any, TypeAlias

Answer: TypeAlias = Callable[[dict[str, Any]], tuple[int, str]]
"""From the body of a request to a status and a text."""


@dataclass
class RerankStandIn:
    url: str
    asked: list[tuple[str, str | None, dict[str, Any]]] = field(default_factory=list[Any])
    """Path, key and body of each request."""
    ended: Event = field(default_factory=Event)


def shared_words(query: str, text: str) -> float:
    return float(len(set(query.lower().split()) & set(text.lower().split())))


def tei(body: dict[str, Any]) -> tuple[int, str]:
    """Best first, as TEI does."""
    scores = [{"index": i, "score": shared_words(body["query"], text)} for i, text in enumerate(body["texts"])]
    return 200, json.dumps(sorted(scores, key=lambda each: -float(each["score"])))


def cohere(body: dict[str, Any]) -> tuple[int, str]:
    found = [
        {"index": i, "relevance_score": shared_words(body["query"], text)} for i, text in enumerate(body["documents"])
    ]
    best_first = sorted(found, key=lambda each: -float(each["relevance_score"]))
    return 200, json.dumps({"id": "1", "results": best_first[: body["top_n"]], "meta": {}})


@contextmanager
def rerank_server(answer: Answer | None = tei) -> Generator[RerankStandIn, None, None]:
    """None does not answer before the end."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            stand_in.asked.append((self.path, self.headers["authorization"], body))
            if answer is None:
                stand_in.ended.wait()
            status, text = (503, "too late") if answer is None else answer(body)
            with suppress(ConnectionError):  # who asked may have gone
                self.send_response(status)
                self.send_header("content-length", str(len(text.encode())))
                self.end_headers()
                self.wfile.write(text.encode())

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - its name in the library
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    stand_in = RerankStandIn(f"http://127.0.0.1:{server.server_address[1]}")
    serving = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    serving.start()
    try:
        yield stand_in
    finally:
        stand_in.ended.set()
        server.shutdown()
        serving.join()
        server.server_close()
