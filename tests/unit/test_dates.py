"""Time in words: what is read, as which period, and what is left alone."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mcp_memory_service.hybrid_search import TimeHint, read_period, time_in, without_time
from mcp_memory_service.timestamps import from_microseconds

NOW = datetime(2026, 6, 3, 12, 0, tzinfo=UTC)  # a Wednesday


def shown(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M").removesuffix("T00:00")


@pytest.mark.parametrize(
    ("text", "start", "end"),
    [
        ("2026-03-01T09:30:00Z", "2026-03-01T09:30", "2026-03-01T09:30"),
        ("2026-03-01 09:30", "2026-03-01T09:30", "2026-03-01T09:30"),
        ("2026-03-01", "2026-03-01", "2026-03-02"),
        ("2026-05", "2026-05-01", "2026-06-01"),
        ("2026", "2026-01-01", "2027-01-01"),
        ("May 2026", "2026-05-01", "2026-06-01"),
        ("sept 2025", "2025-09-01", "2025-10-01"),
        ("july", "2025-07-01", "2025-08-01"),
        ("last june", "2025-06-01", "2025-07-01"),
        ("3 March", "2026-03-03", "2026-03-04"),
        ("March 3rd, 2025", "2025-03-03", "2025-03-04"),
        ("spring 2026", "2026-03-01", "2026-06-01"),
        ("last winter", "2025-12-01", "2026-03-01"),
        ("Q1 2026", "2026-01-01", "2026-04-01"),
        ("today", "2026-06-03", "2026-06-04"),
        ("  Yesterday ", "2026-06-02", "2026-06-03"),
        ("monday", "2026-06-01", "2026-06-02"),
        ("wednesday", "2026-06-03", "2026-06-04"),
        ("last wednesday", "2026-05-27", "2026-05-28"),
        ("this week", "2026-06-01", "2026-06-08"),
        ("last week", "2026-05-25", "2026-06-01"),
        ("last month", "2026-05-01", "2026-06-01"),
        ("last year", "2025-01-01", "2026-01-01"),
        ("past week", "2026-05-27T12:00", "2026-06-03T12:00"),
        ("last 7 days", "2026-05-27T12:00", "2026-06-03T12:00"),
        ("7d", "2026-05-27T12:00", "2026-05-27T12:00"),
        ("12h", "2026-06-03", "2026-06-03"),
        ("3 weeks ago", "2026-05-13T12:00", "2026-05-13T12:00"),
        ("an hour ago", "2026-06-03T11:00", "2026-06-03T11:00"),
        ("a month ago", "2026-05-03T12:00", "2026-05-03T12:00"),
        ("in 2 weeks", "2026-06-17T12:00", "2026-06-17T12:00"),
        ("tomorrow", "2026-06-04", "2026-06-05"),
    ],
)
def test_words_are_a_period(text: str, start: str, end: str):
    period = read_period(text, NOW)
    assert period is not None
    assert (shown(period.start), shown(period.end)) == (start, end)


@pytest.mark.parametrize(
    ("text", "start"),
    [("30d", "2026-07-03T12:00"), ("friday", "2026-06-05"), ("wednesday", "2026-06-10"), ("may", "2027-05-01"),
     ("next month", "2026-07-01"), ("2026-12-31", "2026-12-31")],
)  # fmt: skip
def test_what_words_leave_open_can_lie_ahead(text: str, start: str):
    period = read_period(text, NOW, ahead=True)
    assert period is not None
    assert shown(period.start) == start


@pytest.mark.parametrize(
    "text",
    [
        "",
        "soon",
        "31 February",
        "2026-13",
        "2026-02-30",
        "9999y",
        "0",
        "1767225600",
        "03/04/2026",
        "week",
        "7",
        "7 d d",
    ],
)
def test_what_is_no_time_is_not_guessed(text: str):
    assert read_period(text, NOW) is None


def test_words_are_read_in_the_zone_of_the_present_moment():
    in_berlin = datetime(2026, 6, 3, 0, 30, tzinfo=ZoneInfo("Europe/Berlin"))
    today = read_period("today", in_berlin)
    assert today is not None
    assert today.start.astimezone(UTC) == datetime(2026, 6, 2, 22, 0, tzinfo=UTC)
    winter = read_period("2026-01-05T08:00", in_berlin)
    assert winter is not None
    assert winter.start.astimezone(UTC) == datetime(2026, 1, 5, 7, 0, tzinfo=UTC)
    offset = read_period("2026-01-05T08:00-05:00", in_berlin)
    assert offset is not None
    assert offset.start == datetime(2026, 1, 5, 13, 0, tzinfo=UTC)


@given(st.text(max_size=40), st.datetimes(timezones=st.just(UTC)))
def test_any_text_is_read_or_left_at_any_moment(text: str, now: datetime):
    period = read_period(text, now)
    assert period is None or period.start <= period.end
    time_in(text, now)


@given(st.integers(0, 500), st.sampled_from(["d", "h", "w"]))
def test_a_longer_span_lies_further_away(number: int, letters: str):
    shorter, longer = read_period(f"{number}{letters}", NOW), read_period(f"{number + 1}{letters}", NOW)
    assert shorter is not None
    assert longer is not None
    assert longer.start < shorter.start <= NOW


def understood(hint: TimeHint | None) -> tuple[str, str | None, str | None] | None:
    if hint is None:
        return None
    start, end = (None if bound is None else shown(from_microseconds(bound)) for bound in (hint.start, hint.end))
    return hint.text, start, end


@pytest.mark.parametrize(
    ("query", "text", "start", "end"),
    [
        ("what did we decide in May 2026", "May 2026", "2026-05-01", "2026-06-01"),
        ("what did we decide about VAT in march", "in march", "2026-03-01", "2026-04-01"),
        ("outage of four weeks ago", "four weeks ago", "2026-05-03", "2026-05-10"),
        ("what broke last Tuesday", "last Tuesday", "2026-06-02", "2026-06-03"),
        ("plans made in spring", "in spring", "2026-03-01", "2026-06-01"),
        ("what did I do yesterday?", "yesterday", "2026-06-02", "2026-06-03"),
        ("the meeting on 3 March", "3 March", "2026-03-03", "2026-03-04"),
        ("the May 3rd outage", "May 3rd", "2026-05-03", "2026-05-04"),
        ("decisions before the summer", "before the summer", None, "2026-06-01"),
        ("changes since March", "since March", "2026-03-01", "2026-06-03T12:00"),
        ("after 2026-05-03 what broke", "after 2026-05-03", "2026-05-04", "2026-06-03T12:00"),
        ("releases in 2025", "in 2025", "2025-01-01", "2026-01-01"),
        ("the last week of August 2025", "August 2025", "2025-08-01", "2025-09-01"),
        ("standup on\nmonday", "on monday", "2026-06-01", "2026-06-02"),
        ("the current cache lifetime", "current", None, None),
        ("heartbeat interval as of today", "as of today", None, None),
        ("how did we round VAT originally", "originally", None, None),
        ("What was our first database?", "first", None, None),
        ("which port did it use at first?", "at first", None, None),
    ],
)
def test_a_query_names_a_time(query: str, text: str, start: str | None, end: str | None):
    assert understood(time_in(query, NOW)) == (text, start, end)


@pytest.mark.parametrize(
    "query",
    [
        "this may fail", "step 3 may fail", "may 12 workers start", "what came before may be lost", "MAYBE later",
        "march through the list", "version 2026.05", "python 3.11", "release v2026-05", "issue #2026-05",
        "CVE-2026-05123", "CVE-2026-05-12", "port 2024", "RFC 2026", "10.20.0.12", "src/2026/05", "at 2026:05",
        "answer in 2000 ms", "how many days ago", "how long ago", "April's laptop", "in Spring Boot", "in spring boot",
        "fall back to vectors", "Summer Wars", "the last one", "in 2030", "tomorrow's plan", "May 2030", "31 February",
        "sat on the second monitor", "", "voltage and current of the supply",
        "get current git branch", "gone now", "when did John first travel to Tokyo", "look at first if it hangs",
        "what was the first line of the log", "what were the first three steps", "which came first, 3.0 or 2.4",
        "who won first place", "in the beginning of the file", "love at first sight", "first argument of main",
    ],
)  # fmt: skip
def test_what_may_be_no_date_is_left_alone(query: str):
    assert time_in(query, NOW) is None


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("VAT rounding in March", "period"),
        ("latest VAT rounding", "newest"),
        ("what was the original VAT rounding", "oldest"),
        ("what did we originally decide in March", "period"),
        ("what was the first port, and the current one", "newest"),
    ],
)
def test_a_query_asks_for_a_period_or_the_newest_or_the_oldest(query: str, wanted: str):
    hint = time_in(query, NOW)
    assert hint is not None
    assert hint.wanted == wanted


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("what did we decide about VAT in march", "what did we decide about VAT"),
        ("latest latest-wins merge", "latest-wins merge"),
        ("outage four\n weeks ago, cause", "outage , cause"),
        ("standup of 2026-05-03", "standup of 2026-05-03"),
        ("what happened yesterday", "what happened"),
        ("what was it yesterday", "what was it yesterday"),
        ('the "May 2026" report', 'the "May 2026" report'),
        ("what was the first port", "what was the first port"),
    ],
)
def test_a_time_that_was_understood_is_no_keyword(query: str, asked: str):
    hint = time_in(query, NOW)
    assert hint is not None
    assert " ".join(without_time(query, hint).split()) == asked


@given(st.integers(1, 400))
def test_days_ago_are_around_that_moment(days: int):
    hint = time_in(f"what happened {days} days ago", NOW)
    assert hint is not None
    assert hint.start is not None
    assert hint.end is not None
    middle = from_microseconds((hint.start + hint.end) // 2)
    assert middle == NOW - timedelta(days=days)
