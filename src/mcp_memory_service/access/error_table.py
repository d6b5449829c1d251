"""How every error is answered at the doors: HTTP status, exit code, and whether a retry may help."""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

from .. import errors


class ExitCode(IntEnum):
    """Of the command line; 2 is also what click returns for a wrong call."""

    BAD_INPUT = 2
    NOT_FOUND = 3
    UNAVAILABLE = 4
    STORE_REFUSED = 5
    BAD_SETTINGS = 6
    INCOMPLETE = 7
    PROBLEMS_FOUND = 8
    REFUSED = 9
    INTERRUPTED = 130


class ErrorAnswer(NamedTuple):
    status: int
    exit_code: ExitCode
    retry_may_help: bool = False


_INVALID = ErrorAnswer(422, ExitCode.BAD_INPUT)
_FORBIDDEN = ErrorAnswer(403, ExitCode.REFUSED)
_TOO_MUCH = ErrorAnswer(429, ExitCode.REFUSED)
_CONFLICT = ErrorAnswer(409, ExitCode.BAD_INPUT)
_REFUSED = ErrorAnswer(409, ExitCode.STORE_REFUSED)
_UNAVAILABLE = ErrorAnswer(503, ExitCode.UNAVAILABLE, retry_may_help=True)

ERROR_TABLE: Mapping[type[errors.MemoryServiceError], ErrorAnswer] = {
    errors.InvalidInput: _INVALID,
    errors.InvalidVector: _INVALID,
    errors.IdempotencyKeyReused: _INVALID,
    errors.MemoryNotFound: ErrorAnswer(404, ExitCode.NOT_FOUND),
    errors.Conflict: _CONFLICT,
    errors.AmbiguousId: _CONFLICT,
    errors.CountChanged: _CONFLICT,
    errors.IndexRunning: _CONFLICT,
    errors.NotAuthenticated: ErrorAnswer(401, ExitCode.REFUSED),
    errors.Forbidden: _FORBIDDEN,
    errors.ScopeMissing: _FORBIDDEN,
    errors.NamespaceNotAllowed: _FORBIDDEN,
    errors.TooMuch: _TOO_MUCH,
    errors.TooManyRequests: _TOO_MUCH,
    errors.QuotaExceeded: _TOO_MUCH,
    errors.ConfigurationError: ErrorAnswer(500, ExitCode.BAD_SETTINGS),
    errors.StoreRefused: _REFUSED,
    errors.EmbeddingMismatch: _REFUSED,
    errors.SchemaTooNew: _REFUSED,
    errors.UnsafeFilesystem: _REFUSED,
    errors.ForeignStore: _REFUSED,
    errors.BackupDamaged: _REFUSED,
    errors.EngineTooOld: ErrorAnswer(500, ExitCode.STORE_REFUSED),
    errors.Unavailable: _UNAVAILABLE,
    errors.EmbedderUnavailable: _UNAVAILABLE,
    errors.RerankerUnavailable: _UNAVAILABLE,
    errors.StorageUnavailable: _UNAVAILABLE,
    errors.BackendUnavailable: _UNAVAILABLE,
    errors.StorageReadOnly: _UNAVAILABLE,
    errors.BatchIncomplete: _UNAVAILABLE,
    errors.SearchUnavailable: _UNAVAILABLE,
    errors.MigrationIncomplete: ErrorAnswer(500, ExitCode.INCOMPLETE),
    errors.StorageFull: ErrorAnswer(507, ExitCode.UNAVAILABLE),
    # A damaged file does not mend itself.
    errors.StoreCorrupt: ErrorAnswer(503, ExitCode.STORE_REFUSED),
}
