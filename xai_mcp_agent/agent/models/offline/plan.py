"""The plan for a request: one step for each part that a tool fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from ....core.provider_schema import FunctionSpec
from .arguments import Filled, fill_arguments
from .candidates import path_suits
from .hints import changes_unit, hints_in
from .lookup import lookup, recall
from .matching import Match, OfferedTool, matcher_of
from .mentions import Mention, find_mentions
from .parts import Part, begins_request, part_of, split_parts
from .words import is_stop, name_words, words

_MAX_STEPS = 8  # More is no sentence a person said, but a text that was pasted.
# A tool this near to the best may be meant when its arguments fit better; one that takes all its
# arguments from what was said may be further off.
_CLOSE, _NEAR = 0.45, 0.25
_MAX_NEAR = 8
_MISSING, _MISSING_MAY_COME = 0.6, 0.85
_WRONG_PATH = 0.25  # A file where a folder is wanted.
_GUESSED = 0.9  # An argument that is only what was left of the words.
_UNUSED_VALUES = 0.35  # How much a tool is doubted that uses none of the values stated.
_FIELD = re.compile(
    r"(?:(?:tell|show|give)(?: me)?|say|what(?:'s| is| are| was| were)?|who(?:'s| is| was)?)?\s*"
    r"(?:its|their|his|her|the)\s+(?P<field>[a-z]+(?: [a-z]+)?)"
    r"(?: of (?:it|them|that|this))?[?.!]?",
    re.IGNORECASE,
)
_STATED = {
    "name",
    "zone",
    "date",
    "time",
    "datetime",
    "number",
    "path",
    "url",
    "email",
    "quoted",
    "id",
}
_IN_ORDER = re.compile(r"\b(?:then|after that|afterwards|finally|lastly|next)\b", re.I)


@dataclass(frozen=True, slots=True)
class Step:
    """One tool for one part of the request. `waits`: not before the steps ahead of it are done.

    `looked_up` is the name of the thing that the step ahead of it searches for.
    """

    part: Part
    tool: OfferedTool
    filled: Filled
    waits: bool = False
    looked_up: str = ""


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do for a request. `unmatched` are the parts that ask for something no tool fits."""

    steps: tuple[Step, ...] = ()
    unmatched: tuple[Part, ...] = ()
    left_out: int = field(default=0)


def make_plan(
    asked: str,
    functions: Sequence[FunctionSpec],
    today: date,
    *,
    last_tool: str = "",
    has_earlier: bool = False,
) -> Plan:
    """Plan a request. `last_tool` was called before it, for "and in Paris?"; `has_earlier`: there
    are results of earlier requests that "it" can mean.
    """
    return _Planner(asked, functions, today, has_earlier).plan(last_tool)


class _Planner:
    def __init__(
        self, asked: str, functions: Sequence[FunctionSpec], today: date, has_earlier: bool
    ) -> None:
        self._asked = asked
        self._mentions = find_mentions(asked, today)
        self._matcher = matcher_of(functions)
        self._has_earlier = has_earlier

    def plan(self, last_tool: str) -> Plan:
        """A step for each part that a tool fits, in order."""
        tools = self._matcher.tools
        verbs = frozenset(x for tool in tools for x in name_words(tool.spec.name)[-2:])
        parts = split_parts(
            self._asked, self._mentions, self._fits, lambda x: self._begins(x, verbs)
        )
        # A change is not repeated by a bare value: "8" after "return book 7" may mean anything.
        last = next((x for x in tools if x.spec.name == last_tool and not x.changes), None)
        steps, unmatched = self._steps([(x, self._ranked(x)) for x in parts], last)
        return Plan(tuple(steps[:_MAX_STEPS]), tuple(unmatched), max(0, len(steps) - _MAX_STEPS))

    def _steps(
        self, matched: Sequence[tuple[Part, list[Match]]], tool: OfferedTool | None
    ) -> tuple[list[Step], list[Part]]:
        """The steps, and the parts that ask for something no tool fits."""
        context = [x for part, fitting in matched if not fitting for x in part.mentions]
        steps: list[Step] = []
        unmatched: list[Part] = []
        for part, fitting in matched:
            if steps and _asks_for_field(part, fitting):
                steps[-1] = self._also_asked(steps[-1], part)
                continue
            step = self._step(part, fitting, context, steps) if fitting else None
            step = step or self._again(part, tool, steps) or self._recalled(part, steps)
            if step:
                steps += self._with_lookup(step)
                tool = step.tool
            elif part.asks:
                unmatched.append(part)
        return steps, unmatched

    def _fits(self, start: int, end: int) -> bool:
        part = part_of(self._asked, self._mentions, start, end)
        return bool(part and self._ranked(part))

    def _begins(self, part: Part, verbs: frozenset[str]) -> bool:
        return begins_request(part.text, verbs) or changes_unit(part)

    def _ranked(self, part: Part) -> list[Match]:
        ranked = self._matcher.rank(part.matching_text(), hints_in(part))
        return [x for x in ranked if x.fits]

    def _step(
        self,
        part: Part,
        fitting: Sequence[Match],
        context: Sequence[Mention],
        steps: Sequence[Step],
    ) -> Step:
        """The tool that fits the words and whose arguments the part gives best."""
        may_refer = bool(steps) or self._has_earlier
        best: tuple[float, Match, Filled] | None = None
        for match in fitting[:_MAX_NEAR]:
            filled = fill_arguments(
                match.tool, part, match.said, may_refer=may_refer, context=context
            )
            least = _NEAR if filled.used and not filled.missing else _CLOSE
            worth = _worth(match, filled, part, may_come=bool(steps))
            if match.score >= least * fitting[0].score and (best is None or worth > best[0]):
                best = worth, match, filled
        assert best, "the first one is always near enough"
        return Step(part, best[1].tool, best[2], self._waits(part, steps))

    def _with_lookup(self, step: Step) -> list[Step]:
        """The step, after a search for what it calls by name instead of by number."""
        found = (
            None
            if step.filled.needs_earlier
            else lookup(step.part, step.tool, step.filled, self._matcher.tools)
        )
        if found is None:
            return [step]
        search, filled, name = found
        ahead = Step(step.part, search, filled, step.waits)
        return [ahead, replace(step, waits=True, looked_up=name)]

    def _again(self, part: Part, tool: OfferedTool | None, steps: Sequence[Step]) -> Step | None:
        """`And in Paris?`: the same tool once more, when nothing but a value is said."""
        if tool is None or any(not is_stop(x.stem) for x in words(_without_values(part))):
            return None
        filled = fill_arguments(tool, part, frozenset())
        said_before = [call for x in steps if x.tool is tool for call in x.filled.calls]
        if not filled.used or all(x in said_before for x in filled.calls):
            return None
        return Step(part, tool, filled, self._waits(part, steps))

    def _recalled(self, part: Part, steps: Sequence[Step]) -> Step | None:
        """`What is my name?`: no tool for that, but perhaps it was remembered."""
        found = recall(part, self._matcher.tools) if part.asks else None
        return Step(part, *found, self._waits(part, steps)) if found else None

    def _also_asked(self, step: Step, part: Part) -> Step:
        text = self._asked[step.part.start : part.end]
        return replace(step, part=replace(step.part, text=text, end=part.end))

    def _waits(self, part: Part, steps: Sequence[Step]) -> bool:
        lead = (
            self._asked[: part.start][-30:].rsplit(steps[-1].part.text[-5:], 1)[-1] if steps else ""
        )
        changing = any(x.tool.changes for x in steps)
        return bool(steps) and (changing or bool(_IN_ORDER.search(lead)))


def _asks_for_field(part: Part, fitting: Sequence[Match]) -> bool:
    """`and tell me its author`: no call, but a field of the result that comes before."""
    found = _FIELD.fullmatch(part.text)
    if not found:
        return False
    stems = {x.stem for x in words(found["field"])}
    return not any(stems & x.tool.name_stems for x in fitting)


def _worth(match: Match, filled: Filled, part: Part, *, may_come: bool) -> float:
    """The match's score, less for values that are missing and for stated ones left unused."""
    score = min(match.score, 1e6)
    if filled.missing:
        score *= _MISSING_MAY_COME if may_come else _MISSING
    if filled.is_guess:
        score *= _GUESSED
    if not all(
        path_suits(x, match.tool.name_stems, filled.calls[0].get(x.name))
        for x in match.tool.parameters
    ):
        score *= _WRONG_PATH
    stated = [x for x in part.mentions if x.kind in _STATED]
    if stated:
        used = sum(x in filled.used for x in stated)
        score *= 1 - _UNUSED_VALUES * (1 - used / len(stated))
    return score


def _without_values(part: Part) -> str:
    text = part.text
    for mention in part.mentions:
        if mention.kind != "phrase":
            start, end = mention.start - part.start, mention.end - part.start
            text = text[:start] + " " * (end - start) + text[end:]
    return text
