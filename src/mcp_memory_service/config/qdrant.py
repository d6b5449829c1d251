"""How a Qdrant server or cluster is reached, and how a new collection on it is laid out."""

import re
import ssl
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator

from .sources import ENV_PREFIX, EnvironmentSettings, from_environment, header_secret, http_address

QDRANT_PREFIX = f"{ENV_PREFIX}QDRANT_"

_HOST = re.compile(r"[0-9A-Za-z._:%-]+")


class QdrantSettings(EnvironmentSettings):
    """In force with MCP_MEMORY_STORAGE_BACKEND=qdrant."""

    model_config = from_environment(QDRANT_PREFIX)

    url: str = Field(default="http://127.0.0.1:6333", description="Address of the Qdrant server; https for TLS")
    api_key: SecretStr | None = Field(default=None, description="Key of that server")
    collection: str = Field(
        default="memories", pattern="^[A-Za-z0-9_-]{1,64}$", description="Name of the collection; it is made if missing"
    )
    ca_file: Path | None = Field(
        default=None,
        description="Certificates (PEM) to trust instead of the well-known ones, with https; gRPC takes them from"
        " GRPC_DEFAULT_SSL_ROOTS_FILE_PATH",
    )
    grpc: bool = Field(default=False, description="Speak gRPC in place of REST")
    grpc_port: int = Field(default=6334, ge=1, le=65_535, description="Port of gRPC")
    timeout_seconds: float = Field(default=5.0, gt=0, le=600, description="Limit for one request to Qdrant")
    retries: int = Field(default=2, ge=0, le=10, description="How often a request that failed is sent again")
    shards: int = Field(default=1, ge=1, le=1024, description="Of a new collection: into how many parts it is cut")
    replication_factor: int = Field(
        default=1, ge=1, le=16, description="Of a new collection: on how many nodes each part is kept"
    )
    write_consistency_factor: int = Field(
        default=1, ge=1, le=16, description="Of a new collection: how many of them must confirm a write"
    )
    write_ordering: Literal["weak", "medium", "strong"] = Field(
        default="medium", description="How nodes agree on the order of writes to one memory"
    )
    read_consistency: Literal["one", "majority", "quorum", "all"] = Field(
        default="one", description="How many nodes must agree on what is read"
    )
    quantization: Literal["none", "scalar", "binary"] = Field(
        default="none", description="Of a new collection: search smaller copies of the vectors, then rescore"
    )
    oversampling: float = Field(
        default=2.0, ge=1.0, le=100.0, description="With quantization: how many times as many candidates are rescored"
    )
    vectors_on_disk: bool = Field(
        default=False, description="Of a new collection: read vectors from disk instead of keeping them in memory"
    )
    hnsw_ef: int | None = Field(
        default=None, ge=4, le=100_000, description="Breadth of the vector search; unset = chosen by Qdrant"
    )

    _key_fits_a_header = field_validator("api_key")(header_secret)

    @field_validator("url")
    @classmethod
    def _url_is_a_plain_address(cls, url: str) -> str:
        """It is shown in logs and errors, so it holds no key; what follows the port would be ignored by gRPC."""
        parts = urlsplit(http_address(url) or "")
        if not (parts.hostname and _HOST.fullmatch(parts.hostname)):
            raise ValueError("must be an http or https address, such as http://127.0.0.1:6333")
        if parts.username is not None or parts.password is not None:
            raise ValueError(f"must hold no user or password: set {QDRANT_PREFIX}API_KEY")
        return url

    @field_validator("ca_file")
    @classmethod
    def _certificates_can_be_read(cls, path: Path | None) -> Path | None:
        if path is None:
            return None
        try:
            ssl.create_default_context(cafile=path.expanduser())
        except (OSError, ssl.SSLError) as error:
            raise ValueError("must name a file of certificates (PEM)") from error
        return path.expanduser()

    @model_validator(mode="after")
    def _enough_replicas_confirm(self) -> "QdrantSettings":
        if self.write_consistency_factor > self.replication_factor:
            raise ValueError(
                f"{QDRANT_PREFIX}WRITE_CONSISTENCY_FACTOR must not be above {QDRANT_PREFIX}REPLICATION_FACTOR"
            )
        return self
