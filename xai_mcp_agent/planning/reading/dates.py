"""Dates and times of day as people write them, read into ISO form."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from typing import NamedTuple

_MONTHS = "january february march april may june july august september october november december"
_MONTH_NUMBERS = {
    name[:length]: number
    for number, name in enumerate(_MONTHS.split(), start=1)
    for length in {3, 4, len(name)}
}
_DAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_RELATIVE = {"day before yesterday": -2, "yesterday": -1, "today": 0, "tonight": 0,
             "day after tomorrow": 2, "tomorrow": 1}  # fmt: skip
_MONTH = rf"(?P<month>{'|'.join(sorted(_MONTH_NUMBERS, key=len, reverse=True))})\.?"
_DAY = r"(?P<day>[0-3]?\d)(?:st|nd|rd|th)?"
_YEAR = r"(?:,?\s+(?P<year>\d{4}))?"
_DATES = tuple(
    re.compile(rf"(?<![\w/-]){pattern}(?![\w/-]|\.\d)", re.IGNORECASE)
    for pattern in (
        r"(?P<year>\d{4})[-/](?P<month>\d{1,2})[-/](?P<day>\d{1,2})",
        rf"{_DAY}(?:\s+of)?\s+{_MONTH}{_YEAR}",
        rf"{_MONTH}\s+{_DAY}{_YEAR}",
        r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",
    )
)
_SLASHED = re.compile(r"(?<![\w/-])(\d{1,2})[/-](\d{1,2})[/-](\d{4})(?![\w/-])")
_FEASTS = {"christmas": (12, 25), "christmasday": (12, 25), "christmaseve": (12, 24),
           "newyearsday": (1, 1), "newyearseve": (12, 31), "halloween": (10, 31),
           "valentinesday": (2, 14), "theendoftheyear": (12, 31)}  # fmt: skip
_FEAST = re.compile(
    r"\b(christmas(?: day| eve)?|new year['\u2019]?s (?:day|eve)|halloween"
    r"|valentine['\u2019]?s day|the end of the year)\b",
    re.IGNORECASE,
)
_NAMED = re.compile(rf"\b(?:the )?({'|'.join(_RELATIVE)})\b", re.IGNORECASE)
_AWAY = re.compile(
    r"\b(?:(?P<lead>in)\s+)?(?P<count>\d{1,5}|an?|one|two|three|four|five|six|seven|ten)\s+"
    r"(?P<unit>day|week)s?(?:\s+(?P<tail>from (?:now|today)|ago))?\b",
    re.IGNORECASE,
)
_COUNTS = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6,
           "seven": 7, "ten": 10}  # fmt: skip
_OPEN_END = re.compile(r"\b(?:until|till|since)\b(?=\s+(?:the\s+)?\w)", re.IGNORECASE)
_WEEKDAY = re.compile(rf"\b(next|this|coming|last)\s+({'|'.join(_DAYS)})\b", re.IGNORECASE)
_RELATIVE_WORDS = re.compile(
    rf"\b(?:(?:the )?(?:{'|'.join(_RELATIVE)})|(?:next|this|coming|last)\s+"
    rf"(?:week|month|year|weekend|{'|'.join(_DAYS)}))\b",
    re.IGNORECASE,
)
_LEAP_YEAR = 2000  # has every day that a year may have
_ISO_DATETIME = re.compile(
    r"(?<![\w-])\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z\b|[+-]\d{2}:?\d{2})?"
)
_CLOCK = re.compile(
    r"(?<![\w:.+-])(?P<hour>[01]?\d|2[0-4])(?:[:h](?P<minute>[0-5]\d)(?::(?P<second>[0-5]\d))?)?"
    r"(?:\s*(?P<half>[ap])\.?m\b\.?|(?P<clock>\s*o['\u2019]?clock))?(?![\w:])",
    re.IGNORECASE,
)
_SPOKEN = re.compile(r"\b(noon|midday|midnight)\b", re.IGNORECASE)


class Moment(NamedTuple):
    """A date, a time or both, in ISO form, and where in the text it stands."""

    kind: str
    value: str
    start: int
    end: int


def moments(text: str, today: date | None) -> Iterator[Moment]:
    """Every date and time in the text. Words such as `tomorrow` and missing years go by `today`.

    Where nobody says which day it is, the words stay as they are, and a year is left out.
    """
    for found in _ISO_DATETIME.finditer(text):
        yield Moment("datetime", found[0].replace(" ", "T"), found.start(), found.end())
    yield from _dates(text, today)
    yield from _times(text)


def _dates(text: str, today: date | None) -> Iterator[Moment]:
    for pattern in _DATES:
        for found in pattern.finditer(text):
            value = _date(found, today)
            if value:
                yield Moment("date", value, found.start(), found.end())
    for found in _SLASHED.finditer(text):
        yield Moment("date", _unambiguous(found), found.start(), found.end())
    if today is None:
        for found in _RELATIVE_WORDS.finditer(text):
            yield Moment("date", found[0], found.start(), found.end())
        return
    for found in _NAMED.finditer(text):
        day = today + timedelta(days=_RELATIVE[found[1].lower()])
        yield Moment("date", day.isoformat(), found.start(), found.end())
    for found in _FEAST.finditer(text):
        month, number = _FEASTS[re.sub(r"\W+", "", found[1].lower())]
        day = date(today.year, month, number)
        following = day if day >= today else date(today.year + 1, month, number)
        yield Moment("date", following.isoformat(), found.start(), found.end())
    yield from _distant(text, today)
    for found in _WEEKDAY.finditer(text):
        yield Moment("date", _weekday(found, today).isoformat(), found.start(), found.end())


def _distant(text: str, today: date) -> Iterator[Moment]:
    """`in 30 days`: that date, or today for a tool that counts the days itself.

    `until Friday` begins today, and `since May` ends today.
    """
    for found in _AWAY.finditer(text):
        word = "tail" if found["tail"] else "lead"
        if not found[word]:
            continue
        count = _COUNTS.get(found["count"].lower()) or int(found["count"])
        days = count * (7 if found["unit"].lower() == "week" else 1)
        day = today + timedelta(days=-days if (found["tail"] or "").lower() == "ago" else days)
        yield Moment("date", day.isoformat(), found.start(), found.end())
        yield Moment("date", today.isoformat(), found.start(word), found.end(word))
    for found in _OPEN_END.finditer(text):
        yield Moment("date", today.isoformat(), found.start(), found.end())


def _date(found: re.Match[str], today: date | None) -> str:
    month = found["month"].lower()
    number = int(month) if month.isdigit() else _MONTH_NUMBERS[month]
    year = int(found["year"] or (today.year if today else _LEAP_YEAR))
    try:
        day = date(year, number, int(found["day"])).isoformat()
    except ValueError:
        return ""
    return day if found["year"] or today else day.removeprefix(f"{_LEAP_YEAR}-")


def _unambiguous(found: re.Match[str]) -> str:
    """13/02/2026 is clear; 02/03/2026 is not, and stays as it was written."""
    first, second, year = int(found[1]), int(found[2]), int(found[3])
    if first <= 12 and second <= 12 and first != second:
        return found[0]
    day, month = (first, second) if second <= 12 else (second, first)
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return found[0]


def _weekday(found: re.Match[str], today: date) -> date:
    wanted = _DAYS.index(found[2].lower())
    if found[1].lower() == "last":
        return today - timedelta(days=(today.weekday() - wanted - 1) % 7 + 1)
    return today + timedelta(days=(wanted - today.weekday() - 1) % 7 + 1)


def _times(text: str) -> Iterator[Moment]:
    for found in _CLOCK.finditer(text):
        if found["minute"] or found["half"] or found["clock"]:
            yield Moment("time", _clock(found), found.start(), found.end())
    for found in _SPOKEN.finditer(text):
        value = "00:00" if found[1].lower() == "midnight" else "12:00"
        yield Moment("time", value, found.start(), found.end())


def _clock(found: re.Match[str]) -> str:
    hour = int(found["hour"])
    if found["half"]:
        hour = hour % 12 + (12 if found["half"].lower() == "p" else 0)
    second = f":{found['second']}" if found["second"] else ""
    return f"{hour:02}:{found['minute'] or '00'}{second}"
