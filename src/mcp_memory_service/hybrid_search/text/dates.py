"""Time in words: `last week`, `7d`, `May 2026` read as periods. Pure: the text and the present moment come in.

Everything is read in the zone of the present moment. By hand, for the libraries are heavy or do half: dateparser brings
four dependencies and two hundred languages, and dateutil knows no relative words (docs/adr/0019).
"""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import TypeAlias

EXAMPLES = "2026-03-01, 2026-03-01T09:30:00Z, 2026-05, May 2026, yesterday, monday, last week, 7d, 12h, 3 weeks ago"
EXAMPLES_AHEAD = "2026-12-31, 2026-12-31T18:00:00Z, tomorrow, friday, next month, 30d, in 2 weeks"

_MONTHS: Sequence[str] = "january february march april may june july august september october november december".split()
_WEEKDAYS: Sequence[str] = "monday tuesday wednesday thursday friday saturday sunday".split()
# The meteorological seasons of the north, by their first month.
_SEASONS: Mapping[str, int] = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_NUMBERS = ["a", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"]
_UNIT_OF_LETTERS: Mapping[str, str] = {
    "min": "minute",
    "h": "hour",
    "d": "day",
    "w": "week",
    "mo": "month",
    "y": "year",
}


def _any(words: Sequence[str], shortest: int = 0) -> str:
    """Each of the words, or its first letters where there are as many as that."""
    return "|".join(f"{word[:shortest]}(?:{word[shortest:]})?" if shortest else word for word in words)


# Parts of patterns, which what is found inside a query shares.
MONTH_NAME = rf"(?P<month>{_any(_MONTHS)})"
MONTH = rf"(?P<month>{_any(_MONTHS, 3)}|sept)\.?"
WEEKDAY = rf"(?P<weekday>{_any(_WEEKDAYS)})"
SEASON = rf"(?P<season>{_any(list(_SEASONS))})"
YEAR = r"(?P<year>(?:19|20)[0-9]{2})"
DAY = r"(?P<day>[12][0-9]|3[01]|0?[1-9])(?:st|nd|rd|th)?"
NUMBER = rf"(?P<number>[0-9]{{1,4}}|an|{_any(_NUMBERS)})"
UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"
WHICH = r"(?P<which>last|this|next)"


@dataclass(frozen=True, slots=True)
class Period:
    start: datetime
    end: datetime
    """Not in it any more; that of a moment is its start."""


_Read: TypeAlias = Callable[[Mapping[str, str], datetime, bool], Period]
"""The named parts of a match, the present moment, and whether time ahead is meant where the words leave it open."""


def read_period(text: str, now: datetime, *, ahead: bool = False) -> Period | None:
    """What a whole text says; None if it says no time. With `ahead`, what the words leave open lies in the future."""
    words = " ".join(text.split())
    iso = _read_iso(words, now)
    if iso is not None:
        return iso
    for pattern, read in _FORMS:
        match = pattern.fullmatch(words.casefold())
        if match:
            return _within_calendar(read, match.groupdict(""), now, ahead=ahead)
    return None


def _within_calendar(read: _Read, parts: Mapping[str, str], now: datetime, *, ahead: bool) -> Period | None:
    """None for the 31st of February, and for what lies before year 1 or after 9999."""
    try:
        return read(parts, now, ahead)
    except (ValueError, OverflowError):
        return None


def _read_iso(words: str, now: datetime) -> Period | None:
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", words):
        return _within_calendar(_day_of_iso, {"iso": words}, now, ahead=False)
    if not re.match(r"[0-9]{4}-[0-9]{2}-[0-9]{2}[T _]", words, re.IGNORECASE):
        return None
    try:
        moment = datetime.fromisoformat(words.upper())
    except ValueError:
        return None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=now.tzinfo)
    return Period(moment, moment)


def _day_of_iso(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    text = parts["iso"]
    if len(text) == len("2026-05"):
        return _months(date.fromisoformat(f"{text}-01"), 1, now)
    return _days(date.fromisoformat(text), 1, now)


def _named_day(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    word = parts["named"]
    away = {"the day before yesterday": -2, "yesterday": -1, "today": 0, "tomorrow": 1}[word]
    return _days(now.date() + timedelta(days=away), 1, now)


def _this_moment(_parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    return Period(now, now)


def _of_month(parts: Mapping[str, str], now: datetime, ahead: bool) -> Period:
    """`May 2026`, `May`, `3 May`, `last May`: without a year the last that has begun, or the next."""
    month = 1 + [name[:3] for name in _MONTHS].index(parts["month"][:3])
    day, year = parts.get("day"), parts.get("year")

    def in_year(number: int) -> Period:
        first = date(number, month, int(day or 1))
        return _days(first, 1, now) if day else _months(first, 1, now)

    return in_year(int(year)) if year else _nearest(in_year, parts.get("which", ""), now, ahead=ahead)


def _of_season(parts: Mapping[str, str], now: datetime, ahead: bool) -> Period:
    """A winter is that of the year it begins in."""
    first_month, year = _SEASONS[parts["season"]], parts.get("year")

    def in_year(number: int) -> Period:
        return _months(date(number, first_month, 1), 3, now)

    return in_year(int(year)) if year else _nearest(in_year, parts.get("which", ""), now, ahead=ahead)


def _nearest(in_year: Callable[[int], Period], which: str, now: datetime, *, ahead: bool) -> Period:
    """Of the years around now: the last that has begun (`last`: that is over), or the next to begin."""
    tried = [in_year(now.year + away) for away in (-2, -1, 0, 1, 2)]
    if which == "next" or (ahead and not which):
        return next(period for period in tried if period.start > now)
    if which == "last":
        return next(period for period in reversed(tried) if period.end <= now)
    return next(period for period in reversed(tried) if period.start <= now)


def _of_year(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    return _months(date(int(parts["year"]), 1, 1), 12, now)


def _of_quarter(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    return _months(date(int(parts["year"]), 3 * int(parts["quarter"]) - 2, 1), 3, now)


def _of_weekday(parts: Mapping[str, str], now: datetime, ahead: bool) -> Period:
    """Today counts, but neither as the last nor as the next."""
    which, day = parts.get("which"), _WEEKDAYS.index(parts["weekday"])
    if which == "next" or (ahead and not which):
        away = (day - now.weekday() - 1) % 7 + 1
    elif which == "last":
        away = -((now.weekday() - day - 1) % 7 + 1)
    else:
        away = -((now.weekday() - day) % 7)
    return _days(now.date() + timedelta(days=away), 1, now)


def _of_calendar(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    """`last week`, `this month`, `next year`; a week begins on Monday."""
    away = {"last": -1, "this": 0, "next": 1}[parts["which"]]
    if parts["unit"] == "week":
        return _days(now.date() + timedelta(days=7 * away - now.weekday()), 7, now)
    if parts["unit"] == "month":
        return _months(_later(now.date().replace(day=1), away), 1, now)
    return _months(date(now.year + away, 1, 1), 12, now)


def _up_to_now(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    """`past week`, `last 7 days`."""
    return Period(_shifted(now, -_number(parts), parts["unit"]), now)


def _ago(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    moment = _shifted(now, -_number(parts), parts["unit"])
    return Period(moment, moment)


def _from_now(parts: Mapping[str, str], now: datetime, _ahead: bool) -> Period:
    moment = _shifted(now, _number(parts), parts["unit"])
    return Period(moment, moment)


def _span(parts: Mapping[str, str], now: datetime, ahead: bool) -> Period:
    """`7d`: so long ago, or from now."""
    moment = _shifted(now, _number(parts) * (1 if ahead else -1), _UNIT_OF_LETTERS[parts["letters"]])
    return Period(moment, moment)


def _number(parts: Mapping[str, str]) -> int:
    number = parts.get("number") or "one"
    if number.isdecimal():
        return int(number)
    return 1 if number == "an" else max(1, _NUMBERS.index(number))


def _shifted(moment: datetime, number: int, unit: str) -> datetime:
    if unit in ("month", "year"):
        day = _later(moment.date(), number * (12 if unit == "year" else 1))
        return moment.replace(year=day.year, month=day.month, day=day.day)
    return moment + timedelta(**{f"{unit}s": number})


def _later(day: date, months: int) -> date:
    """The same day of another month, or its last one."""
    year, month = divmod(day.year * 12 + day.month - 1 + months, 12)
    first = date(year, month + 1, 1)
    return first + timedelta(days=min(day.day, _month_days(first)) - 1)


def _month_days(first: date) -> int:
    return ((first + timedelta(days=31)).replace(day=1) - first).days


def _days(first: date, count: int, now: datetime) -> Period:
    return Period(_midnight(first, now), _midnight(first + timedelta(days=count), now))


def _months(first: date, count: int, now: datetime) -> Period:
    return Period(_midnight(first, now), _midnight(_later(first, count), now))


def _midnight(day: date, now: datetime) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=now.tzinfo)


_FORMS: tuple[tuple[re.Pattern[str], _Read], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (r"now", _this_moment),
        (r"(?P<named>today|yesterday|tomorrow|the day before yesterday)", _named_day),
        (r"(?P<iso>[0-9]{4}-[0-9]{2})", _day_of_iso),
        (YEAR, _of_year),
        (rf"(?:{WHICH} )?{MONTH}", _of_month),
        (rf"{MONTH},? (?:of )?{YEAR}", _of_month),
        (rf"(?:the )?{DAY}(?: of)? {MONTH}(?:,? {YEAR})?", _of_month),
        (rf"{MONTH} (?:the )?{DAY}(?:,? {YEAR})?", _of_month),
        (rf"(?:{WHICH} )?{SEASON}", _of_season),
        (rf"{SEASON} (?:of )?{YEAR}", _of_season),
        (rf"q(?P<quarter>[1-4]) {YEAR}", _of_quarter),
        (rf"(?:{WHICH} )?{WEEKDAY}", _of_weekday),
        (rf"{WHICH} (?P<unit>week|month|year)", _of_calendar),
        (rf"(?:the )?past (?:{NUMBER} )?{UNIT}", _up_to_now),
        (rf"(?:the )?last {NUMBER} {UNIT}", _up_to_now),
        (rf"{NUMBER} {UNIT} ago", _ago),
        (rf"in {NUMBER} {UNIT}", _from_now),
        (r"(?P<number>[0-9]{1,4}) ?(?P<letters>min|h|d|w|mo|y)", _span),
    )
)
