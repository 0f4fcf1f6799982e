"""Times and durations as people write and read them, in the local time zone."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime, time, timedelta

HOW_TO_WRITE = "Write 2h or 3d for so long ago, a day as 2026-11-20, or a time as 2026-11-20 14:00."

_AGO = re.compile(r"(\d{1,6}) ?(s|min|m|h|d|w)", re.IGNORECASE)
_UNITS = {"s": "seconds", "m": "minutes", "min": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_MINUTE, _HOUR = 60, 3600
# A position may be large, but Python refuses to parse numbers without end.
_MOST_DIGITS = 30


class BadTime(ValueError):
    """A text is not a time. The message explains how to write one."""


def moment(text: str, now: datetime, *, is_end: bool = False) -> datetime:
    """Return the time that a text means: a duration before `now`, or a date, perhaps with a time.

    A day alone is its beginning, or its end if `is_end`. A time without a zone is local.

    Raises:
        BadTime: it is not a time.
    """
    words = " ".join(text.split())
    try:
        if ago := _AGO.fullmatch(words):
            return now - timedelta(**{_UNITS[ago[2].lower()]: int(ago[1])})
        if len(words) == len("2026-11-20"):
            part = time.max if is_end else time.min
            return datetime.combine(date.fromisoformat(words), part).astimezone()
        return datetime.fromisoformat(words).astimezone()
    except (ValueError, OverflowError, OSError) as cause:
        raise BadTime(f"{text!r} is not a time. {HOW_TO_WRITE}") from cause


def position_or_moment(text: str, now: datetime, *, is_end: bool = True) -> datetime | int:
    """Return a point of the history: the position of an event, or a time, as for `moment`.

    Raises:
        BadTime: it is neither.
    """
    try:
        is_position = text.strip().isdecimal() and len(text.strip()) <= _MOST_DIGITS
        return int(text) if is_position else moment(text, now, is_end=is_end)
    except BadTime as reason:
        raise BadTime(f"{reason} Or the position of an event, such as 120.") from reason


def now() -> datetime:
    """Return the time with its zone."""
    return datetime.now(UTC)


def day_text(moment: datetime) -> str:
    """Return the day in a form that can be typed again, and its name."""
    return moment.astimezone().strftime("%Y-%m-%d, %A")


def clock_text(moment: datetime) -> str:
    """Return the time of day."""
    return moment.astimezone().strftime("%H:%M:%S")


def time_text(moment: datetime) -> str:
    """Return day and time in a form that can be typed again."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M:%S")


def utc_text(moment: datetime | None) -> str | None:
    """Return a time as JSON has it, or None."""
    return moment.astimezone(UTC).isoformat() if moment else None


def seconds_text(seconds: float) -> str:
    """Return a duration, rounded for a person."""
    if seconds < 0.9995:
        return f"{seconds * 1000:.2g} ms" if seconds < 0.0095 else f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    if seconds < _HOUR:
        return f"{int(seconds) // _MINUTE} min {int(seconds) % _MINUTE} s"
    return f"{int(seconds) // _HOUR} h {int(seconds) % _HOUR // _MINUTE} min"
