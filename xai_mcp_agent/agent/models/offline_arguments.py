"""Arguments of a tool from a request's words, by each parameter's type and name.

Every value is a stretch of the text, and each stretch is used once. No value is made up: a
parameter without one is reported as missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from ...core.json import JsonObject, as_list, as_object
from ...core.provider_schema import FunctionSpec
from ...core.schemas import properties, required, types_of
from ...search.terms import STOP_WORDS, root, separate_words, terms
from .offline_values import (
    CHANGING,
    READING,
    Span,
    conversion_in,
    expression_in,
    list_in,
    number_in,
    roots_in,
    unit_name,
    words_refer,
)

# Words of a request that say nothing about its subject.
_IDLE_WORDS = """
    again anything available called does don't everything fit forget good list lot named
    please somebody something thing things want who whose
"""
_IDLE = STOP_WORDS | set(_IDLE_WORDS.split())
# The topic of a text parameter, by its name or else its description.
_TOPICS = (
    ("zone", r"\btime ?zone|\bzone\b|\btz\b"),
    ("expression", r"\bexpression|\bformula"),
    ("unit", r"\bunit\b"),
    ("url", r"\bur[li]s?\b"),
    ("date", r"\bdate(?: ?time)?\b|\bday\b|yyyy-mm-dd"),
    ("time", r"\btime\b"),
    ("path", r"\bpath\b|\bfile\b|\bfolder\b|\bdirectory\b"),
    ("id", r"\bid\b|\bkey\b|\bnumber\b"),
    ("query", r"\bquer(?:y|ies)\b|\bsearch|\btopic\b|\bkeyword|\bsubject\b|\bq\b"),
    ("name", r"\bperson|\breader|\bcustomer|\buser|\bauthor|\bguest|\bmember|\bowner"
             r"|\bcity\b|\bplace\b|\blocation\b|\bcountry\b"),
)  # fmt: skip
# The kinds of values that fit each topic.
_KINDS = {
    "zone": ("zone",), "date": ("date", "datetime"), "time": ("time",), "path": ("path", "quoted"),
    "id": ("id", "quoted"), "name": ("name", "quoted", "zone"), "url": ("url", "quoted"),
}  # fmt: skip
_SPREAD = {"zone", "path", "id"}  # several values become a call each
_FORMED = {"zone", "date", "time", "path", "expression"}
_LIMITS = {"limit", "max", "count", "top", "size", "result", "amount", "quantity", "qty", "day"}
_PERSON_LEADS = re.compile(r"\b(?:for|to|by|as|from|with|name is)\s+$", re.IGNORECASE)
_TOPIC_LEAD = re.compile(
    r"\b(?:about|named|called|titled|matching|saying:?|(?:remember|note|say|mind) that|"
    r"with the text|by|like|for|from)\s+", re.IGNORECASE,
)  # fmt: skip


class Slot:
    """A parameter of a tool.

    `kind` is its JSON type, the first that is not null; `topic` the kind of value in a text:
    `date`, `zone`, `query`, else `text`; `pattern` matches its name as people write it, with "id"
    or without. `is_id` is true for an identifier such as `book_id`.
    """

    def __init__(self, name: str, spec: JsonObject, is_required: bool) -> None:
        self.name, self.spec, self.is_required = name, spec, is_required
        self.kind = next((x for x in types_of(spec) if x != "null"), "string")
        self.is_number = self.kind in ("number", "integer")
        self.words = separate_words(name).lower().split() or [name]
        self.description = str(spec.get("description") or "")
        self.choices = as_list(spec.get("enum")) or [spec[x] for x in ("const",) if x in spec]
        self.is_id = not self.choices and self.words[-1] in ("id", "key", "number", "ids")
        about = " ".join(self.words), str(spec.get("format") or ""), self.description.lower()
        topics = (topic for x in about for topic, form in _TOPICS if re.search(form, x))
        self.topic = next(topics, "text")
        names = self.words, [x for x in self.words if x not in ("id", "number", "name", "slug")]
        patterns = dict.fromkeys(r"[ _-]?".join(map(re.escape, x)) for x in names if x)
        self.pattern = f"(?:{'|'.join(patterns)})"


def slots_of(function: FunctionSpec) -> list[Slot]:
    """Return the parameters of a tool, required ones first."""
    names, specs = required(function.parameters), properties(function.parameters)
    specs = {**specs, **{x: {} for x in names if x not in specs}}
    slots = [Slot(name, as_object(spec), name in names) for name, spec in specs.items()]
    return sorted(slots, key=lambda x: not x.is_required)


class Arguments:
    """The arguments that a text states for a tool; the surest readings come first.

    `calls` has several entries if the text names several values. `is_guessed` is true if some
    argument is merely the rest of the words. `missing` are required parameters without a value,
    `unused` the values of the text that fit no parameter.
    """

    def __init__(
        self, function: FunctionSpec, text: str, spans: Sequence[Span], today: date
    ) -> None:
        self._text, self._spans = text, spans
        self._slots = slots_of(function)
        self._own = roots_in(f"{function.name} {function.description}")
        self._adds = bool({"add", "put"} & self._own)  # something to a list
        self._used_ranges: list[tuple[int, int]] = []
        self.values: JsonObject = {}
        self.calls: list[JsonObject] = []
        self.is_guessed = False
        self._convert()
        surest = self._read_named, self._read_choice, self._read_stated
        for read in (*surest, self._read_collection, self._read_rest):
            for slot in self._slots:
                value = None if slot.name in self.values else read(slot)
                if value is not None:
                    self.values[slot.name] = value
        self._fill_period(today)
        self.calls = [{**self.values, **x} for x in self.calls or [{}]]
        refers = words_refer(text)
        slots = [x for x in self._slots if x.is_required or (refers and self._is_only(x))]
        self.missing = [x for x in slots if x.name not in self.values]
        self.unused = self._free()

    def _is_free(self, span: Span) -> bool:
        return not any(span.overlaps(start, end) for start, end in self._used_ranges)

    def _free(self, *kinds: str) -> list[Span]:
        return [x for x in self._spans if (not kinds or x.kind in kinds) and self._is_free(x)]

    def _take(self, span: Span) -> Any:
        self._used_ranges.append((span.start, span.end))
        return span.value

    def _is_only(self, slot: Slot) -> bool:
        """Return whether the tool is all about this parameter, even an optional one."""
        others = [x for x in self._slots if x.is_required or x.kind == "string"]
        return "default" not in slot.spec and others == [slot]

    def _convert(self) -> None:
        """Fill `value`, `from_unit` and `to_unit` if the text converts something."""
        units = [x for x in self._slots if x.topic == "unit" and x.kind == "string"]
        amounts = [x for x in self._slots if x.is_number and x.is_required]
        conversion = conversion_in(self._text) if len(units) == 2 and len(amounts) == 1 else None
        if conversion:
            value, *names = conversion
            self.values[amounts[0].name] = value
            for slot, unit in zip(units, names, strict=True):
                same = (x for x in slot.choices if unit_name(str(x)) == unit_name(unit))
                self.values[slot.name] = next(same, unit)
            self._used_ranges.append((0, len(self._text)))

    def _read_named(self, slot: Slot) -> Any:
        """Read `limit 5`, `with message "x"`, `book 7`; `first 3`, `10 days`, add `3 packs`."""
        name = rf"(?<!\w){slot.pattern}s?\s*(?:[:=]|\bis\b|\bcalled\b|\bnamed\b)?\s*(?:of\s+)?$"
        is_limit = slot.is_number and bool(set(slot.words) & _LIMITS)
        name += r"|\b(?:first|top|last|most|to|than|limit)\s+$" if is_limit else ""
        unit = rf"\s*(?:\w+ )?{slot.words[0].removesuffix('s')}s?\b"
        for span in self._free():
            is_named = re.search(name, self._text[: span.start], re.IGNORECASE)
            after = re.match(unit, self._text[span.end :], re.IGNORECASE)
            is_counted = slot.is_number and not slot.is_id and (after or (is_limit and self._adds))
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
            return self._text[span.start : span.end].strip("\"'")
        return str(span.value)

    def _read_choice(self, slot: Slot) -> Any:
        """Return the parameter's listed value that the text names, or None."""
        if not slot.choices or slot.kind in ("array", "object", "boolean"):
            return None
        roots = _all_roots(self._text)
        words = ((x, _all_roots(str(x))) for x in slot.choices)
        return next((x for x, own in words if own and own - _IDLE <= roots), None)

    def _read_stated(self, slot: Slot) -> Any:
        """Return a stated value in the form that the parameter takes, or None."""
        is_formed = not slot.is_number and slot.topic in _KINDS
        if not (slot.is_required or is_formed or (slot.kind == "string" and self._is_only(slot))):
            return None
        values = [(x, self._value(slot, x)) for x in self._free()]
        values = [(x, value) for x, value in values if value is not None]
        if not values:
            return None
        if slot.topic in _SPREAD and sum(x.topic == slot.topic for x in self._slots) == 1:
            self.calls = [{slot.name: value} for _, value in values]
            self._used_ranges += [(x.start, x.end) for x, _ in values]
            return values[0][1]
        persons = [x for x in values if _PERSON_LEADS.search(self._text[: x[0].start])]
        span, value = persons[-1] if persons and slot.topic == "name" else values[0]
        self._take(span)
        return value

    def _fill_period(self, today: date) -> None:
        """Fill a period's missing end with today: `how many days until May 1`."""
        ends = [x.name for x in self._slots if x.topic == "date" and x.is_required]
        dates = [self.values[x] for x in ends if x in self.values]
        if len(ends) == 2 and len(dates) == 1:
            start, end = sorted([str(dates[0]), today.isoformat()])
            self.values |= {ends[0]: start, ends[1]: end}

    def _read_collection(self, slot: Slot) -> Any:
        """Read lists and objects: `4, 8 and 15`, `pear, apple`, `milk is 1.20 and bread 2.50`."""
        if not slot.is_required or slot.kind not in ("array", "object"):
            return None
        word = "items" if slot.kind == "array" else "additionalProperties"
        kinds = types_of(as_object(slot.spec.get(word)))
        is_numeric = "number" in kinds or "integer" in kinds
        if slot.kind == "object":
            return (is_numeric and self._counts(is_whole="integer" in kinds)) or None
        span_kinds = ("number",) if is_numeric else ("quoted", "url")
        values = [self._take(x) for x in self._free(*span_kinds)]
        if (
            not values
            and not is_numeric
            and (after := re.search(r":\s*(.+?)[\s.!?]*$", self._text))
        ):
            values = list_in(after[1])
        return values or None

    def _counts(self, *, is_whole: bool) -> JsonObject:
        """Read things with numbers: `3 rolls and 2 pies`, `milk is 1.20 and bread 2.50`."""
        counts: JsonObject = {}
        for span in self._free("number"):
            before, after = self._text[: span.start], self._text[span.end :]
            if is_whole:  # "Order 2 croissants": the thing goes by its singular
                thing = re.match(r"\s+(?:\w+ of )?([^\W\d_]{3,})", after)
                names = terms(thing[1]) if thing else []
            else:
                names = re.findall(r"([^\W\d_]+)(?: is| are| costs?)?\W*$", before)
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
        expression = expression_in(self._text) if slot.topic in ("expression", "text") else ""
        if expression:
            self._used_ranges.append((0, len(self._text)))
            return expression
        if slot.topic in _FORMED | {"unit"} or slot.is_id:
            return None
        self.is_guessed = True
        if slot.topic == "query" and (names := self._free("name")):
            return self._take(max(names, key=lambda x: x.end - x.start))
        stretch = self._stretch(slot)
        return self._take(stretch) if stretch else None

    def _stretch(self, slot: Slot) -> Span | None:
        """Return the words of the value, without the words of the question around it."""
        own = self._own | roots_in(slot.name) | set(slot.words)
        lead = _TOPIC_LEAD.search(self._text)
        at = lead.end() if lead and not words_refer(self._text[lead.end() :]) else 0
        is_verbatim = slot.topic == "text" and not self._adds
        matches = re.finditer(r"[\w'\u2019/*+.-]*\w", self._text)
        words = [Span("word", x[0].lower(), *x.span()) for x in matches if x.start() >= at]
        words = [x for x in words if self._is_free(x)]

        def asks(word: str) -> bool:
            return word in _IDLE or root(word.removesuffix("s")) in own

        if words and not at and root(words[0].value) in CHANGING | READING:
            words.pop(0)
        while words and not (at and is_verbatim) and asks(words[0].value):
            words.pop(0)
        while words and not is_verbatim and asks(words[-1].value):
            words.pop()
        if not any(re.search(r"[^\W\d]", x.value) for x in words):
            return None
        start, end = words[0].start, words[-1].end
        return Span("word", self._text[start:end].strip(" '\""), start, end)


def _all_roots(text: str) -> set[str]:
    return {root(x) for x in re.findall(r"\w+", text.lower())}
