"""What a running server answers while its disk is full, and when there is space again."""

from pathlib import Path
from typing import Any

import httpx
from tests.integration.conftest import server_process
from tests.support.patience import HANG_SECONDS

from .small_disk import SmallDisk


def serve_on_full_disk(disk: SmallDisk, folder: Path) -> list[str]:
    """The answers that are not as they should be. The log of the server lies in `folder`, where there is space."""
    wrong: list[str] = []

    def expect(what: str, answer: httpx.Response, status: int, **parts: Any) -> None:
        body = answer.json()
        if answer.status_code != status or any(body.get(key) != value for key, value in parts.items()):
            wrong.append(f"{what}: {answer.status_code} {answer.text}")

    path = disk.folder / "store" / "memories.db"
    with (
        server_process(folder, "--sqlite-path", str(path)) as server,
        httpx.Client(base_url=server.url, timeout=HANG_SECONDS) as client,
    ):
        expect("store with space", _store(client, "the key is under the mat"), 201)
        disk.fill()
        expect("store", _store(client, "the key has been moved"), 507, code="storage_full")
        expect("ready", client.get("/ready"), 503, can_store=False, can_search=True, problems=["storage_full"])
        found = client.post("/memories/retrieve", json={"query": "where is the key?"})
        expect("search", found, 200)
        if "under the mat" not in found.text or "has been moved" in found.text:
            wrong.append(f"search: {found.text}")
        disk.empty()
        expect("store with space again", _store(client, "the key has been moved"), 201)
        expect("ready with space again", client.get("/ready"), 200, can_store=True, problems=[])
    return wrong


def _store(client: httpx.Client, content: str) -> httpx.Response:
    return client.post("/memories", json={"content": content})
