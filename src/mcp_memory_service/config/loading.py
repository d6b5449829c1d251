"""Settings loaded from flags and the environment, and what is documented of them."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError

from ..errors import ConfigurationError
from .embedding import EmbeddingSettings
from .hybrid import HybridSearchSettings
from .qdrant import QdrantSettings
from .settings import Settings
from .sources import ENV_PREFIX, SECRETS_DIR_VARIABLE, EnvironmentSettings

_GROUPS: tuple[type[EnvironmentSettings], ...] = (Settings, HybridSearchSettings, EmbeddingSettings, QdrantSettings)


def load_settings(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings with flags winning over the environment; a bad value is one line that says what is allowed.

    `overrides` holds field names of `Settings`, of `HybridSearchSettings` and (as `qdrant_…`) of `QdrantSettings`, side
    by side as the flags are.
    """
    folder = os.environ.get(SECRETS_DIR_VARIABLE)
    if folder and not Path(folder).is_dir():
        raise ConfigurationError(f"{SECRETS_DIR_VARIABLE}: {folder} is no folder.")
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    hybrid = {name: given.pop(name) for name in HybridSearchSettings.model_fields if name in given}
    qdrant = {name: given.pop(f"qdrant_{name}") for name in QdrantSettings.model_fields if f"qdrant_{name}" in given}
    try:
        return Settings(hybrid=HybridSearchSettings(**hybrid), qdrant=QdrantSettings(**qdrant), **given)
    except ValidationError as error:
        raise ConfigurationError("; ".join(_explain(error))) from None
    except SettingsError as error:
        raise ConfigurationError(f"A setting cannot be read: {error}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(".env is not UTF-8 text.") from None


def unknown_variables() -> list[str]:
    """Variables that begin as our settings do and are none: most likely misspelt."""
    known = {variable for variable, _ in documented_settings()}
    return sorted(name for name in os.environ if name.startswith(ENV_PREFIX) and name not in known)


def documented_settings() -> Iterator[tuple[str, FieldInfo]]:
    """Every environment variable with its field, in the order in which they are documented."""
    for group in _GROUPS:
        for name, field in group.model_fields.items():
            if name not in {"hybrid", "embedding", "qdrant"}:
                yield f"{group.model_config.get('env_prefix')}{name.upper()}", field


def allowed_range(field: FieldInfo) -> str | None:
    """The values that the type or the bounds of a field allow, in words."""
    if get_origin(field.annotation) is Literal:
        return "one of " + ", ".join(str(value) for value in get_args(field.annotation))
    bounds = {
        bound: f"{getattr(part, bound):.15g}"
        for part in field.metadata
        for bound in ("ge", "gt", "le")
        if hasattr(part, bound)
    }
    low = bounds.get("ge") or (f"above {bounds['gt']}" if "gt" in bounds else None)
    if low and "le" in bounds:
        return f"{low} to {bounds['le']}"
    return f"{low} or more" if low else None


def _explain(error: ValidationError) -> Iterator[str]:
    prefixes = {group.__name__: group.model_config.get("env_prefix") for group in _GROUPS}
    prefix = prefixes.get(error.title, ENV_PREFIX)
    fields = dict(documented_settings())
    for problem in error.errors(include_url=False, include_input=False):
        reason = problem["msg"].removeprefix("Value error, ")
        if not problem["loc"]:
            yield reason
            continue
        variable = f"{prefix}{str(problem['loc'][-1]).upper()}"
        allowed = allowed_range(fields[variable]) if variable in fields else None
        yield f"{variable}: {reason}" + (f" (allowed: {allowed})" if allowed else "")
