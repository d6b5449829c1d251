"""Where settings come from: flags, then the environment, then `.env`, then files of secrets."""

import os
from urllib.parse import urlsplit

from pydantic import SecretStr
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SecretsSettingsSource, SettingsConfigDict

ENV_PREFIX = "MCP_MEMORY_"
SECRETS_DIR_VARIABLE = f"{ENV_PREFIX}SECRETS_DIR"


def from_environment(prefix: str) -> SettingsConfigDict:
    return SettingsConfigDict(
        env_prefix=prefix,
        env_file=".env",
        env_file_encoding="utf-8",
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
        """Adds the folder of secrets, which a variable names, so that a container needs no key in its environment."""
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


def header_secret(key: SecretStr | None) -> SecretStr | None:
    secret = key.get_secret_value() if key is not None else "unset"
    if not (secret.isascii() and secret.isprintable() and secret.strip()):
        raise ValueError("must be printable ASCII without line breaks, and not empty")
    return key
