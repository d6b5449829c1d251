"""Times that a query names, so that memories of that time come first. What may be no date is left alone."""

import re
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypeAlias

from ...timestamps import MICROSECONDS_PER_DAY, to_microseconds
from .dates import DAY, MONTH_NAME, NUMBER, SEASON, UNIT, WEEKDAY, YEAR, Period, read_period
from .tokens import word_tokens

FADE_DAYS = 200.0
"""Of the newest and the oldest: what holds now was often written half a year ago. NDCG@10 of 54 queries for what holds
now: .658 with 50 days, .748 with 100, .794 with 200, .777 with 330 (docs/adr/0021)."""
MIN_FADE_DAYS = 1.0
"""What happened at noon is noted the same day."""

Wanted: TypeAlias = Literal["period", "newest", "oldest"]


@dataclass(frozen=True, slots=True)
class TimeHint:
    """The time that a query asks for: a period, which may be open to the past, or simply the newest or the oldest."""

    text: str
    """As the query has it."""
    start: int | None
    end: int | None
    """Both are None unless a period is asked for."""
    fade_days: float
    """So far from it, what nearness gives has fallen to 1/e."""
    wanted: Wanted = "period"


# Digits that belong to a version, a path, a port or an issue are no date.
_ALONE, _LAST = r"(?<![\w./#:-])", r"(?![\w/:-]|[.][0-9])"
_LIMIT = r"(?P<bound>since|after|before|until|till|by)"
_BOUND = rf"(?:{_LIMIT}\s+(?:the\s+)?)?"
_LED = rf"(?:{_LIMIT}|(?P<lead>in|during|of|from|for|on))\s+(?:the\s+|early\s+|late\s+)?"
# "in 2000 ms" counts, "Spring Boot" is a framework, and "in fall back mode" none of the seasons.
_NO_COUNT = r"(?!\s+(?:[mµ]?s|seconds?|[kmg]?i?b|bytes?|rows?|lines?|items?|requests?|times|px|characters?|tokens?)\b)"
_NO_SEASON = r"(?!\s+(?:boot|mvc|cloud|batch|data|security|framework|back|through)\b)"

_NAMED: tuple[re.Pattern[str], ...] = tuple(
    re.compile(rf"{_ALONE}{before}(?P<when>{when}){_LAST}{unless}", re.IGNORECASE)
    for before, when, unless in (
        (_BOUND, r"[0-9]{4}-[01][0-9](?:-[0-3][0-9])?", ""),
        (_BOUND, rf"{MONTH_NAME},? (?:of )?{YEAR}", ""),
        (_BOUND, rf"{DAY}(?: of)? {MONTH_NAME}(?:,? {YEAR})?", ""),
        (_BOUND, rf"{MONTH_NAME} (?:the )?{DAY}(?:,? {YEAR})?", ""),
        (_BOUND, rf"{SEASON} (?:of )?{YEAR}", ""),
        (_BOUND, rf"q[1-4] {YEAR}", ""),
        (_BOUND, r"the day before yesterday|yesterday|today", ""),
        (_BOUND, rf"{NUMBER} {UNIT} ago", ""),
        (_BOUND, rf"(?:last|past) {NUMBER} {UNIT}", ""),
        (_BOUND, r"past (?:hour|day|week|month|year)", ""),
        (_BOUND, rf"(?:last|this) (?:week|month|year|{WEEKDAY}|{MONTH_NAME}|{SEASON})", ""),
        (_LED, MONTH_NAME, ""),
        (_LED, SEASON, _NO_SEASON),
        (_LED, YEAR, _NO_COUNT),
        (_LED, WEEKDAY, ""),
    )
)
# "current" alone is also electric, and what a program gets; "now" counts in a question.
_THE_CURRENT = "|".join(rf"(?<=\b{before} )current" for before in ("the", "our", "my", "your", "their", "its", "is"))
_QUESTION = re.compile(r"^(?:what|which|who|where|when|how|is|are|do|does|did)\b", re.IGNORECASE)
_NOW = re.compile(r"\bnow\b", re.IGNORECASE)
_NEWEST = re.compile(
    r"\b(?:as of (?:now|today)|at the moment|at present|these days|nowadays|right now"
    rf"|^current|{_THE_CURRENT}|currently|latest|newest|most recent|most recently)\b",
    re.IGNORECASE,
)
_DIGITS = re.compile(r"[0-9]{4}-[0-9]{2}")
# How something was at its beginning. "When did she first …" asks for an event, which is told of later as well: read as
# the oldest, LoCoMo's 21 queries of this kind lose .14. And a "first" may count: the first line, the first three.
_ORDINAL = (
    r"(?!\s+(?:[0-9]+|two|three|four|few|half|thing|place|time|day|week|weekend|month|quarter|year|line|page|row|column"
    r"|element|item|entry|argument|parameter|step|character|letter|name)s?\b)"
)
_OLDEST = re.compile(
    r"\b(?P<state>originally|initially|at first(?=[?!.,]|$)|in the beginning(?! of\b))"
    r"|^(?:what|which|who) (?:was|were) (?:the|our|my|your|their|its|[\w-]+'s?) "
    rf"(?P<adjective>original|earliest|(?:very )?first{_ORDINAL})\b",
    re.IGNORECASE,
)


def time_in(query: str, now: datetime) -> TimeHint | None:
    """The first time that a query names, read in the zone of `now`; None if it names none that has come."""
    query = " ".join(query.split())
    newest = _NEWEST.search(query) or (_NOW.search(query) if _QUESTION.match(query) else None)
    found = [match for pattern in _NAMED if (match := pattern.search(query)) and not _is_verb(match)]
    for match in sorted(found, key=_surest_first):
        if newest and newest.start() <= match.start("when") < newest.end():
            continue  # "as of today" asks for no day
        period = read_period(match["when"], now)
        if period is not None and period.start <= now:
            return _hint(match, period, now)
    if newest:
        return TimeHint(newest[0], None, None, FADE_DAYS, "newest")
    oldest = _OLDEST.search(query)
    return TimeHint(oldest[oldest.lastgroup or 0], None, None, FADE_DAYS, "oldest") if oldest else None


def without_time(query: str, hint: TimeHint) -> str:
    """What the keyword signal is asked where the time counts by itself: few notes name the day they were written on.
    A date in digits stays, for it is a name as well, and so does the time in a query that has nothing else to find."""
    if hint.wanted == "oldest" or '"' in query or _DIGITS.search(hint.text):
        return query
    spoken = r"\s+".join(map(re.escape, hint.text.split()))
    rest = re.sub(rf"(?<!\w){spoken}(?!\w)", " ", query, count=1)
    return rest if word_tokens(rest, without_stop_words=True) else query


def _surest_first(match: re.Match[str]) -> tuple[bool, int, int]:
    """A date with its year before "last week", which may go on: "of August 2023". Then the first, then the longest."""
    has_year = re.search(r"[0-9]{4}", match["when"]) is not None
    return (not has_year, match.start("when"), -match.end("when"))


def _is_verb(match: re.Match[str]) -> bool:
    """`step 3 may fail`, `words that march`: in small letters a month only with its year or after such as `in`."""
    parts = match.groupdict()
    if parts.get("season") and not parts.get("year"):
        return parts["season"][0].isupper()  # the framework
    if (parts.get("month") or "") not in ("may", "march") or parts.get("year"):
        return False
    return not (parts.get("lead") or match["when"].startswith("last"))


def _hint(match: re.Match[str], period: Period, now: datetime) -> TimeHint:
    start, end = to_microseconds(period.start), to_microseconds(period.end)
    if match["when"].casefold().endswith("ago"):  # about then: half a unit before and after
        half = _UNIT_DAYS[match["unit"].casefold()] * MICROSECONDS_PER_DAY // 2
        start, end = start - int(half), end + int(half)
    fade = max(MIN_FADE_DAYS, (end - start) / MICROSECONDS_PER_DAY)
    bound, present = (match["bound"] or "").casefold(), to_microseconds(now)
    if bound in ("since", "after"):
        start, end = end if bound == "after" else start, max(end, present)
    elif bound:
        return TimeHint(match[0], None, start if bound == "before" else end, fade)
    return TimeHint(match[0], start, end, fade)


_UNIT_DAYS = {"minute": 1 / 1440, "hour": 1 / 24, "day": 1.0, "week": 7.0, "month": 30.0, "year": 365.0}
