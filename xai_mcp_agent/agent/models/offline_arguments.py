"""Arguments of a tool from the words of a request, by the type and the name of each parameter.

Every value is a stretch of the text, and a stretch is used once. A value that the text does not
say is never made up: its parameter is reported as missing.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import date, timedelta
from difflib import get_close_matches
from functools import cache, cached_property
from typing import Any, NamedTuple

from ...core.json import JsonObject, as_list, as_object
from ...core.provider_schema import FunctionSpec
from ...core.schema_check import fits_pattern, is_pattern
from ...core.schemas import properties, required, types_of
from ...search.terms import root, spaced, terms

# Words of a request that say nothing about what is searched for.


def roots_of(listed: str) -> frozenset[str]:
    """The words of a list, as the index compares them."""
    return frozenset(map(root, listed.split()))


def _words(listed: str) -> list[str]:
    return listed.split()


_IDLE = frozenset(
    _words("""
    a about again all also am an and any as anything are available be by called can could did do
    does don't everything fit for forget from get give good has have having her here his how i in
    into is it its know like list lot many me most much my named need needs of on one or our out
    please see should show so some somebody something tell than that the their them then
    there these they thing things this those to us want was we were what when where which who
    whose will with would you your
""")
)
CHANGING = roots_of("""
    add append archive assign bake bind book borrow buy cancel change checkout clear close commit
    create delete deploy disable drop edit email enable erase execute hide insert install invite
    kill lend lock make mark merge modify move order overwrite patch pay place post publish
    purchase push put reboot register reject remember remove rename rent replace reserve reset
    restart restore resume return revert revoke run save schedule send share shutdown start stop
    store submit subscribe transfer trigger uninstall unlock update upload wipe write
""")
"""What a tool is called that changes something, as roots."""
READING = roots_of("""
    calculate check compare compute convert count describe explain fetch find get has is list look
    lookup open read recall search show tell track translate view
""")
"""What a tool is called that only reads."""
_NUMBERS = {
    word: number
    for number, word in enumerate(
        _words("""
    zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen
    sixteen seventeen eighteen nineteen twenty
""")
    )
} | {"dozen": 12, "hundred": 100}
_MONTHS = _words("""
    january february march april may june july august september october november december
""")
_WEEKDAYS = _words("""
    monday tuesday wednesday thursday friday saturday sunday
""")
_FEASTS = {"christmas": (12, 25), "halloween": (10, 31), "new year": (1, 1)}
_UNIT_DAYS = {"day": 1, "week": 7}
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}
# One unit a line, as people write it.
_UNITS = """
millimetre millimeter mm; centimetre centimeter cm; metre meter m; kilometre kilometer km;
inch inches in; foot feet ft; yard yd; mile mi; milligram mg; gram gramme g;
kilogram kilogramme kilo kg; tonne ton t; ounce oz; pound lb lbs; stone st;
millilitre milliliter ml; litre liter l; gallon gal; pint pt; cup; celsius centigrade c;
fahrenheit f; kelvin k; second sec s; minute min; hour hr h; day d; week wk; year yr; byte b;
kilobyte kb; megabyte mb; gigabyte gb; mph mi/h; kmh kph km/h; knot kn; acre; hectare ha;
joule j; kilojoule kj; kilocalorie kcal; degree deg; radian rad; bar; pascal pa
"""
_UNIT_NAMES = {x: line.split()[0] for line in _UNITS.split(";") for x in line.split()}
# Large cities and countries that no time zone is named after.
_PLACES = dict(
    x.split("=")
    for x in _words("""
    austria=Europe/Vienna barcelona=Europe/Madrid beijing=Asia/Shanghai belgium=Europe/Brussels
    boston=America/New_York britain=Europe/London california=America/Los_Angeles
    china=Asia/Shanghai delhi=Asia/Kolkata england=Europe/London france=Europe/Paris
    frankfurt=Europe/Berlin geneva=Europe/Zurich germany=Europe/Berlin greece=Europe/Athens
    hamburg=Europe/Berlin india=Asia/Kolkata ireland=Europe/Dublin italy=Europe/Rome
    japan=Asia/Tokyo kenya=Africa/Nairobi miami=America/New_York milan=Europe/Rome
    mumbai=Asia/Kolkata munich=Europe/Berlin norway=Europe/Oslo osaka=Asia/Tokyo
    san_francisco=America/Los_Angeles seattle=America/Los_Angeles spain=Europe/Madrid
    sweden=Europe/Stockholm switzerland=Europe/Zurich washington=America/New_York
""")
)

_QUOTED = r"\"([^\"\n]*)\"|\u201c([^\u201d\n]*)\u201d|`([^`\n]+)`|(?<!\w)'([^'\n]*)'(?!\w)"
_PATH = (
    r"(?<![\w/.@])(?:(?:~|\.{1,2})?/[\w.@+~/-]+|[A-Za-z]:\\\S+"
    r"|(?:[\w@+-]{1,80}/){0,20}[\w@+-]{1,80}(?:\.[\w-]{1,40}){0,3}\.[A-Za-z]\w{0,7})(?![\w/])"
)
_AMOUNT = r"-?\d+(?:\.\d+)?"
_EXPRESSION = r"(?<![\w.(])[(\s]{0,20}-?\d[\d.]*(?:\s*(?:\*\*|[-+*/^%()])\s*[\d.()]+)+"
_SPOKEN_SUMS = tuple(
    (re.compile(rf"(?<![\w./]){form}(?![\w/])", re.IGNORECASE), written)
    for form, written in (
        (rf"({_AMOUNT}) ?(?:%|percent|per cent) of ({_AMOUNT})", r"\1 / 100 * \2"),
        (rf"square root of ({_AMOUNT})", r"(\1) ** 0.5"),
        (rf"({_AMOUNT}) to the power (?:of )?({_AMOUNT})", r"\1 ** \2"),
        (rf"({_AMOUNT}(?:/\d+)?) plus ({_AMOUNT}(?:/\d+)?)", r"\1 + \2"),
        (rf"({_AMOUNT}(?:/\d+)?) minus ({_AMOUNT}(?:/\d+)?)", r"\1 - \2"),
        (rf"({_AMOUNT}) times ({_AMOUNT})", r"\1 * \2"),
        (rf"({_AMOUNT}) divided by ({_AMOUNT})", r"\1 / \2"),
    )
)
_NUMBER = (
    r"(?<![\w.,/-])-?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?!\d|\.\d|st\b|nd\b|rd\b|th\b)"
    rf"|\b(?:{'|'.join(x for x in _NUMBERS if x not in ('zero', 'one'))})\b"
)
_NAME = r"(?<![\w/])[A-Z][\w'\u2019-]*(?:\s+(?:(?:of|de|van|von|the|in|a)\s+)?[A-Z][\w'\u2019-]*)*"
_MONTH = "|".join(f"{x}|{x[:3]}" for x in _MONTHS)
_DATES = (
    r"(?P<iso>\d{4}-\d{2}-\d{2})(?![\d])"
    rf"|(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\.? (?:of )?(?P<month>{_MONTH})\b"
    r",?(?: (?P<year>\d{4}))?"
    rf"|\b(?P<month2>{_MONTH}) (?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\b,?(?: (?P<year2>\d{{4}}))?"
    r"|\b(?P<word>today|tomorrow|yesterday)\b"
    rf"|\b(?P<feast>{'|'.join(_FEASTS)})\b"
    rf"|\b(?:(?P<last>last) |next |on |this )(?P<weekday>{'|'.join(_WEEKDAYS)})\b"
    r"|\bin (?P<ahead>\w+) (?P<ahead_unit>day|week)s?\b"
    r"|\b(?P<back>\w+) (?P<back_unit>day|week)s? ago\b"
)
_TIME = (
    r"\b(?P<hour>\d{1,2})(?::(?P<minute>\d{2}))?(?::\d{2})? ?(?P<half>am|pm)\b"
    r"|\b\d{1,2}:\d{2}\b|\bnoon\b"
)
_PATTERNS = (
    ("quoted", re.compile(_QUOTED)),
    ("url", re.compile(r"\bhttps?://[^\s<>\"'`]+[^\s<>\"'`.,;:!?)]")),
    ("email", re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")),
    ("path", re.compile(_PATH)),
    ("date", re.compile(_DATES, re.IGNORECASE)),
    ("time", re.compile(_TIME, re.IGNORECASE)),
    ("expression", re.compile(_EXPRESSION)),
    ("id", re.compile(r"#\w+|(?<![\w.-])(?:[A-Z]{1,8}-?\d[\w-]*|[0-9a-f-]{36})(?![\w-])")),
    ("number", re.compile(_NUMBER, re.IGNORECASE)),
    ("name", re.compile(_NAME)),
)
# What a parameter of text takes, by its name or else its description.
_TOPICS = (
    ("zone", r"\btime ?zone|\bzone\b|\btz\b"),
    ("expression", r"\bexpression|\bformula"),
    ("email", r"\be-?mail"),
    ("url", r"\bur[il]\b|\blink\b"),
    ("unit", r"\bunit\b"),
    ("date", r"\bdate\b|\bday\b|yyyy-mm-dd"),
    ("time", r"\btime\b"),
    ("path", r"\bpath\b|\bfile\b|\bfolder\b|\bdirectory\b"),
    ("id", r"\bid\b|\bkey\b|\bnumber\b"),
    ("query", r"\bquer(?:y|ies)\b|\bsearch|\btopic\b|\bkeyword|\bsubject\b|\bq\b"),
    ("person", r"\bperson|\breader|\bcustomer|\buser|\bauthor|\bguest|\bmember|\bowner"),
    ("place", r"\bcity\b|\bplace\b|\blocation\b|\bcountry\b"),
)  # fmt: skip
_FORMED = {"zone", "email", "url", "date", "time", "path", "expression"}
_PERSON_LEADS = re.compile(r"\b(?:for|to|by|as|from|with|name is)\s+$", re.IGNORECASE)
_TOPIC_LEAD = re.compile(
    r"\b(?:about|on the subject of|named|called|titled|matching|containing|saying:?|"
    r"(?:remember|note|say|write|mind) that|that says|with the text|by|like|for|from)\s+",
    re.IGNORECASE,
)  # fmt: skip
REFERENCE = re.compile(
    r"\b(?:it|its|them|their|these|those|this|that|the (?:same|results?|sum|answer)|"
    r"the (?:first|second|third|fourth|fifth|last|oldest|newest|latest|cheapest|dearest|longest|"
    r"shortest)(?: one| result)?)(?=\s*(?:[.,;:?!)]|$)|\s+(?:for|to|of|in|by|from|and|with|into)\b|"
    r"\s+\w+ing\b|(?<=its|eir)\s)", re.IGNORECASE,
)  # fmt: skip
_PIECES = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.IGNORECASE)
_LIMITS = {"limit", "max", "count", "top", "size", "result", "amount", "quantity", "qty", "day"}


class Span(NamedTuple):
    """A value that a text states, and where."""

    kind: str
    value: Any
    start: int
    end: int


@dataclass(frozen=True)
class Slot:
    """A parameter of a tool."""

    name: str
    spec: JsonObject
    is_required: bool

    @cached_property
    def kind(self) -> str:
        """Its JSON type, the first that is not null; a text where the schema says nothing."""
        return next((x for x in types_of(self.spec) if x != "null"), "string")

    @cached_property
    def words(self) -> list[str]:
        """The words of its name."""
        return spaced(self.name).lower().split()

    @cached_property
    def description(self) -> str:
        """What the schema says of it."""
        return str(self.spec.get("description") or "")

    @cached_property
    def choices(self) -> list[Any]:
        """The only values that it takes, if they are listed."""
        choices = as_list(self.spec.get("enum"))
        return choices or [self.spec["const"]] if choices or "const" in self.spec else []

    @cached_property
    def topic(self) -> str:
        """What kind of value a text is: `date`, `zone`, `query`; else `text`."""
        about = " ".join(self.words), str(self.spec.get("format") or ""), self.description.lower()
        for text in about:
            for topic, pattern in _TOPICS:
                if re.search(pattern, text):
                    return topic
        return "text"

    @property
    def is_number(self) -> bool:
        """Whether it takes a number."""
        return self.kind in ("number", "integer")

    @property
    def is_id(self) -> bool:
        """Whether it takes what a thing is told by: `book_id`."""
        return not self.choices and self.words[-1:] in (["id"], ["key"], ["number"], ["ids"])


def slots_of(function: FunctionSpec) -> list[Slot]:
    """The parameters of a tool, required ones first."""
    needed = set(required(function.parameters))
    named = properties(function.parameters).items()
    slots = [Slot(name, as_object(spec), name in needed) for name, spec in named]
    slots += [Slot(x, {}, True) for x in needed if x not in dict(named)]
    return sorted(slots, key=lambda x: not x.is_required)


def spans_in(text: str, today: date, *, zones: bool = False) -> list[Span]:
    """The values that a text states, in order; of those that overlap, the surest one."""
    spans: list[Span] = []
    for pattern, written in _SPOKEN_SUMS:
        for match in pattern.finditer(text):
            spans.append(Span("sum", match.expand(written), *match.span()))
    for kind, pattern in _PATTERNS:
        for match in pattern.finditer(text):
            value = _value(kind, match, text, today)
            taken = any(_overlap(x, match) for x in spans if _excludes(x.kind, kind))
            if value is not None and not taken:
                start = match.start() + match[0].find(
                    str(value) if kind == "name" else match[0].strip()
                )
                spans.append(Span(kind, value, start, match.start() + len(match[0].rstrip())))
    for zone in _zones_in(text) if zones else ():
        if not any(x.start < zone.end and zone.start < x.end for x in spans if x.kind != "name"):
            spans = [x for x in spans if x.end <= zone.start or zone.end <= x.start]
            spans.append(zone)
    return sorted(spans, key=lambda x: (x.start, -x.end))


def _excludes(kind: str, other: str) -> bool:
    """Whether no value of the other kind is where one of this kind is."""
    return not (kind == "sum" or (kind, other) == ("expression", "number"))


def _overlap(span: Span, match: re.Match[str]) -> bool:
    return span.start < match.end() and match.start() < span.end


def _value(kind: str, match: re.Match[str], text: str, today: date) -> Any:
    """What a stretch of the text says as a value of its kind; None where it says none."""
    stated = match[0].strip()
    match kind:
        case "quoted":
            return next(x for x in match.groups() if x is not None)
        case "number":
            return number_in(stated)
        case "date":
            return _date(match, today)
        case "time":
            return _time(match)
        case "id":
            return stated.lstrip("#")
        case "name":
            return _name(stated, text[: match.start()])
        case "expression":
            return stated.rstrip(". ")
        case _:
            return stated


def number_in(word: str) -> int | float | None:
    """A number in digits or as a word."""
    if word.lower() in _NUMBERS:
        return _NUMBERS[word.lower()]
    digits = word.replace(",", "")
    if len(digits) > 30 or not re.fullmatch(_AMOUNT, digits):
        return None
    return float(digits) if "." in digits else int(digits)


def _name(text: str, before: str) -> str | None:
    """Words in capitals, but for those with which a sentence begins."""
    words = re.sub(r"['\u2019]s?$", "", text).split()
    begins = not before.strip() or before.rstrip()[-1:] in ".!?:;,"
    asks = words[0].lower() in _IDLE or root(words[0].lower()) in CHANGING | READING
    if begins and (asks or len(words) == 1):
        words = words[1:]
    return " ".join(words) if words and words[0] not in ("I", "I'd", "I'm") else None


def _date(match: re.Match[str], today: date) -> str | None:
    parts = {k: v.lower() for k, v in match.groupdict().items() if v}
    try:
        if "iso" in parts:
            return date.fromisoformat(parts["iso"]).isoformat()
        if word := parts.get("word"):
            return (today + timedelta({"tomorrow": 1, "yesterday": -1}.get(word, 0))).isoformat()
        if feast := parts.get("feast"):
            day = date(today.year, *_FEASTS[feast])
            return (day if day >= today else day.replace(year=today.year + 1)).isoformat()
        if weekday := parts.get("weekday"):
            ahead = (_WEEKDAYS.index(weekday) - today.weekday() - 1) % 7 + 1
            return (today + timedelta(ahead - 7 if "last" in parts else ahead)).isoformat()
        for key, sign in (("ahead", 1), ("back", -1)):
            if key in parts:
                count = number_in(parts[key])
                days = _UNIT_DAYS[parts[f"{key}_unit"]] * sign
                return (today + timedelta(int(count) * days)).isoformat() if count else None
        month = [x[:3] for x in _MONTHS].index((parts.get("month") or parts["month2"])[:3]) + 1
        year = int(parts.get("year") or parts.get("year2") or today.year)
        return date(year, month, int(parts.get("day") or parts["day2"])).isoformat()
    except (ValueError, OverflowError):
        return None


def _time(match: re.Match[str]) -> str | None:
    if match[0].lower() == "noon":
        return "12:00"
    hour, _, minute = (match["hour"] or match[0]).partition(":")
    hours = int(hour) % 12 + 12 * (match["half"].lower() == "pm") if match["half"] else int(hour)
    minutes = int(match["minute"] or minute or 0)
    return f"{hours:02}:{minutes:02}" if hours < 24 and minutes < 60 else None


# Time zones


@cache
def _zones() -> dict[str, str]:
    """Each time zone by its name, and by the name of its city, in lower case."""
    import zoneinfo  # takes a tenth of a second to look for its files

    names = sorted(zoneinfo.available_timezones(), key=lambda x: (-x.count("/"), x))
    cities = {x.rpartition("/")[2].lower(): x for x in names if not x.startswith("Etc/")}
    return {**cities, **{x.lower(): x for x in names}, **_PLACES}


_PLACE_NAME = re.compile(r"[A-Za-z]\w*(?:/[\w+-]+){1,2}|(?:(?<=\bin )|\b(?=[A-Z]))[\w-]+")


def _zones_in(text: str) -> Iterator[Span]:
    for match in _PLACE_NAME.finditer(text):
        more = re.match(r"\s+[A-Za-z][a-z]+", text[match.end() :])
        for place in (match[0], match[0] + (more[0] if more else "")):
            zone = _zones().get(place.lower().replace(" ", "_"), "")
            if zone and (len(place) > 3 or place in ("UTC", "GMT", "CET")):
                yield Span("zone", zone, match.start(), match.start() + len(place))
                break


# Units


class Conversion(NamedTuple):
    """An amount of one unit, and the unit to convert to."""

    value: int | float
    unit: str
    target: str


_UNIT = r"(?:US |square |cubic |nautical )?[^\W\d_]+[\u00b2\u00b3]?(?:/[a-z]+| per [a-z]+)?"
_STATED = re.compile(rf"(?<![\w.])({_AMOUNT}|\d[\d,]*)\s*(?:degrees?\s+|\u00b0\s*)?({_UNIT})")
_ONE = re.compile(rf"\b(?:in|is|are|to) (?:an?|one) ({_UNIT})", re.IGNORECASE)
_WANTED = (
    re.compile(rf"\bhow (?:many|much) ({_UNIT})", re.IGNORECASE),
    re.compile(rf"\b(?:in|to|into|as) (?:degrees? )?({_UNIT})", re.IGNORECASE),
)


def conversion_in(text: str) -> Conversion | None:
    """`5 miles in km`, `how many ounces are in a pound`, `is 2 GB more than 1500 MB`."""
    pairs = [(x[1], x[2]) for x in _STATED.finditer(text)]
    stated = [x for x in pairs if is_unit(x[1])]
    if not stated and "convert" in text.lower():
        stated = pairs[:1]  # a unit that is misspelt, or unknown here
    if not stated:
        stated = [("1", x[1]) for x in _ONE.finditer(text) if is_unit(x[1])]
    targets = [x[1] for pattern in _WANTED for x in pattern.finditer(text)]
    targets = [x for x in targets if is_unit(x) and all(x != unit for _, unit in stated[:1])]
    targets += [unit for _, unit in stated[1:]]
    value = number_in(stated[0][0]) if stated else None
    if value is None or not targets:
        return None
    return Conversion(value, stated[0][1], targets[0])


def words_refer(text: str) -> bool:
    """Whether a text speaks of what was there before: "for it", "rent them"."""
    return bool(REFERENCE.search(text))


def is_unit(text: str) -> bool:
    """Whether a text names a unit, perhaps misspelt."""
    return unit_name(text) != "" and text.lower() not in ("a", "in", "s")


def unit_name(text: str) -> str:
    """The usual name of a unit; empty where it is none."""
    word = text.lower().split()[-1] if " per " not in text else text.lower().split()[0]
    for written in (text.lower(), word, word.removesuffix("s"), word.partition("/")[0]):
        if written in _UNIT_NAMES:
            return _UNIT_NAMES[written]
    near = get_close_matches(word.removesuffix("s"), _UNIT_NAMES, n=1, cutoff=0.85)
    return _UNIT_NAMES[near[0]] if near and len(word) > 4 else ""


# Filling


@dataclass
class Filled:
    """The arguments that a text gives for a tool; several calls where it names several values.

    `guessed`: some argument is only what was left of the words. `unused` are values that the
    text states and no parameter took.
    """

    calls: list[JsonObject]
    missing: list[Slot]
    unused: list[Span]
    guessed: bool = False


@dataclass
class Filler:
    """Fills the parameters of one tool from one text; the surest readings first."""

    function: FunctionSpec
    text: str
    spans: Sequence[Span]
    today: date
    taken: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    arguments: JsonObject = field(default_factory=dict[str, Any])
    spread: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]])
    guessed: bool = False

    def fill(self, slots: Sequence[Slot] | None = None) -> Filled:
        """Take every argument that the text gives."""
        slots = slots_of(self.function) if slots is None else slots
        self._convert(slots)
        for step in (
            self._named, self._choice, self._flag, self._counted, self._typed,
            self._number, self._collection, self._left,
        ):  # fmt: skip
            for slot in slots:
                if slot.name not in self.arguments:
                    value = step(slot)
                    if value is not None:
                        self.arguments[slot.name] = value
        self._until_today(slots)
        refers = words_refer(self.text)
        needed = [x for x in slots if x.is_required or (refers and self._is_only(x))]
        missing = [x for x in needed if x.name not in self.arguments]
        calls = [self.arguments]
        for name, values in self.spread.items():
            calls = [{**self.arguments, name: x} for x in values]
        unused = [x for x in self.spans if self._is_free(x) and x.kind != "sum"]
        return Filled(calls, missing, unused, self.guessed)

    def _is_free(self, span: Span) -> bool:
        return not any(span.start < end and start < span.end for start, end in self.taken)

    def _free(self, *kinds: str) -> list[Span]:
        return [x for x in self.spans if x.kind in kinds and self._is_free(x)]

    def _take(self, span: Span) -> Any:
        self.taken.append((span.start, span.end))
        return span.value

    def _before(self, span: Span) -> str:
        return self.text[max(0, span.start - 30) : span.start].lower()

    def _convert(self, slots: Sequence[Slot]) -> None:
        """`value`, `from_unit` and `to_unit`, where the text converts something."""
        units = [x for x in slots if x.topic == "unit" and x.kind == "string"]
        amounts = [x for x in slots if x.is_number and x.is_required]
        meant = conversion_in(self.text) if len(units) == 2 and len(amounts) == 1 else None
        if meant:
            self.arguments |= {
                amounts[0].name: meant.value,
                units[0].name: _unit_for(units[0], meant.unit),
                units[1].name: _unit_for(units[1], meant.target),
            }
            self.taken.append((0, len(self.text)))

    def _named(self, slot: Slot) -> Any:
        """`limit 5`, `timezone: Europe/Paris`, `with message "x"`, `book 7`."""
        name = r"[ _-]?".join(map(re.escape, slot.words))
        short = r"[ _-]?".join(re.escape(x) for x in slot.words if x not in ("id", "number"))
        for written in dict.fromkeys(x for x in (name, short) if x):
            link = r"\s*(?P<firm>[:=]|\bis\b|\bcalled\b|\bnamed\b)?\s*(?:#|of\s)?\s*"
            for match in re.finditer(rf"(?<!\w){written}s?(?!\w){link}", self.text, re.IGNORECASE):
                here = [x for x in self.spans if x.start == match.end() and self._is_free(x)]
                for span in here:
                    if (value := self._as_value(slot, span)) is not None:
                        self.taken.append((match.start(), span.end))
                        return value
                end = re.compile(r"[^,;\n]+").match(self.text, match.end())
                if match["firm"] in (":", "=") and end and slot.kind == "string":
                    self.taken.append((match.start(), end.end()))
                    return end[0].strip(" .'\"")
        return None

    def _as_value(self, slot: Slot, span: Span) -> Any:
        """A value of the text as the parameter takes it; None where it does not."""
        if slot.choices or slot.kind not in ("string", "number", "integer"):
            return span.value if span.value in slot.choices else None
        if slot.is_number:
            value = number_in(str(span.value)) if span.kind in ("number", "id") else None
            is_whole = value is not None and value == int(value)
            return value if slot.kind == "number" or is_whole else None
        if slot.topic in _FORMED and span.kind not in (slot.topic, "quoted"):
            return None
        pattern = slot.spec.get("pattern")
        if pattern and span.kind != "date" and not has_form(str(pattern), str(span.value)):
            return None
        return str(span.value)

    def _choice(self, slot: Slot) -> Any:
        """One of a list of values that the text says, perhaps misspelt."""
        if not slot.choices or slot.kind in ("array", "object", "boolean"):
            return None
        if len(slot.choices) == 1 and slot.is_required:
            return slot.choices[0]
        spoken = {root(x) for x in re.findall(r"\w+", self.text.lower())}
        for value in slot.choices:
            own = [root(x) for x in re.findall(r"\w+", str(value).lower())]
            if own and {x for x in own if x not in _IDLE} <= spoken:
                return value
        by_name: dict[str, str] = {x.lower(): x for x in slot.choices if isinstance(x, str)}
        for word in re.findall(r"[a-z]{6,}", self.text.lower()):
            if near := get_close_matches(word, list(by_name), n=1, cutoff=0.85):
                return by_name[near[0]]
        return None

    def _flag(self, slot: Slot) -> Any:
        if slot.kind != "boolean":
            return None
        words = r"[ _-]?".join(re.escape(x) for x in slot.words if x not in ("is", "has", "with"))
        match = re.search(rf"(\b(?:no|not|without|non)\W+)?\b{words}\b", self.text, re.IGNORECASE)
        return not match[1] if match and words else None

    def _counted(self, slot: Slot) -> Any:
        """`the first 3`, `10 days`, `2 weeks` as days, `3 packs` of what is put on a list."""
        if not slot.is_number or slot.is_id:
            return None
        name, is_limit = slot.words[0].removesuffix("s"), bool(set(slot.words) & _LIMITS)
        for span in self._free("number"):
            value = self._as_value(slot, span)
            after = [x.removesuffix("s") for x in re.findall(r"[a-z]+", self.text[span.end :])[:2]]
            unit = after[0] if after else ""
            if value is None:
                continue
            if unit in _SECONDS and name in _SECONDS:
                sign = -1 if {"ago", "before", "earlier"} & set(after) else 1
                return sign * self._take(span) * _SECONDS[unit] // _SECONDS[name]
            leads = re.search(r"\b(?:first|top|last|most|to|than|limit)\s+$", self._before(span))
            if name in after or (is_limit and (leads or self._adds())):
                self._take(span)
                return value
        return None

    def _adds(self) -> bool:
        """Whether the tool puts something somewhere."""
        return bool(
            {"add", "put"} & set(terms(f"{self.function.name} {self.function.description}"))
        )

    def _typed(self, slot: Slot) -> Any:
        """A value that has the form the parameter wants."""
        if slot.kind != "string" or slot.choices:
            return None
        if slot.topic != "date" and (pattern := slot.spec.get("pattern")):
            return self._patterned(str(pattern))
        if slot.topic in ("person", "place"):
            return self._name_for(slot)
        kinds = {"id": ("id", "quoted"), "expression": ("sum", "expression")}
        spans = self._free(*kinds.get(slot.topic, (slot.topic,)))
        if slot.topic == "path":  # a folder where one is wanted, else a file
            is_folder = bool({"folder", "directory", "dir"} & set(slot.words))
            spans = [x for x in spans if is_folder != bool(re.search(r"\w\.\w+$", x.value))]
        if slot.topic == "expression":
            spans.sort(key=lambda x: x.start - x.end)  # the longest
        if slot.topic == "date":  # "10 days after 25 December": the days are another parameter's
            spans.sort(key=lambda x: bool(re.search(r"\bin \w+|\bago", self._words(x))))
        if times := self._free("time") if slot.topic == "zone" else ():
            spans.sort(key=lambda x: abs(x.start - times[0].end))
        if not spans:
            return self._quoted(slot)
        is_alone = sum(x.topic == slot.topic for x in slots_of(self.function)) == 1
        if is_alone and slot.topic in ("zone", "path", "id"):
            self.spread[slot.name] = [self._take(x) for x in spans]
            return self.spread[slot.name][0]
        return self._take(spans[0])

    def _name_for(self, slot: Slot) -> Any:
        """Whom it is for, or where: the last name after "for" or "to", else the first."""
        spans = self._free("name", "quoted", "zone")
        led = [x for x in spans if _PERSON_LEADS.search(self._before(x))]
        chosen = led[-1:] or spans[:1]
        for span in chosen:
            self._take(span)
        return self._words(chosen[0]) if chosen else None

    def _words(self, span: Span) -> str:
        return self.text[span.start : span.end]

    def _quoted(self, slot: Slot) -> Any:
        if slot.topic in _FORMED - {"path"} or not (slot.is_required or self._is_only(slot)):
            return None
        spans = self._free("quoted")
        if slot.topic == "path":
            spans = [x for x in spans if re.search(r"\w\.\w+$|/", x.value)]
        return self._take(spans[0]) if spans else None

    def _patterned(self, pattern: str) -> Any:
        for match in re.finditer(r"[^\s,;!?\"']+(?<![.,])", self.text):
            word = Span("quoted", match[0], *match.span())
            if self._is_free(word) and has_form(pattern, word.value):
                return self._take(word)
        return None

    def _until_today(self, slots: Sequence[Slot]) -> None:
        """Where one end of a time is said, the other one is today: `how many days until May 1`."""
        ends = [x for x in slots if x.topic == "date" and x.kind == "string" and x.is_required]
        dates = [self.arguments[x.name] for x in ends if x.name in self.arguments]
        if len(ends) == 2 and len(dates) == 1:
            start, end = sorted([str(dates[0]), self.today.isoformat()])
            self.arguments |= {ends[0].name: start, ends[1].name: end}

    def _number(self, slot: Slot) -> Any:
        if not slot.is_number or not slot.is_required or slot.choices:
            return None
        for span in self._free("number", "id"):
            if slot.is_id and re.match(r"\s+[a-z]+s\b", self.text[span.end :]):
                continue  # "3 books" is not book 3
            if (value := self._as_value(slot, span)) is not None:
                self._take(span)
                return value
        return None

    def _collection(self, slot: Slot) -> Any:
        """Lists and objects: `4, 8 and 15`, `pear, apple, fig`, `milk is 1.20 and bread 2.50`."""
        if slot.kind == "array" and slot.is_required:
            return self._list(as_object(slot.spec.get("items"))) or None
        if slot.kind != "object" or not slot.is_required:
            return None
        inner = as_object(slot.spec.get("additionalProperties"))
        if "properties" not in slot.spec and {"number", "integer"} & set(types_of(inner)):
            return self._counts(is_whole="integer" in types_of(inner)) or None
        parts = [Slot(k, as_object(v), True) for k, v in properties(slot.spec).items()]
        filled = Filler(self.function, self.text, self.spans, self.today, self.taken).fill(parts)
        return filled.calls[0] if filled.calls[0] and not filled.missing else None

    def _list(self, item: JsonObject) -> list[Any]:
        if {"number", "integer"} & set(types_of(item)):
            return [self._take(x) for x in self._free("number")]
        if choices := as_list(item.get("enum")):
            spoken = set(terms(self.text))
            return [x for x in choices if set(terms(str(x))) <= spoken and terms(str(x))]
        after = re.search(r":\s*(.+)$", self.text, re.DOTALL)
        quoted = [self._take(x) for x in self._free("quoted")]
        if quoted or not after:
            return quoted
        self.guessed = True
        return [x.strip(" .!?") for x in _PIECES.split(after[1]) if x.strip(" .!?")]

    def _counts(self, *, is_whole: bool) -> JsonObject:
        """Things with their numbers: `3 rolls and 2 pies`, `milk is 1.20 and bread 2.50`."""
        counts: JsonObject = {}
        for span in self._free("number"):
            before, after = self.text[: span.start], self.text[span.end :]
            if is_whole:
                named = re.match(r"\s+(?:\w+ of )?([^\W\d_]{3,})", after)
            else:
                named = re.search(
                    r"([^\W\d_]+)(?:\s+(?:is|are|for|at|costs?))?\s*[:=]?\s*$", before
                )
            if named:
                # "Order 2 croissants": the thing is called by one of them.
                thing = terms(named[1])[0] if is_whole and terms(named[1]) else named[1]
                counts[thing] = self._take(span)
        return counts

    def _left(self, slot: Slot) -> Any:
        """What to search, say or note: the words that nothing else has used."""
        if slot.kind != "string" or slot.choices or slot.topic in _FORMED - {"zone"} | {"unit"}:
            return None
        if "pattern" in slot.spec or not (slot.is_required or self._is_only(slot)):
            return None
        if fallback := re.search(r"[Uu]se ['`\"]([^'`\"]+)['`\"].{0,40} if no", slot.description):
            return fallback[1]
        if slot.topic == "zone":
            return None
        if sums := self._free("expression") if slot.topic == "text" else []:
            return self._take(sums[0])
        if slot.is_id and slot.topic == "id":
            return None
        names = self._free("name")
        if slot.topic == "query" and names:
            self.guessed = True
            return self._take(max(names, key=lambda x: x.end - x.start))
        match = re.search(r"[^.;]*", self.text)
        start, end = self._left_stretch(slot)
        if start is None or not match:
            return None
        self.guessed = True
        self.taken.append((start, end))
        return self.text[start:end].strip(" '\"")

    def _is_only(self, slot: Slot) -> bool:
        """Whether it is what the tool is called for, though it may be left away."""
        others = [x for x in slots_of(self.function) if x.is_required or x.kind == "string"]
        return "default" not in slot.spec and [x.name for x in others] == [slot.name]

    def _left_stretch(self, slot: Slot) -> tuple[int | None, int]:
        """Where the words stand that are a value, without those that only ask."""
        own = {root(x) for x in terms(f"{self.function.name} {spaced(slot.name)}")}
        described = {root(x) for x in terms(self.function.description)}
        spoken = slot.topic != "query" and self._is_verbatim(slot)
        at, is_said = 0, False
        if lead := _TOPIC_LEAD.search(self.text):
            at = lead.end()
            spoken = spoken and not words_refer(self.text[at:])
            is_said = lead[0].lower().rstrip(" :").endswith(("that", "saying", "text"))
        words = [x for x in re.finditer(r"[\w'\u2019/*+.-]*\w", self.text) if self._is_open(x)]
        words = [x for x in words if x.start() >= at]
        if words and root(words[0][0].lower()) in CHANGING | READING and not (at or spoken):
            words.pop(0)
        while (
            words
            and not (at and spoken)
            and (_asks(words[0][0], own) or (not at and root(words[0][0].lower()) in described))
        ):
            words.pop(0)
        while words and not (spoken or is_said) and _asks(words[-1][0], own | described):
            words.pop()
        if not any(re.search("[^\\W\\d]", x[0]) for x in words):
            return None, 0
        end = words[-1].end()
        for before, word in itertools.pairwise(words):
            # A value that was taken ends the stretch.
            if any(before.end() <= x < word.start() for x, _ in self.taken):
                stretch = words[: words.index(before) + 1]
                while len(stretch) > 1 and stretch[-1][0].lower() in _IDLE | {"at", "with"}:
                    stretch.pop()
                end = stretch[-1].end()
                break
        return words[0].start(), end

    def _is_verbatim(self, slot: Slot) -> bool:
        return slot.topic == "text" and not self._adds()

    def _is_open(self, match: re.Match[str]) -> bool:
        return not any(match.start() < end and start < match.end() for start, end in self.taken)


def has_form(pattern: str, value: str) -> bool:
    """Whether a text fits a schema's pattern, tried within the limits of a check of arguments."""
    return is_pattern(pattern) and fits_pattern(pattern, value)


def _unit_for(slot: Slot, unit: str) -> str:
    """The unit as the parameter lists it, or as it is said."""
    same = (str(x) for x in slot.choices if unit_name(str(x)) == unit_name(unit))
    return next(same, unit)


def _asks(word: str, own: Iterable[str]) -> bool:
    return word.lower() in _IDLE or root(word.lower().removesuffix("s")) in own
