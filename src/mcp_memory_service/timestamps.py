"""Time inside is integer microseconds UTC; at the edges it is ISO 8601."""

from datetime import UTC, datetime, timedelta, tzinfo
from typing import TypeAlias

MICROSECONDS_PER_SECOND = 1_000_000
MICROSECONDS_PER_DAY = 86_400_000_000
EARLIEST_MICROSECONDS = -62_135_596_800_000_000
"""The first moment of year 1, UTC: what lies before has no ISO 8601 date."""

When: TypeAlias = int | str
"""A moment as it is asked for: microseconds UTC, or a text such as `last week` that the service reads."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_microseconds(moment: datetime) -> int:
    """Exact, unlike `timestamp() * 1e6`; a moment without an offset is taken as UTC."""
    aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return (aware - _EPOCH) // _MICROSECOND


def from_microseconds(microseconds: int, zone: tzinfo = UTC) -> datetime:
    return (_EPOCH + timedelta(microseconds=microseconds)).astimezone(zone)


def compact(microseconds: int) -> str:
    """As it can stand in the name of a file."""
    return from_microseconds(microseconds).strftime("%Y%m%dT%H%M%S.%fZ")


def day_of(microseconds: int) -> str:
    """In UTC, as ISO 8601 has it."""
    return from_microseconds(microseconds).date().isoformat()


def now_microseconds() -> int:
    return to_microseconds(datetime.now(UTC))
