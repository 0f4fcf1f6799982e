"""Verbs and values in a text: dates, times, zones, numbers, sums, and amounts with units."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from ...planning.request import Mention, mentions_in
from ...search.terms import root, terms


def roots_of(words: str) -> frozenset[str]:
    """Return the roots of a list's words, as the index compares them."""
    return frozenset(map(root, words.split()))


def roots_in(text: str) -> set[str]:
    """Return the roots of a text's words without stop words, as the index compares them."""
    return {root(x) for x in terms(text)}


CHANGING = roots_of("""
    add append archive assign bake bind book borrow buy cancel change checkout clear close commit
    create delete deploy disable drop edit email enable erase execute hide insert install invite
    kill lend lock make mark merge modify move order overwrite patch pay place post publish
    purchase push put reboot register reject remember remove rename rent replace reserve reset
    restart restore resume return revert revoke run save schedule send share shutdown start stop
    store submit subscribe transfer trigger uninstall unlock update upload wipe write
""")
"""Roots in names of tools that change something."""
READING = roots_of("""
    calculate check compare compute convert count describe divide explain fetch find get has is list
    look lookup multiply open read recall search show subtract tell track translate view
""")
"""Roots in names of tools that only read."""
_REFERENCE = re.compile(
    r"\b(?:it|its|them|their|these|those|this|that|the (?:same|results?|sum|answer)|"
    r"the (?:first|second|third|last|oldest|newest|latest|cheapest)(?: one| result)?)"
    r"(?=\s*(?:[.,;:?!)]|$)|\s+(?:for|to|of|in|by|from|and|with|into)\b|\s+\w+ing\b|"
    r"(?<=its|eir)\s)", re.IGNORECASE,
)  # fmt: skip
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# "the policy with the ID p42"
_ID = re.compile(r"\bid:? ((?=\S*\d)(?=\S*[a-z])[\w-]+)", re.IGNORECASE)
_DAYS_AWAY = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_AMOUNT = r"-?\d+(?:\.\d+)?"
_SIGNS = {
    "plus": "+", "minus": "-", "times": "*", "divided by": "/", "to the power of": "**",
}  # fmt: skip
_EXPRESSION = re.compile(
    r"(?<![\w.(-])(?!\d+-\d+-)[(\s]{0,20}-?\d[\d.]*\)?(?:\s*(?:\*\*|[-+*/^%()])\s*[\d.()]+)+"
)
_PLACE_NAME = re.compile(r"[A-Za-z]\w*(?:/[\w+-]+){1,2}|(?:(?<=\bin )|\b(?=[A-Z]))[\w-]+")
# The spellings of one unit between semicolons.
_UNITS = """
millimetre millimeter mm; centimetre centimeter cm; metre meter m; kilometre kilometer km;
inch inches in; foot feet ft; yard yd; mile mi; milligram mg; gram gramme g;
kilogram kilogramme kilo kg; tonne ton t; ounce oz; pound lb lbs; stone st;
millilitre milliliter ml; litre liter l; gallon gal; pint pt; cup; celsius centigrade c;
fahrenheit f; kelvin k; second sec s; minute min; hour hr h; day d; week wk; year yr; byte b;
kilobyte kb; megabyte mb; gigabyte gb; mph mi/h; kmh kph km/h; knot kn; acre; hectare ha;
joule j; kilojoule kj; kilocalorie kcal
"""
_UNIT_NAMES = {x: line.split()[0] for line in _UNITS.split(";") for x in line.split()}
_UNIT = r"(?:US |square |cubic )?[^\W\d_]+[\u00b2\u00b3]?(?:/[a-z]+| per [a-z]+)?"
_AMOUNT_WITH_UNIT = re.compile(
    rf"(?<![\w.])({_AMOUNT}|\d[\d,]*)\s*(?:degrees?\s+|\u00b0\s*)?({_UNIT})"
)
_ONE = re.compile(rf"\b(?:in|is|are|to) (?:an?|one) ({_UNIT})", re.IGNORECASE)
_TARGET = re.compile(
    rf"\b(?:how many|how much|in|to|into|as) (?:degrees? )?({_UNIT})", re.IGNORECASE
)


class Span(NamedTuple):
    """A value that a text states, and its position."""

    kind: str
    value: Any
    start: int
    end: int

    def overlaps(self, start: int, end: int) -> bool:
        """Return whether the value shares characters with this part of the text."""
        return self.start < end and start < self.end


def spans_in(text: str, today: date, *, zones: bool = False) -> list[Span]:
    """Return the values that a text states, in order, with days and times as ISO writes them.

    Cities count as time zones if `zones`.
    """
    spans = [x for y in mentions_in(text) if (x := _span(y, today))]
    more = [Span("number", 12, *x.span()) for x in re.finditer(r"\bdozen\b", text)]
    more += [x for y in spans if y.kind == "number" and (x := _days_away(y, text, today))]
    more += [Span("id", x[1], *x.span(1)) for x in _ID.finditer(text)]
    if christmas := re.search(r"\bchristmas\b", text, re.IGNORECASE):
        day = date(today.year + (today > date(today.year, 12, 25)), 12, 25)
        more.append(Span("date", day.isoformat(), *christmas.span()))
    for span in (*more, *(_zones_in(text) if zones else ())):
        over = [x for x in spans if x.overlaps(span.start, span.end)]
        if all(x.kind in ("name", "number", "id") for x in over):
            spans = [*(x for x in spans if x not in over), span]
    return sorted(spans, key=lambda x: x.start)


def _span(mention: Mention, today: date) -> Span | None:
    kind, value = mention.kind, mention.value
    start, end = mention.start, mention.end
    if kind == "quoted":
        start, end = start - 1, end + 1
    elif kind == "date":
        value = _date(mention, today)
    elif kind == "time":
        value = _time(mention.text)
    elif kind == "name" and start == 0 and root(value.split()[0].lower()) in CHANGING | READING:
        value = value.partition(" ")[2] or None  # "Borrow Dracula"
        start = end - len(value or "")
    elif kind in ("id", "name") and re.search(r"\d", mention.text):
        kind, value = "id", mention.text.lstrip("#")
    return None if value is None or kind == "topic" else Span(kind, value, start, end)


def _date(mention: Mention, today: date) -> str | None:
    words = mention.text.lower().split()
    if words[0] in _DAYS_AWAY:
        return (today + timedelta(_DAYS_AWAY[words[0]])).isoformat()
    if words[-1] in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(words[-1]) - today.weekday() - 1) % 7 + 1
        return (today + timedelta(ahead - 7 * (words[0] == "last"))).isoformat()
    this_year = mentions_in(f"{mention.text} {today.year}")
    for value in (mention.value, *(x.value for x in this_year[:1])):
        try:
            return date.fromisoformat(str(value)).isoformat()
        except ValueError:
            continue
    return None


def _days_away(count: Span, text: str, today: date) -> Span | None:
    """Read `in 10 days`, `3 weeks ago`."""
    after = re.match(r" (day|week)s?( ago)?\b", text[count.end :], re.IGNORECASE)
    is_ahead = text[: count.start].lower().endswith("in ")
    if not after or not (after[2] or is_ahead):
        return None
    days = count.value * (7 if after[1].lower() == "week" else 1)
    try:
        day = today + timedelta(-days if after[2] else days)
    except OverflowError:
        return None
    return Span("date", day.isoformat(), count.start, count.end + after.end())


def _time(spelling: str) -> str | None:
    match = re.match(r"(\d{1,2})(?::(\d\d))?\W*([ap]?)", spelling.lower())
    if not match:
        return None
    hours, minutes = int(match[1]), int(match[2] or 0)
    if match[3]:
        hours = hours % 12 + 12 * (match[3] == "p")
    return f"{hours:02}:{minutes:02}" if hours < 24 else None


@cache
def _zones() -> dict[str, str]:
    """Return the time zones by name and by city, both in lower case."""
    import zoneinfo  # takes a tenth of a second to find its files

    names = sorted(zoneinfo.available_timezones(), key=lambda x: (-x.count("/"), x))
    cities = {x.rpartition("/")[2].lower(): x for x in names if not x.startswith("Etc/")}
    return {**cities, **{x.lower(): x for x in names}}


def _zones_in(text: str) -> Iterator[Span]:
    for match in _PLACE_NAME.finditer(text):
        second = re.match(r"\s+[A-Za-z][a-z]+", text[match.end() :])
        for place in (match[0], match[0] + (second[0] if second else "")):
            zone = _zones().get(place.lower().replace(" ", "_"))
            if zone:
                yield Span("zone", zone, match.start(), match.start() + len(place))
                break


def number_in(word: str) -> int | float | None:
    """Return the number that digits state, or None."""
    digits = word.replace(",", "")
    if len(digits) > 30 or not re.fullmatch(_AMOUNT, digits):
        return None
    return float(digits) if "." in digits else int(digits)


def expression_in(text: str) -> str:
    """Return the longest sum that a text states, in digits and signs; else an empty text."""
    text = re.sub(rf"({_AMOUNT}) ?(?:%|percent) of ({_AMOUNT})", r"\1 / 100 * \2", text)
    text = re.sub(rf"(?i)square root of ({_AMOUNT})", r"(\1) ** 0.5", text)
    for words, sign in _SIGNS.items():
        text = re.sub(rf"(?i)(?<=\d) {words} (?=\d)", f" {sign} ", text)
    return max((x[0].strip(" .") for x in _EXPRESSION.finditer(text)), key=len, default="")


def conversion_in(text: str) -> tuple[int | float, str, str] | None:
    """Return amount, unit and target: `5 miles in km`, `how many ounces are in a pound`."""
    amounts = [(x[1], x[2]) for x in _AMOUNT_WITH_UNIT.finditer(text) if unit_name(x[2])]
    amounts = amounts or [("1", x[1]) for x in _ONE.finditer(text) if unit_name(x[1])]
    units = [x for _, x in amounts]
    targets = [x[1] for x in _TARGET.finditer(text) if unit_name(x[1]) and x[1] not in units[:1]]
    targets += units[1:]
    value = number_in(amounts[0][0]) if amounts else None
    return (value, units[0], targets[0]) if targets and value is not None else None


def unit_name(text: str) -> str:
    """Return the usual name of a unit; empty if the text names none."""
    text = text.lower()
    word = text.split()[-1] if " per " not in text else text.split()[0]
    if text in ("a", "in", "s"):
        return ""
    spellings = (text, word, word.removesuffix("s"))
    return next((_UNIT_NAMES[x] for x in spellings if x in _UNIT_NAMES), "")


def words_refer(text: str) -> bool:
    """Return whether a text refers back: "for it", "rent them"."""
    return bool(_REFERENCE.search(text))


def list_in(text: str) -> list[str]:
    """Return the things that a text lists: `bread, butter and jam`."""
    return [x for x in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text) if x]
