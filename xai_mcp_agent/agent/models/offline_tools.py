"""The offline model's tools: the tool for each clause of a request, and example requests.

The agents' own index ranks the tools. A tool that changes something serves only a clause with a
word for that change.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import islice
from typing import Any

from ...core.json import JsonObject
from ...core.provider_schema import FunctionSpec
from ...core.schemas import example_arguments
from ...search.terms import root, separate_words, synonyms, terms
from ...search.tools import ToolIndex
from .offline_arguments import Arguments, Slot, slots_of
from .offline_values import (
    CHANGING,
    READING,
    Span,
    conversion_in,
    expression_in,
    roots_in,
    roots_of,
    spans_in,
    unit_name,
)

GENERIC = roots_of("""
    all call check current data find get item list look new number result run search show tell
    thing tool use user value view
""")
"""Roots that match some tool of most servers."""
ASKING = re.compile(
    r"(?:what|whats|which|who|whom|whose|when|where|why|how|is|are|does|do|did|was|were|has|have|can|"
    r"should|could i)\b", re.IGNORECASE,
)  # fmt: skip
_MAX_CANDIDATES, _MAX_MATCHES = 24, 8
_ALSO_NOUNS = roots_of("book change email mark order patch place post run share store")
_SEARCHING = roots_of("find look lookup search")
# Other phrases for actions, and for the subjects of questions.
_HINTS = (
    (r"\b(?:give|bring|take|send)\b.{1,40}\bback\b|\b(?:bring|give|take) back\b", "return"),
    (r"\bsave\b|\bmake a note\b", "write"),
    (r"\bremember\b|\bkeep in mind\b|\bnote that\b", "remember create"),
    (r"\bdo you sell\b|\bcan i buy\b|\bprice\b|\bhow much (?:is|are)\b", "product price"),
    (r"\babout\b", "search subject"), (r"\bhow (?:many|much)\b", "count"),
    (r"\bborrowed\b|\bon loan\b", "loan"), (r"\d ?%", "percent"),
    (r"\d ?\+ ?\d", "add"), (r"\btimes (?=\d)|\d ?\* ?\d", "multiply"),
    (r"\bweek ?day\b|\bday of the week\b|\bwhat day\b", "weekday"),
    # "we need 6 eggs"
    (r"^(?:(?:we|i)(?: still)? need\b|don't forget\b|(?:we are|we're|i am|i'm) out of\b|"
     r"(?:i want to |i'd like to )?buy\b)(?!.*\?$)", "add item"),
)  # fmt: skip
_SAMPLES = {
    "zone": "Europe/London", "expression": "2 + 3", "date": "2026-03-12", "time": "14:30",
    "path": "notes.txt", "id": "A1", "name": "Florence", "query": "sea",
}  # fmt: skip


class OfflineTool:
    """A tool as the matching sees it: its words as roots, like the index."""

    def __init__(self, function: FunctionSpec) -> None:
        self.function, self.name = function, function.name
        self.words = separate_words(self.name).lower().split()
        self.slots = slots_of(function)
        # "Add up what it costs" adds nothing.
        first = re.match(r"\W*(?!add up\b)(\w+)", function.description, re.IGNORECASE)
        self.leading = root(first[1].lower()) if first else ""
        self.name_roots = roots_in(function.name) | {root(x) for x in self.words}
        about = " ".join(f"{x.name} {x.description}" for x in self.slots)
        self.roots = self.name_roots | roots_in(f"{function.description} {about}")
        deeds = [x for x in map(root, self.words) if x in READING | CHANGING]
        reads = deeds[:1] != [] and deeds[0] in READING
        # `return_book` books nothing, and `order_cancel` orders nothing.
        sure = [x for x in deeds if x in CHANGING - _ALSO_NOUNS][:1]
        self.verbs = {*sure, *({self.leading} if self.leading in CHANGING or not sure else ())}
        self.only_reads = function.read_only is True or (function.read_only is None and reads)
        self.changes = not self.only_reads and (
            bool(self.verbs & CHANGING) or function.read_only is False
        )

    @property
    def query(self) -> Slot | None:
        """Return the parameter for a search query, if the tool needs no other argument."""
        slots = [x for x in self.slots if x.is_required]
        if len(slots) != 1 or slots[0].kind != "string" or slots[0].choices:
            return None
        return slots[0] if slots[0].topic == "query" and self.only_reads else None

    @property
    def lists_all(self) -> bool:
        """Return whether the tool lists everything it has."""
        is_list = self.only_reads and bool(self.name_roots & READING)
        return is_list and not any(x.is_required for x in self.slots)


@dataclass(frozen=True)
class Match:
    """A tool for a clause, with the clause's arguments. `worth` ranks it."""

    tool: OfflineTool
    arguments: Arguments
    worth: float


class ToolMatcher:
    """The tools of one request to the model, by name, and their match with clauses."""

    def __init__(self, functions: Sequence[FunctionSpec], today: date) -> None:
        self.tools = {x.name: OfflineTool(x) for x in functions}
        self._index = ToolIndex[JsonObject](map(_as_dict, functions))
        self._today = today
        self._has_zones = any(y.topic == "zone" for x in self.tools.values() for y in x.slots)

    def rank(self, clause: str) -> list[Match]:
        """Return the tools that match a clause's words, best first."""
        spans = self.spans(clause)
        words = clause
        for span in (x for x in spans if x.kind != "name"):
            words = words[: span.start] + " " * (span.end - span.start) + words[span.end :]
        hints = hints_in(clause, {x.kind for x in spans})
        hits = self._index.search(" ".join([words, *hints]), _MAX_CANDIDATES)
        keywords = [*terms(words), *hints]
        scores = [(self.tools[x.tool["name"]], x.score) for x in hits]
        scores = [(x, y) for x, y in scores if self._may_serve(x, clause, keywords)]
        matches = [self._match(x, clause, spans, score) for x, score in scores[:_MAX_MATCHES]]
        return sorted(matches, key=lambda x: -x.worth)

    def spans(self, text: str) -> list[Span]:
        """Return the values that a text states."""
        return spans_in(text, self._today, zones=self._has_zones)

    def fill(self, tool: OfflineTool, text: str) -> Arguments:
        """Return the arguments that a text states for a tool."""
        return Arguments(tool.function, text, self.spans(text), self._today)

    def examples(self, count: int) -> list[str]:
        """Return example requests that the tools are sure to serve."""
        tools = sorted(self.tools.values(), key=lambda x: (x.changes, len(x.slots)))
        requests = ((_example(x, number), x) for number in range(count) for x in tools)
        examples = dict.fromkeys(x for x, tool in requests if self._understands(x, tool))
        return list(islice(examples, count))

    def _understands(self, request: str, tool: OfflineTool) -> bool:
        best = next(iter(self.rank(request)), None)
        return best is not None and best.tool is tool and not best.arguments.missing

    def _may_serve(self, tool: OfflineTool, clause: str, keywords: Sequence[str]) -> bool:
        """Return whether the words suffice for the tool, and ask for the change it makes."""
        words, first = re.findall(r"[a-z]+", clause.lower()), _first_root(clause)
        if tool.changes and not _asks_for_change(tool, clause, keywords):
            return False
        does_this = _alike(words[:1]) & {tool.leading, *tool.name_roots}
        if first in CHANGING and not tool.changes and not does_this:
            return False
        last_words = {root(x) for x in tool.words[-2:]}
        is_named = last_words <= {root(x.removesuffix("s")) for x in words}
        return (
            (tool.only_reads and len(last_words) > 1 and is_named)
            or (first in _SEARCHING and [x for x in self.tools.values() if x.query] == [tool])
            or bool(_alike(x for x in keywords if root(x) not in GENERIC) & tool.roots)
        )

    def _match(self, tool: OfflineTool, clause: str, spans: Sequence[Span], score: float) -> Match:
        arguments = Arguments(tool.function, clause, spans, self._today)
        worth = score * (1.2 if _first_root(clause) == tool.leading else 1.0)
        worth *= _conversion_factor(tool.name, clause)
        worth *= 0.6 if arguments.missing else 0.9 if arguments.is_guessed else 1.0
        worth *= 0.5 ** len([x for x in arguments.unused if x.kind != "name"])
        return Match(tool, arguments, worth)


def _as_dict(function: FunctionSpec) -> JsonObject:
    return {
        "id": function.name,
        "name": function.name,
        "description": function.description,
        "input_schema": function.parameters,
    }


def hints_in(clause: str, kinds: set[str]) -> list[str]:
    """Return words that a clause implies. `kinds` are the kinds of its values."""
    hints = [words for pattern, words in _HINTS if re.search(pattern, clause.lower())]
    if conversion := conversion_in(clause):
        hints += ["convert unit", *map(unit_name, conversion[1:])]
    if kinds and expression_in(clause):
        hints.append("calculate expression")
    hints += [x for x in ("date", "time", "zone", "path", "url", "email") if x in kinds]
    return " ".join(hints).split()


def _first_root(text: str) -> str:
    """Return the first word of a text, as its root."""
    word = re.search(r"[a-z]+", text.lower())
    return root(word[0]) if word else ""


def _asks_for_change(tool: OfflineTool, clause: str, keywords: Sequence[str]) -> bool:
    """Return whether the clause orders or wishes the tool's change; a question never does."""
    if ASKING.match(clause) or _first_root(clause) in READING:
        return False
    words = re.findall(r"[a-z]+", clause.lower())
    # A plural or past form orders nothing: "the deleted files" are not to be deleted.
    orders = [x for x in words if not re.search(r"(?<=\w\w)(?:[^s]s|ed|ing)$", x)]
    orders += [x for x in keywords if root(x) not in roots_in(clause)]
    changes = [x for x in orders if root(x) in CHANGING]
    return bool(tool.verbs & {*map(root, orders), *_alike(changes)})


def _alike(words: Iterable[str]) -> set[str]:
    """Return the roots of the words and of their synonyms."""
    return {root(y) for x in words for y in (x, *synonyms(x))}


def _conversion_factor(name: str, clause: str) -> float:
    """Return the weight of a tool named `a_to_b` for a clause that converts something."""
    parts = re.fullmatch(r"(?:.* )?(\w+) to (\w+).*", separate_words(name).lower())
    conversion = conversion_in(clause) if parts else None
    if not parts or conversion is None or not unit_name(parts[1]):
        return 1.0
    ends = unit_name(parts[1]), unit_name(parts[2])
    return 3.0 if ends == tuple(map(unit_name, conversion[1:])) else 0.1


def _example(tool: OfflineTool, number: int) -> str:
    """Return a request that the rules understand as this tool's call; `number` varies it."""
    usual = example_arguments(tool.function.parameters)
    slots = [x for x in tool.slots if x.is_required or (x.choices and number)]
    name = separate_words(tool.name).lower()
    values = ", ".join(
        f"{' '.join(x.words)}: {_sample(x, usual.get(x.name), number)}" for x in slots
    )
    return f"{name}, {values}" if values else name


def _sample(slot: Slot, usual: Any, number: int) -> Any:
    """Return a value for a parameter: one from the schema, or a usual one of its kind."""
    if slot.choices:
        return slot.choices[number % len(slot.choices)]
    if slot.is_number:
        return int(usual or 1) + number
    match = re.search(r"such as [`'\"]?([^`'\",;]*[^`'\",;.])", slot.description)
    return match[1] if match else _SAMPLES.get(slot.topic, "something")
