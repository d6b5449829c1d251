"""The keys of a service, in a file of their own that a running service reads again when it changes.

A key is `mmk_<id>_<secret>`: the id is for looking it up, and of the secret, which is 256 random bits and needs no slow
hash, only the SHA-256 is kept. Whoever holds a key can make tokens from it without asking anybody (`derived_token`);
they are never stored and never allow more than their key.
"""

import base64
import hashlib
import hmac
import json
import logging
import os
import secrets
import stat
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, cast

from ..errors import ConfigurationError, InvalidInput, MemoryServiceError
from ..private_files import (
    NO_FOLLOW,
    PRIVATE_MODE,
    atomic_new_file,
    create_private_file,
    new_private_file,
    open_lock_file,
    sync_folder,
)
from ..services.write.checks import check_namespace
from ..timestamps import MICROSECONDS_PER_SECOND, day_of
from .caller import EVERY_NAMESPACE, Caller, Scope, check_pattern, covers

try:
    import fcntl
except ModuleNotFoundError:  # Windows: of two changes at the same moment the last one stays
    fcntl = None

logger = logging.getLogger(__name__)

KEY_PREFIX = "mmk"
TOKEN_PREFIX = "mmt"  # noqa: S105 - a prefix
ID_BYTES, SECRET_BYTES = 5, 32
MAX_NAME_CHARS = 100
MAX_TOKEN_CHARS = 4_096
FILE_VERSION = 1


@dataclass(frozen=True, slots=True)
class Key:
    id: str
    name: str
    namespaces: tuple[str, ...]
    scope: Scope
    secret_sha256: str
    created_at: int
    expires_at: int | None = None
    revoked_at: int | None = None
    requests_per_minute: int | None = None
    max_memories: int | None = None
    last_used: str | None = None
    """The day, in UTC."""

    def is_good(self, now: int) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)

    @property
    def caller(self) -> Caller:
        return Caller(
            self.scope,
            self.namespaces,
            id=self.id,
            requests_per_minute=self.requests_per_minute,
            max_memories=self.max_memories,
        )


@dataclass(frozen=True, slots=True)
class NewKey:
    """What somebody asks for."""

    name: str
    namespaces: tuple[str, ...]
    scope: Scope
    expires_at: int | None = None
    requests_per_minute: int | None = None
    max_memories: int | None = None


class KeyRing:
    """The keys in a file. Any number of processes may change it and read it at the same time."""

    def __init__(self, path: Path, now: Callable[[], int]) -> None:
        self._path = path
        self._now = now
        self._read_as: tuple[int, int, int] | None = None
        self._keys: dict[str, Key] = {}

    def __bool__(self) -> bool:
        """Whether there are keys, or were: a service whose keys are all revoked stays closed."""
        return bool(self._current())

    def keys(self) -> list[Key]:
        return list(self._current().values())

    def create(self, new: NewKey) -> tuple[Key, str]:
        """The key, and how it is written, which is not to be had again."""
        _check(new, self._now())
        secret = _random_text(SECRET_BYTES)
        key = Key(
            _random_text(ID_BYTES),
            created_at=self._now(),
            secret_sha256=_sha256(secret),
            **{field: getattr(new, field) for field in NewKey.__slots__},
        )
        with self._changing() as keys:
            keys[key.id] = key
        return key, _written(key, secret)

    def rotate(self, key_id: str) -> tuple[Key, str]:
        """A new secret for a key; the old one is refused from now on. A key that was revoked stays so."""
        secret = _random_text(SECRET_BYTES)
        with self._changing() as keys:
            old = _found(keys, key_id)
            if old.revoked_at is not None:
                raise InvalidInput(f"The key {key_id} is revoked: make a new one.", reason="key_revoked", field="id")
            key = keys[key_id] = replace(old, secret_sha256=_sha256(secret))
        return key, _written(key, secret)

    def revoke(self, key_id: str) -> Key:
        with self._changing() as keys:
            key = keys[key_id] = replace(_found(keys, key_id), revoked_at=self._now())
        return key

    def caller(self, written: str) -> Caller | None:
        """Who holds this key, or a token made from one; None if it is not good."""
        parts = written.split("_")
        if len(written) > MAX_TOKEN_CHARS or len(parts) < 3 or parts[0] not in {KEY_PREFIX, TOKEN_PREFIX}:
            return None
        key = self._current().get(parts[1])
        if key is None or not key.is_good(self._now()):
            return None
        if parts[0] == KEY_PREFIX:
            secret = "_".join(parts[2:])
            caller = key.caller if hmac.compare_digest(_sha256(secret), key.secret_sha256) else None
        else:
            caller = _of_token(key, written, self._now())
        if caller is not None:
            self._note_use(key)
        return caller

    def _note_use(self, key: Key) -> None:
        today = day_of(self._now())
        if key.last_used == today:
            return
        self._keys[key.id] = replace(key, last_used=today)
        try:
            with self._changing() as keys:
                if key.id in keys:
                    keys[key.id] = replace(keys[key.id], last_used=today)
        except (OSError, MemoryServiceError) as error:  # it may be mounted to be read; the key is good all the same
            logger.warning("The last use of the key %s is not noted: %s", key.id, error)

    def _current(self) -> dict[str, Key]:
        """As the file is now. Asked for every request, so the file is only looked at."""
        try:
            status = os.stat(self._path, follow_symlinks=False)  # noqa: PTH116 - Path takes three times as long
        except FileNotFoundError:
            self._read_as, self._keys = None, {}
            return self._keys
        except OSError as error:
            raise ConfigurationError(f"The file of keys {self._path.name} cannot be read: {error}") from error
        as_it_is = (status.st_ino, status.st_mtime_ns, status.st_size)
        if as_it_is != self._read_as:
            self._keys = _parsed(self._path)
            self._read_as = as_it_is
        return self._keys

    @contextmanager
    def _changing(self) -> Generator[dict[str, Key], None, None]:
        """The keys, to be changed by one process at a time, and written as a whole or not at all."""
        create_private_file(self._path.with_name(f"{self._path.name}-lock"))
        lock = open_lock_file(self._path.with_name(f"{self._path.name}-lock"), owned_like=self._path.parent)
        try:
            if fcntl is not None:
                fcntl.flock(lock, fcntl.LOCK_EX)
            keys = dict(self._current())
            yield keys
            with new_private_file(self._path) as part:
                part.write_text(_file_text(keys.values()), encoding="utf-8")
                part.chmod(PRIVATE_MODE)
                part.replace(self._path)
            sync_folder(self._path.parent)
        finally:
            os.close(lock)


def derived_token(
    written_key: str,
    *,
    namespace: str,
    scope: Scope,
    expires_at: int,
    tags: Sequence[str] = (),
) -> str:
    """A token for one namespace, made from a key without asking the service; with tags, it is for reading memories
    that have all of these. The service refuses what goes beyond the key."""
    prefix, _, rest = written_key.partition("_")
    key_id, _, secret = rest.partition("_")
    if prefix != KEY_PREFIX or not secret:
        raise InvalidInput("A token is made from a key, which begins with mmk_.", reason="key_invalid", field="key")
    check_namespace(namespace)
    if tags and scope > Scope.READ:
        raise InvalidInput("A token with tags is for reading alone.", reason="token_with_tags", field="tags")
    claims: dict[str, Any] = {
        "ns": namespace,
        "scope": scope.name.lower(),
        "exp": expires_at // MICROSECONDS_PER_SECOND,
    }
    if tags:
        claims["tags"] = list(tags)
    payload = _base64(json.dumps(claims, separators=(",", ":")).encode())
    signed = f"{TOKEN_PREFIX}_{key_id}_{payload}"
    return f"{signed}.{_signature(_sha256(secret), signed)}"


def local_key(ring: KeyRing, file: Path) -> str:
    """The key of the user of this machine, from a file that only they can read; made at first."""
    if file.exists():
        written = file.read_text(encoding="ascii").strip()
        if ring.caller(written) is not None:
            return written
        file.unlink()  # of another file of keys, or revoked: the old one is of no use to anybody
    _, written = ring.create(NewKey("local", (EVERY_NAMESPACE,), Scope.ADMIN))
    with atomic_new_file(file) as part:
        part.write_text(written + "\n", encoding="ascii")
    return written


def _of_token(key: Key, written: str, now: int) -> Caller | None:
    signed, _, signature = written.rpartition(".")
    if not hmac.compare_digest(_signature(key.secret_sha256, signed).encode(), signature.encode("latin-1", "replace")):
        return None
    # Written by who holds the key, who may still ask for more than the key allows, or sign anything.
    try:
        claims = json.loads(_from_base64(signed.split("_", 2)[2]))
        scope, namespace, tags = Scope.named([claims["scope"]]), str(claims["ns"]), tuple(claims.get("tags", ()))
        if type(claims["exp"]) is not int:  # a text would be repeated a million times, and infinity never ends
            return None
        expired = now >= claims["exp"] * MICROSECONDS_PER_SECOND
        check_namespace(namespace)
    except (ValueError, KeyError, TypeError, RecursionError, InvalidInput):
        return None
    if expired or scope > key.scope or not any(covers(pattern, namespace) for pattern in key.namespaces):
        return None
    if tags and (scope > Scope.READ or not all(isinstance(tag, str) for tag in tags)):
        return None
    return replace(key.caller, scope=scope, namespaces=(namespace,), tags=tags)


def _signature(secret_sha256: str, signed: str) -> str:
    return _base64(hmac.new(secret_sha256.encode(), signed.encode(), hashlib.sha256).digest())


def _check(new: NewKey, now: int) -> None:
    if not new.name.strip() or len(new.name) > MAX_NAME_CHARS or not new.name.isprintable():
        raise InvalidInput(f"A key needs a name of 1 to {MAX_NAME_CHARS} characters.", reason="key_name", field="name")
    if not new.namespaces:
        raise InvalidInput("A key needs a namespace.", reason="namespace_required", field="namespace")
    for pattern in new.namespaces:
        check_pattern(pattern)
    if new.expires_at is not None and new.expires_at <= now:
        raise InvalidInput("The key would have expired already.", reason="key_expired", field="expires")


def _found(keys: dict[str, Key], key_id: str) -> Key:
    if key_id not in keys:
        raise InvalidInput(f"There is no key with the id {key_id!r}.", reason="key_not_found", field="id")
    return keys[key_id]


def _written(key: Key, secret: str) -> str:
    return f"{KEY_PREFIX}_{key.id}_{secret}"


def _random_text(size: int) -> str:
    """Letters and digits only: a key can be marked with a double click, and parts are divided by underscores."""
    return base64.b32encode(secrets.token_bytes(size)).decode().rstrip("=").lower()


def _sha256(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _base64(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).decode().rstrip("=")


def _from_base64(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _file_text(keys: Iterable[Key]) -> str:
    listed = [{**asdict(key), "scope": key.scope.name.lower()} for key in keys]
    return json.dumps({"version": FILE_VERSION, "keys": listed}, indent=1) + "\n"


def _parsed(path: Path) -> dict[str, Key]:
    """ConfigurationError if it cannot be read: then nobody is let in by it, rather than everybody."""
    try:
        contents: dict[str, Any] = json.loads(_own_text(path))
        if contents["version"] != FILE_VERSION:
            raise ConfigurationError(f"The file of keys {path.name} is of another version of this program.")
        keys = [_key(**fields) for fields in cast("list[dict[str, Any]]", contents["keys"])]
    except (OSError, ValueError, KeyError, TypeError, RecursionError, InvalidInput) as error:
        raise ConfigurationError(f"The file of keys {path.name} cannot be read: {error}") from error
    return {key.id: key for key in keys}


def _own_text(path: Path) -> str:
    """Of a file that nobody else can write or has put there: whoever writes keys is let in by them."""
    descriptor = os.open(path, os.O_RDONLY | NO_FOLLOW | getattr(os, "O_NONBLOCK", 0))
    with os.fdopen(descriptor, encoding="utf-8") as file:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ConfigurationError(f"The file of keys {path.name} is no file.")
        owners = {0, os.geteuid()} if hasattr(os, "geteuid") else {status.st_uid}
        if status.st_uid not in owners or status.st_mode & 0o022:
            raise ConfigurationError(
                f"The file of keys {path.name} belongs to another user, or others can write it: remove it, or make it"
                " yours with chown and chmod 600."
            )
        return file.read()


def _key(*, scope: str, namespaces: Sequence[str], **fields: Any) -> Key:
    key = Key(scope=Scope.named([scope]), namespaces=tuple(namespaces), **fields)
    for pattern in key.namespaces:
        check_pattern(pattern)
    for name in ("created_at", "expires_at", "revoked_at", "requests_per_minute", "max_memories"):
        if not isinstance(getattr(key, name), int | None):
            raise TypeError(f"{name} of the key {key.id} is no number")
    return key
