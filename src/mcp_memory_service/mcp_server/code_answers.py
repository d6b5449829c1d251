"""What a model reads of the code graph: one line for each symbol, and what the answer does not know."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Any

from mcp.types import CallToolResult

from ..services.code.answers import (
    CallsAnswer,
    CallSite,
    ChainAnswer,
    CodeSymbol,
    Completeness,
    Detail,
    Related,
    freshness_said,
)
from ..services.code.findings import CodeStats, ImpactAnswer, LinkedAnswer, Spoken
from ..timestamps import day_of
from .answers import REFERENCE, reply
from .budget import Entry, fitted
from .fence import label, ours, quoted

MAX_SITE_LINES = 5
MAX_RISK_PARTS = 4
LEGEND = "Each: symbol file:lines of the call. What is not marked likely or guess is certain."


def calls_reply(answer: CallsAnswer, budget: int) -> CallToolResult:
    what = "Callers of" if answer.direction == "callers" else "Called by"
    found = f"{answer.total} within {answer.depth} steps" if answer.depth > 1 else str(answer.total)
    head = [f"{what} {_symbols(answer.symbols)}: {found}.", *(["It leads back to itself."] * answer.recursive)]
    shown = [each.symbol for each in answer.found]
    head += [*_said(answer.completeness), *freshness_said([*answer.symbols, *shown])]
    lines = [ours(" ".join(head))] + ([ours(LEGEND)] if answer.found else [])
    body, cut = _as_many(_by_depth(answer), budget - sum(map(len, lines)))
    rest = [f"Go on: cursor={answer.next_cursor}"] if answer.next_cursor and not cut else []
    rest += [f"{cut} lines do not fit: smaller limit or detail=names."] * bool(cut)
    return reply(*lines, *body, *map(ours, rest))


def chain_reply(answer: ChainAnswer) -> CallToolResult:
    ends = f"{label(answer.origin.qualified_name)} to {label(answer.goal.qualified_name)}"
    if not answer.chains:
        none = f"No chain of calls from {ends} within {answer.max_depth} steps."
        return reply(ours(" ".join([none, *_said(answer.completeness)])))
    steps = len(answer.chains[0]) - 1
    more = "; there are more of this length" if answer.more else ""
    head = f"From {ends}: {len(answer.chains)} shortest chains of {steps} calls{more}."
    lines = [ours(" ".join([head, *_said(answer.completeness)])), ours(LEGEND)]
    for number, chain in enumerate(answer.chains, start=1):
        lines.append(ours(f"chain {number}:"))
        lines += [
            ours(f"{label(step.symbol.qualified_name)}{_sites([step.site] if step.site else [])}") for step in chain
        ]
    return reply(*lines)


def linked_reply(answer: LinkedAnswer, budget: int) -> CallToolResult:
    meant = "Best by the words of the question" if answer.by_search else "Symbol"
    head = [f"{meant}: {_symbols(answer.symbols)}.", *freshness_said(answer.symbols)]
    lines = [ours(" ".join(head)), quoted(answer.symbols[0].signature)]
    for what, calls in (("Callers", answer.callers), ("Calls", answer.callees)):
        lines.append(ours(f"{what}, {calls.total}{_beside(calls)}"))
    room = budget - sum(map(len, lines))
    return reply(*lines, *_spoken(answer.spoken, answer.total, room, bounded=answer.bounded))


def impact_reply(answer: ImpactAnswer, budget: int) -> CallToolResult:
    risk = answer.risk
    parts = "; ".join(f"{part.why} (+{part.points:.0f})" for part in risk.parts[:MAX_RISK_PARTS])
    head = [f"Changing {_symbols(answer.symbols)}: risk {risk.score} of 100{f': {parts}' if parts else ''}."]
    head += [*_said(answer.completeness), *freshness_said(answer.symbols)]
    lines = [ours(" ".join(head))]
    lines += [ours(f"Callers {group.depth} away, {group.total}: {_list(group.shown)}") for group in answer.callers]
    lines += [ours(f"Override or inherit it: {_list(answer.heirs)}")] if answer.heirs else []
    lines += [ours(f"Tests that reach it, {answer.tests_total}: {_list(answer.tests)}")] if answer.tests else []
    if answer.history and answer.history.together:
        changed = ", ".join(f"{label(each.path)} {each.commits}" for each in answer.history.together)
        lines.append(ours(f"Changed with it, of {answer.history.commits} commits: {changed}"))
    room = budget - sum(map(len, lines))
    return reply(*lines, *_spoken(answer.spoken, answer.spoken_total, room, bounded=False))


def stats_reply(stats: CodeStats) -> CallToolResult:
    if not stats.symbols:
        return reply(ours("No code is indexed: index_directory takes a folder in."))
    counts = {"files": stats.files_by_language, "symbols": stats.symbols_by_kind, "files as indexed": stats.freshness}
    lines = [f"{stats.files} files, {stats.symbols} symbols; {stats.resolved_share:.0%} of the calls resolved."]
    lines += [f"{what}: {_counts(each)}" for what, each in counts.items()]
    lines += [f"{kind}: {_counts(each)}" for kind, each in stats.edges.items()]
    lines += [f"open calls: {stats.open_calls}"]
    lines += [f"{stats.awaiting_vectors} symbols are found by words only as yet."] * bool(stats.awaiting_vectors)
    if stats.roots:
        unsettled = "" if all(root.settled for root in stats.roots) else " (some not to their end: index again)"
        lines.append(f"roots: {' '.join(label(root.root) for root in stats.roots)}{unsettled}")
    return reply(*map(ours, lines))


def _counts(counts: Mapping[Any, int]) -> str:
    return ", ".join(f"{count} {label(str(name))}" for name, count in counts.items())


def _symbols(symbols: Sequence[CodeSymbol]) -> str:
    return ", ".join(f"{label(each.qualified_name)} @ {label(each.place)}" for each in symbols)


def _said(completeness: Completeness) -> list[str]:
    return completeness.said(label) or ["All shown, none open."]


def _by_depth(answer: CallsAnswer) -> Iterable[str]:
    for depth, found in groupby(answer.found, key=lambda each: each.depth):
        if answer.depth > 1:
            yield ours(f"{depth} away:")
        for related in found:
            yield _line(related, answer.detail, names_far=depth > 1)


def _line(related: Related, detail: Detail, *, names_far: bool) -> str:
    symbol = related.symbol
    stale = f" ({symbol.freshness})" if symbol.freshness in {"stale", "stale_with_risk"} else ""
    head = f"{label(symbol.qualified_name)}{stale}{_sites(related.sites, names_far=names_far)}{_doubt(related)}"
    shown = {"names": "", "signatures": symbol.signature, "code": symbol.content}[detail]
    return ours(head) + (f"\n{quoted(shown)}" if shown else "")


def _sites(sites: Sequence[CallSite], *, names_far: bool = False) -> str:
    shown: list[str] = []
    for site in sites:
        lines = ",".join(map(str, site.lines[:MAX_SITE_LINES])) + "…" * (len(site.lines) > MAX_SITE_LINES)
        kind = "" if site.kind == "calls" else f" {site.kind}"
        far = f" of {label(site.refers_to.rpartition('.')[2])}" if names_far else ""
        shown.append(f" {label(f'{site.path}:{lines}')}{far}{kind}")
    return ",".join(shown)


def _doubt(related: Related) -> str:
    return "" if related.certainty in {None, "certain"} else f" {related.certainty}"


def _beside(calls: CallsAnswer) -> str:
    opened = calls.completeness.open_calls
    more = f" and {opened.sites} open calls" if opened else ""
    return f"{more}: {_list(calls.found)}" if calls.found else f"{more}."


def _list(found: Sequence[Related]) -> str:
    return "; ".join(f"{label(each.symbol.qualified_name)}{_sites(each.sites)}{_doubt(each)}" for each in found)


def _spoken(spoken: Sequence[Spoken], total: int, room: int, *, bounded: bool) -> list[str]:
    if not spoken:
        return [ours("Nothing that is remembered mentions it.")]
    entries = [Entry.of(_head(each), each.memory.short_id, each.memory.content) for each in spoken]
    shown = fitted(entries, room)
    more = f", {len(shown)} of {total} shown" if len(shown) < total else ""
    unsure = "; more may mention it" if bounded else ""
    return [ours(f"Said of it{more}{unsure}. Each: id date what (change of the code since). {REFERENCE}"), *shown]


def _head(spoken: Spoken) -> str:
    memory = spoken.memory
    since = f" (code changed {day_of(spoken.changed_since)})" if spoken.changed_since else ""
    return ours(f"{memory.short_id} {day_of(memory.created_at)} {spoken.role}{since} of {label(spoken.symbol)}")


def _as_many(lines: Iterable[str], room: int) -> tuple[list[str], int]:
    """The first that fit, and how many do not."""
    shown, cut = list[str](), 0
    for line in lines:
        room -= len(line) + 1
        if (room < 0 or cut) and shown:
            cut += 1
        else:
            shown.append(line)
    return shown, cut
