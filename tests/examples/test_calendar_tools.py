"""The example calendar: days, clocks of other zones, and errors that name similar zones."""

from __future__ import annotations

from datetime import UTC, date, datetime
from itertools import chain
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mcp import Client
from mcp.server.mcpserver.exceptions import ToolError

from .servers import answer, load

calendar = load("calendar_tools")


@pytest.mark.anyio
async def test_the_current_time_is_now_in_the_zone_and_in_utc_by_default() -> None:
    async with Client(calendar.server) as client:
        before = datetime.now(UTC).replace(microsecond=0)
        utc = await answer(client, "current_time")
        tokyo = await answer(client, "current_time", timezone="asia/tokyo")
    for now, zone, offset in ((utc, "UTC", "+00:00"), (tokyo, "Asia/Tokyo", "+09:00")):
        assert before <= datetime.fromisoformat(now["time"]) <= datetime.now(UTC)
        assert (now["timezone"], now["utc_offset"]) == (zone, offset)


@pytest.mark.parametrize(
    ("time", "source", "target", "result", "difference"),
    [
        ("2026-07-28T14:30", "UTC", "America/New_York", "2026-07-28T10:30:00-04:00", "-04:00"),
        ("2026-01-28 14:30", "UTC", "America/New_York", "2026-01-28T09:30:00-05:00", "-05:00"),
        ("2026-07-28T14:30+02:00", "Europe/Berlin", "UTC", "2026-07-28T12:30:00+00:00", "-02:00"),
        ("2026-07-28", "Asia/Kathmandu", "UTC", "2026-07-27T18:15:00+00:00", "-05:45"),
    ],
)
def test_a_time_is_converted_with_the_offsets_of_that_day(
    time: str, source: str, target: str, result: str, difference: str
) -> None:
    converted = calendar.convert_time(time, source, target)
    assert (converted.target.time, converted.difference) == (result, difference)
    assert converted.note is None


@pytest.mark.parametrize(
    ("time", "expected", "note"),
    [
        ("2026-03-29T02:30", "2026-03-29T03:30:00+02:00", "does not occur that day"),
        ("2026-10-25T02:30", "2026-10-25T02:30:00+02:00", "occurs twice that day"),
    ],
)
def test_a_note_warns_of_a_clock_change(time: str, expected: str, note: str) -> None:
    """Clocks in the European Union change on the last Sundays of March and October."""
    converted = calendar.convert_time(time, "Europe/Berlin", "UTC")
    assert converted.source.time == expected
    assert note in converted.note


def test_every_suggested_zone_exists() -> None:
    for zone in chain(*calendar.ABBREVIATIONS.values()):
        assert calendar.find_zone(zone).key == zone


@pytest.mark.parametrize(
    ("start", "end", "days", "weeks", "rest"),
    [("2026-07-28", "2026-12-24", 149, 21, 2), ("2026-03-01", "2026-02-15", -14, 2, 0)],
)
def test_days_are_counted_backwards_too(
    start: str, end: str, days: int, weeks: int, rest: int
) -> None:
    count = calendar.days_between(start, end)
    assert (count.days, count.weeks, count.remaining_days) == (days, weeks, rest)


@given(st.dates(), st.dates())
def test_adding_the_days_between_two_dates_leads_to_the_other(start: date, end: date) -> None:
    days = calendar.days_between(str(start), str(end)).days
    assert calendar.add_days(str(start), days).date == end


def test_weekday_of_returns_weekday_week_and_number_of_the_day() -> None:
    """ISO 8601: 1 January 2027 is a Friday in the last week of 2026."""
    day = calendar.weekday_of("2027-01-01")
    assert (day.weekday, day.iso_week, day.day_of_year) == ("Friday", "2026-W53", 1)


@pytest.mark.parametrize(
    ("tool", "arguments", "words"),
    [
        ("current_time", ["new york"], "Did you mean America/New_York?"),
        ("current_time", ["Tokio"], "Did you mean Asia/Tokyo?"),
        ("current_time", ["IST"], "Did you mean Asia/Kolkata or Europe/Dublin or Asia/Jerusalem?"),
        ("current_time", ["Mars/Olympus"], "Name a large city in that zone, as in Europe/Berlin."),
        ("current_time", ["../../etc/passwd"], "Name a large city"),
        ("current_time", [""], "Name a large city"),
        ("convert_time", ["2:30 PM", "UTC", "UTC"], "Write it like 09:30 or 2026-07-28T14:30."),
        ("convert_time", ["25:00", "UTC", "UTC"], "is not a time (hour must be in 0..23)"),
        ("convert_time", ["2026-07-28T14:30Z", "Europe/Berlin", "UTC"], "Leave the offset out"),
        ("convert_time", ["0001-01-01", "Asia/Tokyo", "UTC"], "is at the end of the calendar"),
        ("weekday_of", ["tomorrow"], "'tomorrow' is not a day of the calendar"),
        ("add_days", ["2026-02-30", 1], "day is out of range for month). Write it like 2026-07-28"),
        ("add_days", ["2026-07-28", 10**20], "is outside the calendar, years 1 to 9999"),
    ],
)
def test_a_bad_zone_time_or_date_is_refused_with_advice(
    tool: str, arguments: list[Any], words: str
) -> None:
    with pytest.raises(ToolError) as caught:
        getattr(calendar, tool)(*arguments)
    assert words in str(caught.value)
