"""The steps of a request: one for each part that a tool surely serves."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..reading.arguments import Filled, fill_arguments
from ..reading.candidates import path_suits
from ..reading.hints import ADD, changes_unit, converts, hints_in, wants_thing
from ..reading.mentions import Mention, mentions_in
from ..reading.parameters import Parameter
from ..reading.parts import Part, begins_request, part_of, split_parts
from ..reading.tools import WordedTool
from ..reading.words import is_generic, is_stop, name_words, plain_name, superlative_in, words
from .looking import asks_for_all, by_values, looks, may_look, sought, whole_list
from .lookup import Givers, lookup, recall
from .matching import Match, ToolMatcher
from .searching import MOST_FOUND, WIDELY, Search, query_of
from .situation import Situation

_MAX_STEPS = 8  # More is no sentence a person said, but a text that was pasted.
_MAX_NEAR = 8  # of those that fit; whose arguments fit better may be meant
_MISSING, _MISSING_MAY_COME = 0.6, 0.85
_LEAST_READY = 0.15  # of the best, for a tool that can be called where that one cannot
_OTHER_UNITS = 0.1  # A tool that converts between others than those that are stated.
_WRONG_PATH = 0.25  # A file where a folder is wanted.
_GUESSED = 0.9  # An argument that is only what was left of the words.
_CUTS_ROW = 0.25
_UNUSED_VALUES = 0.5  # How much a tool is doubted that uses none of the values stated.
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
_SEARCHING = frozenset(name_words("search_find_look_lookup"))
_IN_ORDER = re.compile(r"\b(?:then|after that|afterwards|finally|lastly|next)\b", re.I)


@dataclass(frozen=True, slots=True)
class Step:
    """One tool for one part of the request. `waits`: not before the steps ahead of it are done.

    `looked_up` is the name of the thing that the step ahead of it searches for. `doubt` is how much
    of what the part says neither speaks for the tool nor is a value for it. `looks`: it is one of
    several that may find what the part asks about.
    """

    part: Part
    tool: WordedTool
    filled: Filled
    waits: bool = False
    looked_up: str = ""
    doubt: float = 0.0
    looks: bool = False


@dataclass(frozen=True, slots=True)
class Steps:
    """What to do for a request; `unmatched` are the parts that no tool surely serves."""

    steps: tuple[Step, ...] = ()
    unmatched: tuple[Part, ...] = ()
    left_out: int = 0


@dataclass
class CarefulChooser:
    """Chooses for one request; `context` are values that are stated beside what it asks for."""

    asked: str
    matcher: ToolMatcher
    situation: Situation
    givers: Givers
    mentions: Sequence[Mention] = ()
    context: list[Mention] = field(default_factory=list[Mention])
    steps: list[Step] = field(default_factory=list[Step])
    unmatched: list[Part] = field(default_factory=list[Part])

    def choose(self) -> Steps:
        """A step for each part that a tool surely serves, in order."""
        self.mentions = mentions_in(self.asked, self.situation.today)
        matched = [(x, self._ranked(x)) for x in self._parts()]
        asking = [part for part, _ in matched if part.asks]
        self.context += [
            x for part, fitting in matched if not (fitting or part.asks) for x in part.mentions
        ]
        for part, fitting in matched:
            if self.steps and _asks_for_field(part, fitting):
                self.steps[-1] = self._also_asked(self.steps[-1], part)
            elif not (part.states and asking and self._search_tool):
                self._add(part, fitting, is_alone=len(asking) < 2)
        left_out = max(0, len(self.steps) - _MAX_STEPS)
        return Steps(tuple(self.steps[:_MAX_STEPS]), tuple(self.unmatched), left_out)

    def _parts(self) -> list[Part]:
        parts = split_parts(self.asked, self.mentions, self._fits, self._begins)
        return _with_statements(parts) if self._search_tool else parts

    def _add(self, part: Part, fitting: Sequence[Match], *, is_alone: bool) -> None:
        step = self._step(part, fitting) or self._recalled(part)
        looking = self._looking(part, fitting, step) if is_alone and not self.steps else []
        if giver := self._giver_search(step):
            self.steps.append(giver)
        elif looking:
            self.steps += looking
        elif step:
            self.steps += self._with_lookup(step)
        elif part.asks or self._search(part):
            self.unmatched.append(part)

    def _step(self, part: Part, fitting: Sequence[Match]) -> Step | None:
        """A tool that is shown; in doubt one that a search finds, or that search itself."""
        shown = self._best(part, fitting)
        if shown and _leaves_name(shown):
            wider = self._best(part, self._ranked(part, widely=True))
            shown = wider if wider and not _leaves_name(wider) else shown
        if shown and not (self._search_tool and shown.doubt > _MOST_DOUBT):
            return shown
        step = self._again(part)
        if step or self._search_tool is None:
            return step or shown
        search = self._search(part)
        if search is None:
            return self._searching(part) or shown
        return self._best(part, self._found(part, search), is_found=True) or shown

    def _looking(self, part: Part, fitting: Sequence[Match], step: Step | None) -> list[Step]:
        """Steps that may find what the part asks about, where none surely does."""
        if whole := self._whole(part, fitting, step):
            return [whole]
        if step and not self._may_look_instead(step):
            return []
        shown = self._shown(part, fitting)
        if found := by_values(part, shown):
            return [Step(part, *found, self._waits(part))]
        if not may_look(part):
            return []
        search = self._search(part)
        may_search = step is None and self._search_tool and not (search and search.error)
        if may_search and WIDELY not in self.situation.search.done:
            return [self._wide_search(part)]
        near = [x.tool for x in fitting]
        calls = looks(part, near, () if step else shown)
        # What a search for the words finds is enough: only where it finds nothing others are asked.
        waits = step is not None
        found = [Step(part, *x, waits, looks=True) for x in calls if not _is_step(x, step)]
        return [step, *found] if step and found else found

    def _giver_search(self, step: Step | None) -> Step | None:
        """A search for the tool that gives the id which a step lacks, where none is shown."""
        if step is None or self._search_tool is None or len(step.filled.missing) != 1:
            return None
        lacking = step.filled.missing[0]
        query = f"search {' '.join(x for x in plain_name(lacking.name).split() if x != 'id')}"
        if lacking.topic != "id" or query in self.situation.search.done:
            return None
        if lookup(step.part, step.tool, step.filled, self.givers):
            return None
        key = self._search_tool
        return Step(step.part, WordedTool(key, str(key), "", {}), Filled(({"query": query},)))

    def _wide_search(self, part: Part) -> Step:
        key = self._search_tool
        arguments = {"query": WIDELY, "max_results": MOST_FOUND}
        return Step(part, WordedTool(key, str(key), "", {}), Filled((arguments,)))

    def _whole(self, part: Part, fitting: Sequence[Match], step: Step | None) -> Step | None:
        """A search that gives everything, for `all books` and `the oldest book`."""
        if not (asks_for_all(part) or superlative_in(part.text)) or (step and step.tool.changes):
            return None
        for match in fitting:
            things = match.said & match.tool.name_stems
            elsewhere = step and step.tool is not match.tool and things <= step.tool.name_stems
            arguments = whole_list(match.tool) if match.tool.only_reads else None
            left = [x for x in sought(part) if name_words(x)[0] not in match.tool.stems]
            if arguments is not None and things and not elsewhere and not left:
                return Step(part, match.tool, Filled((arguments,)))
        return None

    def _may_look_instead(self, step: Step) -> bool:
        """Whether a step lacks what nothing gives, or searches for what was left of the words."""
        if step.tool.key == self._search_tool or step.tool.changes or step.filled.needs_earlier:
            return False
        if step.filled.missing:
            return not (self.steps or lookup(step.part, step.tool, step.filled, self.givers))
        searches = bool(step.tool.name_stems & _SEARCHING) and step.tool.takes_any_words
        return step.filled.is_guess and searches

    def _shown(self, part: Part, fitting: Sequence[Match]) -> list[WordedTool]:
        """The tools that may be looked into: those that fit, then all others that are there."""
        search = self.situation.search.done.get(WIDELY)
        keys = search.names if search else ()
        found = [y for x in keys if (y := self.matcher.find(x))]
        return list(dict.fromkeys([*(x.tool for x in fitting), *found, *self.matcher.tools]))

    def _fits(self, start: int, end: int) -> bool:
        part = part_of(self.asked, self.mentions, start, end)
        if part and self._search_tool:
            return len(query_of(part).split()) > 1
        return bool(part and self._ranked(part))

    def _begins(self, part: Part) -> bool:
        # The parts stay the same when a search has found tools.
        tools = () if self._search_tool else self.matcher.tools
        verbs = frozenset(x for tool in tools for x in name_words(tool.name)[-2:])
        return begins_request(part.text, verbs) or changes_unit(part)

    def _ranked(self, part: Part, *, widely: bool = False) -> list[Match]:
        """The tools that fit, but not those that were searched for another part."""
        ranked = self.matcher.rank(part.matching_text(), hints_in(part), widely=widely)
        elsewhere = self.situation.search.new - self.situation.called
        fitting = [x for x in ranked if x.fits and x.tool.key not in elsewhere]
        return fitting or self._for_wanted_things(part)

    def _for_wanted_things(self, part: Part) -> list[Match]:
        """The tools that put things on a list, where somebody says no more than what is needed."""
        if not wants_thing(part):
            return []
        ranked = self.matcher.rank(part.matching_text(), {ADD: 1.0})
        return [x for x in ranked if x.fits and x.tool.adds_things]

    def _found(self, part: Part, search: Search) -> list[Match]:
        return self.matcher.among(search.names, part.matching_text(), hints_in(part))

    def _best(self, part: Part, fitting: Sequence[Match], *, is_found: bool = False) -> Step | None:
        """The tool that fits the words and whose arguments the part gives best."""
        may_refer = bool(self.steps) or self.situation.has_results
        filled = [
            fill_arguments(
                x.tool, part, x.said, may_refer=may_refer, context=self.context, eager=is_found
            )
            for x in fitting[:_MAX_NEAR]
        ]
        filled = [self._until_today(x.tool, y) for x, y in zip(fitting, filled, strict=False)]
        worth = [
            _worth(match, x, part, may_come=bool(self.steps))
            for match, x in zip(fitting, filled, strict=False)
        ]
        if not worth:
            return None
        best = worth.index(max(worth))
        if filled[best].missing and not may_refer:
            best = self._ready(part, fitting, filled, worth)
        doubt = _doubt(fitting[best], filled[best])
        return Step(part, fitting[best].tool, filled[best], self._waits(part), doubt=doubt)

    def _until_today(self, tool: WordedTool, filled: Filled) -> Filled:
        """Where one end of a time is said, the other one is today: `how many days until May 1`."""
        missing = filled.missing
        if len(missing) != 1 or missing[0].topic != "date" or not tool.only_reads:
            return filled
        ends = [x for x in tool.parameters if x.topic == "date" and x.direction]
        if missing[0] not in ends or len(ends) != 2:
            return filled
        today = self.situation.today.isoformat()
        given = [x.get(y.name) for x in filled.calls for y in ends if y is not missing[0]]
        if today in given:
            return filled
        calls = [_in_order({**x, missing[0].name: today}, ends) for x in filled.calls]
        return replace(filled, calls=tuple(calls), missing=())

    def _ready(
        self, part: Part, fitting: Sequence[Match], filled: Sequence[Filled],
        worth: Sequence[float],
    ) -> int:  # fmt: skip
        """The best one, or one that only reads and lacks nothing where the best one lacks what
        nothing can give."""
        best = worth.index(max(worth))
        tool = fitting[best].tool
        if tool.changes or lookup(part, tool, filled[best], self.givers):
            return best
        least = _LEAST_READY * max(worth)
        complete = (n for n, x in enumerate(filled) if not x.missing and worth[n] >= least)
        ready = [n for n in complete if fitting[n].tool.only_reads or _is_told(fitting[n], part)]
        return max(ready, key=lambda n: worth[n], default=best)

    def _search(self, part: Part) -> Search | None:
        return self.situation.search.done.get(query_of(part))

    def _searching(self, part: Part) -> Step | None:
        """The search for a tool for this part, if there is something to search for."""
        query, key = query_of(part), self._search_tool
        if not query:
            return None
        return Step(part, WordedTool(key, str(key), "", {}), Filled(({"query": query},)))

    @property
    def _search_tool(self) -> Any:
        return self.situation.search.tool

    def _with_lookup(self, step: Step) -> list[Step]:
        """The step, after a search for what it calls by name instead of by number."""
        found = (
            None
            if step.filled.needs_earlier
            else lookup(step.part, step.tool, step.filled, self.givers)
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
        own = [x.tool for x in self.steps if x.tool.key != self._search_tool]
        last = own[-1] if own else self.matcher.find(self.situation.last_tool)
        return last if own or (last and not last.changes) else None

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


def _in_order(call: dict[str, Any], ends: Sequence[Parameter]) -> dict[str, Any]:
    """The call with the earlier date at its beginning."""
    names = [x.name for x in sorted(ends, key=lambda x: x.direction != "from")]
    values = sorted((call[x] for x in names), key=str)
    return {**call, **dict(zip(names, values, strict=True))}


def _is_told(match: Match, part: Part) -> bool:
    """Whether a part begins with what a tool does and also says what it does it to."""
    first = {x.stem for x in words(part.text)[:1]}
    return bool(first & match.tool.changes) and len(match.said & match.tool.stems - first) > 0


def _leaves_name(step: Step) -> bool:
    """Whether somebody or something is named that the step has no use for."""
    named = (x for x in step.part.mentions if x.kind == "name")
    return step.tool.only_reads and any(x not in step.filled.used for x in named)


def _is_step(call: tuple[WordedTool, Filled], step: Step | None) -> bool:
    """Whether a step makes this call already, or would if it had what it lacks."""
    if step is None or call[0] is not step.tool:
        return False
    return bool(step.filled.missing) or call[1].calls == step.filled.calls


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
    score = min(match.score, 1e6) * (1.0 if converts(match.tool.name, part) else _OTHER_UNITS)
    if filled.missing:
        score *= _MISSING_MAY_COME if may_come else _MISSING
    score *= _GUESSED if filled.is_guess else 1.0
    score *= _CUTS_ROW if filled.cuts_row else 1.0
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
