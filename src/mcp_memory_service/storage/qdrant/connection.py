"""The client of one Qdrant server, with time limits, bounded retries and errors of ours.

Every call may be sent again: reads by nature, writes because they name what they replace (see `writes/writer.py`).
"""

import asyncio
import logging
import math
import ssl
import warnings
from collections.abc import Awaitable, Callable, Sequence
from itertools import islice
from json import JSONDecodeError
from typing import TypeVar
from urllib.parse import urlsplit

import grpc
import httpx
from pydantic import ValidationError
from qdrant_client import AsyncQdrantClient, models
from qdrant_client.common.client_exceptions import QdrantException
from qdrant_client.http.exceptions import ApiException, ResponseHandlingException, UnexpectedResponse

from ...backoff import backoff
from ...errors import BackendUnavailable, StorageFull, StorageUnavailable
from .options import QdrantOptions
from .points import DENSE

T = TypeVar("T")

FIRST_PAUSE_SECONDS = 0.1
MAX_PAUSE_SECONDS = 2.0

# Sizes and lengths are read as facets: so many different ones are more than there can be.
MAX_DIFFERENT = 200_000

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
    """A collection on a server, and the reads that several parts of the store make."""

    def __init__(self, options: QdrantOptions) -> None:
        self.collection = options.collection
        self.options = options
        self.write_ordering = models.WriteOrdering(options.write_ordering)
        self.read_consistency: models.ReadConsistency | None = (
            None if options.read_consistency == "one" else models.ReadConsistencyType(options.read_consistency)
        )
        parts = urlsplit(options.url)
        self._name = f"Qdrant at {parts.hostname}:{options.grpc_port if options.grpc else parts.port or 6333}"
        self._client = _client(options)
        self._closed = False

    async def call(self, action: Callable[[AsyncQdrantClient], Awaitable[T]]) -> T:
        """What the server answers, asked again a few times if it fails in a way that may pass."""
        if self._closed:
            raise StorageUnavailable("The store is closed.")
        pauses = islice(backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS), self.options.retries)
        while True:
            try:
                async with asyncio.timeout(self.options.timeout_seconds):
                    return await action(self._client)
            except _FAILURES as error:
                failure = self._failure(error)
                pause = next(pauses, None)
                if pause is None or not _may_pass(error):
                    raise failure from error
                logger.debug("%s Asking again.", failure)
            await asyncio.sleep(pause)

    async def points(
        self, ids: Sequence[str], fields: bool | list[str], *, vectors: bool = False
    ) -> list[models.Record]:
        """Those of these points that exist, in any order."""
        if not ids:
            return []
        return await self.call(
            lambda client: client.retrieve(
                self.collection,
                ids,
                with_payload=fields,
                with_vectors=[DENSE] if vectors else False,
                consistency=self.read_consistency,
            )
        )

    async def scroll(
        self,
        where: models.Filter,
        fields: bool | list[str],
        limit: int,
        *,
        offset: str | None = None,
        order_by: models.OrderBy | None = None,
        vectors: bool = False,
    ) -> tuple[list[models.Record], str | None]:
        """One page, in the order of the ids unless told otherwise, and where the next one begins; None after the
        last."""
        records, following = await self.call(
            lambda client: client.scroll(
                self.collection,
                scroll_filter=where,
                limit=limit,
                offset=offset,
                order_by=order_by,
                with_payload=fields,
                with_vectors=[DENSE] if vectors else False,
                consistency=self.read_consistency,
            )
        )
        return records, None if following is None else str(following)

    async def count(self, where: models.Filter, *, exact: bool = True) -> int:
        return (await self.call(lambda client: client.count(self.collection, where, exact=exact))).count

    async def facet(self, field: str, where: models.Filter, limit: int = MAX_DIFFERENT) -> dict[str | int | bool, int]:
        """Every value of a field with the number of points that have it; those first that most have."""
        found = await self.call(
            lambda client: client.facet(
                self.collection,
                field,
                facet_filter=where,
                limit=limit,
                exact=True,
                consistency=self.read_consistency,
            )
        )
        return {hit.value: hit.count for hit in found.hits}

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
