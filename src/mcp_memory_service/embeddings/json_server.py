"""A model behind HTTP that is asked in JSON: one key, one time-out, and passing faults tried again."""

import asyncio
from collections.abc import Mapping
from typing import Any

import httpx

from ..backoff import backoff
from ..errors import Unavailable

ATTEMPTS = 3
FIRST_PAUSE_SECONDS = 0.2
MAX_PAUSE_SECONDS = 2.0
# Worth another try: the server is starting, busy or was cut off. Anything else would fail again.
RETRY_STATUSES = frozenset({408, 429, 500, 502, 503, 504})


class JsonServer:
    """`name` is what it is called in errors, which are of the kind `failure`."""

    def __init__(
        self,
        name: str,
        url: str,
        api_key: str | None,
        timeout_seconds: float,
        failure: type[Unavailable],
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        self._name = name
        self._timeout_seconds = timeout_seconds
        self._failure = failure
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._client = httpx.AsyncClient(
            base_url=url.rstrip("/"), headers=headers, timeout=timeout_seconds, transport=transport
        )

    async def post(self, path: str, body: Mapping[str, object]) -> Any:
        """All tries together keep the time-out. Errors name the kind of fault only: messages may hold keys."""
        problem = "no answer"
        pauses = backoff(FIRST_PAUSE_SECONDS, MAX_PAUSE_SECONDS)
        try:
            async with asyncio.timeout(self._timeout_seconds):
                for attempt in range(ATTEMPTS):
                    if attempt:
                        await asyncio.sleep(next(pauses))
                    try:
                        response = await self._client.post(path, json=body)
                    except (httpx.HTTPError, httpx.InvalidURL) as error:
                        problem = type(error).__name__
                        continue
                    if response.is_success:
                        return self._parsed(response)
                    problem = f"HTTP {response.status_code}"
                    if response.status_code not in RETRY_STATUSES:
                        break
        except TimeoutError:
            problem = f"{problem} within {self._timeout_seconds:g} s"
        raise self._failure(f"{self._name} failed ({problem}).")

    def unusable(self, problem: str) -> Unavailable:
        """The error for an answer that cannot be used."""
        return self._failure(f"{self._name} sent {problem}.")

    async def close(self) -> None:
        await self._client.aclose()

    def _parsed(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except (ValueError, RecursionError) as error:
            raise self.unusable("an answer that is not JSON") from error
