"""Which model turns text into vectors."""

from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from .sources import ENV_PREFIX, EnvironmentSettings, from_environment, header_secret, http_address

EMBEDDING_PREFIX = f"{ENV_PREFIX}EMBEDDING_"


class EmbeddingSettings(EnvironmentSettings):
    model_config = from_environment(EMBEDDING_PREFIX)

    backend: Literal["local", "http"] = Field(
        default="local", description="local = all-MiniLM-L6-v2 in this process; http = an embedding server"
    )
    threads: int = Field(default=2, ge=1, le=64, description="Threads of the local model")
    idle_seconds: float = Field(
        default=900.0,
        ge=0,
        description="After so long without a text the local model leaves memory (about 60 MB); the next search waits"
        " about half a second for it. 0 = never",
    )
    url: str | None = Field(
        default=None, description="Base address of the embedding server, such as an Ollama or TEI one"
    )
    api: Literal["openai", "tei", "ollama"] = Field(default="openai", description="The protocol that server speaks")
    model: str | None = Field(default=None, description="Model name sent to that server; part of the store's identity")
    api_key: SecretStr | None = Field(default=None, description="Bearer token for that server")
    dimension: int | None = Field(
        default=None,
        ge=1,
        le=65_536,
        description="Length of its vectors; unset = taken from its first answer; a new Qdrant collection needs it",
    )
    timeout_seconds: float = Field(default=30.0, gt=0, le=600, description="Limit for one request to that server")
    max_batch: int = Field(
        default=32, ge=1, le=2048, description="Maximum number of texts in one request to that server"
    )

    _url_is_http = field_validator("url")(http_address)
    _key_fits_a_header = field_validator("api_key")(header_secret)

    @model_validator(mode="after")
    def _http_needs_address_and_model(self) -> "EmbeddingSettings":
        if self.backend == "http" and not (self.url and self.model):
            raise ValueError(f"{EMBEDDING_PREFIX}BACKEND=http needs {EMBEDDING_PREFIX}URL and {EMBEDDING_PREFIX}MODEL")
        return self
