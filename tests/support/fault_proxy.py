"""An HTTP proxy on loopback that delays, cuts, refuses or spoils what passes through it, as a network would."""

import asyncio
import random
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from enum import Enum
from urllib.parse import urlsplit


class Fault(Enum):
    NONE = "none"
    DELAY = "answers late"
    CUT_BEFORE = "cut before the server sees it"
    CUT_AFTER = "cut after the server has done it"
    ERROR_BEFORE = "503 before the server sees it"
    ERROR_AFTER = "502 after the server has done it"
    HALF_SENT = "half of the answer, then a cut"
    HALF_SAID = "half of the answer, as if it were all of it"


FAULTS = [fault for fault in Fault if fault is not Fault.NONE]

Plan = Callable[[], Fault]


def always(fault: Fault) -> Plan:
    return lambda: fault


def in_turn(faults: Iterable[Fault]) -> Plan:
    """These, one for each request, and none after that."""
    remaining = iter(faults)
    return lambda: next(remaining, Fault.NONE)


def at_random(share: float, seed: int) -> Plan:
    chance = random.Random(seed)
    return lambda: chance.choice(FAULTS) if chance.random() < share else Fault.NONE


@dataclass
class FaultProxy:
    target: str
    plan: Plan
    delay_seconds: float = 0.2
    url: str = ""
    seen: Counter[Fault] = field(default_factory=Counter[Fault])
    _serving: "set[asyncio.Task[None]]" = field(default_factory=set["asyncio.Task[None]"])

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        serving = asyncio.create_task(self._serve(reader, writer))
        self._serving.add(serving)
        serving.add_done_callback(self._serving.discard)

    async def close(self) -> None:
        """Hang up on everybody."""
        hung_up = list(self._serving)
        for serving in hung_up:
            serving.cancel()
        await asyncio.gather(*hung_up, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError):
                while True:
                    await self._pass_on(await _message(reader), writer)
        finally:
            writer.close()

    async def _pass_on(self, request: bytes, writer: asyncio.StreamWriter) -> None:
        fault = self.plan()
        self.seen[fault] += 1
        if fault is Fault.CUT_BEFORE:
            raise ConnectionError
        if fault is Fault.ERROR_BEFORE:
            answer = _error("503 Service Unavailable")
        else:
            answer = await self._ask(request)
        if fault is Fault.DELAY:
            await asyncio.sleep(self.delay_seconds)
        writer.write(_spoilt(answer, fault))
        await writer.drain()
        if fault in {Fault.CUT_AFTER, Fault.HALF_SENT}:
            raise ConnectionError

    async def _ask(self, request: bytes) -> bytes:
        parts = urlsplit(self.target)
        reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
        try:
            writer.write(request)
            return await _message(reader)
        finally:
            writer.close()


def _spoilt(answer: bytes, fault: Fault) -> bytes:
    head, _, body = answer.partition(b"\r\n\r\n")
    half = body[: len(body) // 2]
    if fault is Fault.CUT_AFTER:
        return b""
    if fault is Fault.ERROR_AFTER:
        return _error("502 Bad Gateway")
    if fault is Fault.HALF_SENT:
        return head + b"\r\n\r\n" + half
    if fault is Fault.HALF_SAID:
        return b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(half) + half
    return answer


def _error(status: str) -> bytes:
    return f"HTTP/1.1 {status}\r\ncontent-length: 0\r\n\r\n".encode()


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
    )
    return head + await reader.readexactly(length)


@asynccontextmanager
async def fault_proxy(target: str) -> AsyncGenerator[FaultProxy, None]:
    """Passes everything on until its plan is changed."""
    proxy = FaultProxy(target, always(Fault.NONE))
    server = await asyncio.start_server(proxy.accept, "127.0.0.1", 0)
    proxy.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield proxy
    finally:
        server.close()
        await proxy.close()
