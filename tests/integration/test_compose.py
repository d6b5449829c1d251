"""`docker-compose.yml`: what it says is valid, names settings of ours, and its scripts do what they shall.

No engine is needed: the file is read by `docker compose config`, and the scripts inside it are run by hand.
"""

import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from tests.support.patience import HANG_SECONDS
from tests.support.qdrant_stand_in.process import stand_in

from mcp_memory_service.config import load_settings

ROOT = Path(__file__).parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
CLUSTER = {"memory-2", "balancer", "qdrant-2", "qdrant-3"}


def ran(command: list[str], folder: Path = ROOT) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=HANG_SECONDS, check=False)


def compose_command() -> list[str] | None:
    """The plugin of today, or the command of old; `.ci/run` installs one of them."""
    if shutil.which("docker") and ran(["docker", "compose", "version"]).returncode == 0:
        return ["docker", "compose"]
    return ["docker-compose"] if shutil.which("docker-compose") else None


@pytest.mark.skipif(compose_command() is None, reason="docker compose is not installed")
@pytest.mark.parametrize("profile", [[], ["--profile", "cluster"]], ids=["single", "cluster"])
def test_docker_compose_config_passes(profile: list[str]):
    command = compose_command()
    assert command is not None
    done = ran([*command, *profile, "config"])
    assert done.returncode == 0, done.stderr
    shown: dict[str, Any] = yaml.safe_load(done.stdout)
    assert {"keys", "memory", "qdrant"} <= set(shown["services"])
    assert shown["services"]["memory"]["environment"]["MCP_MEMORY_QDRANT_URL"] == "http://qdrant-nodes:6333"


def test_without_a_profile_the_service_and_one_qdrant_start():
    assert {name for name, service in SERVICES.items() if "profiles" not in service} == {"keys", "memory", "qdrant"}
    assert {name for name, service in SERVICES.items() if service.get("profiles") == ["cluster"]} == CLUSTER


def test_every_setting_is_one_of_ours():
    documented = (ROOT / ".env.example").read_text()
    for name in ("memory", "memory-2"):
        for variable in SERVICES[name]["environment"]:
            assert f"#{variable}=" in documented
    for variable in re.findall(r"(MCP_MEMORY_\w+)=", (ROOT / "Dockerfile").read_text()):
        assert f"#{variable}=" in documented


def test_what_depends_on_health_has_a_health_check_and_every_volume_is_declared():
    in_image = {"memory", "memory-2"} if "HEALTHCHECK" in (ROOT / "Dockerfile").read_text() else set[str]()
    for service in SERVICES.values():
        for name, needed in service.get("depends_on", {}).items():
            if needed["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[name] or name in in_image, name
        for volume in service.get("volumes", []):
            source = volume.split(":")[0]
            assert source in COMPOSE["volumes"] or (ROOT / source).is_file()


def test_keys_are_made_once_and_are_read_as_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    script = SERVICES["keys"]["command"][0].replace("/keys", str(tmp_path))
    subprocess.run([sys.executable, "-c", script], check=True)
    first = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert set(first) == {"mcp_memory_api_key", "mcp_memory_qdrant_api_key"}
    assert len(set(first.values())) == 2
    assert all(file.stat().st_mode & 0o077 == 0 for file in tmp_path.iterdir())
    subprocess.run([sys.executable, "-c", script], check=True)
    assert {file.name: file.read_text() for file in tmp_path.iterdir()} == first
    monkeypatch.setenv("MCP_MEMORY_SECRETS_DIR", str(tmp_path))
    monkeypatch.setenv("MCP_MEMORY_API_KEY", "")  # as compose passes what is not set
    settings = load_settings()
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == first["mcp_memory_api_key"]
    assert settings.qdrant.api_key is not None
    assert settings.qdrant.api_key.get_secret_value() == first["mcp_memory_qdrant_api_key"]


def test_a_half_made_key_is_made_anew(tmp_path: Path):
    (tmp_path / "mcp_memory_api_key.new").touch(mode=0o400)
    subprocess.run([sys.executable, "-c", SERVICES["keys"]["command"][0].replace("/keys", str(tmp_path))], check=True)
    assert len((tmp_path / "mcp_memory_api_key").read_text()) > 40
    assert sorted(file.name for file in tmp_path.iterdir()) == ["mcp_memory_api_key", "mcp_memory_qdrant_api_key"]


def test_all_nodes_answer_to_one_name():
    for name in ("qdrant", "qdrant-2", "qdrant-3"):
        assert SERVICES[name]["networks"]["default"]["aliases"] == ["qdrant-nodes"]


def test_qdrant_gets_its_key_and_its_arguments(tmp_path: Path):
    (tmp_path / "mcp_memory_qdrant_api_key").write_text("generated")
    entrypoint = tmp_path / "entrypoint.sh"
    entrypoint.write_text('#!/bin/sh\necho "$QDRANT__SERVICE__API_KEY" "$@"\n')
    entrypoint.chmod(0o700)
    command = [part.replace("$$", "$").replace("/keys", str(tmp_path)) for part in SERVICES["qdrant"]["entrypoint"]]
    done = ran([*command, *SERVICES["qdrant"]["command"]], tmp_path)
    assert done.stdout == "generated --uri http://qdrant:6335\n"


def test_the_health_check_of_qdrant_asks_whether_it_is_ready(tmp_path: Path):
    def asked(port: int) -> int:
        _, *command = SERVICES["qdrant"]["healthcheck"]["test"]
        script = [part.replace("6333", str(port)) for part in command]
        return ran(script).returncode

    with stand_in(tmp_path) as server:
        assert asked(server.port) == 0
    assert asked(server.port) != 0
