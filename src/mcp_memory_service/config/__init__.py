"""Settings from flags, the environment, `.env` and secret files; for the entry points and the composition root only."""

from .embedding import EmbeddingSettings
from .hybrid import HybridSearchSettings
from .loading import allowed_range, documented_settings, load_settings, unknown_variables
from .qdrant import QdrantSettings
from .settings import Settings, is_loopback, require_key_for_open_address

__all__ = [
    "EmbeddingSettings",
    "HybridSearchSettings",
    "QdrantSettings",
    "Settings",
    "allowed_range",
    "documented_settings",
    "is_loopback",
    "load_settings",
    "require_key_for_open_address",
    "unknown_variables",
]
