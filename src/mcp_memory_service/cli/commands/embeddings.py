"""`mcp-memory embeddings`: whether an embedding model works here, and the settings to use it with."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ...access.error_table import ExitCode
from ...bootstrap import check_embeddings
from ...config import EMBEDDING_PREFIX, load_settings, settings_in_force
from ...embeddings.checking import EmbedderReport
from ..flags import PLAIN_JSON, STORAGE, chosen_env_file
from ..logs import log_to_stderr
from ..rendering import show


@click.group()
def embeddings() -> None:
    """Check a model that turns texts into vectors."""


@embeddings.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@STORAGE["log_level"]
@PLAIN_JSON
def check(folder: Path | None, log_level: str | None, as_json: bool) -> None:
    """Try the ONNX model in FOLDER, or the model that is configured.

    Reads what the folder says, embeds a few texts, compares and times them, and prints the settings to use. Exit code 0
    if it works, 8 if its vectors are of no use, 6 if files are missing or do not fit. Nothing is stored, and nothing is
    downloaded.

    \b
    Example:
      mcp-memory embeddings check ~/models/bge-small-en-v1.5
      MCP_MEMORY_EMBEDDING_POOLING=cls mcp-memory embeddings check ~/models/granite-small
    """
    env_file = chosen_env_file()
    flags = {"embedding_backend": "onnx", "embedding_folder": folder} if folder else {}
    settings = load_settings({"log_level": log_level, **flags}, env_file)
    log_to_stderr(settings, env_file)
    report = asyncio.run(check_embeddings(settings))
    chosen = {
        each.variable: each.value
        for each in settings_in_force(settings, flags, env_file)
        if each.variable.startswith(EMBEDDING_PREFIX) and each.origin != "default"
    }
    out = {"works": not report.problems, **asdict(report), "settings": chosen}
    show(out, _text(report, chosen), as_json=as_json)
    if report.problems:
        sys.exit(ExitCode.PROBLEMS_FOUND)


def _text(report: EmbedderReport, settings: Mapping[str, Any]) -> str:
    lines = [f"model       {report.model_id}"]
    if report.folder:
        lines += [f"file        {report.folder.model_file}", f"pooling     {report.folder.pooling}"]
        lines += [f"prefixes    query {report.folder.query_prefix!r}, document {report.folder.document_prefix!r}"]
    lines += [f"dimension   {report.dimension or 'not known'}", f"max tokens  {report.max_tokens or 'not known'}"]
    if report.texts_per_second and report.query_milliseconds:
        lines.append(
            f"speed       {report.texts_per_second:.0f} texts of 100 words a second, a query in"
            f" {report.query_milliseconds:.0f} ms"
        )
        lines.append(
            f"similarity  {report.answer_similarity:.2f} of queries to their answers, {report.other_similarity:.2f} to"
            " other texts"
        )
    lines += [f"Wrong: {problem.message} [{problem.code}]" for problem in report.problems]
    if report.prefix_hints:
        lines += ["A model of this name usually needs:", *(f"  {hint}" for hint in report.prefix_hints)]
    if not report.problems:
        lines += ["It works. A store keeps the model it was made with; mcp-memory migrate embeds it anew."]
        lines += ["Settings:" if settings else "It is the default: no setting is needed."]
        lines += [f'  {name}="{value}"' for name, value in settings.items()]
    return "\n".join(lines)
