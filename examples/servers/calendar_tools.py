"""An MCP server: dates, days between them, and the time in other time zones.

    python calendar_tools.py                over stdio, as an MCP client starts it
    python calendar_tools.py --http 8003    at http://127.0.0.1:8003/mcp (Streamable HTTP)
    python calendar_tools.py --sse 8003     at http://127.0.0.1:8003/sse (the older HTTP transport)

Open it, add a tool, connect again. Over stdio, standard output belongs to the protocol: to see a
value while you experiment, `print(value, file=sys.stderr)`.

Needs only the `mcp` package (which brings pydantic). Python takes the time zones from the operating
system; Windows has none, so there install them once: `pip install tzdata`.
"""

import argparse
import contextlib
import difflib
import functools
import signal
import sys
import zoneinfo
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated
from zoneinfo import ZoneInfo

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from mcp.types import ToolAnnotations
from pydantic import BaseModel, Field

server = MCPServer(
    "calendar",
    title="Calendar",
    version="1.0",
    instructions=(
        "Use these tools instead of calculating with dates, and current_time instead of guessing "
        "what day it is. Time zones are IANA names such as Europe/Berlin; dates are YYYY-MM-DD."
    ),
    log_level="WARNING",  # to standard error; refusals that we word ourselves are not warnings
)

# The tools read the clock or calculate; they change nothing and use no other service.
READS = ToolAnnotations(read_only_hint=True, open_world_hint=False)


# --- Results of the tools ----------------------------------------------------------------------


class Moment(BaseModel):
    """A point in time as the clocks of one time zone show it."""

    timezone: str
    time: str = Field(description="ISO 8601 with the offset, such as 2026-07-28T14:30:00+02:00.")
    weekday: str
    utc_offset: str = Field(description="Hours and minutes ahead of UTC, such as +02:00.")
    daylight_saving: bool = Field(description="True while clocks are set to summer time.")


class ConvertedTime(BaseModel):
    """One point in time in two time zones."""

    source: Moment
    target: Moment
    difference: str = Field(description="How far the target's clocks are ahead, such as -06:30.")
    note: str | None = Field(description="A warning if a clock change makes the time unclear.")


class Day(BaseModel):
    """A day and its place in the week and the year."""

    date: date
    weekday: str
    iso_week: str = Field(description="Week of ISO 8601, such as 2026-W31; it begins on Monday.")
    day_of_year: int


class DayCount(BaseModel):
    """The distance between two days."""

    days: int = Field(description="How many days end is after start; negative if it is before.")
    weeks: int = Field(description="Whole weeks in it, without sign.")
    remaining_days: int = Field(description="Days beyond the whole weeks, without sign.")
    start: Day
    end: Day


# --- Reading the arguments ---------------------------------------------------------------------


# Abbreviations do not name a zone, because several zones share one. These may be meant:
ABBREVIATIONS = {
    "aest": ["Australia/Sydney", "Australia/Brisbane"],
    "bst": ["Europe/London", "Asia/Dhaka"],
    "cdt": ["America/Chicago"],
    "cest": ["Europe/Berlin", "Europe/Paris"],
    "cst": ["America/Chicago", "Asia/Shanghai"],
    "edt": ["America/New_York"],
    "ist": ["Asia/Kolkata", "Europe/Dublin", "Asia/Jerusalem"],
    "jst": ["Asia/Tokyo"],
    "mdt": ["America/Denver"],
    "pdt": ["America/Los_Angeles"],
    "pst": ["America/Los_Angeles", "Asia/Manila"],
}


@functools.cache  # it reads all zone files, which do not change
def zone_names() -> dict[str, str]:
    """Return the names of all time zones by their spellings in lower case."""
    return {name.casefold(): name for name in sorted(zoneinfo.available_timezones())}


def find_zone(name: str) -> ZoneInfo:
    """Return the time zone with this name, in any case, or raise an error with similar names."""
    names = zone_names()
    if not names:
        raise ToolError("This computer has no time zones. Install them: pip install tzdata")
    key = "_".join(name.split()).casefold()
    if key in names:
        return ZoneInfo(names[key])
    near = near_zones(key)
    if near:
        raise ToolError(f"There is no time zone {name!r}. Did you mean {' or '.join(near)}?")
    raise ToolError(
        f"There is no time zone {name!r}. Name a large city in that zone, as in Europe/Berlin."
    )


def near_zones(key: str) -> list[str]:
    """Return at most three similar zones: by abbreviation, city (`berlin`) or spelling."""
    if key in ABBREVIATIONS:
        return ABBREVIATIONS[key]
    names = zone_names()
    by_city = {name.rpartition("/")[2]: name for name in names if "/" in name}
    cities = difflib.get_close_matches(key.rpartition("/")[2], by_city, n=3, cutoff=0.7)
    near = [by_city[city] for city in cities]
    near += difflib.get_close_matches(key, names, n=3, cutoff=0.7)
    return [names[name] for name in dict.fromkeys(near)][:3]


def read_date(text: str) -> date:
    """Return the date, or raise an error that shows the form."""
    try:
        return date.fromisoformat(text.strip())
    except ValueError as error:
        raise ToolError(
            f"{text!r} is not a day of the calendar ({error}). Write it like 2026-07-28."
        ) from error


def read_local_time(text: str, zone: ZoneInfo) -> datetime:
    """Return a date and time, or a time today, on the clocks of this zone."""
    text = text.strip()
    try:
        if text[4:5] == "-":  # after a year
            moment = datetime.fromisoformat(text)
        else:
            moment = datetime.combine(datetime.now(zone), time.fromisoformat(text))
    except ValueError as error:
        raise ToolError(
            f"{text!r} is not a time ({error}). Write it like 09:30 or 2026-07-28T14:30."
        ) from error
    local = moment.replace(tzinfo=zone)
    if moment.utcoffset() not in (None, local.utcoffset()):
        raise ToolError(
            f"{text!r} has another UTC offset than {zone.key}, where it is then "
            f"{signed_hours(utc_offset(local))}. Leave the offset out, or name the zone it is of."
        )
    return local


def clock_change_note(local: datetime) -> str | None:
    """Return a note if this time occurs twice or never because the clocks change, or None."""
    if local.replace(fold=0).utcoffset() == local.replace(fold=1).utcoffset():
        return None
    back = local.astimezone(UTC).astimezone(local.tzinfo)
    if back.replace(tzinfo=None) == local.replace(tzinfo=None):
        return f"{local:%H:%M} occurs twice that day, as clocks go back; the first is taken."
    return f"{local:%H:%M} does not occur that day, as clocks go forward; {back:%H:%M} is meant."


# --- Writing the results -----------------------------------------------------------------------


def utc_offset(moment: datetime) -> timedelta:
    """Return how far the clocks of this moment are ahead of UTC."""
    return moment.utcoffset() or timedelta()


def signed_hours(duration: timedelta) -> str:
    """Return a difference between clocks as `-06:30`."""
    minutes = round(duration.total_seconds() / 60)
    return f"{'-' if minutes < 0 else '+'}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def to_moment(local: datetime) -> Moment:
    """Return the moment as the clocks of its zone show it."""
    return Moment(
        timezone=str(local.tzinfo),
        time=local.isoformat(timespec="seconds"),
        weekday=f"{local:%A}",
        utc_offset=signed_hours(utc_offset(local)),
        daylight_saving=bool(local.dst()),
    )


def to_day(day: date) -> Day:
    """Return the day with its weekday, week and number."""
    week = day.isocalendar()
    return Day(
        date=day,
        weekday=f"{day:%A}",
        iso_week=f"{week.year:04}-W{week.week:02}",
        day_of_year=day.timetuple().tm_yday,
    )


# --- Tools -------------------------------------------------------------------------------------

ZONE = "IANA time zone, such as Europe/Berlin or UTC."
DATE = "A date as YYYY-MM-DD, such as 2026-07-28."


@server.tool(title="Current time", annotations=READS)
def current_time(timezone: Annotated[str, Field(description=ZONE)] = "UTC") -> Moment:
    """Tell the current date, time and weekday in a time zone."""
    return to_moment(datetime.now(find_zone(timezone)))


@server.tool(title="Convert a time", annotations=READS)
def convert_time(
    time: Annotated[
        str,
        Field(description="Time on the clocks there: 09:30 (today) or 2026-07-28T14:30."),
    ],
    from_timezone: Annotated[str, Field(description="Where that time is. " + ZONE)],
    to_timezone: Annotated[str, Field(description="Where to convert it to. " + ZONE)],
) -> ConvertedTime:
    """Tell what time it is in one time zone when the clocks of another show a given time."""
    source, target = find_zone(from_timezone), find_zone(to_timezone)
    local = read_local_time(time, source)
    try:
        # Through UTC, so that a time that does not occur becomes a real one.
        moment = local.astimezone(UTC)
        here, there = moment.astimezone(source), moment.astimezone(target)
        note = clock_change_note(local)
    except OverflowError as error:
        raise ToolError(f"{time!r} is at the end of the calendar, years 1 to 9999.") from error
    return ConvertedTime(
        source=to_moment(here),
        target=to_moment(there),
        difference=signed_hours(utc_offset(there) - utc_offset(here)),
        note=note,
    )


@server.tool(title="Days between", annotations=READS)
def days_between(
    start: Annotated[str, Field(description="The first day. " + DATE)],
    end: Annotated[str, Field(description="The last day. " + DATE)],
) -> DayCount:
    """Count the days from one date to another."""
    first, last = read_date(start), read_date(end)
    days = (last - first).days
    weeks, remaining_days = divmod(abs(days), 7)
    return DayCount(
        days=days,
        weeks=weeks,
        remaining_days=remaining_days,
        start=to_day(first),
        end=to_day(last),
    )


@server.tool(title="Add days", annotations=READS)
def add_days(
    date: Annotated[str, Field(description=DATE)],
    days: Annotated[int, Field(description="How many days later; negative for earlier.")],
) -> Day:
    """Find the date that is a number of days after or before another."""
    start = read_date(date)
    try:
        return to_day(start + timedelta(days=days))
    except OverflowError as error:
        raise ToolError(
            f"{days} days from {start} is outside the calendar, years 1 to 9999."
        ) from error


@server.tool(title="Weekday of a date", annotations=READS)
def weekday_of(date: Annotated[str, Field(description=DATE)]) -> Day:
    """Tell the weekday of a date, with its week and its number in the year."""
    return to_day(read_date(date))


# --- Starting ----------------------------------------------------------------------------------


def main() -> None:
    """Read the command line and serve until the client leaves, or Ctrl+C."""
    parser = argparse.ArgumentParser(description="MCP server for dates and time zones.")
    over = parser.add_mutually_exclusive_group()
    over.add_argument("--http", type=int, metavar="PORT", help="serve Streamable HTTP on this port")
    over.add_argument("--sse", type=int, metavar="PORT", help="serve HTTP with SSE on this port")
    options = parser.parse_args()
    with contextlib.suppress(KeyboardInterrupt):
        serve(options.http, options.sse)


def serve(http_port: int | None, sse_port: int | None) -> None:
    """Serve on one of the ports, or else over stdio."""
    if http_port is not None:
        print(f"Serving at http://127.0.0.1:{http_port}/mcp, Ctrl+C ends.", file=sys.stderr)
        server.run("streamable-http", port=http_port)
    elif sse_port is not None:
        print(f"Serving at http://127.0.0.1:{sse_port}/sse, Ctrl+C ends.", file=sys.stderr)
        server.run("sse", port=sse_port)
    else:
        if sys.stdin.isatty():
            print("Waiting for an MCP client; try --http 8003. Ctrl+C ends.", file=sys.stderr)
        # End at once on Ctrl+C; otherwise it would wait for one more line of input.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        server.run()


if __name__ == "__main__":
    main()
