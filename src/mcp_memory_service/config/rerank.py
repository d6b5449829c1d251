"""Whether a cross-encoder puts the first results of a search in a new order, and which."""

from pathlib import Path
from typing import Literal

from pydantic import Field, SecretStr, field_validator, model_validator

from .sources import ENV_PREFIX, EnvironmentSettings, from_environment, header_secret, http_address, whole_path

RERANK_PREFIX = f"{ENV_PREFIX}RERANK_"


class RerankSettings(EnvironmentSettings):
    model_config = from_environment(RERANK_PREFIX)

    backend: Literal["off", "onnx", "http"] = Field(
        default="off",
        description="off = results stay in the order of the signals; onnx = the first of them are re-ranked by the"
        " cross-encoder of a folder, in this process; http = by a re-ranking server",
    )
    folder: Path | None = Field(
        default=None,
        description="Folder with an ONNX cross-encoder and its tokenizer.json; mcp-memory rerank check FOLDER tries it",
    )
    model_file: str | None = Field(
        default=None,
        description="The ONNX file within that folder, such as onnx/model_quantized.onnx; unset = model.onnx or the"
        " like of it",
    )
    url: str | None = Field(
        default=None, description="Base address of the re-ranking server; /rerank is added, such as to https://host/v2"
    )
    api: Literal["tei", "cohere"] = Field(
        default="tei", description="The protocol that server speaks; cohere is also that of Jina, vLLM and Infinity"
    )
    model: str | None = Field(default=None, description="Model name sent to a server of the protocol cohere")
    api_key: SecretStr | None = Field(default=None, description="Bearer token for that server")
    # The rule for updates moves the first five: what comes after the re-ranked ones must stay as it is.
    top_n: int = Field(default=10, ge=5, le=100, description="How many of the first results are re-ranked")
    weight: float = Field(
        default=0.5,
        gt=0.0,
        le=1.0,
        description="Share of the cross-encoder in the score, the rest is that of the signals; 1 = it alone decides"
        " among the first",
    )
    timeout_seconds: float = Field(
        default=2.0,
        gt=0,
        le=600,
        description="After so long the search answers in the order of the signals, and says rerank_timed_out",
    )

    _url_is_http = field_validator("url")(http_address)
    _key_fits_a_header = field_validator("api_key")(header_secret)
    _folder_is_whole = field_validator("folder")(whole_path)

    @model_validator(mode="after")
    def _backend_has_what_it_needs(self) -> "RerankSettings":
        if self.backend == "onnx" and not self.folder:
            raise ValueError(f"{RERANK_PREFIX}BACKEND=onnx needs {RERANK_PREFIX}FOLDER")
        if self.backend == "http" and not self.url:
            raise ValueError(f"{RERANK_PREFIX}BACKEND=http needs {RERANK_PREFIX}URL")
        if self.backend == "http" and self.api == "cohere" and not self.model:
            raise ValueError(f"{RERANK_PREFIX}API=cohere needs {RERANK_PREFIX}MODEL")
        return self
