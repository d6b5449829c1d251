"""`mcp-memory rerank`: whether a cross-encoder works here, and the settings to use it with."""

import asyncio
import sys
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from ...access.error_table import ExitCode
from ...bootstrap import check_reranking
from ...config import RERANK_PREFIX, load_settings, settings_in_force
from ...rerank.checking import RerankerReport
from ..flags import PLAIN_JSON, STORAGE, chosen_env_file
from ..logs import log_to_stderr
from ..rendering import show


@click.group()
def rerank() -> None:
    """Check a model that puts the first results of a search in a new order."""


@rerank.command()
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@STORAGE["log_level"]
@PLAIN_JSON
def check(folder: Path | None, log_level: str | None, as_json: bool) -> None:
    """Try the ONNX cross-encoder in FOLDER, or the re-ranker that is configured.

    Reads what the folder says, scores a few texts that answer a query and others that do not, times them, and prints
    the settings to use. Exit code 0 if it works, 8 if its scores are of no use, 6 if files are missing or do not fit.
    Nothing is stored, and nothing is downloaded.

    \b
    Example:
      mcp-memory rerank check ~/models/ms-marco-MiniLM-L-6-v2
      MCP_MEMORY_RERANK_BACKEND=http MCP_MEMORY_RERANK_URL=http://127.0.0.1:8080 mcp-memory rerank check
    """
    env_file = chosen_env_file()
    flags = {"rerank_backend": "onnx", "rerank_folder": folder} if folder else {}
    settings = load_settings({"log_level": log_level, **flags}, env_file)
    log_to_stderr(settings, env_file)
    report = asyncio.run(check_reranking(settings))
    chosen = {
        each.variable: each.value
        for each in settings_in_force(settings, flags, env_file)
        if each.variable.startswith(RERANK_PREFIX) and each.origin != "default"
    }
    out = {"works": not report.problems, **asdict(report), "settings": chosen}
    show(out, _text(report, settings.rerank.top_n, chosen), as_json=as_json)
    if report.problems:
        sys.exit(ExitCode.PROBLEMS_FOUND)


def _text(report: RerankerReport, top_n: int, settings: Mapping[str, Any]) -> str:
    lines = [f"model       {report.model_id}"]
    if report.folder:
        lines += [f"file        {report.folder.model_file}", f"inputs      {', '.join(report.folder.inputs)}"]
        lines += [f"output      {report.folder.output}", f"max tokens  {report.folder.max_tokens}, query and text"]
    if report.milliseconds_per_pair is not None:
        lines.append(
            f"speed       {report.milliseconds_per_pair:.1f} ms for a text of 100 words, {top_n} of them to a search"
        )
        lines.append(f"scores      {report.answer_score:.3g} for answers, {report.other_score:.3g} for other texts")
    lines += [f"Wrong: {problem.message} [{problem.code}]" for problem in report.problems]
    if not report.problems:
        lines += ["It works. Settings:", *(f'  {name}="{value}"' for name, value in settings.items())]
    return "\n".join(lines)
