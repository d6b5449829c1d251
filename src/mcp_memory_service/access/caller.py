"""Who is calling, and what they may do."""

from dataclasses import dataclass
from enum import IntEnum

from ..models import DEFAULT_NAMESPACE


class Scope(IntEnum):
    """Each includes those before it."""

    READ = 1
    WRITE = 2
    ADMIN = 3


@dataclass(frozen=True, slots=True)
class Caller:
    """Whoever a door acts for: sees one namespace, and may do what the scope allows. All callers
    are local yet, and no door asks for the scope."""

    namespace: str
    scope: Scope


LOCAL = Caller(DEFAULT_NAMESPACE, Scope.ADMIN)
"""The owner of the store: the command line, and whoever holds the one API key."""
