"""What a client may cost before its key is looked at, on sockets: bytes, seconds and connections are bounded."""

import socket
import threading
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import httpx
import pytest
import uvicorn
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send
from tests.integration.conftest import server_process
from tests.support.patience import HANG_SECONDS

from mcp_memory_service.api.http_server import BoundedProtocol, HttpBounds

HEAD = b"POST /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
GET = b"GET /echo HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"
SECONDS = 0.3


class HastyProtocol(BoundedProtocol):
    """Few connections, and no patience with any of them."""

    bounds = HttpBounds(
        connections=8, head_seconds=SECONDS, body_seconds=SECONDS, answer_seconds=SECONDS, linger_seconds=SECONDS
    )


class App:
    """Tells what it got, or answers before it has read, for ever, or at length."""

    def __init__(self) -> None:
        self.asked = threading.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        start: Message = {"type": "http.response.start", "status": 200, "headers": []}
        if scope["path"] == "/early":
            await send(start)
            await send({"type": "http.response.body", "body": b"early"})
        elif scope["path"] == "/stream":
            await send(start)
            await send({"type": "http.response.body", "body": b"first", "more_body": True})
            while (await receive())["type"] != "http.disconnect":
                pass
        elif scope["path"] == "/value":
            await send(start)
            await send({"type": "http.response.body", "body": dict(scope["headers"])[b"x"]})
        elif scope["path"] == "/long":
            self.asked.set()
            await send(start)
            await send({"type": "http.response.body", "body": b"x" * 50_000_000})
        else:
            size = len(await request.body())
            names = b",".join(name for name, _ in scope["headers"])
            await send(start)
            await send({"type": "http.response.body", "body": b"%d bytes %s" % (size, names)})


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def address(app: App) -> Generator[tuple[str, int], None, None]:
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(
        uvicorn.Config(app, http=HastyProtocol, lifespan="off", log_config=None, ws="none", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    yield listener.getsockname()
    server.should_exit = True
    thread.join(HANG_SECONDS)
    assert not thread.is_alive()


@contextmanager
def connected(address: tuple[str, int]) -> Generator[socket.socket, None, None]:
    with socket.create_connection(address, timeout=HANG_SECONDS) as client:
        yield client


def all_of(client: socket.socket) -> bytes:
    """What is answered until the server ends the connection; a test that hangs here found one that it does not end."""
    received = b""
    with suppress(ConnectionResetError):
        while part := client.recv(65536):
            received += part
    return received


def send_until_cut(client: socket.socket, data: bytes) -> None:
    """Hangs if the server never cuts the connection."""
    with suppress(BrokenPipeError, ConnectionResetError):
        while True:
            client.sendall(data)


def answer_to(address: tuple[str, int], *parts: bytes) -> bytes:
    with connected(address) as client:
        with suppress(BrokenPipeError, ConnectionResetError):
            for part in parts:
                client.sendall(part)
        return all_of(client)


def status_of(answer: bytes) -> int:
    assert answer.startswith(b"HTTP/1.1 "), answer[:100]
    return int(answer[9:12])


def endless(start: bytes, more: bytes) -> Iterator[bytes]:
    yield start
    for _ in range(20):
        yield more


@pytest.mark.parametrize(
    "parts",
    [
        list(endless(HEAD + b"X: ", b"x" * 10_000)),
        list(endless(b"GET /", b"x" * 10_000)),
        list(endless(HEAD, b"".join(b"X-%d: y\r\n" % number for number in range(1_000)))),
        [HEAD + b"X: " + b"x" * 66_000 + b"\r\n\r\n"],
        [b"GET /" + b"x" * 66_000 + b" HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"],
        [HEAD + b"".join(b"X-%d: y\r\n" % number for number in range(100)) + b"\r\n"],
    ],
    ids=["endless header", "endless address", "endless headers", "long header", "long address", "101 headers"],
)
def test_a_head_over_64_kib_or_100_headers_is_refused(address: tuple[str, int], parts: list[bytes]):
    answer = answer_to(address, *parts)
    assert status_of(answer) == 431
    assert b'"code":"head_too_large"' in answer
    assert b"x-content-type-options: nosniff" in answer


def test_a_head_of_60_kib_and_its_successor_are_served(address: tuple[str, int]):
    one = HEAD + b"X: " + b"x" * 60_000 + b"\r\nContent-Length: 100000\r\n\r\n" + b"b" * 100_000
    answer = answer_to(address, one * 2 + one[:50])
    assert answer.count(b"100000 bytes") == 2


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"", None),
        (b"\r\n", 408),
        (b"GET", 408),
        (HEAD, 408),
        (HEAD + b"Content-Length: 10\r\n\r\n12345", 408),
        (CHUNKED + b"5\r\n12345\r\n", 408),
        (b"nonsense\r\n\r\n", 400),
    ],
)
def test_half_a_request_is_not_held_for_ever(address: tuple[str, int], sent: bytes, status: int | None):
    answer = answer_to(address, sent)
    assert (status_of(answer) if answer else None) == status


def test_a_body_that_trickles_is_cut_however_long_it_goes_on(address: tuple[str, int]):
    with connected(address) as client:
        client.sendall(HEAD + b"Content-Length: 100000\r\n\r\n")
        client.settimeout(SECONDS / 4)
        answer = b""
        while not answer:
            client.sendall(b"x")
            try:
                answer = client.recv(1000)
            except TimeoutError:
                continue
    assert status_of(answer) == 408


@pytest.mark.parametrize(
    "parts",
    [
        list(endless(CHUNKED + b"1;", b"x" * 10_000)),
        list(endless(CHUNKED, b"1\r\nx\r\n" * 4_000)),
        list(endless(CHUNKED + b"1\r\nx\r\n0\r\n", b"X: yyyyyyyyyyyyyyyyyyyy\r\n" * 400)),
    ],
    ids=["chunk extension", "tiny chunks", "trailers"],
)
def test_what_frames_a_body_may_not_outgrow_it(address: tuple[str, int], parts: list[bytes]):
    assert status_of(answer_to(address, *parts)) == 400


def test_a_chunked_body_is_read_and_its_trailers_are_no_headers(address: tuple[str, int]):
    answer = answer_to(address, CHUNKED + b"3;note=1\r\nabc\r\n2\r\nde\r\n0\r\nAuthorization: Bearer x\r\n\r\n")
    assert answer.endswith(b"5 bytes host,transfer-encoding\r\n0\r\n\r\n")


def test_spaces_around_a_header_are_no_part_of_it(address: tuple[str, int]):
    answer = answer_to(address, GET.replace(b"/echo", b"/value").replace(b"\r\n\r\n", b"\r\nX: \t a b \t \r\n\r\n"))
    assert answer.endswith(b"\r\n\r\n3\r\na b\r\n0\r\n\r\n")


def test_an_early_answer_is_seen_and_the_rest_of_the_body_is_not_read_for_ever(address: tuple[str, int]):
    early = HEAD.replace(b"/echo", b"/early") + b"Content-Length: 1000000000000\r\n\r\n"
    with connected(address) as client:
        client.sendall(early)
        answer = client.recv(1000)
        send_until_cut(client, b"x" * 100_000)
    assert b"early" in answer


def test_pipelined_requests_are_answered_in_order_but_not_stored_up(address: tuple[str, int]):
    few = b"".join(GET.replace(b"HTTP/1.1", b"HTTP/1.1\r\nX-%d: y" % number) for number in range(10))
    answer = answer_to(address, few)
    places = [answer.index(b"x-%d" % number) for number in range(10)]
    assert places == sorted(places)
    with connected(address) as client:
        send_until_cut(client, GET * 10_000)


def test_a_stream_outlasts_every_time_limit(address: tuple[str, int]):
    with connected(address) as client:
        client.sendall(GET.replace(b"/echo", b"/stream"))
        answer = client.recv(1000)
        while b"first" not in answer:
            answer += client.recv(1000)
        for _ in range(3):
            assert status_of(answer_to(address, HEAD)) == 408  # so long, again and again
        client.setblocking(False)
        with pytest.raises(BlockingIOError):
            client.recv(1)


def test_an_answer_that_nobody_reads_is_dropped(address: tuple[str, int], app: App):
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.settimeout(HANG_SECONDS)
        client.connect(address)
        client.sendall(GET.replace(b"/echo", b"/long"))
        assert app.asked.wait(HANG_SECONDS)
        for _ in range(3):
            assert status_of(answer_to(address, HEAD)) == 408
        assert len(all_of(client)) < 50_000_000


def test_who_asks_is_served_before_who_keeps_us_waiting(address: tuple[str, int]):
    with ExitStack() as stack:
        slow = [stack.enter_context(connected(address)) for _ in range(20)]
        for client in slow:
            client.sendall(b"GET / HTTP/1.1\r\n")
            assert httpx.get(f"http://127.0.0.1:{address[1]}/echo", timeout=HANG_SECONDS).status_code == 200


def test_when_all_are_busy_one_more_is_told_so(address: tuple[str, int]):
    with ExitStack() as stack:
        for _ in range(HastyProtocol.bounds.connections):
            client = stack.enter_context(connected(address))
            client.sendall(GET.replace(b"/echo", b"/stream"))
            assert client.recv(1000)
        assert status_of(answer_to(address)) == 503


def test_500_half_sent_requests_keep_nobody_waiting(tmp_path: Path):
    """With a server as it is started, and its own bounds."""
    halves = (HEAD, HEAD + b"Content-Length: 4000000\r\n\r\n{", HEAD + b"X: " + b"x" * 60_000)
    with server_process(tmp_path) as server, ExitStack() as stack:
        address = ("127.0.0.1", httpx.URL(server.url).port or 0)
        for number in range(500):
            stack.enter_context(connected(address)).sendall(halves[number % 3])
        assert httpx.get(f"{server.url}/health", timeout=HANG_SECONDS).elapsed.total_seconds() < 1
        assert server.http.post("/memories", json={"content": "stored meanwhile"}).status_code == 201
        assert server.http.post("/memories/retrieve", json={"query": "meanwhile"}).elapsed.total_seconds() < 1
        assert status_of(answer_to(address, HEAD + b"X: " + b"x" * 70_000)) == 431
