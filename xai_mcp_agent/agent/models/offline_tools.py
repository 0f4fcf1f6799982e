"""The offline model's tools: which one serves a clause of a request, and with which arguments.

The agents' own index ranks the tools. A tool that changes something serves only a clause with a
word for that change. Arguments are what the clause states; a required one without a value is
reported as missing.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import date
from typing import Any

from ...core.json import JsonObject
from ...core.provider_schema import FunctionSpec
from ...core.schemas import properties, required
from ...planning.request import Mention
from ...planning.vocabulary import root_set
from ...search.terms import STOP_WORDS, root, separate_words, singular, synonyms, terms
from ...search.tools import ToolIndex
from .offline_values import (
    CHANGING,
    FORMED,
    READING,
    Slot,
    conversion_in,
    expression_in,
    list_in,
    overlap,
    roots_in,
    unit_name,
    values_in,
    without,
    words_refer,
)

GENERIC = root_set("""
    all call check current data find get item list look new number result run search show tell
    thing tool use user value view
""")
"""Roots that match some tool of most servers."""
ASKING = re.compile(
    r"(?i)(?:what|whats|which|who|whom|whose|when|where|why|how|is|are|does|do|did|was|were|has|"
    r"have|can|should|could i)\b"
)
_ALSO_NOUNS = root_set("book change email mark order patch place post run share store")
_SEARCHING = root_set("find look lookup search")
# Words of a request that say nothing about its subject.
_IDLE = GENERIC | root_set("again anything available don't everything forget lot named somebody")
# Other phrases for actions, and for the subjects of questions.
_HINTS = (
    (r"\b(?:give|bring|take) .{0,40}\bback\b", "return"),
    (r"\bsave\b|\bmake a note\b", "write"),
    (r"\bremember\b|\bkeep in mind\b|\bnote that\b", "remember create"),
    (r"\bdo you sell\b|\bcan i buy\b|\bprice\b|\bhow much (?:is|are)\b", "product price"),
    (r"\babout\b", "search subject"), (r"\bhow (?:many|much)\b", "count"),
    (r"\d ?%", "percent"), (r"\btimes (?=\d)|\d ?\* ?\d", "multiply"),
    (r"\bweek ?day\b|\bday of the week\b|\bwhat day\b", "weekday"),
    # "we need 6 eggs"
    (r"^(?:(?:we|i)(?: still)? need\b|don't forget\b|(?:we are|we're|i am|i'm) out of\b|"
     r"(?:i want to |i'd like to )?buy\b)(?!.*\?$)", "add item"),
)  # fmt: skip
_NUMERIC = ("number", "integer")
_PERSON_LEADS = re.compile(r"(?i)\b(?:for|to|by|as|from|with|name is)\s+$")
_WORD = re.compile(r"[\w'\u2019/*+.-]*\w")
_TOPIC_LEAD = re.compile(
    r"(?i)\b(?:about|named|called|titled|matching|saying:?|(?:remember|note|say|mind) that|"
    r"with the text|by|like|for|from)\s+"
)


class OfflineTool:
    """A tool as the matching sees it: its words as roots, like the index.

    `leading` is the first word of its description, `verbs` are those that ask for the change it
    makes. `subject` is the parameter that it is all about, perhaps an optional one; `query` the
    name of its parameter for a search query, if it needs no other. `lists_all` is true if it lists
    all it has, `adds` if it adds to a list.
    """

    def __init__(self, function: FunctionSpec) -> None:
        self.function, self.name = function, function.name
        self.words = separate_words(self.name).lower().split()
        names, specs = required(function.parameters), properties(function.parameters)
        every = dict.fromkeys([*names, *specs])
        self.slots = [Slot(x, specs.get(x, {}), x in names) for x in every]
        # "Add up what it costs" adds nothing.
        first = re.match(r"\W*(?!add up\b)(\w+)", function.description, re.IGNORECASE)
        self.leading = root(first[1].lower()) if first else ""
        self.name_roots = roots_in(self.name)
        self.own_roots = self.name_roots | roots_in(function.description)
        about = " ".join(f"{x.name} {x.description}" for x in self.slots)
        self.roots = self.own_roots | roots_in(about)
        deeds = [x for x in map(root, self.words) if x in READING | CHANGING]
        # `return_book` books nothing, and `order_cancel` orders nothing.
        self.verbs = {x for x in deeds if x in CHANGING - _ALSO_NOUNS}
        if self.leading in CHANGING or not self.verbs:
            self.verbs.add(self.leading)
        self.adds = bool({"add", "put"} & self.verbs)
        reads = bool(deeds) and deeds[0] in READING
        self.only_reads = reads if function.read_only is None else function.read_only
        changes = bool(self.verbs & CHANGING) or function.read_only is False
        self.changes = changes and not self.only_reads
        needed = [x for x in self.slots if x.is_required]
        texts = [x for x in self.slots if x.is_required or x.kind == "string"]
        self.subject = texts[0] if len(texts) == 1 and "default" not in texts[0].spec else None
        is_search = self.only_reads and [x.topic for x in needed] == ["query"]
        self.query = needed[0].name if is_search else ""
        self.lists_all = self.only_reads and bool(self.name_roots & READING) and not needed


class ToolMatch:
    """A tool for a clause, with the arguments that the clause states; the surest come first.

    `calls` has several entries if the clause names several values. `is_guessed` is true if some
    argument is merely the rest of the words. `missing` are required parameters without a value,
    `unused` the values of the clause that fit no parameter.
    """

    def __init__(self, tool: OfflineTool, text: str, values: list[Mention], today: date) -> None:
        self.tool, self.unused = tool, values
        self._text, self._rest = text, text
        self.arguments: JsonObject = {}
        self.calls: list[JsonObject] = []
        self.is_guessed, self._others = False, list[str]()
        self._convert()
        readers = self._read_named, self._read_choice, self._read_stated, self._read_list
        for read in (*readers, self._read_counts, self._read_rest):
            for slot in tool.slots:
                value = None if slot.name in self.arguments else read(slot)
                if value is not None:
                    self.arguments[slot.name] = value
        self._fill_period(today)
        self.calls = [{**self.arguments, **x} for x in self.calls or [{}]]
        others = [f"add {x}" for x in self._others]
        self.calls += [ToolMatch(tool, x, values_in(x, today), today).arguments for x in others]
        refers = words_refer(text)
        slots = [x for x in tool.slots if x.is_required or (refers and x is tool.subject)]
        self.missing = [x for x in slots if x.name not in self.arguments]

    def _take(self, mention: Mention, value: Any) -> Any:
        """Return the value after noting that this stretch of the text is used."""
        self._rest = without(self._rest, [mention])
        self.unused = [x for x in self.unused if not overlap(x, mention)]
        return value

    def _take_all(self, value: Any) -> Any:
        return self._take(Mention("text", value, "", 0, len(self._text)), value)

    def _convert(self) -> None:
        """Fill `value`, `from_unit` and `to_unit` if the text converts something."""
        units = [x for x in self.tool.slots if x.topic == "unit" and x.kind == "string"]
        amounts = [x for x in self.tool.slots if x.is_number and x.is_required]
        conversion = conversion_in(self._text) if (len(units), len(amounts)) == (2, 1) else None
        if conversion:
            value, *names = self._take_all(conversion)
            self.arguments[amounts[0].name] = value
            for slot, unit in zip(units, names, strict=True):
                same = (x for x in slot.choices if unit_name(str(x)) == unit_name(unit))
                self.arguments[slot.name] = next(same, unit)

    def _read_named(self, slot: Slot) -> Any:
        """Read `limit 5`, `with message "x"`, `book 7`; `first 3`, `10 days`, add `3 packs`."""
        name = rf"(?<!\w)(?:{slot.pattern})s?\s*(?:[:=]|\bis\b|\bcalled\b|\bnamed\b)?\s*(?:of\s+)?$"
        name += r"|\b(?:first|top|last|most|to|than|limit)\s+$" if slot.is_number else ""
        unit = rf"\s*{re.escape(slot.words[0].removesuffix('s'))}s?\b"
        for mention in self.unused:
            is_named = re.search(name, self._text[: mention.start], re.IGNORECASE)
            after = re.match(unit, self._text[mention.end :], re.IGNORECASE)
            is_counted = slot.is_number and slot.topic != "id" and (after or self.tool.adds)
            value = slot.value_of(mention, is_named=True) if is_named or is_counted else None
            if value is not None:
                return self._take(mention, value)
        return None

    def _read_choice(self, slot: Slot) -> Any:
        """Return the parameter's listed value that the text names, or None."""
        if not slot.choices or slot.kind in ("array", "object", "boolean"):
            return None
        words = _roots_of_all(self._text)
        roots = ((x, _roots_of_all(str(x))) for x in slot.choices)
        return next((x for x, own in roots if own and own <= words), None)

    def _read_stated(self, slot: Slot) -> Any:
        """Return a stated value in the form that the parameter takes, or None."""
        is_formed = not slot.is_number and slot.topic in FORMED | {"id", "url", "name"}
        if not (slot.is_required or is_formed or slot is self.tool.subject):
            return None
        values = [(x, y) for x in self.unused if (y := slot.value_of(x)) is not None]
        # "in Rome and Oslo": a call for each
        if slot.topic == "zone" and sum(x.topic == "zone" for x in self.tool.slots) == 1:
            self.calls = [{slot.name: self._take(*x)} for x in values]
        if slot.topic == "name":  # "Lend Emma to Ada"
            values.sort(key=lambda x: not _PERSON_LEADS.search(self._text[: x[0].start]))
        return self._take(*values[0]) if values else None

    def _fill_period(self, today: date) -> None:
        """Fill a period's missing end with today: `how many days until May 1`."""
        ends = [x.name for x in self.tool.slots if x.topic == "date" and x.is_required]
        dates = [self.arguments[x] for x in ends if x in self.arguments]
        if len(ends) == 2 and len(dates) == 1:
            start, end = sorted([str(dates[0]), today.isoformat()])
            self.arguments |= {ends[0]: start, ends[1]: end}

    def _read_list(self, slot: Slot) -> Any:
        """Read `4, 8 and 15`, `"pear" and "apple"`, `these: pear, apple`."""
        if slot.kind != "array":
            return None
        kinds = ("number",) if slot.item_kind in _NUMERIC else ("quoted", "url")
        values = [self._take(x, x.value) for x in self.unused if x.kind in kinds]
        after = re.search(r":\s*(.+?)[\s.!?]*$", self._rest)
        return values or (list_in(after[1]) if after else None)

    def _read_counts(self, slot: Slot) -> Any:
        """Read things with numbers: `3 rolls and 2 pies`, `milk is 1.20 and bread 2.50`."""
        if slot.kind != "object" or slot.item_kind not in _NUMERIC:
            return None
        counts: JsonObject = {}
        for mention in [x for x in self.unused if x.kind == "number"]:
            before, after = self._text[: mention.start], self._text[mention.end :]
            if slot.item_kind == "integer":  # "Order 2 croissants"
                thing = re.match(r"\s+(?:\w+ of )?([^\W\d_]{3,})", after)
            else:
                thing = re.search(r"([^\W\d_]+)(?: is| are| costs?)?\W*$", before)
            if thing:
                counts[singular(thing[1])] = self._take(mention, mention.value)
        return counts or None

    def _read_rest(self, slot: Slot) -> Any:
        """Return the text to search, say or note: the words that no other value uses."""
        is_text = slot.kind == "string" and not slot.choices
        if not is_text or not (slot.is_required or slot is self.tool.subject):
            return None
        # The time server of modelcontextprotocol/servers describes its zone like this.
        if default := re.search(r"Use ['`\"]([^'`\"]+)['`\"].{0,40} if no", slot.description):
            return default[1]
        expression = expression_in(self._text) if slot.topic in ("expression", "text") else ""
        if expression:
            return self._take_all(expression)
        if slot.topic in FORMED | {"unit", "id"}:
            return None
        self.is_guessed = True
        names = [x for x in self.unused if x.kind == "name" and slot.topic == "query"]
        if names:
            return self._take(names[0], names[0].value)
        return self._read_stretch(slot)

    def _read_stretch(self, slot: Slot) -> Any:
        """Return the words of the value, without the words of the question around it."""
        own = self.tool.own_roots | roots_in(slot.name) | set(slot.words) | _IDLE
        lead = _TOPIC_LEAD.search(self._text)
        at = lead.end() if lead and not words_refer(self._text[lead.end() :]) else 0
        is_verbatim = slot.topic == "text" and not self.tool.adds
        words = list(_WORD.finditer(self._rest, at))

        def asks(word: re.Match[str]) -> bool:
            text = word[0].lower()
            return text in STOP_WORDS or root(text.removesuffix("s")) in own

        if words and not at and root(words[0][0].lower()) in CHANGING | READING:
            words.pop(0)
        while words and not (at and is_verbatim) and asks(words[0]):
            words.pop(0)
        while words and not is_verbatim and asks(words[-1]):
            words.pop()
        if not any(re.search(r"[^\W\d]", x[0]) for x in words):
            return None
        start, end = words[0].start(), words[-1].end()
        value = self._text[start:end].strip(" '\"")
        if self.tool.adds:  # "add bread and 3 pears"
            value, *self._others = list_in(value)
        return self._take(Mention("text", value, "", start, end), value)


def _roots_of_all(text: str) -> set[str]:
    return {root(x) for x in re.findall(r"\w+", text.lower())}


class ToolMatcher:
    """The tools of one request to the model, by name, and their match with clauses."""

    def __init__(self, functions: Sequence[FunctionSpec], today: date) -> None:
        self.tools = {x.name: OfflineTool(x) for x in functions}
        self._index = ToolIndex[JsonObject](map(_as_dict, functions))
        self._today = today
        self._has_zones = any(y.topic == "zone" for x in self.tools.values() for y in x.slots)

    def best(self, clause: str) -> ToolMatch | None:
        """Return the call of the tool that matches a clause best, or None."""
        values = self.values_of(clause)
        words = without(clause, [x for x in values if x.kind != "name"])
        hints = hints_in(clause, {x.kind for x in values})
        keywords = [*terms(words), *hints]
        scores = {x.tool["name"]: x.score for x in self._index.search(" ".join([words, *hints]))}
        tools = [self.tools[x] for x in scores]
        tools = [x for x in tools if _may_serve(x, clause, keywords)]
        matches = [ToolMatch(x, clause, values, self._today) for x in tools]
        return max(matches, key=lambda x: scores[x.tool.name] * _worth(x, clause), default=None)

    def values_of(self, text: str) -> list[Mention]:
        """Return the values that a text states."""
        return values_in(text, self._today, zones=self._has_zones)

    def examples(self, count: int) -> list[str]:
        """Return example requests that the tools are sure to serve."""
        tools = sorted(self.tools.values(), key=lambda x: (x.changes, len(x.slots)))
        examples: dict[str, None] = {}
        for number, tool in ((n, x) for n in range(count) for x in tools):
            request = _example(tool, number)
            best = self.best(request)
            if best and best.tool is tool and not best.missing:
                examples[request] = None
        return list(examples)[:count]


def _as_dict(function: FunctionSpec) -> JsonObject:
    texts = {"id": function.name, "name": function.name, "description": function.description}
    return {**texts, "input_schema": function.parameters}


def _worth(match: ToolMatch, clause: str) -> float:
    """Return the weight of a match among those of other tools."""
    worth = 1.2 if _first_root(clause) == match.tool.leading else 1.0
    worth *= _conversion_factor(match.tool.name, clause)
    worth *= 0.6 if match.missing else 0.9 if match.is_guessed else 1.0
    return worth * 0.5 ** len(match.unused)


def hints_in(clause: str, kinds: set[str]) -> list[str]:
    """Return words that a clause implies. `kinds` are the kinds of its values."""
    hints = [words for pattern, words in _HINTS if re.search(pattern, clause.lower())]
    if conversion := conversion_in(clause):
        hints += ["convert unit", *map(unit_name, conversion[1:])]
    if kinds and expression_in(clause):
        hints.append("calculate expression")
    hints += sorted(kinds - {"name", "number", "quoted"})
    return " ".join(hints).split()


def _first_root(text: str) -> str:
    """Return the first word of a text, as its root."""
    word = re.search(r"[a-z]+", text.lower())
    return root(word[0]) if word else ""


def _may_serve(tool: OfflineTool, clause: str, keywords: Sequence[str]) -> bool:
    """Return whether the words suffice for the tool, and ask for the change it makes."""
    first = _first_root(clause)
    if tool.changes and not _asks_for_change(tool, clause, keywords):
        return False
    if first in CHANGING and not tool.changes and first not in {tool.leading, *tool.name_roots}:
        return False
    last_words = {root(x) for x in tool.words[-2:]}
    is_named = last_words <= {root(x.removesuffix("s")) for x in clause.lower().split()}
    return (
        (tool.only_reads and is_named)
        or (first in _SEARCHING and bool(tool.query))
        or bool({root(x) for x in keywords if root(x) not in GENERIC} & tool.roots)
    )


def _asks_for_change(tool: OfflineTool, clause: str, keywords: Sequence[str]) -> bool:
    """Return whether the clause orders or wishes the tool's change; a question never does."""
    if ASKING.match(clause) or _first_root(clause) in READING:
        return False
    words = re.findall(r"[a-z]+", clause.lower())
    # A plural or past form orders nothing: "the deleted files" are not to be deleted.
    orders = [x for x in words if not re.search(r"(?<=\w\w)(?:[^s]s|ed|ing)$", x)]
    orders += [x for x in keywords if root(x) not in roots_in(clause)]
    orders += [y for x in orders if root(x) in CHANGING for y in synonyms(x)]
    return bool(tool.verbs & {root(x) for x in orders})


def _conversion_factor(name: str, clause: str) -> float:
    """Return the weight of a tool named `a_to_b` for a clause that converts something."""
    units = [x for x in map(unit_name, separate_words(name).lower().split()) if x]
    conversion = conversion_in(clause)
    if len(units) != 2 or not conversion:
        return 1.0
    return 3.0 if units == [unit_name(x) for x in conversion[1:]] else 0.1


def _example(tool: OfflineTool, number: int) -> str:
    """Return a request that the rules understand as this tool's call; `number` varies it."""
    slots = [x for x in tool.slots if x.is_required or (x.choices and number)]
    values = (f"{' '.join(x.words)}: {x.sample(number)}" for x in slots)
    return ", ".join([separate_words(tool.name).lower(), *values])
