"""What the composition root says about a server and about a collection that is yet to be made."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

Quantization: TypeAlias = Literal["none", "scalar", "binary"]
ReadConsistency: TypeAlias = Literal["one", "majority", "quorum", "all"]
WriteOrdering: TypeAlias = Literal["weak", "medium", "strong"]


@dataclass(frozen=True, slots=True)
class CollectionLayout:
    """How a new collection is made; one that exists keeps the layout it has."""

    shards: int = 1
    replication_factor: int = 1
    write_consistency_factor: int = 1
    quantization: Quantization = "none"
    vectors_on_disk: bool = False


@dataclass(frozen=True, slots=True)
class QdrantOptions:
    url: str
    collection: str = "memories"
    api_key: str | None = None
    ca_file: Path | None = None
    grpc: bool = False
    grpc_port: int = 6334
    timeout_seconds: float = 5.0
    retries: int = 2
    write_ordering: WriteOrdering = "medium"
    read_consistency: ReadConsistency = "one"
    oversampling: float = 2.0
    hnsw_ef: int | None = None
    layout: CollectionLayout = field(default_factory=CollectionLayout)
