"""Keys as a person uses them: made on the command line, sent to a real server, also over TLS."""

import datetime
import json
import stat
import subprocess
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from mcp import Client
from mcp.client.streamable_http import streamable_http_client
from tests.integration.conftest import COMMAND, server_process
from tests.support.mcp_answers import ids_of
from tests.support.patience import HANG_SECONDS


def keys(folder: Path, *arguments: str, key: str | None = None) -> Any:
    """What `mcp-memory keys … --json` prints."""
    where = () if arguments[0] == "derive" else ("--sqlite-path", str(folder / "server.db"))
    command = [COMMAND, "keys", *arguments, *where, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=HANG_SECONDS, input=key)
    return json.loads(done.stdout)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def test_keys_are_made_used_renewed_and_revoked(tmp_path: Path):
    with server_process(tmp_path) as server:
        assert "every account of this machine" in server.log.read_text()
        alice = keys(tmp_path, "create", "--name", "alice", "--namespace", "team/alice", "--scopes", "read,write")
        host = keys(tmp_path, "create", "--name", "host", "--namespace", "team/*", "--scopes", "write")
        assert server.http.get("/memories").status_code == 401
        stored = server.http.post("/memories", json={"content": "tea at four"}, headers=bearer(alice["key"]))
        assert stored.status_code == 201
        token = keys(
            tmp_path, "derive", "--namespace", "team/alice", "--scopes", "read", "--expires", "15m", key=host["key"]
        )["token"]
        found = server.http.post("/memories/retrieve", json={"query": "tea"}, headers=bearer(token)).json()
        assert [hit["memory"]["content"] for hit in found["results"]] == ["tea at four"]
        others = server.http.get("/memories", headers=bearer(host["key"]) | {"x-namespace": "team/bob"})
        assert others.json()["total"] == 0
        async with (
            httpx2.AsyncClient(headers=bearer(alice["key"]), timeout=HANG_SECONDS) as http,
            Client(streamable_http_client(f"{server.url}/mcp", http_client=http)) as client,
        ):
            listed = await client.call_tool("list_memories", {"namespace": "team/alice"})
            assert len(ids_of(listed)) == 1
        renewed = keys(tmp_path, "rotate", alice["id"])
        assert server.http.get("/memories", headers=bearer(alice["key"])).status_code == 401
        assert server.http.get("/memories", headers=bearer(renewed["key"])).status_code == 200
        assert keys(tmp_path, "revoke", alice["id"])["revoked_at"]
        assert server.http.get("/memories", headers=bearer(renewed["key"])).status_code == 401
        used = {key["name"]: key["last_used"] for key in keys(tmp_path, "list")["keys"]}
        assert all(used.values())


def test_a_token_can_be_held_to_tags_with_commas_between_them(tmp_path: Path):
    key = keys(tmp_path, "create", "--name", "host", "--namespace", "*", "--scopes", "read")["key"]
    held = ("--namespace", "default", "--scopes", "read", "--expires", "15m", "--tag", "tea,cocoa")
    token = keys(tmp_path, "derive", *held, key=key)["token"]
    with server_process(tmp_path, MCP_MEMORY_API_KEY="k" * 16) as server:
        for tags in (["tea", "cocoa"], ["tea"], ["cocoa"]):
            body = {"content": f"{tags} at four", "tags": tags}
            assert server.http.post("/memories", json=body, headers=bearer("k" * 16)).status_code == 201
        listed = server.http.get("/memories", headers=bearer(token)).json()["memories"]
    assert [memory["tags"] for memory in listed] == [["tea", "cocoa"]]


def test_the_local_key_lies_in_a_file_of_its_user(tmp_path: Path):
    with server_process(tmp_path, "--local-key") as server:
        file = tmp_path / "server.db-keys-local"
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert server.http.get("/stats").status_code == 401
        assert server.http.get("/stats", headers=bearer(file.read_text().strip())).status_code == 200


@pytest.mark.parametrize(
    "flags",
    [["--certfile", "nowhere.pem", "--keyfile", "nowhere.key"], ["--http-host", "0.0.0.0"]],  # noqa: S104
)
def test_what_would_be_open_or_broken_does_not_start(tmp_path: Path, flags: list[str]):
    command = [COMMAND, "serve", "--http-port", "0", "--sqlite-path", str(tmp_path / "a.db"), *flags]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=HANG_SECONDS)
    assert done.returncode == 6
    assert "Traceback" not in done.stderr


def test_tls(tmp_path: Path):
    certificate, key = self_signed(tmp_path)
    flags = ("--certfile", str(certificate), "--keyfile", str(key))
    with server_process(tmp_path, *flags, cafile=str(certificate)) as server:
        assert server.url.startswith("https://")
        assert server.http.post("/memories", json={"content": "over TLS"}).status_code == 201
        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/health")


def self_signed(folder: Path) -> tuple[Path, Path]:
    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.datetime.now(datetime.UTC)
    made = (
        x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
        .not_valid_before(now)
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(private, hashes.SHA256())
    )
    certificate, key = folder / "cert.pem", folder / "key.pem"
    certificate.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    no_password = serialization.NoEncryption()
    key.write_bytes(private.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, no_password))
    return certificate, key
