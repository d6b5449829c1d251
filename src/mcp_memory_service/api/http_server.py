"""What a client may cost before its key is looked at: bytes and seconds of a request, connections, unread answers."""

from asyncio import AbstractEventLoop, TimerHandle, Transport
from dataclasses import dataclass
from http import HTTPStatus
from operator import itemgetter
from typing import Any, ClassVar, cast

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.server import ServerState

from .headers import SECURITY_HEADERS
from .problems import RETRY_AFTER_SECONDS, problem


@dataclass(frozen=True, slots=True)
class HttpBounds:
    head_bytes: int = 64 * 1024
    """Request line and headers, as most servers in front of us allow at most."""
    headers: int = 100
    framing_bytes: int = 64 * 1024
    """Chunk sizes, extensions and trailers of a body may take this much and as much again as the body itself."""
    progress_bytes: int = 16 * 1024
    """A body must go on by this much in `body_seconds`, or end."""
    pipelined: int = 16
    """Requests that wait for the answer of the one before."""
    connections: int = 512
    """Half of what a process may open by default on Linux; the store and the embedder need the rest."""
    head_seconds: float = 10.0
    body_seconds: float = 30.0
    answer_seconds: float = 30.0
    """An answer must be read on within this time."""
    linger_seconds: float = 5.0
    """For who is still sending to see the refusal before the connection is cut."""


class Refused(Exception):
    """Ends the parsing of a request."""


def _rendered(status: int, code: str, detail: str, headers: dict[str, str] | None = None) -> bytes:
    answer = problem(status, code, detail, headers={**SECURITY_HEADERS, **(headers or {}), "Connection": "close"})
    lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}".encode()]
    lines += [name + b": " + value for name, value in answer.raw_headers]
    return b"\r\n".join([*lines, b"", bytes(answer.body)])


_MALFORMED = _rendered(400, "malformed_http", "This is not a valid HTTP request.")
_TIMED_OUT = _rendered(408, "request_timeout", "The request did not arrive in time.")
_HEAD_TOO_LARGE = _rendered(431, "head_too_large", "The request line and headers are too long or too many.")
_FULL = _rendered(
    503, "too_many_connections", "Too many clients are connected.", {"Retry-After": str(RETRY_AFTER_SECONDS)}
)


class BoundedProtocol(HttpToolsProtocol):
    """A connection of the HTTP server that is cut when it breaks a bound. One that waits for the rest of a request, or
    for another one, has a timer; while a request is answered there is none, so that event streams may last."""

    bounds: ClassVar[HttpBounds] = HttpBounds()

    def __init__(
        self,
        config: Config,
        server_state: ServerState,
        app_state: dict[str, Any],
        _loop: AbstractEventLoop | None = None,
    ) -> None:
        super().__init__(config, server_state, app_state, _loop)
        self._in_head = True
        """Between requests as well: the next byte is of a head."""
        self._head_bytes = 0
        self._body_bytes = 0
        self._framed_bytes = 0
        self._progress_bytes = 0
        self._refusal = _MALFORMED
        self._is_draining = False
        self._read_timer: TimerHandle | None = None
        self._answer_timer: TimerHandle | None = None
        self.waiting_since: float | None = None
        """Since when the client has been waited for; None while a request is answered."""

    # --- connections

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > self.bounds.connections and not self._make_room():
            transport.write(_FULL)
            transport.close()
        else:
            self._wait(self.bounds.head_seconds)

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        self._forget_answer()
        super().connection_lost(exc)

    def _make_room(self) -> bool:
        """Cut the connection that has been waited for longest: who sends a whole request is served even while others
        open more connections than there may be."""
        open_ones = [each for each in cast("set[BoundedProtocol]", self.connections) if not each.is_closing]
        waiting = [(each.waiting_since, each) for each in open_ones if each.waiting_since is not None]
        if len(open_ones) > self.bounds.connections and waiting:
            _, longest = min(waiting, key=itemgetter(0))
            longest.transport.abort()
            return True
        return len(open_ones) <= self.bounds.connections

    @property
    def is_closing(self) -> bool:
        return self.transport.is_closing()

    # --- what is received

    def data_received(self, data: bytes) -> None:
        if self._is_draining:
            return
        if self._in_head:
            if not self._head_bytes:
                self._stop_waiting()  # until now for a request, from now on for its end
            self._head_bytes += len(data)
        else:
            self._framed_bytes += len(data)
        super().data_received(data)
        if self._is_draining or self.transport.is_closing():
            return
        if self._in_head and self._head_bytes > self.bounds.head_bytes:
            self._refuse(_HEAD_TOO_LARGE)
        elif not self._in_head and self._framed_bytes > 2 * self._body_bytes + self.bounds.framing_bytes:
            self._refuse(_MALFORMED)
        else:
            self._await_the_rest()

    def on_header(self, name: bytes, value: bytes) -> None:
        if not self._in_head:
            return  # a trailer: nobody asks for one, and among the headers it would come after they were checked
        if len(self.headers) >= self.bounds.headers:
            self._refusal = _HEAD_TOO_LARGE
            raise Refused
        super().on_header(name, value.strip(b" \t"))  # the parser leaves what is behind a value (RFC 9110, 5.5)

    def on_headers_complete(self) -> None:
        if len(self.url) + sum(len(name) + len(value) for name, value in self.headers) > self.bounds.head_bytes:
            self._refusal = _HEAD_TOO_LARGE
            raise Refused
        if len(self.pipeline) >= self.bounds.pipelined:
            raise Refused
        self._stop_waiting()
        self._body_bytes = self._framed_bytes = self._progress_bytes = 0
        super().on_headers_complete()
        self._in_head = False

    def on_body(self, body: bytes) -> None:
        self._body_bytes += len(body)
        self._progress_bytes += len(body)
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._stop_waiting()
        self._in_head = True
        self._head_bytes = 0
        super().on_message_complete()

    # --- whom we wait for, and how long

    @property
    def _is_busy(self) -> bool:
        return bool(self.cycle) and not self.cycle.response_complete

    def _await_the_rest(self) -> None:
        if not self._is_busy:
            if self._read_timer is None:  # further bytes do not prolong it
                self._wait(self.bounds.head_seconds)
        elif self._in_head:
            self._stop_waiting()
        elif self._read_timer is None or self._progress_bytes >= self.bounds.progress_bytes:
            self._progress_bytes = 0
            self._wait(self.bounds.body_seconds)

    def _wait(self, seconds: float) -> None:
        self._stop_waiting()
        self.waiting_since = self.loop.time()
        self._read_timer = self.loop.call_later(seconds, self._give_up)

    def _stop_waiting(self) -> None:
        self.waiting_since = None
        if self._read_timer is not None:
            self._read_timer.cancel()
            self._read_timer = None

    def _give_up(self) -> None:
        if self._is_draining:
            self.transport.abort()
        elif self._is_busy and self.flow.read_paused:  # the application is slow, not the client
            self._wait(self.bounds.body_seconds)
        elif self._is_busy or (self._in_head and self._head_bytes):
            self._refuse(_TIMED_OUT)
        else:  # nothing was asked, or it is answered already
            self.transport.close()
            self._watch_answer()

    # --- answers

    def send_400_response(self, msg: str) -> None:  # noqa: ARG002
        self._refuse(self._refusal)

    def _refuse(self, answer: bytes) -> None:
        """Answer if this is what the client waits for, and cut the connection a little later: who is cut off while
        sending does not see the answer."""
        is_awaited = not self._is_busy or not (self._in_head or self.pipeline or self.cycle.response_started)
        if not is_awaited or not self.transport.can_write_eof():
            self.transport.abort()
            return
        if self._is_busy:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._is_draining = True
        self.transport.write(answer)
        self.transport.write_eof()
        self.flow.resume_reading()
        self._wait(self.bounds.linger_seconds)

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_answer()
        elif not self._is_busy:
            # Still sending what is not read any more, in the middle of the next head, or idle until its time is over.
            seconds = self.bounds.head_seconds if self._in_head else self.bounds.linger_seconds
            self._wait(seconds)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_answer()

    def resume_writing(self) -> None:
        super().resume_writing()
        self._forget_answer()

    def _watch_answer(self) -> None:
        if self._answer_timer is None and (unread := self.transport.get_write_buffer_size()):
            self._answer_timer = self.loop.call_later(self.bounds.answer_seconds, self._check_answer, unread)

    def _check_answer(self, unread_before: int) -> None:
        self._answer_timer = None
        if self.transport.get_write_buffer_size() >= unread_before:
            self.transport.abort()
        else:
            self._watch_answer()

    def _forget_answer(self) -> None:
        if self._answer_timer is not None:
            self._answer_timer.cancel()
            self._answer_timer = None
