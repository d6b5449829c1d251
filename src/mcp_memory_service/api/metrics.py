"""Counts and durations for Prometheus; by route, never by what was sent."""

from time import perf_counter

from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_BUCKETS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0)


class Metrics:
    """One set for each app, so that several apps in one process do not count into each other."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        labels = ("method", "route", "status")
        self._requests = Counter("mcp_memory_requests", "Answered requests", labels, registry=self._registry)
        self._seconds = Histogram(
            "mcp_memory_request_seconds",
            "Time until a request was answered",
            ("method", "route"),
            registry=self._registry,
            buckets=_BUCKETS,
        )

    def observe(self, method: str, route: str, status: int, seconds: float) -> None:
        self._requests.labels(method, route, str(status)).inc()
        self._seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        return generate_latest(self._registry)


class MetricsMiddleware:
    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        started = perf_counter()
        status = 500

        async def noting_send(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, noting_send)
        finally:
            # The route's pattern, set by the router; unknown paths share one name, so that they cannot flood us.
            route = getattr(scope.get("route"), "path", "unknown")
            self._metrics.observe(scope["method"], route, status, perf_counter() - started)
