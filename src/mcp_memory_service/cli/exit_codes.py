"""Errors as exit codes, in one table; 2 is also what click returns for a wrong call."""

from ..errors import (
    BackendUnavailable,
    BackupDamaged,
    BatchIncomplete,
    ConfigurationError,
    EmbedderUnavailable,
    EmbeddingMismatch,
    EngineTooOld,
    ForeignStore,
    IdempotencyKeyReused,
    InvalidInput,
    InvalidVector,
    MemoryNotFound,
    MemoryServiceError,
    MigrationIncomplete,
    SchemaTooNew,
    SearchUnavailable,
    StorageFull,
    StorageReadOnly,
    StorageUnavailable,
    StoreCorrupt,
    StoreRefused,
    Unavailable,
    UnsafeFilesystem,
)

BAD_INPUT = 2
NOT_FOUND = 3
UNAVAILABLE = 4
STORE_REFUSED = 5
BAD_SETTINGS = 6
INCOMPLETE = 7
PROBLEMS_FOUND = 8
INTERRUPTED = 130

CODE_BY_ERROR: dict[type[MemoryServiceError], int] = {
    InvalidInput: BAD_INPUT,
    InvalidVector: BAD_INPUT,
    IdempotencyKeyReused: BAD_INPUT,
    MemoryNotFound: NOT_FOUND,
    ConfigurationError: BAD_SETTINGS,
    StoreRefused: STORE_REFUSED,
    EmbeddingMismatch: STORE_REFUSED,
    SchemaTooNew: STORE_REFUSED,
    UnsafeFilesystem: STORE_REFUSED,
    ForeignStore: STORE_REFUSED,
    BackupDamaged: STORE_REFUSED,
    EngineTooOld: STORE_REFUSED,
    StoreCorrupt: STORE_REFUSED,
    Unavailable: UNAVAILABLE,
    EmbedderUnavailable: UNAVAILABLE,
    StorageUnavailable: UNAVAILABLE,
    BackendUnavailable: UNAVAILABLE,
    StorageReadOnly: UNAVAILABLE,
    BatchIncomplete: UNAVAILABLE,
    SearchUnavailable: UNAVAILABLE,
    StorageFull: UNAVAILABLE,
    MigrationIncomplete: INCOMPLETE,
}


def exit_code(error: MemoryServiceError) -> int:
    return CODE_BY_ERROR[type(error)]
