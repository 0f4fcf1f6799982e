"""Which tools some words surely mean: an index ranks them, and rules say which may be used."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...core.json import JsonObject
from ...core.tools import Tool
from ...search.terms import singular
from ...search.tools import initials, key_of
from ..choosing import Words
from ..reading.tools import CHANGING, READING, WordedTool, told_stems
from ..reading.vocabulary import QUESTION_WORDS, SEARCHING_WORDS
from ..reading.words import base_form, is_generic, name_words, related, stem, words

# A request begins with what is to be done, and so do most descriptions.
_SAME_VERB = 1.2
_IN_NAME = 1.3  # A tool that is called what is said: others mention it.
# How much less the second says than the first where a search ranked them. More would have a tool
# that needs nothing be called in place of a better one that lacks a value; then to ask is right.
_NEXT_PLACE = 0.6
_MOST_RANKED = 24  # the needed one is hardly ever further down
# Of the words that say something, how many must speak for a tool: few when one is in its name,
# more when all are in its description, most when it is a single one.
_LEAST_SHARE, _LEAST_SHARE_DESCRIBED, _LEAST_SHARE_OF_ONE = 0.15, 0.25, 0.5
_LEAST_DESCRIPTION_WORDS = 2
_SEARCHING, _QUESTIONS = (
    frozenset(map(stem, x)) for x in (SEARCHING_WORDS, QUESTION_WORDS - {"do", "can"})
)
_RECKONING, _CALCULATE = frozenset(map(stem, ("add",))), stem("calculate")
_INFLECTED = re.compile(r"(?<=\w\w)(?:[^s]s|ed|ing)$")
_IDENTIFIER = re.compile(r"\w+(?:[-.]\w+)*")
# What is converted, its number aside: "miles to km", "how many km are miles".
_CONVERTED = re.compile(r"([^\W\d_]+)\s+(?:in)?to\b|\b(?:is|are)\s+([^\W\d_]+)", re.IGNORECASE)
_CAPITALS = re.compile(r"\b[A-Z]{3,8}\b")
_OTHER_WAY = 0.25  # `km_to_miles` for miles


@dataclass(frozen=True, slots=True)
class Match:
    """A tool and how well words fit it: about 1 for the best, infinite for one that was named.

    `said` are the stems that spoke for it, `unsaid` those that say something and did not.
    """

    tool: WordedTool
    score: float
    said: frozenset[str]
    unsaid: frozenset[str] = field(default_factory=frozenset[str])
    fits: bool = True


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a text says: its stems, those that say something, and the verbs that may ask for a
    change; `first` is what the text begins with or plainly means; `converted` is what it has
    converted into something else, if anything; `initials` are its words in capitals.
    """

    stems: frozenset[str]
    telling: tuple[str, ...]
    verbs: frozenset[str]
    first: frozenset[str]
    converted: str = ""
    initials: frozenset[str] = frozenset()


class ToolMatcher:
    """Ranks tools by the words of a text. Made once for the same tools."""

    def __init__(self, words: Words, tools: Mapping[Any, WordedTool]) -> None:
        self._words, self._by_key = words, tools
        self._by_name = {x.name: x for x in tools.values()}
        self._searching = [x for x in tools.values() if x.name_stems & _SEARCHING]

    @property
    def tools(self) -> Iterable[WordedTool]:
        """All tools."""
        return self._by_key.values()

    def of(self, key: Any) -> WordedTool:
        """The tool that has this key."""
        return self._by_key[key]

    def find(self, key: Any) -> WordedTool | None:
        """The tool that has this key, if there is one."""
        return self._by_key.get(key)

    def rank(
        self, text: str, hints: Mapping[str, float] | None = None, *, widely: bool = False
    ) -> list[Match]:
        """The tools that share words with the text, best first; equals keep their order.

        `hints` are further words that the text speaks for without saying them, and how
        strongly: 1 is as if it had said them. `widely`: so do tools with other words for the same.
        """
        hints = hints or {}
        wanted = _wanted(text, hints)
        text = f"{text} {' '.join(_base_forms(text))}"
        ranked = self._ranked([text, *hints], wanted)
        if widely or not any(x.fits for x in ranked):
            # Names of other things mislead, where the thing itself is found.
            ranked = self._ranked([text, *hints, *_others(wanted.telling)], wanted)
        said = (x for x in _IDENTIFIER.findall(text) if "_" in x or "-" in x)
        named = [self._by_name[x] for x in said if x in self._by_name]
        return [
            *(Match(tool, math.inf, tool.name_stems) for tool in dict.fromkeys(named)),
            *(x for x in ranked if x.tool not in named),
        ]

    def among(
        self,
        keys: Iterable[Any],
        text: str,
        hints: Mapping[str, float] | None = None,
    ) -> list[Match]:
        """Those of these tools that fit, in the order of the search that found them."""
        wanted = _wanted(text, hints or {})
        tools = [self._by_key[x] for x in keys if x in self._by_key]
        matches = (self._match(tool, _NEXT_PLACE**n, wanted) for n, tool in enumerate(tools))
        return [x for x in matches if x.fits]

    def _ranked(self, searched: Sequence[str], wanted: _Wanted) -> list[Match]:
        found = self._words.scores(" ".join(searched), _MOST_RANKED)
        matches = [self._match(self._by_key[x], score / found[0][1], wanted) for x, score in found]
        return sorted(matches, key=lambda x: -x.score)

    def _match(self, tool: WordedTool, score: float, wanted: _Wanted) -> Match:
        speaking = frozenset(x for x in wanted.stems if x in tool.stems or related(x) & tool.stems)
        speaking |= wanted.initials.intersection(_endings(initials(tool.name)))
        telling = [x for x in wanted.telling if x in speaking]
        share = len(telling) / len(wanted.telling) if wanted.telling else 0.0
        is_the_search = wanted.first & _SEARCHING and self._searching == [tool]
        is_its_verb = bool(wanted.first & tool.verbs & {*telling})
        fits = _fits(tool, telling, share, is_its_verb=is_its_verb)
        fits = fits or bool(is_the_search and tool.takes_any_words)
        fits = fits or _is_called(tool, wanted) or bool(wanted.initials & speaking)
        score *= _SAME_VERB if wanted.first & tool.verbs else 1.0
        score *= _IN_NAME if tool.name_stems.intersection(telling) else 1.0
        score *= _OTHER_WAY if _converts_into(tool, wanted.converted) else 1.0
        fits = fits and _may_be_meant(tool, speaking, wanted)
        return Match(tool, score, speaking, frozenset(wanted.telling) - speaking, fits)


def worded(tool: Tool | JsonObject) -> WordedTool:
    """A catalog tool, or a dict as `search.ToolIndex` takes it, as words see it."""
    if isinstance(tool, Tool):
        reads = tool.annotations.read_only
        return WordedTool(key_of(tool), tool.name, tool.description, tool.input_schema, reads)
    name, description = str(tool.get("name") or ""), str(tool.get("description") or "")
    reads = tool.get("read_only")
    return WordedTool(key_of(tool), name, description, tool.get("input_schema"), reads)


def _wanted(text: str, hints: Mapping[str, float]) -> _Wanted:
    said = told_stems(text)
    meant = frozenset(stem(x) for x, weight in hints.items() if weight == 1)
    telling = tuple(x for x in dict.fromkeys([*said, *meant]) if not is_generic(x))
    stems = frozenset([*said, *map(stem, hints)])
    found = _CONVERTED.search(text)
    converted = stem((found[1] or found[2]).lower()) if found else ""
    # "When must Ben give it back?" returns nothing, and "what can I buy?" buys nothing.
    first = frozenset[str]() if _is_question(text) else frozenset(said[:1])
    if _is_question(text):
        meant -= CHANGING - _RECKONING
    first |= meant
    capitals = frozenset(map(stem, _CAPITALS.findall(text)))
    return _Wanted(stems, telling, _wanted_changes(text) | meant, first, converted, capitals)


def _converts_into(tool: WordedTool, converted: str) -> bool:
    """Whether a tool that is called `a_to_b` gives what it should take."""
    before, to, after = " ".join(name_words(tool.name)).partition(" to ")
    return bool(to) and converted in after.split() and converted not in before.split()


def _endings(letters: str) -> list[str]:
    """The initials of a name, and those without the name of its server before it."""
    return [letters[at:] for at in range(len(letters))]


def _base_forms(text: str) -> list[str]:
    """The words of a text that a description may say in another form: `ordered` as `order`."""
    pairs = ((x.text.lower(), base_form(x.text)) for x in words(text))
    return [base for said, base in pairs if base != singular(said)]


def _others(telling: Sequence[str]) -> list[str]:
    """Other words for what a text says, in a fixed order."""
    return sorted({other for x in telling for other in related(x)})


def _fits(tool: WordedTool, telling: Sequence[str], share: float, *, is_its_verb: bool) -> bool:
    """Whether the words are enough to call the tool, not only the best there are.

    What its description begins with is as good as its name, where the request begins so, too.
    """
    if is_its_verb or any(x in tool.name_stems or related(x) & tool.name_stems for x in telling):
        return share >= _LEAST_SHARE
    if len(telling) >= _LEAST_DESCRIPTION_WORDS:
        return share >= _LEAST_SHARE_DESCRIBED
    told = {*tool.sentence_stems, *(y for x in tool.parameters for y in x.stems if x.is_flag)}
    return share >= _LEAST_SHARE_OF_ONE and any(x in told or related(x) & told for x in telling)


def _is_called(tool: WordedTool, wanted: _Wanted) -> bool:
    """Whether the text says its whole name: `show me the list` for `show_list`.

    Where the text says nothing else, the thing alone will do: `how many things are on the list?`
    """
    own = name_words(tool.name)
    if not tool.only_reads or len(own) < 2:
        return False
    is_all = not (wanted.telling or tool.required) and is_generic(own[-1])
    return len(wanted.stems.intersection(own[-2:])) > 1 or (is_all and own[-1] in wanted.stems)


def _may_be_meant(tool: WordedTool, speaking: frozenset[str], wanted: _Wanted) -> bool:
    """A tool that changes something is not called unless that was asked for, nor one that does not
    change what was to be changed."""
    reckons = _CALCULATE in wanted.first
    for verb in (wanted.first & CHANGING) - (_RECKONING if reckons else frozenset()):
        if verb not in speaking or tool.name_stems & READING:
            return False
    asked = (x in wanted.verbs or related(x) & wanted.verbs for x in tool.verbs)
    return not tool.changes or any(asked)


def _is_question(text: str) -> bool:
    first = words(text)[:1]
    return bool(first) and first[0].stem in _QUESTIONS


def _wanted_changes(text: str) -> frozenset[str]:
    """The verbs in a text that may ask for a change.

    None in a question or after "show": "show the last commits" commits nothing. And no plural
    or past form: "the deleted files" are not to be deleted.
    """
    said = words(text)
    if _is_question(text) or (said and said[0].stem in READING):
        return frozenset()
    return frozenset(x.stem for x in said if not _INFLECTED.search(x.text.lower()))
