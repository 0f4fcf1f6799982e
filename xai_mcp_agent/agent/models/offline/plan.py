"""The plan for a request: one step for each part that a tool fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from ....core.provider_schema import FunctionSpec
from .arguments import Filled, fill_arguments
from .candidates import path_suits
from .finding import Finder, Search, is_meta, query_of
from .hints import changes_unit, hints_in
from .lookup import lookup, recall
from .matching import Match, OfferedTool, matcher_of
from .mentions import Mention, find_mentions
from .parts import Part, begins_request, part_of, split_parts
from .words import is_generic, is_stop, name_words, words

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
# A tool that is shown is not used at once when half of what is said does not speak for it.
_MOST_DOUBT = 0.5
_IN_ORDER = re.compile(r"\b(?:then|after that|afterwards|finally|lastly|next)\b", re.I)


@dataclass(frozen=True, slots=True)
class Step:
    """One tool for one part of the request. `waits`: not before the steps ahead of it are done.

    `looked_up` is the name of the thing that the step ahead of it searches for. `doubt` is how much
    of what the part says neither speaks for the tool nor is a value for it.
    """

    part: Part
    tool: OfferedTool
    filled: Filled
    waits: bool = False
    looked_up: str = ""
    doubt: float = 0.0


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A part that asks for something no tool fits, and the search for one, if there was any."""

    part: Part
    search: Search | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What to do for a request."""

    steps: tuple[Step, ...] = ()
    unmatched: tuple[Unmatched, ...] = ()
    left_out: int = field(default=0)


@dataclass(frozen=True)
class Before:
    """What a plan goes on from.

    The tools `called` since the request; the `last_tool` before it, for "and in Paris?";
    `has_results`: there are results of earlier requests that "it" can mean.
    """

    called: frozenset[str] = frozenset()
    last_tool: str = ""
    has_results: bool = False


def make_plan(
    asked: str,
    functions: Sequence[FunctionSpec],
    today: date,
    before: Before,
    finder: Finder,
) -> Plan:
    """Plan a request. Where the functions do not fit well, a step searches for one that does."""
    return _Planner(asked, functions, today, before, finder).plan()


class _Planner:
    def __init__(
        self,
        asked: str,
        functions: Sequence[FunctionSpec],
        today: date,
        before: Before,
        finder: Finder,
    ) -> None:
        self._asked = asked
        self._mentions = find_mentions(asked, today)
        self._matcher = matcher_of(functions)
        self._before = before
        self._finder = finder

    def plan(self) -> Plan:
        """A step for each part that a tool fits, in order."""
        tools, last_tool = self._matcher.tools, self._before.last_tool
        parts = split_parts(self._asked, self._mentions, self._fits, self._begins)
        if self._finder.tool:
            parts = _with_statements(parts)
        # A change is not repeated by a bare value: "8" after "return book 7" may mean anything.
        last = next((x for x in tools if x.spec.name == last_tool and not x.changes), None)
        steps, unmatched = self._steps([(x, self._ranked(x)) for x in parts], last)
        return Plan(tuple(steps[:_MAX_STEPS]), tuple(unmatched), max(0, len(steps) - _MAX_STEPS))

    def _steps(
        self, matched: Sequence[tuple[Part, list[Match]]], tool: OfferedTool | None
    ) -> tuple[list[Step], list[Unmatched]]:
        """The steps, and the parts that ask for something no tool fits."""
        context = [x for part, fitting in matched if not fitting for x in part.mentions]
        asking = [part for part, _ in matched if part.asks]
        steps: list[Step] = []
        unmatched: list[Unmatched] = []
        for part, fitting in matched:
            if steps and _asks_for_field(part, fitting):
                steps[-1] = self._also_asked(steps[-1], part)
                continue
            if part.states and asking and self._finder.tool:
                continue
            step = self._step(part, fitting, context, steps, tool) or self._recalled(part, steps)
            if step:
                steps += self._with_lookup(step)
                tool = tool if is_meta(step.tool.spec.name) else step.tool
            elif part.asks or self._search(part):
                unmatched.append(Unmatched(part, self._search(part)))
        return steps, unmatched

    def _step(
        self,
        part: Part,
        fitting: Sequence[Match],
        context: Sequence[Mention],
        steps: Sequence[Step],
        last: OfferedTool | None,
    ) -> Step | None:
        """A tool that is shown; in doubt one that a search finds, or that search itself."""
        shown = self._best(part, fitting, context, steps)
        if shown and not self._is_doubtful(shown):
            return shown
        step = self._again(part, last, steps)
        if step or self._finder.tool is None:
            return step or shown
        search = self._search(part)
        if search is None:
            return self._searching(part) or shown
        return self._best(part, self._found(part, search), context, steps, is_found=True) or shown

    def _fits(self, start: int, end: int) -> bool:
        part = part_of(self._asked, self._mentions, start, end)
        if part and self._finder.tool:
            return len(query_of(part).split()) > 1
        return bool(part and self._ranked(part))

    def _begins(self, part: Part) -> bool:
        # The parts stay the same when a search has found tools.
        tools = () if self._finder.tool else self._matcher.tools
        verbs = frozenset(x for tool in tools for x in name_words(tool.spec.name)[-2:])
        return begins_request(part.text, verbs) or changes_unit(part)

    def _ranked(self, part: Part) -> list[Match]:
        """The tools that fit, but not those that were searched for another part."""
        ranked = self._matcher.rank(part.matching_text(), hints_in(part))
        elsewhere = self._finder.new - self._before.called
        return [x for x in ranked if x.fits and x.tool.spec.name not in elsewhere]

    def _found(self, part: Part, search: Search) -> list[Match]:
        return self._matcher.among(search.names, part.matching_text(), hints_in(part))

    def _best(
        self,
        part: Part,
        fitting: Sequence[Match],
        context: Sequence[Mention],
        steps: Sequence[Step],
        *,
        is_found: bool = False,
    ) -> Step | None:
        """The tool that fits the words and whose arguments the part gives best."""
        may_refer = bool(steps) or self._before.has_results
        best: tuple[float, Match, Filled] | None = None
        for match in fitting[:_MAX_NEAR]:
            filled = fill_arguments(
                match.tool, part, match.said,
                may_refer=may_refer, context=context, eager=is_found,
            )  # fmt: skip
            least = _NEAR if filled.used and not filled.missing else _CLOSE
            worth = _worth(match, filled, part, may_come=bool(steps))
            if match.score >= least * fitting[0].score and (best is None or worth > best[0]):
                best = worth, match, filled
        if best is None:
            return None
        _, match, filled = best
        return Step(part, match.tool, filled, self._waits(part, steps), doubt=_doubt(match, filled))

    def _is_doubtful(self, step: Step) -> bool:
        """Whether a search may well find a better tool."""
        return self._finder.tool is not None and step.doubt > _MOST_DOUBT

    def _search(self, part: Part) -> Search | None:
        return self._finder.done.get(query_of(part))

    def _searching(self, part: Part) -> Step | None:
        found = self._finder.step(part)
        return Step(part, *found) if found else None

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


def _with_statements(parts: Sequence[Part]) -> list[Part]:
    """The parts, each with what the following ones only state about it."""
    found: list[Part] = []
    for part in parts:
        if found and part.states:
            found[-1] = found[-1].with_statement(part)
        else:
            found.append(part)
    return found


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


def _doubt(match: Match, filled: Filled) -> float:
    given = {x.stem for value in filled.used for x in words(str(value.value))}
    telling = [x for x in (*match.said, *match.unsaid) if not is_generic(x)]
    doubted = [x for x in match.unsaid if x not in given]
    return 1.0 if filled.missing else len(doubted) / max(1, len(telling))


def _without_values(part: Part) -> str:
    text = part.text
    for mention in part.mentions:
        if mention.kind != "phrase":
            start, end = mention.start - part.start, mention.end - part.start
            text = text[:start] + " " * (end - start) + text[end:]
    return text
