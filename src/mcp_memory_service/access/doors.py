"""Every door of the service and what a caller needs to go through it: one table, for REST and MCP.

A route, tool, resource or prompt that is not in it stops the start (`require_declared`), so that none is forgotten.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from ..errors import Forbidden, NamespaceNotAllowed
from ..models import DEFAULT_NAMESPACE
from .caller import EVERY_NAMESPACE, Caller, Scope


@dataclass(frozen=True, slots=True)
class Door:
    scope: Scope | None
    """None for a door that is open to everybody, and tells nothing of the memories."""
    every_namespace: bool = False
    """Only for callers who may use all of them: it tells of the service as a whole."""
    whole_namespace: bool = True
    """Not for callers who are held to some tags: it tells of memories without them."""


_OPEN = Door(None)
_READ = Door(Scope.READ)
_READ_BY_TAGS = Door(Scope.READ, whole_namespace=False)
_WRITE = Door(Scope.WRITE)
_ADMIN = Door(Scope.ADMIN)

DOORS: Mapping[str, Door] = {
    "GET /health": _OPEN,
    "GET /ready": _OPEN,
    "GET /.well-known/oauth-protected-resource": _OPEN,
    "GET /.well-known/oauth-protected-resource/mcp": _OPEN,
    "GET /metrics": Door(Scope.READ, every_namespace=True),
    "GET /openapi.json": _READ_BY_TAGS,
    "HEAD /openapi.json": _READ_BY_TAGS,
    "POST /mcp": _READ_BY_TAGS,  # and then what its tool, prompt or resource needs
    "DELETE /mcp": _READ_BY_TAGS,
    "POST /memories": _WRITE,
    "POST /memories/batch": _WRITE,
    "POST /memories/retrieve": _READ_BY_TAGS,
    "POST /memories/explain": _READ,
    "POST /memories/feedback": _WRITE,
    "POST /memories/purge": _ADMIN,
    "GET /memories": _READ_BY_TAGS,
    "GET /memories/{content_hash}": _READ_BY_TAGS,
    "PATCH /memories/{content_hash}": _WRITE,
    "DELETE /memories/{content_hash}": _WRITE,
    "GET /memories/{content_hash}/history": _READ,
    "POST /memories/{content_hash}/restore": _WRITE,
    "GET /trash": _READ,
    "POST /memories/delete": _WRITE,
    "POST /memories/retag": _WRITE,
    "POST /memories/context": _READ_BY_TAGS,
    "POST /index": _ADMIN,  # it reads files of the machine that the service runs on
    "GET /index": _READ,
    "DELETE /index": _ADMIN,
    "GET /overview": _READ,
    "GET /tags": _READ,
    "GET /stats": _READ,
    "tool store_memory": _WRITE,
    "tool update_memory": _WRITE,
    "tool delete_memory": _WRITE,
    "tool retrieve_memory": _READ_BY_TAGS,
    "tool list_memories": _READ_BY_TAGS,
    "tool get_memory": _READ_BY_TAGS,
    "tool memory_overview": _READ,
    "tool hybrid_search": _READ_BY_TAGS,
    "tool semantic_search": _READ_BY_TAGS,
    "tool keyword_search": _READ_BY_TAGS,
    "tool explain_memory": _READ,
    "tool recall_context": _READ_BY_TAGS,
    "tool memory_history": _READ,
    "tool restore_memory": _WRITE,
    "tool delete_memories": _WRITE,
    "tool retag_memories": _WRITE,
    "tool rate_memory": _WRITE,
    "tool index_directory": _ADMIN,
    "tool index_file": _ADMIN,
    "prompt recall": _READ_BY_TAGS,
    "prompt save-session": _WRITE,  # it reads nothing, and asks for what needs it
    "resource memory://overview": _READ,
    "resource memory://{id}": _READ_BY_TAGS,
}


def require_declared(names: Iterable[str]) -> None:
    missing = sorted(set(names) - DOORS.keys())
    if missing:
        raise LookupError(f"access/doors.py does not say who may use: {', '.join(missing)}")


def admitted(caller: Caller, name: str, asked_namespace: str | None) -> str:
    """The namespace in which a caller goes through a door; Forbidden if they may not."""
    door = DOORS[name]
    if door.scope is None:
        return DEFAULT_NAMESPACE
    caller.require(door.scope)
    if door.every_namespace and EVERY_NAMESPACE not in caller.namespaces:
        raise NamespaceNotAllowed(EVERY_NAMESPACE)
    if door.whole_namespace and caller.tags:
        raise Forbidden("This token is held to some tags: it may search, list and read.")
    return caller.namespace(asked_namespace)
