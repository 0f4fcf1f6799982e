"""The plan for a request: one step for each part that a tool fits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from ....core.provider_schema import FunctionSpec
from ....planning.reading.arguments import Filled, fill_arguments
from ....planning.reading.candidates import path_suits
from ....planning.reading.hints import changes_unit, hints_in
from ....planning.reading.mentions import Mention, find_mentions
from ....planning.reading.parts import Part, begins_request, part_of, split_parts
from ....planning.reading.tools import WordedTool
from ....planning.reading.words import is_generic, is_stop, name_words, words
from .finding import Finder, Search, is_meta, query_of
from .lookup import lookup, recall
from .matching import Match, ToolMatcher, matcher_of

_MAX_STEPS = 8  # More is no sentence a person said, but a text that was pasted.
_MAX_NEAR = 8  # of those that fit; whose arguments fit better may be meant
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
_STATED = frozenset(
    ("name", "zone", "date", "time", "datetime", "number", "path", "url", "email", "quoted", "id")
)
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
    tool: WordedTool
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
    asked: str, functions: Sequence[FunctionSpec], today: date, before: Before, finder: Finder
) -> Plan:
    """Plan a request. Where the functions do not fit well, a step searches for one that does."""
    return _Planner(
        asked, find_mentions(asked, today), matcher_of(functions), before, finder
    ).plan()


@dataclass
class _Planner:
    """Plans one request; `context` are the values that are stated beside what it asks for."""

    asked: str
    mentions: Sequence[Mention]
    matcher: ToolMatcher
    before: Before
    finder: Finder
    context: list[Mention] = field(default_factory=list[Mention])
    steps: list[Step] = field(default_factory=list[Step])
    unmatched: list[Unmatched] = field(default_factory=list[Unmatched])

    def plan(self) -> Plan:
        """A step for each part that a tool fits, in order."""
        matched = [(x, self._ranked(x)) for x in self._parts()]
        asking = [part for part, _ in matched if part.asks]
        self.context += [
            x for part, fitting in matched if not (fitting or part.asks) for x in part.mentions
        ]
        for part, fitting in matched:
            if self.steps and _asks_for_field(part, fitting):
                self.steps[-1] = self._also_asked(self.steps[-1], part)
            elif not (part.states and asking and self.finder.tool):
                self._add(part, fitting)
        left_out = max(0, len(self.steps) - _MAX_STEPS)
        return Plan(tuple(self.steps[:_MAX_STEPS]), tuple(self.unmatched), left_out)

    def _parts(self) -> list[Part]:
        parts = split_parts(self.asked, self.mentions, self._fits, self._begins)
        return _with_statements(parts) if self.finder.tool else parts

    def _add(self, part: Part, fitting: Sequence[Match]) -> None:
        step = self._step(part, fitting) or self._recalled(part)
        if step:
            self.steps += self._with_lookup(step)
        elif part.asks or self._search(part):
            self.unmatched.append(Unmatched(part, self._search(part)))

    def _step(self, part: Part, fitting: Sequence[Match]) -> Step | None:
        """A tool that is shown; in doubt one that a search finds, or that search itself."""
        shown = self._best(part, fitting)
        if shown and not (self.finder.tool and shown.doubt > _MOST_DOUBT):
            return shown
        step = self._again(part)
        if step or self.finder.tool is None:
            return step or shown
        search = self._search(part)
        if search is None:
            found = self.finder.step(part)
            return Step(part, *found) if found else shown
        return self._best(part, self._found(part, search), is_found=True) or shown

    def _fits(self, start: int, end: int) -> bool:
        part = part_of(self.asked, self.mentions, start, end)
        if part and self.finder.tool:
            return len(query_of(part).split()) > 1
        return bool(part and self._ranked(part))

    def _begins(self, part: Part) -> bool:
        # The parts stay the same when a search has found tools.
        tools = () if self.finder.tool else self.matcher.tools
        verbs = frozenset(x for tool in tools for x in name_words(tool.name)[-2:])
        return begins_request(part.text, verbs) or changes_unit(part)

    def _ranked(self, part: Part) -> list[Match]:
        """The tools that fit, but not those that were searched for another part."""
        ranked = self.matcher.rank(part.matching_text(), hints_in(part))
        elsewhere = self.finder.new - self.before.called
        return [x for x in ranked if x.fits and x.tool.name not in elsewhere]

    def _found(self, part: Part, search: Search) -> list[Match]:
        return self.matcher.among(search.names, part.matching_text(), hints_in(part))

    def _best(self, part: Part, fitting: Sequence[Match], *, is_found: bool = False) -> Step | None:
        """The tool that fits the words and whose arguments the part gives best."""
        may_refer = bool(self.steps) or self.before.has_results
        filled = [
            fill_arguments(
                x.tool, part, x.said, may_refer=may_refer, context=self.context, eager=is_found
            )
            for x in fitting[:_MAX_NEAR]
        ]
        worth = [
            _worth(match, x, part, may_come=bool(self.steps))
            for match, x in zip(fitting, filled, strict=False)
        ]
        if not worth:
            return None
        best = worth.index(max(worth))
        doubt = _doubt(fitting[best], filled[best])
        return Step(part, fitting[best].tool, filled[best], self._waits(part), doubt=doubt)

    def _search(self, part: Part) -> Search | None:
        return self.finder.done.get(query_of(part))

    def _with_lookup(self, step: Step) -> list[Step]:
        """The step, after a search for what it calls by name instead of by number."""
        found = (
            None
            if step.filled.needs_earlier
            else lookup(step.part, step.tool, step.filled, self.matcher)
        )
        if found is None:
            return [step]
        search, filled, name = found
        ahead = Step(step.part, search, filled, step.waits)
        return [ahead, replace(step, waits=True, looked_up=name)]

    def _again(self, part: Part) -> Step | None:
        """`And in Paris?`: the same tool once more, when nothing but a value is said."""
        tool = self._last_tool()
        if tool is None or any(not is_stop(x.stem) for x in words(_without_values(part))):
            return None
        filled = fill_arguments(tool, part, frozenset())
        said_before = [call for x in self.steps if x.tool is tool for call in x.filled.calls]
        if not filled.used or all(x in said_before for x in filled.calls):
            return None
        return Step(part, tool, filled, self._waits(part))

    def _last_tool(self) -> WordedTool | None:
        """The tool of the step before, or of the request before.

        A change is not repeated by a bare value: "8" after "return book 7" may mean anything.
        """
        own = [x.tool for x in self.steps if not is_meta(x.tool.name)]
        named = (x for x in self.matcher.tools if x.name == self.before.last_tool)
        return own[-1] if own else next((x for x in named if not x.changes), None)

    def _recalled(self, part: Part) -> Step | None:
        """`What is my name?`: no tool for that, but perhaps it was remembered."""
        found = recall(part, self.matcher.tools) if part.asks else None
        return Step(part, *found, self._waits(part)) if found else None

    def _also_asked(self, step: Step, part: Part) -> Step:
        text = self.asked[step.part.start : part.end]
        return replace(step, part=replace(step.part, text=text, end=part.end))

    def _waits(self, part: Part) -> bool:
        if not self.steps:
            return False
        lead = self.asked[: part.start][-30:].rsplit(self.steps[-1].part.text[-5:], 1)[-1]
        return any(x.tool.changes for x in self.steps) or bool(_IN_ORDER.search(lead))


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
