"""Waits until a served store answers from its index."""

import time
from pathlib import Path

import httpx
from starlette.testclient import TestClient
from tests.support.patience import HANG_SECONDS


def wait_for_index(client: TestClient | httpx.Client, store: Path) -> None:
    deadline = time.monotonic() + HANG_SECONDS
    while time.monotonic() < deadline:
        found = client.post("/memories/retrieve", json={"query": "x"}).json()
        if store.with_name(f"{store.name}-index").exists() and not found["degraded"]:
            return
        time.sleep(0.05)
    raise AssertionError("the index was not ready in time")
