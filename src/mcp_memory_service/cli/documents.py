"""Answers about documents as text for people."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ..indexing.report import LinkProblem, VaultReport
from ..schemas import FileProblemOut, ForgottenOut, IndexReportOut, IndexStatusOut
from ..services.sources.files import RefusedFile

SHOWN_FILES = 10


def render_index_report(report: IndexReportOut) -> str:
    verb = "Would index" if report.dry_run else "Indexed"
    counts = {
        name: getattr(report, name) for name in ("added", "changed", "renamed", "removed", "unchanged", "refused")
    }
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no documents"
    lines = [f"{verb} {report.path}: {said}"]
    if report.chunks_created or report.chunks_updated or report.chunks_deleted:
        made = {"new": report.chunks_created, "updated": report.chunks_updated, "gone": report.chunks_deleted}
        lines.append(f"  chunks: {_counts(made)}")
    if report.links:
        lines.append(f"  links of {report.documents:,} documents: {_counts(report.links)}")
    if report.dry_run:
        for name in ("added", "changed", "removed"):
            lines += _files(name, getattr(report, f"{name}_files"), getattr(report, name))
        lines += _files("renamed", [f"{old} -> {new}" for old, new in report.renamed_files], report.renamed)
    lines += _files("left out", _problems(report.refused_files), report.refused)
    lines += _files("with problems", _problems(report.problems), len(report.problems))
    return "\n".join(lines)


def render_index_status(status: IndexStatusOut) -> str:
    if not status.roots:
        return "No folder is indexed. To index one: mcp-memory index FOLDER"
    lines: list[str] = []
    for root in status.roots:
        unsettled = "" if root.settled else " (not settled: the next run looks at all of it again)"
        links = f"; links: {_counts(root.links)}" if root.links else ""
        lines.append(f"{root.root}: {root.documents:,} documents{links}{unsettled}")
    lines.append(f"embedding coverage {status.embedding_coverage:.1%}, {status.awaiting_vectors:,} wait for vectors")
    return "\n".join(lines)


def render_forgotten(out: ForgottenOut, path: Path) -> str:
    if not out.documents:
        return f"No document of {path} is indexed."
    return f"{out.documents:,} documents taken out; the files stay as they are."


def render_vault_report(report: VaultReport, refused: Sequence[RefusedFile]) -> str:
    lines = [f"{report.resolved:,} links lead to a note"]
    problems = {"broken": report.broken, "ambiguous": report.ambiguous, "without their heading": report.missing_anchors}
    for name, links in problems.items():
        lines += _section(f"links {name}", [_link(link) for link in links])
    lines += _section("notes without any link", report.orphans)
    lines += _section("hubs", [f"{hub.path}: {hub.links_in} notes link to it" for hub in report.hubs])
    lines += _section("files left out", [f"{each.source}: {each.reason}" for each in refused])
    return "\n".join(lines)


def vault_report_json(report: VaultReport, refused: Sequence[RefusedFile]) -> dict[str, Any]:
    return asdict(report) | {"refused": [{"source": each.source, "reason": each.reason} for each in refused]}


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return ["", f"{len(lines):,} {title}:", *(f"  {line}" for line in lines)] if lines else []


def _link(problem: LinkProblem) -> str:
    meant = f" ({' or '.join(problem.candidates)})" if problem.candidates else ""
    return f"{problem.path}:{problem.line}: {problem.link}{meant}"


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {name.replace('_', ' ')}" for name, count in counts.items())


def _problems(problems: Sequence[FileProblemOut]) -> list[str]:
    return [f"{each.source}: {each.reason}" for each in problems]


def _files(name: str, files: Sequence[str], total: int) -> list[str]:
    if not files:
        return []
    more = [f"    and {total - SHOWN_FILES:,} more"] if total > SHOWN_FILES else []
    return [f"  {name}:", *(f"    {file}" for file in files[:SHOWN_FILES]), *more]
