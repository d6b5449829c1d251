"""Settings loaded from flags and the environment, and what is documented of them."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_settings import SettingsError

from ..errors import ConfigurationError
from .embedding import EmbeddingSettings
from .env_files import EnvFile
from .hybrid import HybridSearchSettings
from .other_product import VARIABLES as OF_OTHER_PRODUCT
from .qdrant import QdrantSettings
from .rerank import RerankSettings
from .settings import Settings
from .sources import ENV_PREFIX, SECRETS_DIR_VARIABLE, EnvironmentSettings, without_password

_PREFIXED: Mapping[str, type[EnvironmentSettings]] = {
    "embedding": EmbeddingSettings,
    "rerank": RerankSettings,
    "qdrant": QdrantSettings,
}
"""Groups whose variables and flags begin with their names."""
_GROUPS: tuple[type[EnvironmentSettings], ...] = (Settings, HybridSearchSettings, *_PREFIXED.values())


@dataclass(frozen=True, slots=True)
class SettingInForce:
    variable: str
    value: Any
    """As JSON has it."""
    origin: str
    """`flag`, `environment`, `default`, the file it was read from, or the setting that implies it."""


def load_settings(overrides: Mapping[str, Any] | None = None, env_file: EnvFile | None = None) -> Settings:
    """Settings with flags winning over the environment, and that over a file; a bad value is one line that says what is
    allowed.

    `overrides` holds field names of `Settings`, of `HybridSearchSettings` and (as `qdrant_…`, `embedding_…` and
    `rerank_…`) of the other groups, side by side as the flags are.
    """
    folder = os.environ.get(SECRETS_DIR_VARIABLE)
    if folder and not Path(folder).is_dir():
        raise ConfigurationError(f"{SECRETS_DIR_VARIABLE}: {folder} is no folder.")
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    hybrid = {name: given.pop(name) for name in HybridSearchSettings.model_fields if name in given}
    try:
        groups: dict[str, Any] = {
            "hybrid": HybridSearchSettings(**_in_file(HybridSearchSettings, env_file) | hybrid),
            **{prefix: _group(prefix, group, given, env_file) for prefix, group in _PREFIXED.items()},
        }
        return Settings(**_in_file(Settings, env_file) | groups | given)
    except ValidationError as error:
        raise ConfigurationError("; ".join(_explain(error))) from None
    except SettingsError as error:
        raise ConfigurationError(f"A setting cannot be read: {error}") from None


def _group(
    prefix: str, group: type[EnvironmentSettings], given: dict[str, Any], env_file: EnvFile | None
) -> EnvironmentSettings:
    """A group from the flags that are its own, which are taken from what is given."""
    own = {name: given.pop(f"{prefix}_{name}") for name in group.model_fields if f"{prefix}_{name}" in given}
    return group(**_in_file(group, env_file) | own)


def unknown_variables(names: Iterable[str]) -> list[str]:
    """Those that begin as our settings do and are none: most likely misspelt."""
    known = OF_OTHER_PRODUCT | {variable for variable, _ in documented_settings()}
    return sorted(name for name in names if name.upper().startswith(ENV_PREFIX) and name.upper() not in known)


def documented_settings() -> Iterator[tuple[str, FieldInfo]]:
    """Every environment variable with its field, in the order in which they are documented."""
    for group in _GROUPS:
        for variable, name in _variables(group):
            yield variable, group.model_fields[name]


def settings_in_force(
    settings: Settings, overrides: Mapping[str, Any], env_file: EnvFile | None
) -> Iterator[SettingInForce]:
    """Every setting with where its value comes from; secrets are masked. The arguments are those of `load_settings`,
    and what it returned."""
    for group in (settings, settings.hybrid, settings.embedding, settings.rerank, settings.qdrant):
        values = group.model_dump(mode="json")
        for variable, name in _variables(type(group)):
            origin = _origin(variable, overrides, env_file)
            if origin == "default" and group is settings.hybrid and name in settings.hybrid.implied:
                origin = f"{ENV_PREFIX}RANKING"
            yield SettingInForce(variable, without_password(values[name]), origin)


def _origin(variable: str, overrides: Mapping[str, Any], env_file: EnvFile | None) -> str:
    if overrides.get(variable.removeprefix(ENV_PREFIX).lower()) is not None:
        return "flag"
    if variable in _set_in_environment():
        return "environment"
    if env_file and variable in env_file.values:
        return str(env_file.path)
    folder = os.environ.get(SECRETS_DIR_VARIABLE)
    secrets = [file for file in Path(folder).iterdir() if file.name.upper() == variable] if folder else []
    return str(secrets[0]) if secrets else "default"


def _in_file(group: type[EnvironmentSettings], env_file: EnvFile | None) -> dict[str, Any]:
    """The fields of a group that a file sets and the environment, which counts more, does not."""
    values: Mapping[str, str] = {} if env_file is None else env_file.values
    taken = _set_in_environment()
    return {name: values[variable] for variable, name in _variables(group) if variable in values.keys() - taken}


def _set_in_environment() -> set[str]:
    """An empty value counts as unset, and no name depends on its case."""
    return {name.upper() for name, value in os.environ.items() if value}


def _variables(group: type[EnvironmentSettings]) -> list[tuple[str, str]]:
    """The variables of a group, each with the name of its field."""
    prefix = group.model_config.get("env_prefix")
    return [(f"{prefix}{name.upper()}", name) for name in group.model_fields if name not in {"hybrid", *_PREFIXED}]


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
