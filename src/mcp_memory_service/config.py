"""Settings from flags, the environment and `.env`; read by the entry points and the composition root only."""

import ipaddress
import os
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias, get_args, get_origin
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict, SettingsError

from .errors import ConfigurationError
from .hybrid_search.fusion import FusionMethod
from .hybrid_search.policy import RankingPolicy
from .models import TunedWeights

ENV_PREFIX = "MCP_MEMORY_"
EMBEDDING_PREFIX = f"{ENV_PREFIX}EMBEDDING_"
MIN_API_KEY_CHARS = 16

_RANKING = RankingPolicy()

CommaSeparated: TypeAlias = Annotated[tuple[str, ...], NoDecode]


def _config(prefix: str) -> SettingsConfigDict:
    return SettingsConfigDict(
        env_prefix=prefix,
        env_file=".env",
        env_file_encoding="utf-8",
        extra="ignore",
        env_ignore_empty=True,
        frozen=True,
    )


class HybridSearchSettings(BaseSettings):
    """How the signals are weighed against each other."""

    model_config = _config(ENV_PREFIX)

    hybrid_alpha: float | None = Field(
        default=_RANKING.hybrid_alpha,
        ge=0.0,
        le=1.0,
        description="Weight of the vector signal: 1 = vectors only, 0 = tags only, unset = adaptive to each query"
        " (with fusion rrf: to the size of the corpus)",
    )
    vector_trust: float = Field(
        default=_RANKING.vector_trust,
        gt=0.0,
        le=100.0,
        description="Multiplies the odds of the vector signal where alpha adapts to the query; above 1 = trust it more",
    )
    recency_decay: float = Field(
        default=_RANKING.recency_decay,
        ge=0.0,
        le=100.0,
        description="Decay of the recency factor per day; 0 turns it off",
    )
    recency_floor: float = Field(
        default=_RANKING.recency_floor,
        ge=0.0,
        le=1.0,
        description="Least recency factor, however old a memory is; 0 = plain exponential decay",
    )
    adaptive_threshold_small: int = Field(
        default=_RANKING.adaptive_threshold_small,
        ge=0,
        description="With fusion rrf: below this many memories alpha is 0.5",
    )
    adaptive_threshold_large: int = Field(
        default=_RANKING.adaptive_threshold_large,
        ge=0,
        description="With fusion rrf: from this many memories on alpha is 0.8; between the two it is 0.7",
    )
    tag_weight: float = Field(
        default=_RANKING.tag_weight, ge=0.0, le=10.0, description="Weight of the tag signal, times (1 - alpha)"
    )
    keyword_weight: float = Field(
        default=_RANKING.keyword_weight, ge=0.0, le=10.0, description="Weight of the keyword signal, times (1 - alpha)"
    )
    neighbour_weight: float = Field(
        default=_RANKING.neighbour_weight,
        ge=0.0,
        le=0.95,
        description="How far a memory is drawn to the score of the next one of its session, with fusion score; 0 = off",
    )
    fusion: FusionMethod = Field(
        default=_RANKING.fusion, description="score = by scaled scores, rrf = by ranks (Reciprocal Rank Fusion)"
    )
    rrf_k: int = Field(default=_RANKING.rrf_k, ge=1, description="Smoothing constant of Reciprocal Rank Fusion")
    ranking_window: int = Field(
        default=_RANKING.ranking_window,
        ge=10,
        le=100_000,
        description="How many candidates each signal ranks, and how deep a search can be paged through",
    )

    @model_validator(mode="after")
    def _thresholds_are_in_order(self) -> "HybridSearchSettings":
        if self.adaptive_threshold_small > self.adaptive_threshold_large:
            raise ValueError(
                f"{ENV_PREFIX}ADAPTIVE_THRESHOLD_SMALL must not be above {ENV_PREFIX}ADAPTIVE_THRESHOLD_LARGE"
            )
        return self

    def policy(self, tuned: TunedWeights | None = None) -> RankingPolicy:
        """The numbers of the ranking: what was set, else what was tuned, else the defaults."""
        weights = {} if tuned is None or self.fusion == "rrf" else asdict(tuned)  # fitted to scores, not to ranks
        fitted = {name: value for name, value in weights.items() if name not in self.model_fields_set}
        return RankingPolicy(**self.model_dump() | fitted)


class EmbeddingSettings(BaseSettings):
    """Which model turns text into vectors."""

    model_config = _config(EMBEDDING_PREFIX)

    backend: Literal["local", "http"] = Field(
        default="local", description="local = all-MiniLM-L6-v2 in this process; http = an embedding server"
    )
    threads: int = Field(default=2, ge=1, le=64, description="Threads of the local model")
    url: str | None = Field(
        default=None, description="Base address of the embedding server, such as an Ollama or TEI one"
    )
    api: Literal["openai", "tei", "ollama"] = Field(default="openai", description="The protocol that server speaks")
    model: str | None = Field(default=None, description="Model name sent to that server; part of the store's identity")
    api_key: SecretStr | None = Field(default=None, description="Bearer token for that server")
    dimension: int | None = Field(
        default=None, ge=1, le=65_536, description="Length of its vectors; unset = taken from its first answer"
    )
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="Limit for one request to that server")
    max_batch: int = Field(default=32, ge=1, le=2048, description="Most texts in one request to that server")

    @field_validator("url")
    @classmethod
    def _url_is_http(cls, url: str | None) -> str | None:
        try:
            parts = urlsplit(url or "http://unset")
            valid = parts.scheme in {"http", "https"} and parts.hostname and (parts.port or True)
        except ValueError:
            valid = False
        if not valid:
            raise ValueError("must be an http or https address")
        return url

    @field_validator("api_key")
    @classmethod
    def _key_fits_a_header(cls, key: SecretStr | None) -> SecretStr | None:
        if key and not (key.get_secret_value().isascii() and key.get_secret_value().isprintable()):
            raise ValueError("must be printable ASCII without line breaks")
        return key

    @model_validator(mode="after")
    def _http_needs_address_and_model(self) -> "EmbeddingSettings":
        if self.backend == "http" and not (self.url and self.model):
            raise ValueError(f"{EMBEDDING_PREFIX}BACKEND=http needs {EMBEDDING_PREFIX}URL and {EMBEDDING_PREFIX}MODEL")
        return self


class Settings(BaseSettings):
    """Everything that can be set from outside."""

    model_config = _config(ENV_PREFIX)

    storage_backend: Literal["sqlite_vec"] = Field(default="sqlite_vec", description="Where memories are kept")
    sqlite_path: Path = Field(
        default=Path("~/.mcp-memory/memories.db"), description="The database file; its folder is made if missing"
    )
    http_host: str = Field(default="127.0.0.1", description="Address to serve on; any but loopback needs an API key")
    http_port: int = Field(default=8000, ge=0, le=65_535, description="Port to serve on; 0 = any free one")
    api_key: SecretStr | None = Field(
        default=None,
        description=f"Clients must send it as a Bearer token; at least {MIN_API_KEY_CHARS} ASCII characters",
    )
    allowed_hosts: CommaSeparated = Field(
        default=(), description="Further Host names to answer to, comma-separated; * = any"
    )
    allowed_origins: CommaSeparated = Field(
        default=(), description="Web origins that may call the service, comma-separated, such as http://localhost:6274"
    )
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(
        default="INFO", description="What is logged to stderr"
    )
    max_content_chars: int = Field(
        default=100_000, ge=1, le=1_000_000, description="Longest content of one memory, in characters"
    )
    mcp_response_chars: int = Field(
        default=20_000, ge=1_000, le=1_000_000, description="Longest answer of one MCP tool call, in characters"
    )
    mcp_toolsets: CommaSeparated = Field(
        default=("core", "search"),
        description="MCP tools to offer, comma-separated: core (store, retrieve, list, get, update, delete, stats),"
        " search (hybrid_search, semantic_search, keyword_search), feedback (rate_memory)",
    )
    hybrid: HybridSearchSettings = Field(default_factory=HybridSearchSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)

    @field_validator("sqlite_path")
    @classmethod
    def _expand_home(cls, path: Path) -> Path:
        if str(path) == ":memory:":
            raise ValueError("must name a file; memories are kept")
        try:
            return path.expanduser().absolute()
        except RuntimeError as error:
            raise ValueError(f"cannot be found: {error}") from error

    @field_validator("log_level", mode="before")
    @classmethod
    def _level_in_any_case(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level

    @field_validator("allowed_hosts", "allowed_origins", "mcp_toolsets", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("mcp_toolsets")
    @classmethod
    def _toolsets_exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names or set(names) - {"core", "search", "feedback"}:
            raise ValueError("must name core, search, feedback or several of them")
        return names

    @field_validator("api_key")
    @classmethod
    def _key_is_strong_ascii(cls, key: SecretStr | None) -> SecretStr | None:
        secret = key.get_secret_value() if key else ""
        if key and (len(secret) < MIN_API_KEY_CHARS or not secret.isascii() or not secret.isprintable()):
            raise ValueError(f"must have at least {MIN_API_KEY_CHARS} ASCII characters")
        return key


def require_key_for_open_address(settings: Settings) -> None:
    """For who is about to listen: other machines may only reach a service that asks for a key."""
    if settings.api_key is None and not is_loopback(settings.http_host):
        raise ConfigurationError(
            f"{ENV_PREFIX}HTTP_HOST={settings.http_host} can be reached by other machines: set {ENV_PREFIX}API_KEY"
            " (or serve on 127.0.0.1)."
        )


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def load_settings(overrides: Mapping[str, Any] | None = None) -> Settings:
    """Settings with flags winning over the environment; a bad value is one line that says what is allowed.

    `overrides` holds field names of `Settings` and of `HybridSearchSettings`, side by side as the flags are.
    """
    given = {name: value for name, value in (overrides or {}).items() if value is not None}
    hybrid = {name: given.pop(name) for name in HybridSearchSettings.model_fields if name in given}
    try:
        return Settings(hybrid=HybridSearchSettings(**hybrid), **given)
    except ValidationError as error:
        raise ConfigurationError("; ".join(_explain(error))) from None
    except SettingsError as error:
        raise ConfigurationError(f"A setting cannot be read: {error}") from None
    except UnicodeDecodeError:
        raise ConfigurationError(".env is not UTF-8 text.") from None


def unknown_variables() -> list[str]:
    """Names in the environment that look like settings of ours and are not: most likely misspelt."""
    known = {variable for variable, _ in documented_settings()}
    return sorted(name for name in os.environ if name.startswith(ENV_PREFIX) and name not in known)


def documented_settings() -> Iterator[tuple[str, FieldInfo]]:
    """Every environment variable with its field, in the order in which they are documented."""
    groups: tuple[tuple[str, type[BaseSettings]], ...] = (
        (ENV_PREFIX, Settings),
        (ENV_PREFIX, HybridSearchSettings),
        (EMBEDDING_PREFIX, EmbeddingSettings),
    )
    for prefix, group in groups:
        for name, field in group.model_fields.items():
            if name not in {"hybrid", "embedding"}:
                yield f"{prefix}{name.upper()}", field


def allowed_range(field: FieldInfo) -> str | None:
    """The values a field takes, in words, where its type or bounds tell."""
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
    prefix = EMBEDDING_PREFIX if error.title == EmbeddingSettings.__name__ else ENV_PREFIX
    fields = dict(documented_settings())
    for problem in error.errors(include_url=False, include_input=False):
        reason = problem["msg"].removeprefix("Value error, ")
        if not problem["loc"]:
            yield reason
            continue
        variable = f"{prefix}{str(problem['loc'][-1]).upper()}"
        allowed = allowed_range(fields[variable]) if variable in fields else None
        yield f"{variable}: {reason}" + (f" (allowed: {allowed})" if allowed else "")
