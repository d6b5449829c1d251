"""What the JSON files of a model folder say: how tokens become one vector, prefixes of texts, how long these may be."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from ..errors import ConfigurationError
from .onnx_model import Pooling

# Chunks are shorter (`chunks.py`). Only a query can be longer, and attention takes time and memory by its square.
USUAL_MAX_TOKENS = 512
# Their positions begin after the id of the padding.
_OFFSET_POSITIONS = frozenset({"roberta", "xlm-roberta", "camembert", "mpnet"})
_POOLINGS: Mapping[str, Pooling] = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean",  # of another length, which is made 1 anyway
}
# From their model cards; folders rarely say.
_PREFIX_HINTS = {
    "e5-": ('MCP_MEMORY_EMBEDDING_QUERY_PREFIX="query: "', 'MCP_MEMORY_EMBEDDING_DOCUMENT_PREFIX="passage: "'),
    "bge-": ('MCP_MEMORY_EMBEDDING_QUERY_PREFIX="Represent this sentence for searching relevant passages: "',),
}


class FolderConfig:
    """ConfigurationError for what cannot be read or is not known here."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._model = _json_object(folder / "config.json")
        modules = _parsed(folder / "modules.json")
        self._modules: list[Mapping[str, Any]] = modules if isinstance(modules, list) else []
        self._prompts: Mapping[str, str] = (
            _json_object(folder / "config_sentence_transformers.json").get("prompts") or {}
        )

    @property
    def pad_id(self) -> int:
        return _number(self._model, "pad_token_id") or 0

    @property
    def hidden_size(self) -> int | None:
        return _number(self._model, "hidden_size")

    @property
    def has_dense_layer(self) -> bool:
        """Whether vectors go through a further layer after the pooling."""
        return bool(self._paths("Dense"))

    @property
    def query_prefix(self) -> str:
        return self._prompts.get("query") or ""

    @property
    def document_prefix(self) -> str:
        return self._prompts.get("document") or self._prompts.get("passage") or ""

    @property
    def prefix_hints(self) -> tuple[str, ...]:
        """The settings that a model of this name usually needs."""
        names = f"{self._model.get('_name_or_path', '')} {self._folder.name}".lower()
        return next((hints for family, hints in _PREFIX_HINTS.items() if family in names), ())

    def pooling(self) -> Pooling:
        config = _json_object(self._folder / (self._paths("Pooling") or ["1_Pooling"])[0] / "config.json")
        if not config:
            raise ConfigurationError(
                f"{self._folder} does not say how the vectors of tokens become one (1_Pooling/config.json is missing):"
                " set MCP_MEMORY_EMBEDDING_POOLING to cls (BGE, Granite) or mean (E5, MiniLM), as the model card says."
            )
        flag = "pooling_mode_"
        modes = {name.removeprefix(flag) for name, on in config.items() if name.startswith(flag) and on is True}
        if isinstance(config.get("pooling_mode"), str):
            modes.add(config["pooling_mode"])
        known: list[Pooling] = [_POOLINGS[mode] for mode in modes if mode in _POOLINGS]
        if len(modes) != 1 or not known:
            raise ConfigurationError(
                f"{self._folder} pools by {', '.join(sorted(modes)) or 'nothing'}; only mean and cls are known here."
            )
        return known[0]

    def max_tokens(self, chosen: int | None) -> int:
        positions = _number(self._model, "max_position_embeddings")
        if positions and self._model.get("model_type") in _OFFSET_POSITIONS:
            positions -= self.pad_id + 1
        if chosen is not None:
            if positions and chosen > positions:
                raise ConfigurationError(
                    f"MCP_MEMORY_EMBEDDING_MAX_TOKENS={chosen}, but the model in {self._folder} reads {positions}."
                )
            return chosen
        said = _number(_json_object(self._folder / "sentence_bert_config.json"), "max_seq_length")
        said = said or _number(_json_object(self._folder / "tokenizer_config.json"), "model_max_length")
        return min(limit for limit in (said, positions, USUAL_MAX_TOKENS) if limit)

    def _paths(self, kind: str) -> list[str]:
        """Of the modules of this kind."""
        return [str(module.get("path")) for module in self._modules if str(module.get("type", "")).endswith(kind)]


def _number(config: Mapping[str, Any], name: str) -> int | None:
    value = config.get(name)
    return int(value) if isinstance(value, int | float) and value > 0 else None


def _json_object(path: Path) -> Mapping[str, Any]:
    """Empty if there is no file: exporters leave out what they do not need."""
    parsed = _parsed(path)
    if not isinstance(parsed, dict | None):
        raise ConfigurationError(f"{path} is not a JSON object.")
    return cast("Mapping[str, Any]", parsed or {})


def _parsed(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes()) if path.is_file() else None
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{path} cannot be read: {error}.") from error
