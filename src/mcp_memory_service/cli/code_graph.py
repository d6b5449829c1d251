"""Answers of the code graph as text for people."""

from collections.abc import Iterable, Sequence

from ..models import SHOWN_DIGITS
from ..schemas.code import CallSiteOut, CallsOut, ChainOut, CompletenessOut, RelatedOut
from ..schemas.code import SymbolOut as Symbol
from ..schemas.code_findings import CodeStatsOut, ImpactOut, LinkedOut, SpokenOut

SHOWN_LINES = 5
SHOWN_CHARS = 200


def render_calls(out: CallsOut) -> str:
    what = "callers of" if out.direction == "callers" else "called by"
    lines = [f"{out.total:,} {what} {_symbols(out.symbols)}"]
    for related in out.found:
        lines += _related(related, shows_depth=out.depth > 1)
    lines += ["It leads back to itself."] * out.recursive
    lines += _said(out.completeness)
    return "\n".join([*lines, *([f"Next page: --cursor {out.next_cursor}"] if out.next_cursor else [])])


def render_chain(out: ChainOut) -> str:
    if not out.chains:
        none = f"No chain of calls from {out.origin.qualified_name} to {out.goal.qualified_name}"
        return "\n".join([f"{none} within {out.max_depth} steps.", *_said(out.completeness)])
    lines: list[str] = []
    for number, chain in enumerate(out.chains, start=1):
        lines.append(f"Chain {number}:")
        lines += [
            f"  {step.symbol.qualified_name}  {_sites([step.site] if step.site else [])}".rstrip() for step in chain
        ]
    lines += ["There are more of this length."] * out.more
    return "\n".join([*lines, *_said(out.completeness)])


def render_linked(out: LinkedOut) -> str:
    lines = ["Found by the words of the question:"] * out.by_search
    for symbol in out.symbols:
        lines += [_symbol(symbol), f"    {symbol.signature}"]
    for what, calls in (("callers", out.callers), ("calls", out.callees)):
        lines.append(f"{calls.total:,} {what}")
        for related in calls.found:
            lines += _related(related, shows_depth=False)
    return "\n".join([*lines, *_spoken(out.spoken, out.total)])


def render_impact(out: ImpactOut) -> str:
    lines = [f"Risk {out.risk.score} of 100 if {_symbols(out.symbols)} changes"]
    lines += [f"  {part.points:>5.1f} of {part.at_most:>2}  {part.name}: {part.why}" for part in out.risk.parts]
    for group in out.callers:
        lines += _group(f"{group.total:,} callers {group.depth} away", group.shown)
    lines += _group("overrides it, or inherits from it", out.heirs)
    lines += _group(f"{out.tests_total:,} tests reach it", out.tests)
    if out.history and out.history.together:
        lines.append(f"changed together, of {out.history.commits} commits")
        lines += [f"  {each.commits:>3}  {each.path}" for each in out.history.together]
    return "\n".join([*lines, *_spoken(out.spoken, out.spoken_total), *_said(out.completeness)])


def render_code_stats(out: CodeStatsOut) -> str:
    if not out.symbols:
        return "No code is indexed. To index some: mcp-memory code index FOLDER"
    lines = [f"{out.files:,} files, {out.symbols:,} symbols, {out.resolved_share:.1%} of the calls resolved"]
    counts = {"files": out.files_by_language, "symbols": out.symbols_by_kind, "files as indexed": out.freshness}
    for what, each in (counts | out.edges).items():
        lines.append(f"  {what}: {', '.join(f'{count:,} {name}' for name, count in each.items())}")
    lines.append(f"  open calls: {out.open_calls:,}")
    lines += [f"  {root.root}: {root.files:,} files{'' if root.settled else _UNSETTLED}" for root in out.roots]
    return "\n".join([*lines, *([f"  {out.awaiting_vectors:,} wait for vectors"] if out.awaiting_vectors else [])])


_UNSETTLED = " (the last run did not come to its end: run it again)"


def _symbols(symbols: Iterable[Symbol]) -> str:
    return ", ".join(map(_symbol, symbols))


def _symbol(symbol: Symbol) -> str:
    stale = f", {symbol.freshness}" if symbol.freshness not in {None, "fresh"} else ""
    return f"{symbol.qualified_name} ({symbol.path}:{symbol.first_line}{stale})"


def _related(related: RelatedOut, *, shows_depth: bool) -> list[str]:
    symbol = related.symbol
    depth = f"{related.depth}  " if shows_depth else ""
    doubt = "" if related.certainty in {None, "certain"} else f"  {related.certainty}"
    stale = f"  ({symbol.freshness})" if symbol.freshness not in {None, "fresh"} else ""
    shown = symbol.content or symbol.signature or ""
    text = [f"      {line}" for line in shown.split("\n")] if shown else []
    return [f"  {depth}{symbol.qualified_name}  {_sites(related.sites)}{doubt}{stale}", *text]


def _sites(sites: Sequence[CallSiteOut]) -> str:
    return ", ".join(f"{site.path}:{_lines(site.lines)}{_kind(site)}" for site in sites)


def _lines(lines: Sequence[int]) -> str:
    return ",".join(map(str, lines[:SHOWN_LINES])) + "…" * (len(lines) > SHOWN_LINES)


def _kind(site: CallSiteOut) -> str:
    return "" if site.kind == "calls" else f" {site.kind}"


def _group(title: str, shown: Sequence[RelatedOut]) -> list[str]:
    return [title, *(line for each in shown for line in _related(each, shows_depth=False))] if shown else []


def _spoken(spoken: Sequence[SpokenOut], total: int) -> list[str]:
    if not spoken:
        return ["Nothing that is remembered mentions it."]
    lines = [f"{total:,} mention it"]
    for each in spoken:
        memory, text = each.memory, " ".join(each.memory.content.split())
        since = f", code changed {each.changed_since:%Y-%m-%d}" if each.changed_since else ""
        lines.append(f"  {memory.content_hash[:SHOWN_DIGITS]}  {memory.created_at:%Y-%m-%d}  {each.role}{since}")
        lines.append(f"      {text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + '…'}")
    return lines


def _said(found: CompletenessOut) -> list[str]:
    return found.said or ["All shown, none open."]
