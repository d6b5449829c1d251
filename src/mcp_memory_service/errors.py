"""Everything that can go wrong, as one short tree that knows nothing of HTTP, MCP or exit codes.

MemoryServiceError
├── InvalidInput              what the caller sent cannot be accepted; `code` says which rule
│   ├── InvalidVector         an embedding that must not be stored (NaN, zero, wrong length)
│   └── IdempotencyKeyReused  the key was sent before, with another request
├── MemoryNotFound            no memory with this id
├── Conflict                  what is there is not what the caller takes it to be
│   ├── AmbiguousId               several memories have an id that begins like this
│   ├── CountChanged              a change of many would reach more or fewer than the caller confirmed
│   └── IndexRunning              a folder is being indexed, which takes its time
├── NotAuthenticated          no key, or none that is known here
├── Forbidden                 the key does not allow it
│   ├── ScopeMissing              it has not the scope that this needs
│   └── NamespaceNotAllowed       it is not for this namespace
├── TooMuch                   more than the caller may ask for; later it may be less
│   ├── TooManyRequests           in a minute
│   └── QuotaExceeded             more memories than the namespace may have
├── ConfigurationError        a setting stops the start
├── StoreRefused              the store must not be opened like this
│   ├── EmbeddingMismatch     written with another embedding model or dimension
│   ├── SchemaTooNew          written by a newer version of this program
│   ├── UnsafeFilesystem      on a mount where SQLite damages files
│   ├── ForeignStore          a file of another program
│   ├── BackupDamaged         a backup that is not as it was written
│   └── EngineTooOld          the SQLite library or the Qdrant server is too old to be trusted
├── Unavailable               may work again later
│   ├── EmbedderUnavailable   no embedding can be made now
│   ├── RerankerUnavailable   no text can be scored against a query now
│   ├── StorageUnavailable    the store cannot be read or written now
│   │   ├── BackendUnavailable    the server that holds the memories does not answer
│   │   ├── StorageReadOnly       the store can be read but not written
│   │   └── BatchIncomplete       only a part of a batch is known to be stored
│   └── SearchUnavailable     no signal could answer the query
├── MigrationIncomplete       a copy of a store does not have all of it
├── StorageFull               the disk is full; nothing was written
└── StoreCorrupt              the file is damaged or no database
"""

from collections.abc import Sequence


class MemoryServiceError(Exception):
    """Base of all errors that a caller may see; the message is a sentence for people."""

    code: str = "internal_error"
    """Stable: what adapters publish."""

    @property
    def message(self) -> str:
        return str(self)


class InvalidInput(MemoryServiceError):
    code = "invalid_input"

    def __init__(self, message: str, *, reason: str | None = None, field: str | None = None) -> None:
        """`reason` is the code of the rule that was broken, such as `content_empty`."""
        super().__init__(message)
        self.code = reason or self.code
        self.field = field


class InvalidVector(InvalidInput):
    code = "invalid_vector"


class IdempotencyKeyReused(InvalidInput):
    code = "idempotency_key_reused"

    def __init__(self) -> None:
        super().__init__(
            "This idempotency key was sent before with another request; make a new key for each request.",
            field="idempotency_key",
        )


class MemoryNotFound(MemoryServiceError):
    code = "memory_not_found"

    def __init__(self, content_hash: str) -> None:
        # What is asked for may be anything; an id has 64 characters, and more are not repeated.
        super().__init__(f"There is no memory with the id {content_hash[:64]!r}.")


class Conflict(MemoryServiceError):
    code = "conflict"


class AmbiguousId(Conflict):
    code = "ambiguous_id"

    def __init__(self, prefix: str, candidates: Sequence[str]) -> None:
        super().__init__(
            f"The ids of several memories begin with {prefix!r}: {', '.join(candidates)}. Give more of it."
        )
        self.candidates = tuple(candidates)


class CountChanged(Conflict):
    code = "count_changed"

    def __init__(self, matched: int, expected: int) -> None:
        super().__init__(
            f"{matched} memories match, not {expected}: nothing was changed. Look again, and confirm {matched}."
        )
        self.matched = matched


class IndexRunning(Conflict):
    code = "index_running"

    def __init__(self, path: str) -> None:
        super().__init__(f"{path} is being indexed: wait for its end.")


class NotAuthenticated(MemoryServiceError):
    code = "api_key_required"


class Forbidden(MemoryServiceError):
    code = "forbidden"


class ScopeMissing(Forbidden):
    code = "insufficient_scope"

    def __init__(self, scopes: Sequence[str]) -> None:
        super().__init__(f"This needs a key with the scope {scopes[-1]}.")
        self.scopes = tuple(scopes)
        """All that the call needs."""


class NamespaceNotAllowed(Forbidden):
    code = "namespace_not_allowed"

    def __init__(self, namespace: str) -> None:
        super().__init__(f"This key is not for the namespace {namespace!r}.")


class TooMuch(MemoryServiceError):
    code = "too_much"

    def __init__(self, message: str, retry_after_seconds: int) -> None:
        super().__init__(message)
        self.retry_after_seconds = retry_after_seconds


class TooManyRequests(TooMuch):
    code = "too_many_requests"


class QuotaExceeded(TooMuch):
    code = "quota_exceeded"


class ConfigurationError(MemoryServiceError):
    code = "configuration_error"


class StoreRefused(MemoryServiceError):
    code = "store_refused"


class EmbeddingMismatch(StoreRefused):
    code = "embedding_mismatch"


class SchemaTooNew(StoreRefused):
    code = "schema_too_new"


class UnsafeFilesystem(StoreRefused):
    code = "unsafe_filesystem"


class ForeignStore(StoreRefused):
    code = "foreign_store"


class BackupDamaged(StoreRefused):
    code = "backup_damaged"


class EngineTooOld(StoreRefused):
    code = "engine_too_old"


class Unavailable(MemoryServiceError):
    code = "unavailable"


class EmbedderUnavailable(Unavailable):
    code = "embedder_unavailable"


class RerankerUnavailable(Unavailable):
    code = "reranker_unavailable"


class StorageUnavailable(Unavailable):
    code = "storage_unavailable"


class BackendUnavailable(StorageUnavailable):
    code = "backend_unavailable"


class StorageReadOnly(StorageUnavailable):
    code = "storage_read_only"


class BatchIncomplete(StorageUnavailable):
    code = "batch_incomplete"

    def __init__(self, stored: Sequence[bool], reason: str) -> None:
        super().__init__(
            f"{sum(stored)} of {len(stored)} memories are stored, of the others it is not known: {reason}"
            " Sending the whole batch again is safe."
        )
        self.stored = tuple(stored)
        """For each memory of the batch, in order, whether it is known to be stored."""


class SearchUnavailable(Unavailable):
    code = "search_unavailable"


class MigrationIncomplete(MemoryServiceError):
    code = "migration_incomplete"


class StorageFull(MemoryServiceError):
    code = "storage_full"


class StoreCorrupt(MemoryServiceError):
    code = "store_corrupt"
