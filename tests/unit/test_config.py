"""Settings: where they come from, and what a bad one says."""

import os
from pathlib import Path

import pytest

from mcp_memory_service.config import (
    Settings,
    about_other_product,
    documented_settings,
    env_file_to_read,
    is_loopback,
    load_settings,
    require_key_for_open_address,
    unknown_variables,
)
from mcp_memory_service.errors import ConfigurationError
from mcp_memory_service.hybrid_search import RankingPolicy

KEY = "k" * 16


def test_defaults_are_those_of_the_requirements():
    settings = load_settings()
    hybrid = settings.hybrid
    assert (hybrid.hybrid_alpha, hybrid.recency_decay) == (None, 0.01)
    assert (hybrid.adaptive_threshold_small, hybrid.adaptive_threshold_large) == (500, 5000)
    assert hybrid.policy() == RankingPolicy()
    assert (settings.http_host, settings.http_port, settings.storage_backend) == ("127.0.0.1", 8000, "sqlite_vec")
    assert settings.sqlite_path == Path.home() / ".mcp-memory" / "memories.db"


def test_the_environment_beats_dotenv_and_flags_beat_both(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / ".env").write_text(
        "MCP_MEMORY_HYBRID_ALPHA=0.2\nMCP_MEMORY_HTTP_PORT=1\nMCP_MEMORY_RECENCY_DECAY=0.5\n"
    )
    monkeypatch.setenv("MCP_MEMORY_HTTP_PORT", "2")
    monkeypatch.setenv("MCP_MEMORY_RECENCY_DECAY", "0.6")
    settings = load_settings({"recency_decay": 0.7, "http_host": None}, env_file_to_read(tmp_path / ".env"))
    assert (settings.hybrid.hybrid_alpha, settings.http_port, settings.hybrid.recency_decay) == (0.2, 2, 0.7)


@pytest.mark.parametrize(
    ("variable", "value", "complaint"),
    [
        ("HYBRID_ALPHA", "1.5", "MCP_MEMORY_HYBRID_ALPHA: .*allowed: 0 to 1"),
        ("HYBRID_ALPHA", "nan", "MCP_MEMORY_HYBRID_ALPHA: .*allowed: 0 to 1"),
        ("HYBRID_ALPHA", "much", "MCP_MEMORY_HYBRID_ALPHA: .*allowed: 0 to 1"),
        ("RECENCY_DECAY", "-1", "MCP_MEMORY_RECENCY_DECAY: .*allowed: 0 to 100"),
        ("RECENCY_DECAY", "inf", "MCP_MEMORY_RECENCY_DECAY: "),
        ("RECENCY_FLOOR", "2", "MCP_MEMORY_RECENCY_FLOOR: .*allowed: 0 to 1"),
        ("ADAPTIVE_THRESHOLD_SMALL", "6000", "SMALL must not be above MCP_MEMORY_ADAPTIVE_THRESHOLD_LARGE"),
        ("HTTP_PORT", "70000", "MCP_MEMORY_HTTP_PORT: .*allowed: 0 to 65535"),
        ("LOG_LEVEL", "LOUD", "MCP_MEMORY_LOG_LEVEL: .*one of DEBUG, INFO, WARNING, ERROR"),
        ("STORAGE_BACKEND", "floppy", "MCP_MEMORY_STORAGE_BACKEND: .*one of sqlite_vec, qdrant"),
        ("API_KEY", "short", "MCP_MEMORY_API_KEY: must have at least 16"),
        ("API_KEY", "ключ" * 8, "MCP_MEMORY_API_KEY: must have at least 16 ASCII"),
        ("EMBEDDING_BACKEND", "http", "needs MCP_MEMORY_EMBEDDING_URL and MCP_MEMORY_EMBEDDING_MODEL"),
        ("EMBEDDING_URL", "http://[::1", "MCP_MEMORY_EMBEDDING_URL: must be an http or https address"),
        ("EMBEDDING_API_KEY", "sk-secret\n", "MCP_MEMORY_EMBEDDING_API_KEY: must be printable ASCII"),
        ("EMBEDDING", "x", "A setting cannot be read"),
        ("SQLITE_PATH", "~nosuchuser/x.db", "MCP_MEMORY_SQLITE_PATH: cannot be found"),
        ("SQLITE_PATH", ":memory:", "MCP_MEMORY_SQLITE_PATH: must name a file"),
        ("MCP_TOOLSETS", "core,magic", "MCP_MEMORY_MCP_TOOLSETS: must name all, or some of core, search, "),
        ("STORAGE_BACKEND", "hybrid", "hybrid is a backend of another product .*allowed: one of sqlite_vec, qdrant"),
        ("STORAGE_BACKEND", "sqlite-vec", "sqlite-vec is a backend of another product"),
        ("FUSION", "magic", "MCP_MEMORY_FUSION: .*one of rrf, score"),
        ("QDRANT_URL", "ftp://x", "MCP_MEMORY_QDRANT_URL: must be an http or https address"),
        (
            "QDRANT_URL",
            "http://user:pass@127.0.0.1:6333",
            "must hold no user or password: set MCP_MEMORY_QDRANT_API_KEY",
        ),
        ("QDRANT_URL", "http://exa mple:6333", "MCP_MEMORY_QDRANT_URL: must be an http or https address"),
        ("QDRANT_CA_FILE", __file__, "MCP_MEMORY_QDRANT_CA_FILE: must name a file of certificates"),
        ("QDRANT_API_KEY", "secret\n", "MCP_MEMORY_QDRANT_API_KEY: must be printable ASCII"),
        ("QDRANT_COLLECTION", "../x", "MCP_MEMORY_QDRANT_COLLECTION: "),
        ("QDRANT_SHARDS", "0", "MCP_MEMORY_QDRANT_SHARDS: .*allowed: 1 to 1024"),
        ("QDRANT_WRITE_CONSISTENCY_FACTOR", "2", "must not be above MCP_MEMORY_QDRANT_REPLICATION_FACTOR"),
        ("QDRANT_QUANTIZATION", "magic", "MCP_MEMORY_QDRANT_QUANTIZATION: .*one of none, scalar, binary"),
        ("QDRANT_CA_FILE", "/no/such.pem", "MCP_MEMORY_QDRANT_CA_FILE: must name a file of certificates"),
        ("SECRETS_DIR", "/no/such/folder", "MCP_MEMORY_SECRETS_DIR: /no/such/folder is no folder"),
        ("TIME_ZONE", "Mars/Olympus", "MCP_MEMORY_TIME_ZONE: .*such as Europe/Berlin"),
        ("EMBEDDING_DIMENSION", "0", "MCP_MEMORY_EMBEDDING_DIMENSION: .*allowed: 1 to 65536"),
    ],
)
def test_a_bad_value_is_one_line_that_names_variable_and_range(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, complaint: str
):
    monkeypatch.setenv(f"MCP_MEMORY_{variable}", value)
    with pytest.raises(ConfigurationError, match=complaint) as caught:
        load_settings()
    assert "\n" not in caught.value.message
    if variable.endswith("API_KEY"):
        assert value.strip() not in caught.value.message


def test_empty_values_count_as_unset(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_MEMORY_HYBRID_ALPHA", "")
    monkeypatch.setenv("MCP_MEMORY_API_KEY", "")
    settings = load_settings()
    assert (settings.hybrid.hybrid_alpha, settings.api_key) == (None, None)


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.5", "memory.example"])  # noqa: S104
def test_an_open_address_is_served_with_a_key_only(host: str):
    with pytest.raises(ConfigurationError, match="set MCP_MEMORY_API_KEY"):
        require_key_for_open_address(load_settings({"http_host": host}), has_keys=False)
    settings = load_settings({"http_host": host, "api_key": KEY})
    require_key_for_open_address(settings, has_keys=True)
    assert KEY not in repr(settings)


def test_secrets_may_come_from_files_and_the_environment_wins(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    (tmp_path / "mcp_memory_api_key").write_text(f"{KEY}\n")
    (tmp_path / "mcp_memory_qdrant_api_key").write_text("of-qdrant")
    monkeypatch.setenv("MCP_MEMORY_SECRETS_DIR", str(tmp_path))
    settings = load_settings()
    assert settings.api_key is not None
    assert settings.api_key.get_secret_value() == KEY
    assert settings.qdrant.api_key is not None
    assert settings.qdrant.api_key.get_secret_value() == "of-qdrant"
    monkeypatch.setenv("MCP_MEMORY_QDRANT_API_KEY", "from-the-environment")
    changed = load_settings().qdrant.api_key
    assert changed is not None
    assert changed.get_secret_value() == "from-the-environment"


@pytest.mark.parametrize("name", ["mcp_memory_api_key", "mcp_memory_qdrant_api_key"])
def test_an_empty_file_is_no_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str):
    """It would be taken for no key at all, and leave the door open."""
    (tmp_path / name).touch()
    monkeypatch.setenv("MCP_MEMORY_SECRETS_DIR", str(tmp_path))
    with pytest.raises(ConfigurationError, match=name.upper()):
        load_settings()


def test_lists_are_split_at_commas(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_MEMORY_ALLOWED_HOSTS", "memory.lan, other.lan,")
    assert load_settings().allowed_hosts == ("memory.lan", "other.lan")


def test_misspelt_variables_are_noticed(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("MCP_MEMORY_HYBIRD_ALPHA", "0.5")
    monkeypatch.setenv("MCP_MEMORY_EMBEDDING_URL", "http://127.0.0.1")
    assert unknown_variables(os.environ) == ["MCP_MEMORY_HYBIRD_ALPHA"]


def test_variables_of_the_other_product_are_named_as_such_and_not_as_misspelt():
    given = ["mcp_memory_chroma_path", "MCP_API_KEY", "MCP_HTTP_PORT", "MCP_MEMORY_HTTP_PORT", "MCP_UNRELATED"]
    assert unknown_variables(given) == []
    assert list(about_other_product(given)) == [
        "MCP_MEMORY_CHROMA_PATH is a setting of another product of a similar name (mcp-memory-service on PyPI); it has"
        " no effect here.",
        "MCP_API_KEY is a setting of another product of a similar name (mcp-memory-service on PyPI); it has no effect"
        " here, MCP_MEMORY_API_KEY has.",
    ]


def test_no_setting_of_ours_is_taken_for_one_of_the_other_product():
    assert list(about_other_product(variable for variable, _ in documented_settings())) == []


@pytest.mark.parametrize(
    ("host", "loopback"),
    [(host, True) for host in ("127.0.0.1", "127.9.9.9", "::1", "localhost", "LOCALHOST")]
    + [(host, False) for host in ("0.0.0.0", "10.0.0.1", "example.com", "", "localhost.evil")],  # noqa: S104
)
def test_what_is_loopback(host: str, loopback: bool):
    assert is_loopback(host) is loopback


def test_settings_cannot_be_changed_by_accident():
    with pytest.raises(ValueError, match="frozen"):
        Settings().http_port = 1  # pyright: ignore[reportAttributeAccessIssue]
