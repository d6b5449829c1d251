"""The server under fire: a real process with a key, and whether it still works afterwards."""

import json
import re
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

import httpx
from tests.integration.conftest import Server, server_process

KEY = "key-of-the-fuzzer-0123456789abcdef0123456789abcdef"
FAILURES_TOLD = 20
# How the libraries log that a client hung up before it was answered; nothing is left to answer.
HUNG_UP = ("starlette.requests.ClientDisconnect", "; the handler is closed")


@dataclass
class Figures:
    seed: int
    sent: int = 0
    statuses: dict[str, int] = field(default_factory=dict[str, int])
    """How often each status or kind of answer came."""
    failed: int = 0
    failures: list[str] = field(default_factory=list[str])
    """The first ones, each with what shows it."""

    @property
    def clean(self) -> bool:
        return not self.failed

    def count(self, answer: str) -> None:
        self.statuses[answer] = self.statuses.get(answer, 0) + 1

    def fail(self, what: str) -> None:
        self.failed += 1
        if len(self.failures) < FAILURES_TOLD:
            self.failures.append(what)

    def tell_and_exit(self) -> None:
        """The figures on standard output; the exit code says whether they are clean."""
        counted = {**asdict(self), "statuses": dict(sorted(self.statuses.items()))}
        del counted["failures"]
        told = [json.dumps(counted, indent=2), *self.failures]
        print("\n\n".join(told))  # noqa: T201
        raise SystemExit(0 if self.clean else 1)


@contextmanager
def server_under_fire(folder: Path) -> Generator[Server, None, None]:
    """With a key, so that what is declared about keys is tried as well."""
    with server_process(folder, MCP_MEMORY_API_KEY=KEY) as server:
        server.http.headers["authorization"] = f"Bearer {KEY}"
        yield server


def look_afterwards(server: Server, figures: Figures) -> None:
    """A server that was hurt says so here: it is gone, has logged a traceback, or does not work any more."""
    if (code := server.process.poll()) is not None:
        figures.fail(f"the server ended with exit code {code}")
        return
    for last_line in tracebacks(server.log):
        figures.fail(f"a traceback in the log of the server: {last_line}")
    try:
        health = server.http.get("/health")
        stored = server.http.post("/memories", json={"content": "stored after the fuzzing"})
        found = server.http.post("/memories/retrieve", json={"query": "stored after the fuzzing"})
    except httpx.TransportError as error:
        figures.fail(f"the server does not answer any more: {error!r}")
        return
    for answer in (health, stored, found):
        if answer.status_code not in {200, 201}:
            figures.fail(f"{answer.request.url.path} answers {answer.status_code} afterwards: {answer.text[:200]}")


def tracebacks(log: Path) -> list[str]:
    """The last line of each: what nobody expected is logged with its traceback, also where the answer hides it."""
    records = re.split(r"\n(?=\d{4}-\d\d-\d\d )", log.read_text(errors="replace").strip())
    ends = [record.splitlines()[-1] for record in records if "Traceback (most recent call last)" in record]
    return [end for end in ends if not any(sign in end for sign in HUNG_UP)]
