"""`mcp-memory config`: the settings in force, each with its origin."""

from typing import Any, cast

import click

from ...config import EnvFile, SettingInForce, Settings, load_settings, settings_in_force
from ..flags import PLAIN_JSON, RANKING, RERANKING, STORAGE, chosen_env_file, together
from ..logs import log_to_stderr
from ..rendering import show

FLAGS = {**STORAGE, **RANKING, **RERANKING}


@click.command()
@click.option("--serve", "as_serve", is_flag=True, help="As serve takes them, with .env of the current folder")
@PLAIN_JSON
@together(*FLAGS.values())
def config(as_serve: bool, as_json: bool, **flags: Any) -> None:
    """Show every setting, its value and where that comes from.

    It comes from a flag, else from the environment, a .env file, a secret file, or the default. Secrets are masked.
    Only `serve` reads a .env file of the current folder.

    \b
    Example:
      mcp-memory config
      mcp-memory --env-file work.env config --json
    """
    env_file = chosen_env_file(of_current_folder=as_serve)
    settings = load_settings(flags, env_file)
    log_to_stderr(settings, env_file)
    found = list(settings_in_force(settings, flags, env_file))
    out = {
        "store": settings.store,
        "store_exists": _store_exists(settings),
        "env_file": str(env_file.path) if env_file else None,
        "settings": {each.variable: {"value": each.value, "origin": each.origin} for each in found},
    }
    show(out, _text(settings, env_file, found), as_json=as_json)


def _store_exists(settings: Settings) -> bool | None:
    """None for Qdrant, which is not asked."""
    return settings.sqlite_path.is_file() if settings.storage_backend == "sqlite_vec" else None


def _text(settings: Settings, env_file: EnvFile | None, found: list[SettingInForce]) -> str:
    missing = " (not there yet)" if _store_exists(settings) is False else ""
    lines = [f"store     {settings.store}{missing}", f".env      {env_file.path if env_file else 'none is read'}", ""]
    lines += [f"{each.variable}={_shown(each.value)}  [{each.origin}]" for each in found]
    return "\n".join(lines)


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ",".join(map(str, cast("list[Any]", value)))
    return "" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
