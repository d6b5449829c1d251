"""Answers about the reading of code, as text for people and as lines of JSON."""

import json
from collections.abc import Iterator

from ..schemas import CodeIndexReportOut, CodeIndexStatusOut
from ..services.code.listing import ListedEdge, Listing
from .documents import counts_line, files_section, problem_lines


def render_code_report(report: CodeIndexReportOut) -> str:
    verb = "Would read" if report.dry_run else "Indexed"
    counts = {
        name: getattr(report, name) for name in ("added", "changed", "renamed", "removed", "unchanged", "refused")
    }
    said = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "no code"
    lines = [f"{verb} {report.path}: {said}"]
    if report.symbols_created or report.symbols_updated or report.symbols_deleted:
        made = {"new": report.symbols_created, "updated": report.symbols_updated, "gone": report.symbols_deleted}
        lines.append(f"  symbols: {counts_line(made)}")
    if report.code:
        lines.append(
            f"  {report.code.symbols:,} symbols in {report.files:,} files ({counts_line(report.code.languages)})"
        )
        lines.append(f"  references: {counts_line(report.code.certainty)}")
        lines += [f"  left out: {count:,} because {reason}" for reason, count in report.code.left_out.items()]
    if report.dry_run:
        for name in ("added", "changed", "removed"):
            lines += files_section(name, getattr(report, f"{name}_files"), getattr(report, name))
        lines += files_section("renamed", [f"{old} -> {new}" for old, new in report.renamed_files], report.renamed)
    lines += files_section("left out", problem_lines(report.refused_files), report.refused)
    lines += files_section("with problems", problem_lines(report.problems), len(report.problems))
    return "\n".join(lines)


def render_code_status(status: CodeIndexStatusOut) -> str:
    if not status.roots:
        return "No code is indexed. To index some: mcp-memory code index FOLDER"
    lines: list[str] = []
    for root in status.roots:
        unsettled = "" if root.settled else " (the last run did not come to its end: run it again)"
        lines.append(f"{root.root}: {root.symbols:,} symbols in {root.files:,} files{unsettled}")
        lines.append(f"  references: {counts_line(root.certainty)}")
        lines += [f"  left out: {count:,} because {reason}" for reason, count in root.left_out.items()]
    lines.append(f"{status.awaiting_vectors:,} of {status.symbols:,} symbols wait for vectors")
    return "\n".join(lines)


def edge_lines(listing: Listing) -> Iterator[str]:
    """A line of JSON for each place."""
    for edge in listing.edges:
        yield json.dumps(_fields(edge), ensure_ascii=False)


def _fields(edge: ListedEdge) -> dict[str, object]:
    return {
        "caller": edge.caller,
        "callee": edge.callee,
        "path": edge.path,
        "line": edge.line,
        "kind": edge.kind,
        "class": edge.certainty,
        "caller_path": edge.path,
        "callee_path": edge.callee_path,
    }


def render_edges(listing: Listing) -> str:
    """A table, and what was not looked at."""
    places = [f"{edge.path}:{edge.line or 1}" for edge in listing.edges]
    width = max(map(len, places), default=0)
    rows = [
        f"{place:<{width}}  {edge.kind:<10} {edge.certainty:<7}  {edge.caller} -> {edge.callee}"
        for place, edge in zip(places, listing.edges, strict=True)
    ]
    refused = [f"left out: {each.source} ({each.reason})" for each in listing.refused]
    total = f"{len(rows):,} places in {listing.files:,} files; {listing.open_calls:,} calls were not resolved"
    return "\n".join([*rows, *refused, total])
