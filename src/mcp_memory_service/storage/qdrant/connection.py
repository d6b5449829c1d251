"""The client of one Qdrant server, with time limits, bounded retries and errors of ours.

Every call may be sent again: reads by nature, writes because they name what they replace (see `writes.py`).
"""

import asyncio
import logging
import math
import ssl
import warnings
from collections.abc import Awaitable, Callable
from json import JSONDecodeError
from typing import TypeVar
from urllib.parse import urlsplit

import grpc
import httpx
from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse
from qdrant_client.models import ReadConsistency, ReadConsistencyType, WriteOrdering

from ...backoff import backoff
from ...errors import BackendUnavailable, StorageFull, StorageUnavailable
from .options import QdrantOptions

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 2.0

# All that the client raises when a server fails. It asserts that an answer has a result, and reads what it got as text.
_FAILURES = (
    ApiException,
    QdrantException,
    grpc.RpcError,
    TimeoutError,
    JSONDecodeError,
    UnicodeDecodeError,
    AssertionError,
)

# What a server or a balancer in front of it says when the same request may succeed later.
_PASSING_STATUS = frozenset({408, 425, 429, 500, 502, 503, 504})
_PASSING_CODES = frozenset(
    {
        grpc.StatusCode.UNAVAILABLE,
        grpc.StatusCode.DEADLINE_EXCEEDED,
        grpc.StatusCode.RESOURCE_EXHAUSTED,
        grpc.StatusCode.ABORTED,
        grpc.StatusCode.INTERNAL,
        grpc.StatusCode.CANCELLED,
        grpc.StatusCode.UNKNOWN,
    }
)
_FORBIDDEN_CODES = frozenset({grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED})

logger = logging.getLogger(__name__)


class QdrantConnection:
    def __init__(self, options: QdrantOptions) -> None:
        self.collection = options.collection
        self.options = options
        self.write_ordering = WriteOrdering(options.write_ordering)
        self.read_consistency: ReadConsistency | None = (
            None if options.read_consistency == "one" else ReadConsistencyType(options.read_consistency)
        )
        parts = urlsplit(options.url)
        self._name = f"Qdrant at {parts.hostname}:{options.grpc_port if options.grpc else parts.port or 6333}"
        self._client = _client(options)
        self._closed = False

    async def call(self, action: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """What the server answers, asked again a few times if it fails in a way that may pass."""
        if self._closed:
            raise StorageUnavailable("The store is closed.")
        pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        for attempt in range(self.options.retries + 1):
            if attempt:
                await asyncio.sleep(next(pauses))
            try:
                async with asyncio.timeout(self.options.timeout_seconds):
                    return await action(self._client)
            except _FAILURES as error:
                failure = self._failure(error)
                if not _may_pass(error) or attempt == self.options.retries:
                    raise failure from error
                logger.debug("%s Asking again.", failure)
        raise AssertionError("the last attempt returns or raises")

    def _failure(self, error: Exception) -> StorageUnavailable | StorageFull:
        if _disk_is_full(error):
            return StorageFull(f"The disk of {self._name} is full.")
        if _forbidden(error):
            return BackendUnavailable(f"{self._name} refuses the key: set MCP_MEMORY_QDRANT_API_KEY.")
        return BackendUnavailable(f"{self._name} cannot be used now: {_reason(error)}.")

    async def close(self) -> None:
        if not self._closed:
            self._closed = True
            await self._client.close()


def _client(options: QdrantOptions) -> AsyncQdrantClient:
    with warnings.catch_warnings():
        # A key without TLS is what a private network or a loopback address has; docs/scaling.md says when it is not.
        warnings.filterwarnings("ignore", message="Api key is used with an insecure connection")
        return AsyncQdrantClient(
            url=options.url,
            api_key=options.api_key,
            prefer_grpc=options.grpc,
            grpc_port=options.grpc_port,
            timeout=math.ceil(options.timeout_seconds),
            check_compatibility=False,  # it would ask the server, and block; `collection.py` checks the version
            verify=ssl.create_default_context(cafile=options.ca_file) if options.ca_file else True,
        )


def _may_pass(error: Exception) -> bool:
    if isinstance(error, UnexpectedResponse):
        return error.status_code in _PASSING_STATUS
    if isinstance(error, grpc.aio.AioRpcError):
        return error.code() in _PASSING_CODES
    if isinstance(error, ResponseHandlingException):
        # A cut connection, or an answer that ends half-way.
        return isinstance(error.source, httpx.TransportError | ValidationError)
    return True


def _disk_is_full(error: Exception) -> bool:
    said = error.content.decode("utf-8", "replace") if isinstance(error, UnexpectedResponse) else ""
    if isinstance(error, grpc.aio.AioRpcError):
        said = error.details() or ""
    return "no space left" in said.lower()


def _forbidden(error: Exception) -> bool:
    if isinstance(error, grpc.aio.AioRpcError):
        return error.code() in _FORBIDDEN_CODES
    return isinstance(error, UnexpectedResponse) and error.status_code in {401, 403}


def _reason(error: Exception) -> str:
    """One line that repeats nothing of what was stored or asked."""
    if isinstance(error, UnexpectedResponse):
        return f"it answers {error.status_code} {error.reason_phrase}".strip()
    if isinstance(error, grpc.aio.AioRpcError):
        return f"gRPC says {error.code().name}"
    source = error.source if isinstance(error, ResponseHandlingException) else error
    if isinstance(source, TimeoutError | httpx.TimeoutException):
        return "it does not answer in time"
    if isinstance(source, ValidationError | JSONDecodeError | UnicodeDecodeError | AssertionError):
        return "its answer is incomplete"
    return f"{type(source).__name__} {source}".strip() if isinstance(source, httpx.TransportError) else "it is busy"
