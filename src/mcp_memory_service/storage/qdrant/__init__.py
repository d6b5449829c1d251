"""The store to scale out with: one collection on a Qdrant server or cluster, a point for each memory."""

from .options import CollectionLayout, QdrantOptions
from .store import QdrantStorage

__all__ = ["CollectionLayout", "QdrantOptions", "QdrantStorage"]
