"""Settings from flags, the environment, `.env` and secret files; for the entry points and the composition root only."""

from .embedding import EMBEDDING_PREFIX, EmbeddingSettings
from .env_files import EnvFile, config_folder, env_file_left_alone, env_file_to_read
from .hybrid import HybridSearchSettings
from .loading import (
    SettingInForce,
    allowed_range,
    documented_settings,
    load_settings,
    settings_in_force,
    unknown_variables,
)
from .other_product import about_other_product
from .qdrant import QdrantSettings
from .rerank import RERANK_PREFIX, RerankSettings
from .settings import Settings, is_loopback, require_key_for_open_address

__all__ = [
    "EMBEDDING_PREFIX",
    "RERANK_PREFIX",
    "EmbeddingSettings",
    "EnvFile",
    "HybridSearchSettings",
    "QdrantSettings",
    "RerankSettings",
    "SettingInForce",
    "Settings",
    "about_other_product",
    "allowed_range",
    "config_folder",
    "documented_settings",
    "env_file_left_alone",
    "env_file_to_read",
    "is_loopback",
    "load_settings",
    "require_key_for_open_address",
    "settings_in_force",
    "unknown_variables",
]
