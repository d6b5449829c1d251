"""Which model turns text into vectors."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from .sources import ENV_PREFIX, EnvironmentSettings, from_environment, header_secret, http_address, whole_path

EMBEDDING_PREFIX = f"{ENV_PREFIX}EMBEDDING_"


class EmbeddingSettings(EnvironmentSettings):
    model_config = from_environment(EMBEDDING_PREFIX)

    backend: Literal["local", "onnx", "http"] = Field(
        default="local",
        description="local = all-MiniLM-L6-v2 in this process; onnx = the model of a folder, in this process;"
        " http = an embedding server",
    )
    threads: int = Field(default=2, ge=1, le=64, description="Threads of a model in this process")
    idle_seconds: float = Field(
        default=900.0,
        ge=0,
        description="After so long without a text a model in this process leaves memory (the local one about 60 MB);"
        " the next search waits about half a second for it. 0 = never",
    )
    folder: Path | None = Field(
        default=None,
        description="Folder with an ONNX model and its tokenizer.json; mcp-memory embeddings check FOLDER tries it",
    )
    model_file: str | None = Field(
        default=None,
        description="The ONNX file within that folder, such as onnx/model_quantized.onnx; unset = model.onnx or the"
        " like of it",
    )
    pooling: Literal["auto", "mean", "cls"] = Field(
        default="auto",
        description="How that model makes one vector of those of the tokens; auto = as its folder says",
    )
    query_prefix: str | None = Field(
        default=None,
        description='What comes before each query, such as "query: ", with a folder or a server; unset = as the folder'
        " says, else nothing. The store is bound to it",
    )
    document_prefix: str | None = Field(default=None, description='The same for each memory, such as "passage: "')
    max_tokens: int | None = Field(
        default=None,
        ge=16,
        le=8192,
        description="How many tokens of a text the model of a folder or a server reads; memories are cut into chunks"
        " that fit. Unset = as the folder says, at most 512",
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
    _folder_is_whole = field_validator("folder")(whole_path)

    @model_validator(mode="after")
    def _backend_has_what_it_needs(self) -> "EmbeddingSettings":
        if self.backend == "onnx" and not self.folder:
            raise ValueError(f"{EMBEDDING_PREFIX}BACKEND=onnx needs {EMBEDDING_PREFIX}FOLDER")
        if self.backend == "http" and not (self.url and self.model):
            raise ValueError(f"{EMBEDDING_PREFIX}BACKEND=http needs {EMBEDDING_PREFIX}URL and {EMBEDDING_PREFIX}MODEL")
        return self
