"""Where settings come from: flags, then the environment, then a `.env` file, then files of secrets."""

import os
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pydantic import SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SecretsSettingsSource, SettingsConfigDict

ENV_PREFIX = "MCP_MEMORY_"
SECRETS_DIR_VARIABLE = f"{ENV_PREFIX}SECRETS_DIR"


def from_environment(prefix: str) -> SettingsConfigDict:
    return SettingsConfigDict(
        env_prefix=prefix,
        extra="ignore",
        env_ignore_empty=True,
        frozen=True,
    )


class EnvironmentSettings(BaseSettings):
    """What every group of settings shares."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Adds the folder of secrets, which a variable names, so that a container needs no key in its environment. What
        a `.env` file says comes with the flags (`load_settings`), so that none is read by chance."""
        folder = os.environ.get(SECRETS_DIR_VARIABLE)
        secrets = SecretsSettingsSource(settings_cls, secrets_dir=folder) if folder else file_secret_settings
        return init_settings, env_settings, dotenv_settings, secrets


def http_address(url: str | None) -> str | None:
    try:
        parts = urlsplit(url or "http://unset")
        valid = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
    except ValueError:
        valid = False
    if not valid:
        raise ValueError("must be an http or https address")
    return url


def whole_path(path: Path | None) -> Path | None:
    """From the root, with ~ as the home folder."""
    try:
        return path and path.expanduser().absolute()
    except RuntimeError as error:
        raise ValueError(f"cannot be found: {error}") from error


def without_password(value: Any) -> Any:
    """An address may hold a password, as http://user:password@host does; anything else comes back as it is."""
    if not isinstance(value, str) or "://" not in value:
        return value
    scheme, _, rest = value.partition("://")
    place, slash, path = rest.partition("/")
    return f"{scheme}://{'**********@' if '@' in place else ''}{place.rpartition('@')[2]}{slash}{path}"


def header_secret(key: SecretStr | None) -> SecretStr | None:
    secret = key.get_secret_value() if key is not None else "unset"
    if not (secret.isascii() and secret.isprintable() and secret.strip()):
        raise ValueError("must be printable ASCII without line breaks, and not empty")
    return key
