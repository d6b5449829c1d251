"""`.env` files: which of them is read, and what is ours in it."""

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

from dotenv import dotenv_values
from dotenv.parser import Binding, parse_stream

from ..errors import ConfigurationError
from .sources import ENV_PREFIX

NAME = ".env"
MAX_ENV_FILE_BYTES = 256 * 1024
"""Every setting with its comment takes a tenth of it; anything longer with this name is something else."""

# At the beginning of a line; also in text of two bytes a character, once its zero bytes are out.
_OURS = re.compile(rb"(?:^|[\r\n])[\xef\xbb\xbf\xff\xfe]*\s*(?:export\s+)?'?" + ENV_PREFIX.encode(), re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class EnvFile:
    """A file that settings are read from."""

    path: Path
    values: Mapping[str, str]
    """By variable, in upper case; those of other programs and empty ones are left out."""


def config_folder() -> Path | None:
    """Where this user keeps settings of programs, and ours among them; None if nobody knows."""
    base = os.environ.get("APPDATA" if os.name == "nt" else "XDG_CONFIG_HOME", "")
    if Path(base).is_absolute():  # a relative one would lie in whatever folder is open
        return Path(base) / "mcp-memory"
    try:
        return Path.home() / ".config" / "mcp-memory"
    except RuntimeError:
        return None


def env_file_to_read(named: Path | None = None, *, of_current_folder: bool = False) -> EnvFile | None:
    """The file that was named; else the first with something of ours, in the current folder if that may be read, or in
    the config folder."""
    if named is not None:
        return _parsed(named, _content(named))
    folders = [Path()] if of_current_folder else []
    if folder := config_folder():
        folders.append(folder)
    for path in (folder / NAME for folder in folders):
        content = _content(path) if _is_file(path) else b""
        if _has_ours(content):
            return _parsed(path, content)
    return None


def env_file_left_alone(read: EnvFile | None) -> Path | None:
    """The `.env` of the current folder, if it has something of ours and is not the one that was read."""
    path = Path(NAME)
    if not _is_file(path) or (read is not None and read.path.exists() and path.samefile(read.path)):
        return None
    try:
        return path.absolute() if _has_ours(_content(path)) else None
    except ConfigurationError:
        return None


def _is_file(path: Path) -> bool:
    """A folder that we may not look into has no file for us."""
    try:
        return path.is_file()
    except OSError:
        return False


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(MAX_ENV_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}.") from None


def _has_ours(content: bytes) -> bool:
    return _OURS.search(content.replace(b"\0", b"")) is not None


def _parsed(path: Path, content: bytes) -> EnvFile:
    """What is wrong with lines of other programs is their affair; a line of ours that cannot be read is an error."""
    if not _has_ours(content):
        return EnvFile(path.absolute(), {})
    if len(content) > MAX_ENV_FILE_BYTES:
        raise ConfigurationError(f"{path} is longer than {MAX_ENV_FILE_BYTES:,} bytes.")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ConfigurationError(f"{path} is not UTF-8 text.")
    statements = "".join(_readable(path, binding) for binding in parse_stream(StringIO(text)))
    values = {name.upper(): value for name, value in dotenv_values(stream=StringIO(statements)).items() if value}
    return EnvFile(path.absolute(), {name: value for name, value in values.items() if name.startswith(ENV_PREFIX)})


def _readable(path: Path, binding: Binding) -> str:
    if not binding.error:
        return binding.original.string
    if _has_ours(binding.original.string.encode()):
        raise ConfigurationError(f"{path}, line {binding.original.line}: it cannot be read; is a quote missing?")
    return ""
