"""Values as the offline model reads them: in a request's words, for a parameter, and in a result.

A value is a stretch of the request or a part of a result; none is made up.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import date, timedelta
from functools import cache
from typing import Any

from ...core.json import JsonObject, as_list, as_object, is_list, is_object
from ...core.schemas import types_of
from ...planning.request import Mention, mentions_in
from ...planning.vocabulary import root_set
from ...search.terms import root, separate_words, terms

CHANGING = root_set("""
    add append archive assign bake bind book borrow buy cancel change checkout clear close commit
    create delete deploy disable drop edit email enable erase execute hide insert install invite
    kill lend lock make mark merge modify move order overwrite patch pay place post publish
    purchase push put reboot register reject remember remove rename rent replace reserve reset
    restart restore resume return revert revoke run save schedule send share shutdown start stop
    store submit subscribe transfer trigger uninstall unlock update upload wipe write
""")
"""Roots of verbs that change something."""
READING = root_set("""
    calculate check compare compute convert count describe divide explain fetch find get has is list
    look lookup multiply open read recall search show subtract tell track translate view
""")
"""Roots of verbs that only read."""
_REFERENCE = re.compile(
    r"(?i)\b(?:it|its|them|their|these|those|this|that|the (?:results?|answer)|"
    r"the (?:first|second|third|last)(?: one| result)?)"
    r"(?=\s*(?:[.,;:?!)]|$)|\s+(?:for|to|of|in|by|from|and|with|into)\b|(?<=its|eir)\s)"
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
# "the policy with the ID p42"
_ID = re.compile(r"(?i)\bid:? ((?=\S*\d)(?=\S*[a-z])[\w-]+)")
_DAYS_AWAY = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
_PLACE_NAME = re.compile(r"[A-Za-z]\w*(?:/[\w+-]+){1,2}|(?:(?<=\bin )|\b(?=[A-Z]))[\w-]+")
_AMOUNT = r"-?\d+(?:\.\d+)?"
_SIGNS = {"plus": "+", "minus": "-", "times": "*", "divided by": "/", "to the power of": "**"}
_EXPRESSION = re.compile(
    r"(?<![\w.(-])(?!\d+-\d+-)[(\s]{0,20}-?\d[\d.]*\)?(?:\s*(?:\*\*|[-+*/^%()])\s*[\d.()]+)+"
)
# The spellings of one unit between semicolons.
_UNITS = """
millimetre millimeter mm; centimetre centimeter cm; metre meter m; kilometre kilometer km;
inch inches in; foot feet ft; yard yd; mile mi; milligram mg; gram gramme g;
kilogram kilogramme kilo kg; tonne ton t; ounce oz; pound lb lbs; stone st;
millilitre milliliter ml; litre liter l; gallon gal; pint pt; cup; celsius centigrade c;
fahrenheit f; kelvin k; second sec s; minute min; hour hr h; day d; week wk; year yr; byte b;
kilobyte kb; megabyte mb; gigabyte gb; mph mi/h; kmh kph km/h; knot kn; acre; hectare ha
"""
_UNIT_NAMES = {x: line.split()[0] for line in _UNITS.split(";") for x in line.split()}
_UNIT = r"(?:US |square |cubic )?[^\W\d_]+[\u00b2\u00b3]?(?:/[a-z]+)?"
_AMOUNT_WITH_UNIT = re.compile(rf"(?<![\w.])(-?\d[\d,.]*)\s*(?:degrees?|\u00b0)?\s*({_UNIT})")
_ONE = re.compile(rf"(?i)\b(?:in|is|are|to) (?:an?|one) ({_UNIT})")
_TARGET = re.compile(rf"(?i)\b(?:how many|how much|in|to|into|as) (?:degrees? )?({_UNIT})")
# Topics of text parameters: words in their names or else descriptions, the kinds of values that
# fit, and an example.
_TOPICS = {
    "zone": (r"\btime ?zone|\bzone\b|\btz\b", ("zone",), "Europe/London"),
    "expression": (r"\bexpression|\bformula", (), "2 + 3"),
    "unit": (r"\bunit\b", (), "km"),
    "url": (r"\bur[li]s?\b", ("url", "quoted"), "https://example.org"),
    "date": (r"\bdate(?: ?time)?\b|\bday\b|yyyy-mm-dd", ("date", "datetime"), "2026-03-12"),
    "time": (r"\btime\b", ("time",), "14:30"),
    "path": (r"\bpath\b|\bfile\b|\bfolder\b|\bdirectory\b", ("path", "quoted"), "notes.txt"),
    "query": (r"\bquer(?:y|ies)\b|\bsearch|\btopic\b|\bkeyword|\bsubject\b", ("quoted",), "sea"),
    "name": (r"\bperson|\breader|\bcustomer|\buser|\bauthor|\bguest|\bmember|\bowner|\bcity\b|"
             r"\bplace\b|\blocation\b|\bcountry\b", ("name", "quoted", "zone"), "Florence"),
    # Chosen without a pattern: by the name's last word, and for all others.
    "id": (r"(?!)", ("id", "quoted"), "A1"),
    "text": (r"(?!)", ("quoted",), "something"),
}  # fmt: skip
FORMED = {"zone", "date", "time", "path", "expression"}
"""Topics of values that have a form of their own, so that no other words will do."""


def values_in(text: str, today: date, *, zones: bool = False) -> list[Mention]:
    """Return the values that a text states, in order, with days and times as ISO writes them.

    Cities count as time zones if `zones`.
    """
    values = [x for y in mentions_in(text) if (x := _value(y, today))]
    more = [Mention("id", x[1], x[1], *x.span(1)) for x in _ID.finditer(text)]
    for value in (*more, *(_zones_in(text) if zones else ())):
        over = [x for x in values if overlap(x, value)]
        if all(x.kind in ("name", "number", "id") for x in over):
            values = [*(x for x in values if x not in over), value]
    return sorted(values, key=lambda x: x.start)


def _value(mention: Mention, today: date) -> Mention | None:
    kind, value, text = mention.kind, mention.value, mention.text
    start, end = mention.start, mention.end
    if kind == "quoted":
        start, end = start - 1, end + 1
    elif kind == "date":
        value = _date(mention, today)
    elif kind == "time":
        value = _time(text)
    elif kind == "name" and start == 0 and root(value.split()[0].lower()) in CHANGING | READING:
        value = value.partition(" ")[2] or None  # "Borrow Dracula"
        start = end - len(value or "")
    elif kind in ("id", "name") and re.search(r"\d", text):
        kind, value = "id", text.lstrip("#")
    return None if value is None or kind == "topic" else Mention(kind, value, text, start, end)


def _date(mention: Mention, today: date) -> str | None:
    words = mention.text.lower().split()
    if words[0] in _DAYS_AWAY:
        return (today + timedelta(_DAYS_AWAY[words[0]])).isoformat()
    if words[-1] in _WEEKDAYS:
        ahead = (_WEEKDAYS.index(words[-1]) - today.weekday() - 1) % 7 + 1
        return (today + timedelta(ahead - 7 * (words[0] == "last"))).isoformat()
    this_year = mentions_in(f"{mention.text} {today.year}")
    for value in (mention.value, *(x.value for x in this_year[:1])):
        with suppress(ValueError):
            return date.fromisoformat(str(value)).isoformat()
    return None


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


def _zones_in(text: str) -> Iterator[Mention]:
    for match in _PLACE_NAME.finditer(text):
        second = re.match(r"\s+[A-Za-z][a-z]+", text[match.end() :])
        for place in (match[0], match[0] + (second[0] if second else "")):
            letters = unicodedata.normalize("NFD", place.lower())  # the zone is `Sao_Paulo`
            plain = "".join(x for x in letters if not unicodedata.combining(x))
            zone = _zones().get(plain.replace(" ", "_"))
            if zone:
                yield Mention("zone", zone, place, match.start(), match.start() + len(place))
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
    word = text.lower().rpartition(" ")[2]
    return _UNIT_NAMES.get(word) or _UNIT_NAMES.get(word.removesuffix("s"), "")


def overlap(one: Mention, other: Mention) -> bool:
    """Return whether two values share characters of the text."""
    return one.start < other.end and other.start < one.end


def without(text: str, values: Iterable[Mention]) -> str:
    """Return the text with blanks in place of these values."""
    for x in values:
        text = text[: x.start] + " " * (x.end - x.start) + text[x.end :]
    return text


def roots_in(text: str) -> set[str]:
    """Return the roots of a text's words without stop words, as the index compares them."""
    return {root(x) for x in terms(text)}


def words_refer(text: str) -> bool:
    """Return whether a text refers back: "for it", "rent them"."""
    return bool(_REFERENCE.search(text))


def list_in(text: str) -> list[str]:
    """Return the things that a text lists: `bread, butter and jam`."""
    return [x for x in re.split(r"\s*,\s*(?:and\s+)?|\s+and\s+", text) if x]


def number_of(data: Any) -> int | float | None:
    """Return the number in a result, or None; of several in a text the last one."""
    value = as_object(data).get("result", data)
    if isinstance(value, str) and len(value) < 200:
        return number_in(["", *re.findall(_AMOUNT, value)][-1])
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None


def items_in(data: Any) -> list[Any] | None:
    """Return a result's items: itself if it is a list, else its only list if it has little else."""
    if is_list(data):
        return data
    fields = as_object(data)
    lists = [x for x in fields.values() if is_list(x)]
    return lists[0] if len(lists) == 1 and len(fields) < 4 else None


class Slot:
    """A parameter of a tool.

    `kind` is its JSON type, the first that is not null, and `item_kind` that of its items; `topic`
    is the kind of value in a text: `date`, `zone`, `query`, else `text`; `pattern` matches its name
    as people write it, with "id" or without.
    """

    def __init__(self, name: str, spec: JsonObject, is_required: bool) -> None:
        self.name, self.spec, self.is_required = name, spec, is_required
        self.kind = next((x for x in types_of(spec) if x != "null"), "string")
        self.is_number = self.kind in ("number", "integer")
        self.words = separate_words(name).lower().split() or [name]
        items = spec.get("items" if self.kind == "array" else "additionalProperties")
        self.item_kind = next(iter(types_of(as_object(items))), "")
        self.choices = as_list(spec.get("enum")) or [spec[x] for x in ("const",) if x in spec]
        self.description = str(spec.get("description") or "")
        about = " ".join(self.words), self.description.lower()
        topics = (y for x in about for y, (form, _, _) in _TOPICS.items() if re.search(form, x))
        self.topic = "id" if self.words[-1] in ("id", "key", "number") else next(topics, "text")
        names = self.words, [x for x in self.words if x not in ("id", "number", "name")]
        self.pattern = "|".join(r"[ _-]?".join(map(re.escape, x)) for x in names if x)

    def value_of(self, mention: Mention, *, is_named: bool = False) -> Any:
        """Return a value of a request in the form of this parameter, or None if it does not fit."""
        if self.choices or self.kind not in ("string", "number", "integer"):
            return None
        if self.is_number:
            value = number_in(str(mention.value)) if mention.kind in ("number", "id") else None
            return value if self.kind == "number" or value == int(value or 0) else None
        _, kinds, _ = _TOPICS[self.topic]
        if mention.kind not in kinds and (self.topic in FORMED or not is_named):
            return None
        if self.topic == "path":  # a folder if the parameter names one, else a file
            is_file = bool(re.search(r"\w\.\w+$", mention.value))
            if is_file == bool({"folder", "directory", "dir"} & set(self.words)):
                return None
        is_place = (self.topic, mention.kind) == ("name", "zone")
        return mention.text if is_place else str(mention.value)

    def value_in(self, data: Any, *, strict: bool) -> Any:
        """Return the value in a result: by field name or, unless `strict`, by form."""
        fields = as_object(data)
        words = [root(x) for x in self.words]
        for name, value in fields.items():
            own = [root(x) for x in separate_words(name).lower().split()]
            if own == words or (self.topic == "id" and own == ["id"]):
                return self._coerce(value)
        if strict and (self.topic == "id" or not self.is_number):
            return None
        if not fields:
            return self._coerce(data)
        texts = (self._coerce(fields[x]) for x in ("title", "name", "result") if x in fields)
        return next((x for x in texts if x is not None), None)

    def id_in(self, data: Any, name: str) -> Any:
        """Return the id of the only item, or of the only one with this name; else None."""
        items = [x for x in items_in(data) or () if is_object(x)]
        matches = [x for x in items if any(str(y).lower() == name.lower() for y in x.values())]
        matches = matches or items
        return self.value_in(matches[0], strict=True) if len(matches) == 1 else None

    def _coerce(self, value: Any) -> Any:
        if self.kind == "array":
            return value if is_list(value) else [value]
        if self.is_number:
            return number_of(value)
        return str(value) if isinstance(value, str | int | float) else None

    def sample(self, number: int) -> Any:
        """Return an example; `number` varies it."""
        if self.choices:
            return self.choices[number % len(self.choices)]
        _, _, sample = _TOPICS[self.topic]
        return number + 1 if self.is_number else sample
