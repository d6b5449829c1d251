"""Fuzzed MCP messages over HTTP: each is answered by the protocol or refused with 4xx, and the next call works.

`python -m tests.fuzz.mcp_over_http --messages 5000 --seed 1`.
"""

import argparse
import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
from tests.integration.conftest import Server

from .mcp_messages import EXCHANGE_PROTOCOL, LIST_TOOLS, PROTOCOL, Tool, complaint, message, tools_of
from .mutations import written
from .target import Figures, look_afterwards, server_under_fire

HEADERS = {
    "content-type": "application/json",
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": PROTOCOL,
}
ODD_HEADERS: tuple[tuple[str, str], ...] = (
    ("accept", "text/plain"), ("accept", "*/*"), ("accept", ""), ("content-type", "text/plain"), ("content-type", ""),
    ("mcp-protocol-version", "9999-01-01"), ("mcp-protocol-version", "2024-11-05"), ("mcp-protocol-version", ""),
    ("mcp-session-id", "no-such-session"), ("mcp-session-id", "a" * 5_000), ("mcp-method", "ping"),
    ("last-event-id", "1"),
)  # fmt: skip
SHOWN_BYTES = 500


def run(folder: Path, messages: int, seed: int) -> Figures:
    figures, chance = Figures(seed), random.Random(seed)
    with server_under_fire(folder) as server:
        tools = listed_tools(server)
        for number in range(messages):
            body = message(number, tools, chance)
            headers = _headers(body, chance)
            figures.sent += 1
            try:
                answer = server.http.post("/mcp", content=body, headers=headers)
            except httpx.TransportError as error:
                figures.fail(f"message {number}: {error!r} for {body[:SHOWN_BYTES]!r}")
                continue
            figures.count(str(answer.status_code))
            for wrong in _complaints(answer):
                figures.fail(
                    f"message {number}: {wrong} for {headers} {body[:SHOWN_BYTES]!r}: {answer.text[:SHOWN_BYTES]}"
                )
        look_afterwards(server, figures)
        if listed_tools(server) != tools:
            figures.fail("other tools are listed than before")
    return figures


def listed_tools(server: Server) -> tuple[Tool, ...]:
    answer = server.http.post("/mcp", content=written(LIST_TOOLS), headers=HEADERS)
    (listed,) = _messages(answer)
    return tools_of(listed["result"])


def _headers(body: bytes, chance: random.Random) -> dict[str, str]:
    """Mostly those that a client sends with this message; the messages are what is fuzzed here."""
    headers = dict(HEADERS)
    match _read(body):
        case {"method": str() as method, "params": {"_meta": _, "name": str() as name}}:
            exchange = {"mcp-protocol-version": EXCHANGE_PROTOCOL, "mcp-method": method, "mcp-name": name}
            headers |= {
                key: value.strip() for key, value in exchange.items() if value.strip().isprintable() and value.isascii()
            }
        case _:
            pass
    if chance.random() < 0.1:
        headers |= [chance.choice(ODD_HEADERS)]
    return headers


def _read(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _complaints(answer: httpx.Response) -> Iterator[str]:
    if answer.status_code >= 500:
        yield str(answer.status_code)
    try:
        yield from filter(None, map(complaint, _messages(answer)))
    except ValueError:
        yield "no JSON"


def _messages(answer: httpx.Response) -> list[Any]:
    """Of an answer in one piece or of a stream of events; what refuses before the protocol speaks otherwise."""
    match answer.headers.get("content-type", "").partition(";")[0]:
        case "text/event-stream":
            lines = [line.removeprefix("data:").strip() for line in answer.text.splitlines() if line[:5] == "data:"]
            return [json.loads(line) for line in lines if line]
        case "application/json":
            return [json.loads(answer.content)] if answer.content else []
        case _:
            return [] if answer.status_code == 202 or answer.status_code >= 400 else [None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--messages", type=int, default=5_000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="mcp-memory-fuzz-") as folder:
        figures = run(Path(folder), options.messages, options.seed)
    figures.tell_and_exit()


if __name__ == "__main__":
    main()
