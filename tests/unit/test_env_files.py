"""`.env` files: what is ours in them, which one counts, and what a broken one stops."""

from pathlib import Path

import pytest

from mcp_memory_service.config import env_file_left_alone, env_file_to_read, load_settings
from mcp_memory_service.config.env_files import MAX_ENV_FILE_BYTES, config_folder
from mcp_memory_service.errors import ConfigurationError

OURS = "MCP_MEMORY_HTTP_PORT=1\n"


def written(path: Path, content: str | bytes = OURS) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_variables_of_ours_are_read_as_a_shell_would():
    written(
        Path(".env"),
        "\ufeffexport MCP_MEMORY_LOG_LEVEL='DEBUG' # loud\nmcp_memory_http_port=7\nPLACE=/data\n"
        "MCP_MEMORY_SQLITE_PATH=${PLACE}/a.db\nMCP_MEMORY_API_KEY=\nMCP_MEMORY_FUSION\n",
    )
    found = env_file_to_read(Path(".env"))
    assert found is not None
    assert found.values == {
        "MCP_MEMORY_LOG_LEVEL": "DEBUG",
        "MCP_MEMORY_HTTP_PORT": "7",
        "MCP_MEMORY_SQLITE_PATH": "/data/a.db",
    }
    assert load_settings({}, found).http_port == 7


@pytest.mark.parametrize(
    "content",
    [b"NAME=\xff\xfe\n", b"\x80\x00\x01", 'NAME="no end\n', "# MCP_MEMORY_HTTP_PORT=1\n", "=\n" * MAX_ENV_FILE_BYTES],
)
def test_a_file_without_anything_of_ours_stops_nobody(content: str | bytes):
    written(Path(".env"), content)
    assert env_file_to_read(of_current_folder=True) is None
    assert env_file_left_alone(None) is None


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"MCP_MEMORY_LOG_LEVEL=\xff\xfe", "not UTF-8"),
        (OURS.encode("utf-16"), "not UTF-8"),
        (OURS.encode("utf-16-be"), "not UTF-8"),
        ('# first\nMCP_MEMORY_API_KEY="no end\n', "line 2: it cannot be read"),
        (OURS + "#" * MAX_ENV_FILE_BYTES, "longer than"),
    ],
)
def test_a_line_of_ours_that_cannot_be_read_is_said(content: str | bytes, complaint: str):
    written(Path(".env"), content)
    with pytest.raises(ConfigurationError, match=complaint):
        env_file_to_read(of_current_folder=True)
    assert env_file_left_alone(None) == Path(".env").absolute()


def test_a_line_of_others_that_cannot_be_read_is_left_out():
    written(Path(".env"), f'NAME="no end\n{OURS}')
    found = env_file_to_read(of_current_folder=True)
    assert found is not None
    assert found.values == {"MCP_MEMORY_HTTP_PORT": "1"}


def test_the_config_folder_counts_and_the_current_one_only_for_who_asks(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    here = written(Path(".env")).absolute()
    assert env_file_to_read() is None
    assert env_file_left_alone(None) == here
    mine = written(tmp_path / ".config" / "mcp-memory" / ".env")
    found = env_file_to_read()
    assert found is not None
    assert (found.path, env_file_left_alone(found)) == (mine, here)
    found = env_file_to_read(of_current_folder=True)
    assert found is not None
    assert (found.path, env_file_left_alone(found)) == (here, None)
    monkeypatch.chdir(mine.parent)
    assert env_file_left_alone(env_file_to_read()) is None


def test_what_is_called_dotenv_and_is_no_file_is_none():
    Path(".env").mkdir()
    assert env_file_to_read(of_current_folder=True) is None
    with pytest.raises(ConfigurationError, match="cannot be read"):
        env_file_to_read(Path(".env"))
    with pytest.raises(ConfigurationError, match="cannot be read: No such file"):
        env_file_to_read(Path("missing.env"))


def test_the_config_folder_never_lies_in_the_current_one(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config_folder() == tmp_path / "xdg" / "mcp-memory"
    monkeypatch.setenv("XDG_CONFIG_HOME", "relative")
    assert config_folder() == tmp_path / ".config" / "mcp-memory"
