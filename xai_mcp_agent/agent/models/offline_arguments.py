"""Arguments of a tool from a request's words, by each parameter's type and name.

Every value is a stretch of the text, and each stretch is used once. No value is made up: a
parameter without one is reported as missing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from typing import Any, NamedTuple

from ...core.json import JsonObject, as_list, as_object, is_list, is_object
from ...core.provider_schema import FunctionSpec
from ...core.schemas import properties, required, types_of
from ...planning.request import Mention, mentions_in
from ...search.terms import STOP_WORDS, root, spaced, terms


def roots_of(words: str) -> frozenset[str]:
    """Return the roots of a list's words, as the index compares them."""
    return frozenset(map(root, words.split()))


def roots_in(text: str) -> set[str]:
    """Return the roots of a text's words without stop words, as the index compares them."""
    return {root(x) for x in terms(text)}


# Words of a request that say nothing about the thing sought.
_IDLE_WORDS = """
    again anything available called does don't everything fit forget good list lot named
    please somebody something thing things want who whose
"""
_IDLE = STOP_WORDS | set(_IDLE_WORDS.split())
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
    calculate check compare compute convert count describe explain fetch find get has is list look
    lookup open read recall search show tell track translate view
""")
"""Roots in names of tools that only read."""
_WEEKDAYS = "monday tuesday wednesday thursday friday saturday sunday"
_DAYS_AWAY = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}
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

_AMOUNT = r"-?\d+(?:\.\d+)?"
_SIGNS = {
    "plus": "+", "minus": "-", "times": "*", "divided by": "/", "to the power of": "**",
}  # fmt: skip
_EXPRESSION = re.compile(
    r"(?<![\w.(-])(?!\d+-\d+-)[(\s]{0,20}-?\d[\d.]*\)?(?:\s*(?:\*\*|[-+*/^%()])\s*[\d.()]+)+"
)
# The topic of a text parameter, by its name or else its description.
_TOPICS = (
    ("zone", r"\btime ?zone|\bzone\b|\btz\b"),
    ("expression", r"\bexpression|\bformula"),
    ("unit", r"\bunit\b"),
    ("date", r"\bdate\b|\bday\b|yyyy-mm-dd"),
    ("time", r"\btime\b"),
    ("path", r"\bpath\b|\bfile\b|\bfolder\b|\bdirectory\b"),
    ("id", r"\bid\b|\bkey\b|\bnumber\b"),
    ("query", r"\bquer(?:y|ies)\b|\bsearch|\btopic\b|\bkeyword|\bsubject\b|\bq\b"),
    ("name", r"\bperson|\breader|\bcustomer|\buser|\bauthor|\bguest|\bmember|\bowner"),
    ("name", r"\bcity\b|\bplace\b|\blocation\b|\bcountry\b"),
)
# The kinds of values that fit each topic.
_KINDS = {
    **{x: (x,) for x in ("zone", "date", "time")},
    "path": ("path", "quoted"), "id": ("id", "quoted"),
    "name": ("name", "quoted", "zone"),
}  # fmt: skip
_SPREAD = {"zone", "path", "id"}  # several values become a call each
_FORMED = {"zone", "date", "time", "path", "expression"}
_PERSON_LEADS = re.compile(r"\b(?:for|to|by|as|from|with|name is)\s+$", re.IGNORECASE)
_TOPIC_LEAD = re.compile(
    r"\b(?:about|named|called|titled|matching|saying:?|(?:remember|note|say|mind) that|"
    r"with the text|by|like|for|from)\s+", re.IGNORECASE,
)  # fmt: skip
_REFERENCE = re.compile(
    r"\b(?:it|its|them|their|these|those|this|that|the (?:same|results?|sum|answer)|"
    r"the (?:first|second|third|last|oldest|newest|latest|cheapest)(?: one| result)?)"
    r"(?=\s*(?:[.,;:?!)]|$)|\s+(?:for|to|of|in|by|from|and|with|into)\b|\s+\w+ing\b|"
    r"(?<=its|eir)\s)", re.IGNORECASE,
)  # fmt: skip
_LIMITS = {"limit", "max", "count", "top", "size", "result", "amount", "quantity", "qty", "day"}


class Span(NamedTuple):
    """A value that a text states, and its position."""

    kind: str
    value: Any
    start: int
    end: int


class Slot:
    """A parameter of a tool.

    `kind` is its JSON type, the first that is not null; `topic` the kind of value in a text:
    `date`, `zone`, `query`, else `text`; `pattern` matches its name as people write it, with "id"
    or without. `is_id`: it takes an identifier, as `book_id` does.
    """

    def __init__(self, name: str, spec: JsonObject, is_required: bool) -> None:
        self.name, self.spec, self.is_required = name, spec, is_required
        self.kind = next((x for x in types_of(spec) if x != "null"), "string")
        self.is_number = self.kind in ("number", "integer")
        self.words = spaced(name).lower().split() or [name]
        self.description = str(spec.get("description") or "")
        self.choices = as_list(spec.get("enum")) or [spec[x] for x in ("const",) if x in spec]
        self.is_id = not self.choices and self.words[-1] in ("id", "key", "number", "ids")
        about = " ".join(self.words), str(spec.get("format") or ""), self.description.lower()
        topics = (topic for x in about for topic, form in _TOPICS if re.search(form, x))
        self.topic = next(topics, "text")
        names = self.words, [x for x in self.words if x not in ("id", "number")]
        patterns = dict.fromkeys(r"[ _-]?".join(map(re.escape, x)) for x in names if x)
        self.pattern = f"(?:{'|'.join(patterns)})"


def slots_of(function: FunctionSpec) -> list[Slot]:
    """Return the parameters of a tool, required ones first."""
    needed, specs = required(function.parameters), properties(function.parameters)
    specs = {**specs, **{x: {} for x in needed if x not in specs}}
    slots = [Slot(name, as_object(spec), name in needed) for name, spec in specs.items()]
    return sorted(slots, key=lambda x: not x.is_required)


def spans_in(text: str, today: date, *, zones: bool = False) -> list[Span]:
    """Return the values that a text states, in order, with days and times as ISO writes them."""
    spans = [x for y in mentions_in(text) if (x := _span(y, today))]
    words = [Span("number", 12, *x.span()) for x in re.finditer(r"\bdozen\b", text)]
    words += [x for y in spans if y.kind == "number" and (x := _days_away(y, text, today))]
    if christmas := re.search(r"\bchristmas\b", text, re.IGNORECASE):
        day = date(today.year + (today > date(today.year, 12, 25)), 12, 25)
        words.append(Span("date", day.isoformat(), *christmas.span()))
    for span in (*words, *(_zones_in(text) if zones else ())):
        over = [x for x in spans if x.start < span.end and span.start < x.end]
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
        value = value.partition(" ")[2] or None
        start = end - len(value or "")
    elif kind in ("id", "name") and re.search(r"\d", mention.text):
        kind, value = "id", mention.text.lstrip("#")
    return None if value is None or kind == "topic" else Span(kind, value, start, end)


def _date(mention: Mention, today: date) -> str | None:
    words = mention.text.lower().split()
    if words[0] in _DAYS_AWAY:
        return (today + timedelta(_DAYS_AWAY[words[0]])).isoformat()
    if words[-1] in _WEEKDAYS.split():
        ahead = (_WEEKDAYS.split().index(words[-1]) - today.weekday() - 1) % 7 + 1
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


def expression_in(text: str) -> str:
    """Return the longest sum that a text states, in digits and signs; else an empty text."""
    text = re.sub(rf"({_AMOUNT}) ?(?:%|percent) of ({_AMOUNT})", r"\1 / 100 * \2", text)
    text = re.sub(rf"(?i)square root of ({_AMOUNT})", r"(\1) ** 0.5", text)
    for words, sign in _SIGNS.items():
        text = re.sub(rf"(?i)(?<=\d) {words} (?=\d)", f" {sign} ", text)
    return max((x[0].strip(" .") for x in _EXPRESSION.finditer(text)), key=len, default="")


def number_in(word: str) -> int | float | None:
    """Return the number that digits state, or None."""
    digits = word.replace(",", "")
    if len(digits) > 30 or not re.fullmatch(_AMOUNT, digits):
        return None
    return float(digits) if "." in digits else int(digits)


# Time zones and units


@cache
def _zones() -> dict[str, str]:
    """Return the time zones by name and by city, both in lower case."""
    import zoneinfo  # takes a tenth of a second to find its files

    names = sorted(zoneinfo.available_timezones(), key=lambda x: (-x.count("/"), x))
    cities = {x.rpartition("/")[2].lower(): x for x in names if not x.startswith("Etc/")}
    return {**cities, **{x.lower(): x for x in names}}


_PLACE_NAME = re.compile(r"[A-Za-z]\w*(?:/[\w+-]+){1,2}|(?:(?<=\bin )|\b(?=[A-Z]))[\w-]+")


def _zones_in(text: str) -> Iterator[Span]:
    for match in _PLACE_NAME.finditer(text):
        second = re.match(r"\s+[A-Za-z][a-z]+", text[match.end() :])
        for place in (match[0], match[0] + (second[0] if second else "")):
            zone = _zones().get(place.lower().replace(" ", "_"))
            if zone:
                yield Span("zone", zone, match.start(), match.start() + len(place))
                break


_UNIT = r"(?:US |square |cubic )?[^\W\d_]+[\u00b2\u00b3]?(?:/[a-z]+| per [a-z]+)?"
_STATED = re.compile(rf"(?<![\w.])({_AMOUNT}|\d[\d,]*)\s*(?:degrees?\s+|\u00b0\s*)?({_UNIT})")
_ONE = re.compile(rf"\b(?:in|is|are|to) (?:an?|one) ({_UNIT})", re.IGNORECASE)
_TARGET = re.compile(
    rf"\b(?:how many|how much|in|to|into|as) (?:degrees? )?({_UNIT})", re.IGNORECASE
)


def conversion_in(text: str) -> tuple[int | float, str, str] | None:
    """Return amount, unit and target: `5 miles in km`, `how many ounces are in a pound`."""
    pairs = [(x[1], x[2]) for x in _STATED.finditer(text)]
    amounts = [x for x in pairs if unit_name(x[1])]
    if not amounts:
        amounts = [("1", x[1]) for x in _ONE.finditer(text) if unit_name(x[1])]
    targets = [x[1] for x in _TARGET.finditer(text) if unit_name(x[1])]
    targets = [x for x in targets if all(x != unit for _, unit in amounts[:1])]
    targets += [unit for _, unit in amounts[1:]]
    value = number_in(amounts[0][0]) if amounts else None
    return (value, amounts[0][1], targets[0]) if targets and value is not None else None


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


# Filling


class Filler:
    """The arguments that a text states for a tool; the surest readings first.

    `calls` has several entries if the text names several values. `is_guessed`: some argument is
    merely the rest of the words. `unused` are stated values that fit no parameter.
    """

    def __init__(
        self, function: FunctionSpec, text: str, spans: Sequence[Span], today: date
    ) -> None:
        self.function, self.text, self.spans, self.today = function, text, spans, today
        self.slots, self.is_guessed = slots_of(function), False
        self.taken: list[tuple[int, int]] = []
        self.arguments: JsonObject = {}
        self._spread: dict[str, list[Any]] = {}
        self._own = roots_in(f"{function.name} {function.description}")
        self._convert()
        surest = self._read_named, self._read_choice, self._read_stated
        for read in (*surest, self._read_collection, self._read_rest):
            for slot in self.slots:
                value = None if slot.name in self.arguments else read(slot)
                if value is not None:
                    self.arguments[slot.name] = value
        self._fill_today()
        refers = words_refer(text)
        needed = [x for x in self.slots if x.is_required or (refers and self._is_only(x))]
        self.missing = [x for x in needed if x.name not in self.arguments]
        self.calls = [self.arguments]
        for name, values in self._spread.items():
            self.calls = [{**self.arguments, name: x} for x in values]
        self.unused = [x for x in spans if self._is_free(x)]

    def _is_free(self, span: Span) -> bool:
        return not any(span.start < end and start < span.end for start, end in self.taken)

    def _free(self, *kinds: str) -> list[Span]:
        return [x for x in self.spans if x.kind in kinds and self._is_free(x)]

    def _take(self, span: Span) -> Any:
        self.taken.append((span.start, span.end))
        return span.value

    def _is_only(self, slot: Slot) -> bool:
        """Return whether the tool is all about this parameter, even an optional one."""
        others = [x for x in self.slots if x.is_required or x.kind == "string"]
        return "default" not in slot.spec and [x.name for x in others] == [slot.name]

    def _adds(self) -> bool:
        """Return whether the tool puts something somewhere."""
        return bool({"add", "put"} & self._own)

    def _convert(self) -> None:
        """Fill `value`, `from_unit` and `to_unit` if the text converts something."""
        units = [x for x in self.slots if x.topic == "unit" and x.kind == "string"]
        amounts = [x for x in self.slots if x.is_number and x.is_required]
        conversion = conversion_in(self.text) if len(units) == 2 and len(amounts) == 1 else None
        if conversion:
            value, *names = conversion
            self.arguments[amounts[0].name] = value
            self.arguments |= {x.name: _unit_for(x, y) for x, y in zip(units, names, strict=True)}
            self.taken.append((0, len(self.text)))

    def _read_named(self, slot: Slot) -> Any:
        """Read `limit 5`, `with message "x"`, `book 7`; `first 3`, `10 days`, add `3 packs`."""
        name = rf"(?<!\w){slot.pattern}s?\s*(?:[:=]|\bis\b|\bcalled\b|\bnamed\b)?\s*(?:of\s+)?$"
        is_limit = slot.is_number and bool(set(slot.words) & _LIMITS)
        name += r"|\b(?:first|top|last|most|to|than|limit)\s+$" if is_limit else ""
        adds, unit = is_limit and self._adds(), slot.words[0].removesuffix("s")
        for span in filter(self._is_free, self.spans):
            is_named = re.search(name, self.text[: span.start], re.IGNORECASE)
            after = re.match(rf"\s*(?:\w+ )?{unit}s?\b", self.text[span.end :], re.IGNORECASE)
            is_counted = slot.is_number and not slot.is_id and (after or adds)
            value = self._value(slot, span, is_named=True) if is_named or is_counted else None
            if value is not None:
                self._take(span)
                return value
        return None

    def _value(self, slot: Slot, span: Span, *, is_named: bool = False) -> Any:
        """Return a stated value in the parameter's form, or None if it does not fit."""
        if slot.choices or slot.kind not in ("string", "number", "integer"):
            return span.value if is_named and span.value in slot.choices else None
        if slot.is_number:
            value = number_in(str(span.value)) if span.kind in ("number", "id") else None
            return value if slot.kind == "number" or value == int(value or 0) else None
        kinds = _KINDS.get(slot.topic, ("quoted",))
        if span.kind not in kinds and (slot.topic in _FORMED or not is_named):
            return None
        if slot.topic == "path":  # a folder if the parameter names one, else a file
            is_file = bool(re.search(r"\w\.\w+$", span.value))
            if is_file == bool({"folder", "directory", "dir"} & set(slot.words)):
                return None
        if slot.topic == "name":
            return self.text[span.start : span.end].strip("\"'")
        return str(span.value)

    def _read_choice(self, slot: Slot) -> Any:
        """Return the parameter's listed value that the text names, or None."""
        if not slot.choices or slot.kind in ("array", "object", "boolean"):
            return None
        roots = {root(x) for x in re.findall(r"\w+", self.text.lower())}
        for value in slot.choices:
            own = {root(x) for x in re.findall(r"\w+", str(value).lower())}
            if own and own - _IDLE <= roots:
                return value
        return None

    def _read_stated(self, slot: Slot) -> Any:
        """Return a stated value in the form that the parameter takes, or None."""
        is_formed = not slot.is_number and slot.topic in _KINDS
        if not (slot.is_required or is_formed or (slot.kind == "string" and self._is_only(slot))):
            return None
        values = [(x, self._value(slot, x)) for x in self.spans if self._is_free(x)]
        values = [(x, value) for x, value in values if value is not None]
        if not values:
            return None
        if slot.topic in _SPREAD and sum(x.topic == slot.topic for x in self.slots) == 1:
            self._spread[slot.name] = [value for _, value in values]
            self.taken += [(x.start, x.end) for x, _ in values]
            return values[0][1]
        led = [x for x in values if _PERSON_LEADS.search(self.text[: x[0].start])]
        span, value = led[-1] if led and slot.topic == "name" else values[0]
        self._take(span)
        return value

    def _fill_today(self) -> None:
        """Fill a period's missing end with today: `how many days until May 1`."""
        ends = [x for x in self.slots if x.topic == "date" and x.kind == "string" and x.is_required]
        dates = [self.arguments[x.name] for x in ends if x.name in self.arguments]
        if len(ends) == 2 and len(dates) == 1:
            start, end = sorted([str(dates[0]), self.today.isoformat()])
            self.arguments |= {ends[0].name: start, ends[1].name: end}

    def _read_collection(self, slot: Slot) -> Any:
        """Read lists and objects: `4, 8 and 15`, `pear, apple`, `milk is 1.20 and bread 2.50`."""
        if not slot.is_required or slot.kind not in ("array", "object"):
            return None
        word = "items" if slot.kind == "array" else "additionalProperties"
        kinds = types_of(as_object(slot.spec.get(word)))
        is_numeric = "number" in kinds or "integer" in kinds
        if slot.kind == "object":
            return (is_numeric and self._counts(is_whole="integer" in kinds)) or None
        values = [self._take(x) for x in self._free("number" if is_numeric else "quoted")]
        if not values and not is_numeric and (after := re.search(r":\s*(.+?)[\s.!?]*$", self.text)):
            values = list_in(after[1])
        return values or None

    def _counts(self, *, is_whole: bool) -> JsonObject:
        """Read things with numbers: `3 rolls and 2 pies`, `milk is 1.20 and bread 2.50`."""
        counts: JsonObject = {}
        for span in self._free("number"):
            if is_whole:  # "Order 2 croissants": the thing goes by its singular
                thing = re.match(r"\s+(?:\w+ of )?([^\W\d_]{3,})", self.text[span.end :])
                names = terms(thing[1]) if thing else []
            else:
                names = re.findall(r"([^\W\d_]+)(?: is| are| costs?)?\W*$", self.text[: span.start])
            if names:
                counts[names[0]] = self._take(span)
        return counts

    def _read_rest(self, slot: Slot) -> Any:
        """Return the text to search, say or note: the words that no other value uses."""
        if slot.kind != "string" or slot.choices or "pattern" in slot.spec:
            return None
        if not (slot.is_required or self._is_only(slot)):
            return None
        # The time server of modelcontextprotocol/servers describes its zone like this.
        if default := re.search(r"Use ['`\"]([^'`\"]+)['`\"].{0,40} if no", slot.description):
            return default[1]
        expression = expression_in(self.text) if slot.topic in ("expression", "text") else ""
        if expression:
            self.taken.append((0, len(self.text)))
            return expression
        if slot.topic in _FORMED | {"unit"} or slot.is_id:
            return None
        names = self._free("name") if slot.topic == "query" else []
        self.is_guessed = True
        if names:
            return self._take(max(names, key=lambda x: x.end - x.start))
        stretch = self._stretch(slot)
        return self._take(stretch) if stretch else None

    def _stretch(self, slot: Slot) -> Span | None:
        """Return the words of the value, without the ones that only ask."""
        own = self._own | roots_in(slot.name) | set(slot.words)
        lead = _TOPIC_LEAD.search(self.text)
        at = lead.end() if lead and not words_refer(self.text[lead.end() :]) else 0
        is_verbatim = slot.topic == "text" and not self._adds()
        found = re.finditer(r"[\w'\u2019/*+.-]*\w", self.text)
        words = [Span("word", x[0], *x.span()) for x in found if x.start() >= at]
        words = [x for x in words if self._is_free(x)]

        def asks(word: Span) -> bool:
            small = word.value.lower()
            return small in _IDLE or root(small.removesuffix("s")) in own

        if words and not at and root(words[0].value.lower()) in CHANGING | READING:
            words.pop(0)
        while words and not (at and is_verbatim) and asks(words[0]):
            words.pop(0)
        while words and not is_verbatim and asks(words[-1]):
            words.pop()
        if not any(re.search(r"[^\W\d]", x.value) for x in words):
            return None
        start, end = words[0].start, words[-1].end
        return Span("word", self.text[start:end].strip(" '\""), start, end)


def _unit_for(slot: Slot, unit: str) -> str:
    """Return the unit as the parameter lists it, or as the text has it."""
    same = (str(x) for x in slot.choices if unit_name(str(x)) == unit_name(unit))
    return next(same, unit)


# Arguments from results

_ORDINALS = {"first": 0, "second": 1, "third": 2, "last": -1}


def items_in(data: Any) -> list[Any]:
    """Return a result's items: the list that it is, or the one list that it holds."""
    if is_list(data):
        return data
    lists = [x for x in as_object(data).values() if is_list(x)]
    return lists[0] if len(lists) == 1 and len(as_object(data)) < 4 else []


def pick(items: Sequence[Any], text: str) -> Any:
    """Return the item that words point at: `the second one`; else the first."""
    words = re.findall(r"[a-z]+", text.lower())
    place = next((_ORDINALS[x] for x in words if x in _ORDINALS), 0)
    return items[place] if place < len(items) else items[0]


def ids_in(data: Any, slot: Slot, name: str) -> list[Any]:
    """Return the id of the only item, or of the only one with this name."""
    items = [x for x in items_in(data) if is_object(x)]
    exact = [x for x in items if any(str(y).lower() == name.lower() for y in x.values())]
    matches = exact or items
    value = value_for(slot, matches[0], strict=True) if len(matches) == 1 else None
    return [] if value is None else [value]


def value_for(slot: Slot, data: Any, *, strict: bool) -> Any:
    """Return a parameter's value from a result: by field name or, unless `strict`, by form."""
    fields = as_object(data)
    words = [root(x) for x in slot.words]
    for name, value in fields.items():
        own = [root(x) for x in spaced(name).lower().split()]
        if own == words or (slot.is_id and own == ["id"]):
            return _coerce(slot, value)
    if slot.topic == "date":
        dates = (re.search(r"\d{4}-\d{2}-\d{2}", str(x)) for x in fields.values())
        return next((x[0] for x in dates if x), None)
    if strict and (slot.is_id or not slot.is_number):
        return None
    if not fields:
        return _coerce(slot, data)
    texts = (fields[x] for x in ("title", "name", "text", "result", "value") if x in fields)
    return next((x for x in (_coerce(slot, y) for y in texts) if x is not None), None)


def _coerce(slot: Slot, value: Any) -> Any:
    if slot.kind == "array":
        return value if is_list(value) else [value]
    if slot.is_number:
        return number_of(value)
    return str(value) if isinstance(value, str | int | float) else None


def number_of(data: Any) -> int | float | None:
    """Return the number in a result, or None."""
    value = as_object(data).get("result", data)
    if isinstance(value, str):
        numbers = re.findall(r"-?\d+(?:\.\d+)?", value)
        value = json.loads(numbers[-1]) if numbers and len(value) < 200 else None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if math.isfinite(value) else None
