"""Everything that can be set from outside, and what a server may listen on."""

import ipaddress
from datetime import UTC, tzinfo
from pathlib import Path
from typing import Annotated, Literal, TypeAlias
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import NoDecode

from ..errors import ConfigurationError
from ..product_names import OTHER_PRODUCT
from .embedding import EmbeddingSettings
from .hybrid import HybridSearchSettings
from .other_product import BACKENDS as BACKENDS_OF_OTHER_PRODUCT
from .qdrant import QdrantSettings
from .rerank import RerankSettings
from .sources import ENV_PREFIX, EnvironmentSettings, from_environment, http_address, whole_path

MIN_API_KEY_CHARS = 16
TOOLSETS = ("core", "search", "life", "feedback", "notes")
"""Known here by name alone: who only stores or searches does not import the tools. A test compares them."""

CommaSeparated: TypeAlias = Annotated[tuple[str, ...], NoDecode]


class Settings(EnvironmentSettings):
    model_config = from_environment(ENV_PREFIX)

    storage_backend: Literal["sqlite_vec", "qdrant"] = Field(
        default="sqlite_vec", description="Where memories are kept: in one file, or on a Qdrant server"
    )
    sqlite_path: Path = Field(
        default=Path("~/.mcp-memory/memories.db"), description="The database file; its folder is made if missing"
    )
    namespace: str = Field(
        default="default",
        description="The namespace of the command line and of `mcp`, such as team/alice; over HTTP the key or the"
        " header X-Namespace chooses",
    )
    time_zone: str = Field(
        default="UTC",
        description="In which times in words and dates without an offset are read, such as Europe/Berlin",
    )
    allow_network_filesystem: bool = Field(
        default=False,
        description="Open the database file also on a network, virtiofs or 9p mount, where SQLite can damage it",
    )
    search_index: bool = Field(
        default=True,
        description="While serving, answer searches of a SQLite store from an index in memory, that of a large store"
        " mapped from a file beside the database; off = from the database itself",
    )
    search_index_min_memories: int = Field(
        default=2_000, ge=1, description="From this many memories on the index of a SQLite store is kept in a file"
    )
    search_processes: int | None = Field(
        default=None,
        ge=0,
        le=64,
        description="While serving a SQLite store, at most so many further processes answer searches when many come at"
        " once; 0 = none, unset = one for each further core, at most 3",
    )
    http_host: str = Field(default="127.0.0.1", description="Address to serve on; any but loopback needs an API key")
    http_port: int = Field(default=8000, ge=0, le=65_535, description="Port to serve on; 0 = any free one")
    api_key: SecretStr | None = Field(
        default=None,
        description=f"Clients must send it as a Bearer token; at least {MIN_API_KEY_CHARS} ASCII characters",
    )
    keys_file: Path | None = Field(
        default=None,
        description="Where `mcp-memory keys` keeps the keys of several callers, hashed; once it has one, every request"
        " needs a key. Unset = beside the database file, with -keys.json after its name",
    )
    local_key: bool = Field(
        default=False,
        description="At the first start make a key for the user of this machine, in a file beside the keys;"
        " without it, every account of the machine can reach a service on loopback",
    )
    certfile: Path | None = Field(default=None, description="Serve https with this certificate (PEM, with its chain)")
    keyfile: Path | None = Field(default=None, description="The private key of the certificate")
    public_url: str | None = Field(
        default=None, description="How clients reach the service, such as https://memory.example; for OAuth metadata"
    )
    oauth_issuer: str | None = Field(
        default=None, description="Take tokens of this authorization server (OAuth 2.1, JWT) beside keys"
    )
    oauth_audience: str | None = Field(
        default=None, description="What tokens must be made for: the address of this service"
    )
    oauth_jwks_url: str | None = Field(default=None, description="Where the authorization server publishes its keys")
    oauth_namespace_claim: str = Field(
        default="namespace", description="The claim of a token that names its namespaces, a text or a list"
    )
    max_memories: int | None = Field(
        default=None,
        ge=1,
        description="Maximum number of memories in each namespace; unset = as many as there is room for",
    )
    trash_days: int = Field(
        default=7, ge=0, le=3_650, description="How many days what is deleted can be restored; 0 = it is gone at once"
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
        default=100_000, ge=1, le=1_000_000, description="Maximum length of the content of one memory, in characters"
    )
    similar_on_store: bool = Field(
        default=True,
        description="Answer a store of up to 10 memories with others that they may repeat, correct or contradict",
    )
    index_roots: CommaSeparated = Field(
        default=(),
        description="Folders that REST and MCP may have indexed, comma-separated; mcp-memory index may index any",
    )
    index_mentions: bool = Field(
        default=False,
        description="Count a title or alias that stands in another note as a weak link to its note",
    )
    folder_context: bool = Field(
        default=False,
        description="Give along with hits of a folder what its _context.md says, or the front matter key context of its"
        " folder note",
    )
    mcp_response_chars: int = Field(
        default=20_000,
        ge=1_000,
        le=1_000_000,
        description="Maximum length of the answer of one MCP tool call, in characters",
    )
    mcp_toolsets: CommaSeparated = Field(
        default=("all",),
        description=f"Sets of MCP tools to offer, comma-separated: {', '.join(TOOLSETS)}; all = every one of them",
    )
    mcp_namespace_argument: bool = Field(
        default=False,
        description="Offer every MCP tool an argument `namespace`, for agents that use several; without it the header"
        " X-Namespace, `mcp --namespace` or the key decide",
    )
    secrets_dir: Path | None = Field(
        default=None,
        description="A folder with a file for each secret, named as its variable in lower case, such as"
        " mcp_memory_api_key; from the environment only",
    )
    hybrid: HybridSearchSettings = Field(default_factory=HybridSearchSettings)
    embedding: EmbeddingSettings = Field(default_factory=EmbeddingSettings)
    rerank: RerankSettings = Field(default_factory=RerankSettings)
    qdrant: QdrantSettings = Field(default_factory=QdrantSettings)

    @property
    def zone(self) -> tzinfo:
        return _zone(self.time_zone)

    @property
    def keys_path(self) -> Path:
        return self.keys_file or self.sqlite_path.with_name(f"{self.sqlite_path.name}-keys.json")

    @property
    def local_key_path(self) -> Path:
        return self.keys_path.with_name(f"{self.keys_path.name.removesuffix('.json')}-local")

    @property
    def store(self) -> str:
        """Where memories are kept, for people to read."""
        if self.storage_backend == "qdrant":
            return f"Qdrant collection {self.qdrant.collection} at {self.qdrant.url}"
        return str(self.sqlite_path)

    @field_validator("sqlite_path", "keys_file", "certfile", "keyfile")
    @classmethod
    def _expand_home(cls, path: Path | None) -> Path | None:
        if str(path) == ":memory:":
            raise ValueError("must name a file; memories are kept")
        return whole_path(path)

    @field_validator("storage_backend", mode="before")
    @classmethod
    def _backend_is_of_this_product(cls, backend: object) -> object:
        if isinstance(backend, str) and backend.lower() in BACKENDS_OF_OTHER_PRODUCT:
            raise ValueError(f"{backend} is a backend of {OTHER_PRODUCT}")
        return backend

    @field_validator("time_zone")
    @classmethod
    def _zone_is_known(cls, name: str) -> str:
        _zone(name)
        return name

    @field_validator("log_level", mode="before")
    @classmethod
    def _level_in_any_case(cls, level: object) -> object:
        return level.upper() if isinstance(level, str) else level

    @field_validator("allowed_hosts", "allowed_origins", "index_roots", "mcp_toolsets", mode="before")
    @classmethod
    def _split_at_commas(cls, value: object) -> object:
        return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value

    @field_validator("mcp_toolsets")
    @classmethod
    def _toolsets_exist(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        if not names or set(names) - {"all", *TOOLSETS}:
            raise ValueError(f"must name all, or some of {', '.join(TOOLSETS)}")
        return names

    @field_validator("index_roots")
    @classmethod
    def _roots_are_absolute(cls, roots: tuple[str, ...]) -> tuple[str, ...]:
        expanded = tuple(str(Path(root).expanduser()) for root in roots)
        if not all(Path(root).is_absolute() for root in expanded):
            raise ValueError("must name folders by absolute paths")
        return expanded

    _addresses_are_http = field_validator("public_url", "oauth_issuer", "oauth_jwks_url")(http_address)

    @model_validator(mode="after")
    def _go_together(self) -> "Settings":
        if (self.certfile is None) != (self.keyfile is None):
            raise ValueError(f"{ENV_PREFIX}CERTFILE and {ENV_PREFIX}KEYFILE go together")
        if self.oauth_issuer and not (self.oauth_audience and self.oauth_jwks_url):
            raise ValueError(
                f"{ENV_PREFIX}OAUTH_ISSUER needs {ENV_PREFIX}OAUTH_AUDIENCE and {ENV_PREFIX}OAUTH_JWKS_URL"
            )
        return self

    @field_validator("api_key")
    @classmethod
    def _key_is_strong_ascii(cls, key: SecretStr | None) -> SecretStr | None:
        secret = key.get_secret_value() if key is not None else ""
        if key is not None and (len(secret) < MIN_API_KEY_CHARS or not secret.isascii() or not secret.isprintable()):
            raise ValueError(f"must have at least {MIN_API_KEY_CHARS} ASCII characters")
        return key


def _zone(name: str) -> tzinfo:
    if name.upper() == "UTC":  # also where there is no database of zones
        return UTC
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise ValueError(
            "must be a time zone that this machine knows, such as Europe/Berlin (if it knows none: pip install tzdata)"
        ) from error


def require_key_for_open_address(settings: Settings, *, has_keys: bool) -> None:
    """Other machines may only reach a service that asks for a key."""
    if not has_keys and not is_loopback(settings.http_host):
        raise ConfigurationError(
            f"{ENV_PREFIX}HTTP_HOST={settings.http_host} can be reached by other machines: make a key with mcp-memory"
            f" keys create, or set {ENV_PREFIX}API_KEY (or serve on 127.0.0.1)."
        )


def is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False
