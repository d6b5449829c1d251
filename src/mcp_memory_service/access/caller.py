"""Who is calling, and what they may do."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from ..errors import InvalidInput, NamespaceNotAllowed, ScopeMissing
from ..models import DEFAULT_NAMESPACE
from ..services.write.checks import check_namespace

EVERY_NAMESPACE = "*"


class Scope(IntEnum):
    """Each includes those before it."""

    READ = 1
    WRITE = 2
    ADMIN = 3

    @classmethod
    def named(cls, names: Sequence[str]) -> "Scope":
        """The widest of these; InvalidInput if one is none."""
        by_name = {scope.name.lower(): scope for scope in cls}
        if not names or not all(name in by_name for name in names):
            raise InvalidInput("scopes must be of read, write and admin.", reason="scope_unknown", field="scopes")
        return max(by_name[name] for name in names)

    @property
    def names(self) -> tuple[str, ...]:
        """With those that it includes, widest last."""
        return tuple(scope.name.lower() for scope in Scope if scope <= self)


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever a door acts for: may use some namespaces, and do what the scope allows."""

    scope: Scope
    namespaces: tuple[str, ...]
    """Names, patterns such as `team/*`, or `*` for every one."""
    id: str | None = None
    """Of the key; None for the owner of the store, who has none or the one of the settings."""
    tags: tuple[str, ...] = ()
    """A derived token may be held to memories that have all of these."""
    requests_per_minute: int | None = None
    max_memories: int | None = None
    """In each namespace; None = as many as there is room for."""

    def require(self, scope: Scope) -> None:
        if self.scope < scope:
            raise ScopeMissing(scope.names)

    def may_use(self, namespace: str) -> bool:
        return any(covers(pattern, namespace) for pattern in self.namespaces)

    def namespace(self, asked: str | None) -> str:
        """The one to act in: the one asked for, else the first that the caller has a name for, else the default one.
        NamespaceNotAllowed if it is not one of theirs."""
        if asked is not None:
            check_namespace(asked)
            if not self.may_use(asked):
                raise NamespaceNotAllowed(asked)
            return asked
        named = [name for name in self.namespaces if not name.endswith("*")]
        if named:
            return named[0]
        if self.may_use(DEFAULT_NAMESPACE):
            return DEFAULT_NAMESPACE
        raise InvalidInput(
            f"Name the namespace: this key has several ({', '.join(self.namespaces)}).",
            reason="namespace_required",
            field="namespace",
        )


def covers(pattern: str, namespace: str) -> bool:
    """`*` covers all, `team/*` all below team, and a name itself."""
    if pattern == EVERY_NAMESPACE:
        return True
    if pattern.endswith("/*"):
        return namespace.startswith(pattern[:-1])
    return pattern == namespace


def check_pattern(pattern: str) -> None:
    if pattern != EVERY_NAMESPACE:
        check_namespace(pattern.removesuffix("/*"))


NOBODY = Caller(Scope.READ, ())
"""Stands where a caller must be named, and may use no namespace."""
OWNER = Caller(Scope.ADMIN, (EVERY_NAMESPACE,))
"""The user of this machine: the command line, MCP over standard input and output, and whoever holds the API key of the
settings."""
