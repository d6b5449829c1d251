"""The keys of several callers: made, listed, renewed, revoked, and tokens made from them."""

import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import click

from ...access.caller import Scope
from ...access.keys import Key, NewKey, derived_token
from ...bootstrap import key_ring
from ...config import Settings
from ...errors import InvalidInput
from ...timestamps import from_microseconds, to_microseconds
from ..flags import PLAIN_JSON, STORAGE, tag_option, with_settings
from ..rendering import show

SCOPES = click.option(
    "--scopes", default="read", show_default=True, help="Of read, write and admin; each includes those before it"
)
EXPIRES = click.option("--expires", help="Such as 90d, 12h, 15m, or a moment (ISO 8601)")
WHERE = {"sqlite_path": STORAGE["sqlite_path"]}
"""Keys are kept beside the store."""
UNITS = {"d": "days", "h": "hours", "m": "minutes"}


@click.group()
def keys() -> None:
    """Keys for several callers, each with its namespaces and scopes.

    \b
    Example:
      mcp-memory keys create --name laptop --namespace team/alice --scopes read,write
      mcp-memory keys list

    A key is shown once; kept is its SHA-256. Changes hold at once, without a restart. Once there is a key, every
    request to the service needs one.
    """


@keys.command()
@with_settings(WHERE)
@click.option("--name", required=True, help="Who or what it is for")
@click.option("--namespace", "namespaces", multiple=True, help="A namespace, team/* or *; may be repeated [default]")
@SCOPES
@EXPIRES
@click.option("--rate", type=click.IntRange(min=1), help="Requests a minute")
@click.option("--max-memories", type=click.IntRange(min=1), help="In each of its namespaces")
@PLAIN_JSON
def create(
    settings: Settings,
    name: str,
    namespaces: tuple[str, ...],
    scopes: str,
    expires: str | None,
    rate: int | None,
    max_memories: int | None,
    *,
    as_json: bool,
) -> None:
    """Make a key and show it, this once.

    \b
    Example:
      mcp-memory keys create --name laptop --namespace team/alice --scopes read,write --expires 90d
    """
    new = NewKey(name, namespaces or ("default",), _scope(scopes), _moment(expires), rate, max_memories)
    _show_new(*key_ring(settings).create(new), as_json=as_json)


@keys.command(name="list")
@with_settings(WHERE)
@PLAIN_JSON
def list_keys(settings: Settings, *, as_json: bool) -> None:
    """List all keys, without their secrets.

    \b
    Example:
      mcp-memory keys list --json
    """
    listed = key_ring(settings).keys()
    text = "\n".join(map(_line, listed)) or "There are no keys."
    show({"keys": [_fields(key) for key in listed]}, text, as_json=as_json)


@keys.command()
@with_settings(WHERE)
@click.argument("key_id")
@PLAIN_JSON
def rotate(settings: Settings, key_id: str, *, as_json: bool) -> None:
    """Give the key with KEY_ID a new secret and show it, this once; the old one is refused from now on.

    \b
    Example:
      mcp-memory keys rotate k3v7qx2a
    """
    _show_new(*key_ring(settings).rotate(key_id), as_json=as_json)


@keys.command()
@with_settings(WHERE)
@click.argument("key_id")
@PLAIN_JSON
def revoke(settings: Settings, key_id: str, *, as_json: bool) -> None:
    """Refuse the key with KEY_ID, and all tokens made from it, from now on.

    \b
    Example:
      mcp-memory keys revoke k3v7qx2a
    """
    key = key_ring(settings).revoke(key_id)
    show(_fields(key), f"Revoked {key.id} ({key.name}).", as_json=as_json)


@keys.command()
@click.option("--namespace", required=True, help="The one namespace it is for")
@SCOPES
@click.option("--expires", required=True, help="Such as 90d, 12h, 15m, or a moment (ISO 8601)")
@tag_option("Only for reading memories with this tag")
@PLAIN_JSON
def derive(namespace: str, scopes: str, expires: str, tags: tuple[str, ...], *, as_json: bool) -> None:
    """Make a token from a key, without asking the service: for one namespace, until a moment.

    \b
    Example:
      mcp-memory keys derive --namespace team/alice/agent-7 --scopes read,write --expires 12h < key-file

    The key is read from standard input: others could see it among the arguments.
    """
    key = sys.stdin.readline().strip()
    moment = _moment(expires)
    assert moment is not None, "it is required"
    token = derived_token(key, namespace=namespace, scope=_scope(scopes), expires_at=moment, tags=tags)
    show({"token": token, "expires_at": _iso(moment)}, token, as_json=as_json)


def _scope(scopes: str) -> Scope:
    return Scope.named([name.strip() for name in scopes.split(",")])


def _moment(expires: str | None) -> int | None:
    if expires is None:
        return None
    number, unit = expires[:-1], expires[-1:]
    try:
        if unit in UNITS and number.isdecimal():
            return to_microseconds(datetime.now(UTC) + timedelta(**{UNITS[unit]: int(number)}))
        return to_microseconds(datetime.fromisoformat(expires))
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{expires!r} is no moment: say 90d, 12h, 15m or 2027-01-31T12:00Z.",
            reason="moment_invalid",
            field="expires",
        ) from error


def _show_new(key: Key, written: str, *, as_json: bool) -> None:
    show({"key": written, **_fields(key)}, written, as_json=as_json)
    click.echo(f"{_line(key)}  (the key is not shown again)", err=True)


def _line(key: Key) -> str:
    state = "revoked" if key.revoked_at else f"expires {_iso(key.expires_at)}" if key.expires_at else "good"
    used = f"last used {key.last_used}" if key.last_used else "never used"
    return f"{key.id}  {key.name}  {key.scope.name.lower()}  {', '.join(key.namespaces)}  {state}  {used}"


def _fields(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "name": key.name,
        "namespaces": list(key.namespaces),
        "scopes": list(key.scope.names),
        "created_at": _iso(key.created_at),
        "expires_at": _iso(key.expires_at),
        "revoked_at": _iso(key.revoked_at),
        "requests_per_minute": key.requests_per_minute,
        "max_memories": key.max_memories,
        "last_used": key.last_used,
    }


def _iso(moment: int | None) -> str | None:
    return None if moment is None else from_microseconds(moment).isoformat()
