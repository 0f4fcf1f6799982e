"""Arguments of a tool from a text and the tool's schema.

Every value is a stretch of the text, and a stretch is used once. What the text does not say
is never made up: it is reported as missing, or taken from an earlier result by who makes the calls.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from .candidates import candidates, chosen, misspelt, opposes, value_of
from .forms import matches, numbered, telling_form
from .leftover import leftover
from .mentions import Mention, number_in, whole
from .named import counted, is_limit, limited, measured, named
from .parameters import Parameter
from .parts import Part
from .places import zone_like
from .tools import WordedTool
from .words import is_generic, is_stop, stem_set, words

_NEGATION = re.compile(
    r"\b(?:no|not|without|don't|dont|never|exclud\w*|skip\w*)\W+(?:\w+\W+)?$", re.I
)
# Perhaps a field of an earlier result: "translate the title".
_A_FIELD = re.compile(r"(?:the|its|their|that|this|his|her) [a-z_]+(?: [a-z_]+)?", re.I)
_LIST_COMMA = re.compile(r",\s*(?:and\s+)?|\s+and\s+")
_ARTICLE = re.compile(r"^(?:an?|the|some)\s+", re.IGNORECASE)
_LONGEST_THING = 3  # words; of a list of things each is short
_AT_PLACE = frozenset({"in", "at", "for", "from", "to"})
_COUNTS = stem_set("count quantity amount qty")
_JOINED = re.compile(r"\s*(?:,|,?\s*(?:and|or)|&)?\s*(?:[a-z]{1,12}\s+)?", re.I)
_BETWEEN = re.compile(r"\s*(?:,|,?\s*(?:and|or)|&)\s*", re.I)
_LEAST_ROW = 3
_TOKEN = re.compile(r"[^\s,;!?\"']+(?<![.,])")
# Kinds that one request may well name several of: "the time in Tokyo, Paris and Rome".
_SPREADS = frozenset({"zone", "quoted", "path", "url", "id", "date", "name", "number", "email"})
# What people say in plain words, without a form that tells it.
_SPOKEN = frozenset({"query", "text", "name", "expression", "id", "person", "place"})
# What has a form of its own is not just any words.
_FORMED = frozenset({"zone", "url", "email", "path", "datetime", "date", "time"})


@dataclass(frozen=True, slots=True)
class Earlier:
    """Stands for a value that an earlier result has. `words` is what refers to it: `it`.

    `literal` is to be taken when no result has a field of that name: `the title`.
    """

    words: str = ""
    literal: Any = None


@dataclass(frozen=True, slots=True)
class Filled:
    """Arguments found for a tool. Several `calls` when the text names several values for one.

    A value may be `Earlier`. `missing` are required parameters that nothing was found for.
    `used` are the stated values that were taken as what they are; `is_guess`: some
    argument is only what was left of the words. `cuts_row`: of three numbers or more in a row each
    parameter takes one, and some are left: they belong together.
    """

    calls: tuple[dict[str, Any], ...]
    missing: tuple[Parameter, ...] = ()
    used: tuple[Mention, ...] = ()
    is_guess: bool = False
    cuts_row: bool = False

    @property
    def needs_earlier(self) -> bool:
        """Whether it cannot be called before earlier results are there."""
        return any(isinstance(value, Earlier) for x in self.calls for value in x.values())


def fill_arguments(
    tool: WordedTool, part: Part, said: frozenset[str], *,
    may_refer: bool = False, context: Sequence[Mention] = (), eager: bool = False,
) -> Filled:  # fmt: skip
    """Find the arguments of a tool in a part of a request.

    `said` are the stems that chose the tool. `may_refer`: there are earlier
    results that words such as "it" can mean. `context` are values stated
    elsewhere in the request, for what the part itself leaves open. `eager`: the tool is surely the
    right one, so that what it requires is taken from any words that may be meant for it.
    """
    filler = _Filler(tool, part, said, tool.parameters, may_refer=may_refer, eager=eager)
    filler.fill()
    filler.fill_from(context)
    return filler.filled()


@dataclass
class _Filler:
    """Fills one tool's parameters from one part; the surest readings first."""

    tool: WordedTool
    part: Part
    said: frozenset[str]
    parameters: Sequence[Parameter]
    may_refer: bool = False
    eager: bool = False
    found: dict[str, Any] = field(default_factory=dict[str, Any])
    sources: dict[str, Mention] = field(default_factory=dict[str, Mention])
    used: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])
    guessed: list[tuple[int, int]] = field(default_factory=list[tuple[int, int]])

    def fill(self) -> None:
        """Take every argument that the part gives."""
        parameters = self._ordered(self.parameters)
        for step in (
            self._take_patterned, self._take_named, self._take_choice, self._take_flag,
            self._take_limit, self._take_number, self._take_mention, self._take_misspelt,
            self._take_list,
            self._take_object, self._take_map, self._take_leftover, self._take_reference,
            self._take_fallback, self._take_any,
        ):  # fmt: skip
            for parameter in parameters:
                if parameter.name not in self.found:
                    step(parameter)

    def fill_from(self, context: Sequence[Mention]) -> None:
        """Take what is still missing from values stated elsewhere."""
        for parameter in self._missing():
            for mention in candidates(parameter, context):
                if mention.kind not in ("quoted", "phrase", "number"):
                    self.found[parameter.name] = value_of(parameter, mention)
                    break

    def filled(self) -> Filled:
        """What was found so far."""
        calls = tuple(self._spread())
        taken = [x for x in self.used if x not in self.guessed]
        used = tuple(
            x
            for x in self.part.mentions
            if any(x.overlaps(*y) for y in (self.used if x.kind == "name" else taken))
        )
        missing = tuple(self._missing())
        return Filled(calls, missing, used, bool(self.guessed), self._cuts_row())

    def _cuts_row(self) -> bool:
        """Whether `4, 8 and 15` is given in part, or to several parameters that take one each."""
        numbers = [x for x in self.part.mentions if x.kind == "number"]
        ends = [x for pair in pairwise(numbers) if _are_listed(self.part, *pair) for x in pair]
        row = {(x.start, x.end) for x in ends}
        taken = [x for x in self.sources.values() if (x.start, x.end) in row]
        return len(row) >= _LEAST_ROW and 0 < len(taken) < len(row)

    def _missing(self) -> list[Parameter]:
        return [x for x in self.parameters if x.required and x.name not in self.found]

    def _ordered(self, parameters: Iterable[Parameter]) -> list[Parameter]:
        """Required ones first, and the first end of a pair before the second."""
        return sorted(parameters, key=lambda x: (not x.is_wanted, x.direction == "to"))

    # What is still free

    def _free(self, *kinds: str) -> list[Mention]:
        return [
            x
            for x in self.part.mentions
            if (not kinds or x.kind in kinds)
            and self._is_free(x)
            and not (x.kind == "name" and self._is_tool_word(x.value))
        ]

    def _is_free(self, mention: Mention) -> bool:
        return not any(mention.overlaps(start, end) for start, end in self.used)

    def _is_tool_word(self, name: str) -> bool:
        return all(x.stem in self.tool.name_stems or is_generic(x.stem) for x in words(name))

    def _set(self, parameter: Parameter, value: Any, mention: Mention) -> None:
        self.found[parameter.name] = value
        self.sources[parameter.name] = mention
        self.used.append((mention.start, mention.end))

    def _has_partner(self, parameter: Parameter) -> bool:
        return any(
            x.direction and x.direction != parameter.direction and x.topic == parameter.topic
            for x in self.parameters
        )

    # The steps, in order

    def _take_patterned(self, parameter: Parameter) -> None:
        """A word that has the form which the schema asks for: `#ff8800`."""
        if parameter.required and parameter.kind == "string" and telling_form(parameter):
            for found in _TOKEN.finditer(self.part.text):
                start, end = found.start() + self.part.start, found.end() + self.part.start
                mention = Mention("quoted", found[0], start, end)
                if self._is_free(mention) and matches(parameter, found[0]):
                    self._set(parameter, found[0], mention)
                    return

    def _take_map(self, parameter: Parameter) -> None:
        """`milk is 1.20 and bread 2.50`, `3 rolls and 2 pies`: things with their numbers."""
        if parameter.values is None or not parameter.values.is_number or not parameter.required:
            return
        numbers = self._free("number")
        found = numbered(self.part, numbers, whole_ones=parameter.values.kind == "integer")
        if found and (len(found) == len(numbers)):
            self.found[parameter.name] = {name: value for name, value, _, _ in found}
            self.used += [(start, end) for _, _, start, end in found]

    def _take_named(self, parameter: Parameter) -> None:
        """`limit 5`, `with message "x"`, `timezone: Europe/Paris`."""
        is_plain = parameter.kind not in ("array", "object")
        if is_plain and (x := named(parameter, self.part, self._free(), bare=self.eager)):
            self._try(parameter, [x])

    def _take_choice(self, parameter: Parameter) -> None:
        if not parameter.choices or parameter.kind in ("array", "object", "boolean"):
            return
        if parameter.strict and len(parameter.choices) == 1 and parameter.required:
            self.found[parameter.name] = parameter.choices[0]
            return
        free, partner = self._free(), self._has_partner(parameter)
        named_ones = chosen(parameter, self.part.text, self.part.start, free)
        if not named_ones and parameter.has_fixed_choices:
            named_ones = misspelt(parameter, self.part.text, self.part.start)
        for mention, value in named_ones:
            if self._is_free(mention) and not (partner and opposes(parameter, mention)):
                self._set(parameter, value, mention)
                return

    def _take_flag(self, parameter: Parameter) -> None:
        if parameter.kind != "boolean":
            return
        telling = [x for x in parameter.stems if not (is_stop(x) or is_generic(x))]
        at = [x for x in words(self.part.text) if x.stem in telling]
        if telling and {x.stem for x in at} >= set(telling):
            self.found[parameter.name] = not _NEGATION.search(self.part.text[: at[0].start])
        elif parameter.required:
            self.found[parameter.name] = bool(parameter.fallback)

    def _take_limit(self, parameter: Parameter) -> None:
        """`the first 3`, `at most 5 results`, `10 days`."""
        if parameter.is_number:
            numbers = self._free("number")
            told = [
                *limited(parameter, self.part, numbers),
                *counted(parameter, self.part, numbers),
            ]
            if not told and _COUNTS & set(parameter.stems) and any(map(_is_thing, self.parameters)):
                told = [x for x in numbers if whole(x.value) is not None]
            self._try(parameter, told[:1])

    def _take_number(self, parameter: Parameter) -> None:
        if not parameter.is_number or not parameter.required or parameter.has_fixed_choices:
            return
        kinds = ("number", "id", "reference") if self.may_refer else ("number", "id")
        numbers = [x for x in self._free(*kinds) if not is_limit(self.part, x)]
        if parameter.topic == "id":
            numbers = [x for x in numbers if not self._counts(x)]
        if self.may_refer and self._continues(numbers):
            self.found[parameter.name] = Earlier()
        else:
            self._try(parameter, _first_operand_first(parameter, numbers))

    def _counts(self, number: Mention) -> bool:
        """Whether a number says how many of something: `3 books` is not book 3."""
        return any(x.kind == "unit" and 0 <= x.start - number.end <= 1 for x in self.part.mentions)

    def _continues(self, numbers: Sequence[Mention]) -> bool:
        """`then divide by 4`: what comes before the first number is the earlier result."""
        open_ones = [x for x in self._missing() if x.is_number]
        said = any(x.kind == "reference" for x in self.part.mentions)
        return len(open_ones) == 2 and len(numbers) == 1 and not said

    def _take_mention(self, parameter: Parameter) -> None:
        if parameter.kind == "string" and not parameter.has_fixed_choices:
            partner = self._has_partner(parameter)
            free = [x for x in self._free() if x.kind != "number" or not is_limit(self.part, x)]
            self._try(parameter, candidates(parameter, free, has_partner=partner))

    def _take_misspelt(self, parameter: Parameter) -> None:
        """`in New Yrok`: the place that was meant."""
        if parameter.topic == "zone" and not any(x.kind == "zone" for x in self.part.mentions):
            for name in self._free("name"):
                if name.before in _AT_PLACE and (zone := zone_like(str(name.value))):
                    self._set(parameter, zone, name)
                    return

    def _take_list(self, parameter: Parameter) -> None:
        if parameter.kind != "array" or parameter.item is None:
            return
        item = parameter.item
        if item.choices:
            found = chosen(item, self.part.text, self.part.start, self._free())
            pairs = sorted(found, key=lambda pair: pair[0].start)
        elif not parameter.required:
            return
        else:
            free = self._free("number") if item.is_number else candidates(item, self._free())
            listed = sorted(free, key=lambda x: x.start)
            pairs = [(x, value) for x in listed if (value := value_of(item, x)) is not None]
        values = list(dict.fromkeys(value for _, value in pairs))
        if values:
            self.found[parameter.name] = values
            self.used += [(x.start, x.end) for x, _ in pairs]

    def _take_object(self, parameter: Parameter) -> None:
        if parameter.kind != "object" or not parameter.fields:
            return
        inner = _Filler(self.tool, self.part, self.said, parameter.fields, used=self.used)
        inner.fill()
        if inner.found and not inner.filled().missing:
            self.found[parameter.name] = inner.found

    def _take_leftover(self, parameter: Parameter) -> None:
        """For what to search, say or define: the words that nothing else has used."""
        if not self._wants_leftover(parameter):
            return
        text = leftover(parameter, self.tool, self.part, self.used, self.said)
        if text is None or self._only_refers(text) or not matches(parameter, text.value):
            return
        self.guessed.append((text.start, text.end))
        value: Any = text.value
        if self.may_refer and _A_FIELD.fullmatch(self._with_article(text)):
            value = Earlier(text.value, literal=text.value)
        elif parameter.kind == "array":
            value = _LIST_COMMA.split(text.value)
        self._set(parameter, value, text)

    def _only_refers(self, text: Mention) -> bool:
        """Whether the words left over say nothing themselves: `shout it`."""
        return self.may_refer and all(is_stop(x.stem) for x in words(text.value))

    def _with_article(self, text: Mention) -> str:
        before = self.part.text[: text.start - self.part.start].split()[-1:]
        return " ".join([*before, text.value])

    def _wants_leftover(self, parameter: Parameter) -> bool:
        if parameter.kind == "array":
            item = parameter.item
            return parameter.required and item is not None and item.kind == "string"
        if parameter.kind != "string" or parameter.choices or parameter.topic not in _SPOKEN:
            return False
        if parameter.is_main:
            return True
        if parameter.required:
            # With several, nobody can tell which of them the words are for.
            open_ones = [x for x in self._missing() if x.kind == "string" and x.topic in _SPOKEN]
            return self.eager or len(open_ones) == 1
        return False

    def _take_reference(self, parameter: Parameter) -> None:
        """`it`, `the result`: whatever is needed most and not said in words."""
        if self.may_refer and parameter.is_wanted:
            self._try(parameter, self._free("reference")[:1])

    def _take_fallback(self, parameter: Parameter) -> None:
        value = parameter.fallback
        allowed = not parameter.has_fixed_choices or value in parameter.choices
        if parameter.required and value is not None and allowed:
            self.found[parameter.name] = value

    def _take_any(self, parameter: Parameter) -> None:
        """What is said and nothing else has used; a choice of which any word is said."""
        if not self.eager or not parameter.required:
            return
        if parameter.has_fixed_choices:
            self._take_nearest_choice(parameter)
        elif parameter.kind == "string" and parameter.topic not in _FORMED:
            free = self._free("quoted", "name", "id", "phrase", "number")
            self._try(parameter, [self._without_name(parameter, x) for x in free])
            is_open = parameter.name not in self.found and parameter.topic in ("query", "text")
            if is_open and not parameter.pattern:
                self.found[parameter.name] = self.part.text.strip(" .?!")

    def _without_name(self, parameter: Parameter, mention: Mention) -> Mention:
        """`namespace default` is `default` for a namespace."""
        first, _, rest = str(mention.value).partition(" ")
        is_name = mention.kind == "phrase" and rest and words(first)[:1]
        is_own = is_name and is_name[0].stem in parameter.stems
        return replace(mention, value=rest) if is_own else mention

    def _take_nearest_choice(self, parameter: Parameter) -> None:
        said = {x.stem for x in words(self.part.text) if not is_stop(x.stem)}
        shared = [len(said & {x.stem for x in words(str(value))}) for value in parameter.choices]
        if any(shared):
            self.found[parameter.name] = parameter.choices[shared.index(max(shared))]

    def _try(self, parameter: Parameter, mentions: Iterable[Mention]) -> None:
        """Take the first mention that gives a value of the right type."""
        free = self._free()
        for mention in mentions:
            value = self._value(parameter, mention, free)
            if value is not None:
                self._set(parameter, value, mention)
                return

    def _value(self, parameter: Parameter, mention: Mention, free: Sequence[Mention] = ()) -> Any:
        """The mention as a value of the parameter; None when it cannot be one."""
        if mention.kind == "reference":
            return Earlier(mention.value)
        value = value_of(parameter, mention, free)
        if not matches(parameter, value):
            return None
        if parameter.has_fixed_choices and value not in parameter.choices:
            return None
        if value is None or mention.kind != "number" or not parameter.is_number:
            return value
        value = measured(parameter, self.part, mention, value)
        return whole(value) if parameter.kind == "integer" else value

    def _spread(self) -> list[dict[str, Any]]:
        """One call for each of several values that are joined by commas or "and"."""
        for parameter in self.parameters:
            source = self.sources.get(parameter.name)
            if source is not None and parameter.is_thing and source.kind == "phrase":
                each = [_ARTICLE.sub("", x) for x in _LIST_COMMA.split(str(source.value)) if x]
                if all(len(x.split()) <= _LONGEST_THING for x in each):
                    return [{**self.found, **self._counted(parameter, x)} for x in each]
            if source is None or source.kind not in _SPREADS:
                continue
            values = [self._value(parameter, x) for x in self._joined(source)]
            if all(x is not None for x in values):
                each = list(dict.fromkeys([self.found[parameter.name], *values]))
                if len(each) > 1:
                    self.used += [(x.start, x.end) for x in self._joined(source)]
                    return [{**self.found, parameter.name: x} for x in each]
        return [dict(self.found)]

    def _counted(self, parameter: Parameter, thing: str) -> dict[str, Any]:
        """`2 pears` as a thing, and how many of it where the tool takes that, too."""
        count = next((x for x in self.parameters if _COUNTS & set(x.stems)), None)
        first, _, rest = thing.partition(" ")
        many = number_in(first) if count and rest else None
        whole_many = None if many is None else whole(many)
        if count is None or whole_many is None:
            return {parameter.name: thing}
        return {parameter.name: rest, count.name: whole_many}

    def _joined(self, source: Mention) -> list[Mention]:
        found: list[Mention] = []
        end = source.end
        for mention in self._free(source.kind):
            stretch = slice(end - self.part.start, max(0, mention.start - self.part.start))
            between = self.part.text[stretch]
            if mention.start >= end and between.strip() and _JOINED.fullmatch(between):
                found.append(mention)
                end = mention.end
        return found


def _are_listed(part: Part, first: Mention, second: Mention) -> bool:
    """Whether two numbers stand beside each other in a list."""
    between = part.text[first.end - part.start : second.start - part.start]
    return bool(between.strip()) and bool(_BETWEEN.fullmatch(between))


def _is_thing(parameter: Parameter) -> bool:
    return parameter.is_thing


def _first_operand_first(parameter: Parameter, numbers: Sequence[Mention]) -> list[Mention]:
    """`subtract 3 from 10` starts with the 10."""
    if parameter.direction or len(numbers) != 2 or numbers[1].before != "from":
        return list(numbers)
    return [numbers[1], numbers[0]]
