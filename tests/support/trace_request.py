"""How far one request runs through the program: functions, files, changes of file, threads.

    python -m tests.support.trace_request            # the figures
    python -m tests.support.trace_request --calls    # and every function, in the order of its first call

A store with an index is filled; then one `POST /memories` is traced, and the `POST /memories/retrieve` after it, which
is the longest way a search takes: it first takes the new memory into the index.
"""

import argparse
import logging
import sys
import tempfile
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

from starlette.testclient import TestClient
from tests.recorded.corpus import memories
from tests.support.index_ready import wait_for_index

import mcp_memory_service

PACKAGE = str(Path(mcp_memory_service.__file__).parent)
QUERY = {"query": "which port does the rathole tunnel use", "page_size": 10}


@dataclass
class Trace:
    """The calls of functions of ours, in order. Comprehensions are part of the function they stand in."""

    calls: list[tuple[CodeType, int]] = field(default_factory=list[tuple[CodeType, int]])
    on: bool = False

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> None:
        code = frame.f_code
        if self.on and event == "call" and code.co_filename.startswith(PACKAGE) and code.co_name[1:5] not in _INLINE:
            self.calls.append((code, threading.get_ident()))

    @property
    def functions(self) -> list[CodeType]:
        return list(dict.fromkeys(code for code, _ in self.calls))

    @property
    def files(self) -> list[str]:
        return list(dict.fromkeys(code.co_filename for code in self.functions))

    @property
    def changes_of_file(self) -> int:
        files = [code.co_filename for code, _ in self.calls]
        return sum(one != other for one, other in pairwise(files))

    @property
    def threads(self) -> int:
        return len({thread for _, thread in self.calls})

    def __str__(self) -> str:
        return (
            f"{len(self.functions)} functions in {len(self.files)} files, {len(self.calls)} calls,"
            f" {self.changes_of_file} changes of file, {self.threads} threads"
        )


_INLINE = {"list", "gene", "dict", "setc"}


@contextmanager
def traced(trace: Trace) -> Generator[None, None, None]:
    trace.on = True
    try:
        yield
    finally:
        trace.on = False


def trace_store_and_search(folder: Path) -> tuple[Trace, Trace]:
    storing, searching = Trace(), Trace()

    def both(frame: FrameType, event: str, argument: Any) -> None:
        storing(frame, event, argument)
        searching(frame, event, argument)

    threading.setprofile(both)
    sys.setprofile(both)
    try:
        with _client(folder) as client:
            _post(client, "/memories/batch", {"memories": memories()[:100]})
            wait_for_index(client, folder / "traced.db")
            _post(client, "/memories/retrieve", QUERY)
            with traced(storing):
                _post(client, "/memories", {"content": "Rathole listens on port 2333", "tags": ["rathole", "port"]})
            with traced(searching):
                _post(client, "/memories/retrieve", QUERY)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # pyright: ignore[reportArgumentType] -- which is how it is switched off
    return storing, searching


def _client(folder: Path) -> TestClient:
    from mcp_memory_service.api import create_app  # noqa: PLC0415 -- imported while it is not traced
    from mcp_memory_service.config import load_settings  # noqa: PLC0415

    settings = load_settings({"sqlite_path": folder / "traced.db", "search_index_min_memories": 1})
    return TestClient(create_app(settings), base_url="http://127.0.0.1:8000")


def _post(client: TestClient, path: str, body: dict[str, Any]) -> dict[str, Any]:
    response = client.post(path, json=body)
    response.raise_for_status()
    return response.json()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", action="store_true", help="list the functions")
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)
    with tempfile.TemporaryDirectory() as folder:
        storing, searching = trace_store_and_search(Path(folder))
    for title, trace in (("store", storing), ("search", searching)):
        print(f"{title}: {trace}")
        if options.calls:
            for code in trace.functions:
                print(f"    {Path(code.co_filename).relative_to(PACKAGE)}:{code.co_firstlineno} {code.co_qualname}")


if __name__ == "__main__":
    main()
