"""Asks a server over REST through so many connections at once, in a process of its own; started by `end_to_end.py`.

Reads {"url", "queries", "connections", "seconds"} from standard input. HTTP is spoken over plain sockets: a full client
library would need more of the two cores than the server it measures.
"""

import asyncio
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any
from urllib.parse import urlsplit

from measuring import Stopwatch

Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class Load:
    def __init__(self, url: str, queries: Sequence[str], seconds: float) -> None:
        parts = urlsplit(url)
        self._host, self._port = parts.hostname or "127.0.0.1", parts.port or 80
        self._watch = Stopwatch(queries, seconds)
        self._errors: dict[str, int] = {}
        self._degraded = 0

    async def run(self, connections: int) -> dict[str, Any]:
        await asyncio.gather(*(self._ask_on_one_connection() for _ in range(connections)))
        return {**asdict(self._watch.latency()), "cpu_ms": None, "errors": self._errors, "degraded": self._degraded}

    async def _ask_on_one_connection(self) -> None:
        connection: Connection | None = None
        for query in self._watch:
            started = time.perf_counter()
            try:
                connection = connection or await asyncio.open_connection(self._host, self._port)
                status, body = await self._post(connection, query)
            except (OSError, asyncio.IncompleteReadError) as error:
                self._count(type(error).__name__)
                connection = None
                continue
            self._watch.note(time.perf_counter() - started)
            if status != 200:
                self._count(str(status))
            elif json.loads(body)["degraded"]:
                self._degraded += 1
        if connection:
            connection[1].close()

    async def _post(self, connection: Connection, query: str) -> tuple[int, bytes]:
        reader, writer = connection
        body = json.dumps({"query": query}).encode()
        head = (
            f"POST /memories/retrieve HTTP/1.1\r\nHost: {self._host}:{self._port}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        )
        writer.write(head.encode() + body)
        await writer.drain()
        status_line, *fields = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        lengths = [field for field in fields if field.lower().startswith("content-length:")]
        return int(status_line.split(" ")[1]), await reader.readexactly(int(lengths[0].split(":")[1]))

    def _count(self, error: str) -> None:
        self._errors[error] = self._errors.get(error, 0) + 1


def main() -> None:
    told = json.load(sys.stdin)
    json.dump(asyncio.run(Load(told["url"], told["queries"], told["seconds"]).run(told["connections"])), sys.stdout)


if __name__ == "__main__":
    main()
