"""Which tool fits some words: weighted words of names, descriptions and parameters."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from ....core.provider_schema import FunctionSpec
from .parameters import Parameter, parameters_of
from .vocabulary import CHANGING_WORDS, QUESTION_WORDS, READING_WORDS, SEARCHING_WORDS
from .words import (
    is_action,
    is_generic,
    is_stop,
    name_words,
    plain_name,
    related,
    stem,
    words,
)

# How much a word says by where it stands. Measured on public tool search data, round numbers.
_NAME, _TITLE, _VERB, _SENTENCE, _REST = 3.0, 2.0, 2.0, 1.0, 0.4
_SOURCE, _PARAMETER, _CHOICE, _PARAMETER_TEXT = 0.6, 0.8, 1.0, 0.2
_RELATED = 0.5  # A word of the same meaning, against the word itself.
_GENERIC = 0.3  # A word such as "show", against one that says something.
_TOPIC = 0.3  # A word of what is searched for: "books about time".
_ABOUT = re.compile(r"\b(?:about|regarding|concerning|titled|called|named)\b", re.IGNORECASE)
_UNUSED_NAME = 0.25  # How much a name is doubted none of whose words were said.
_LEAST_SCORE = 0.5
# Of the words that say something, how many must speak for a tool: few when one is in its name,
# more when all are in its description, most when it is a single one.
_LEAST_SHARE, _LEAST_SHARE_DESCRIBED, _LEAST_SHARE_OF_ONE = 0.15, 0.25, 0.5
_LEAST_DESCRIPTION_WORDS = 2
_READING, _CHANGING, _SEARCHING, _QUESTIONS = (
    frozenset(map(stem, x))
    for x in (READING_WORDS, CHANGING_WORDS, SEARCHING_WORDS, QUESTION_WORDS - {"do", "can"})
)
_INFLECTED = re.compile(r"(?<=\w\w)(?:[^s]s|ed|ing)$")
_RECKONERS = frozenset(map(stem, ("calculator", "arithmetic", "math")))
_RECKONING = frozenset({"add"})
# What a tool may reckon with beside numbers.
_PLAIN = frozenset({"date", "time", "datetime", "zone", "unit", "expression"})
_SENTENCE_END = re.compile(r"[.!?\n](?:\s|$)|\s{2,}")


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """A tool as the rules see it: its definition, its parameters, and what its words weigh.

    `spoken` is its name as a person would say it, without the source's, and `verb` the word that
    its description begins with: most say what they do.
    """

    spec: FunctionSpec
    spoken: str
    verb: str
    parameters: tuple[Parameter, ...]
    weights: Mapping[str, float]
    name_stems: frozenset[str]

    @property
    def changes(self) -> frozenset[str]:
        """The words of its name that say that it changes something.

        None when it only reads. Adding numbers or days changes nothing.
        """
        if self.name_stems & _READING:
            return frozenset()
        reckons = self.required and all(x.is_number or x.topic in _PLAIN for x in self.required)
        return (self.name_stems & _CHANGING) - (_RECKONING if reckons else frozenset())

    @property
    def takes_any_words(self) -> bool:
        """Whether it is a search: any words at all may be meant for it."""
        texts = (x for x in self.parameters if x.kind == "string" and x.is_wanted)
        return any(x.topic in ("query", "text") for x in texts)

    @property
    def required(self) -> list[Parameter]:
        """The parameters that must be given."""
        return [x for x in self.parameters if x.required]


@dataclass(frozen=True, slots=True)
class Match:
    """A tool and how well words fit it. `said` are the stems of the words that spoke for it."""

    tool: OfferedTool
    score: float
    said: frozenset[str] = field(default_factory=frozenset[str])
    fits: bool = False


@dataclass(frozen=True, slots=True)
class _Wanted:
    """The verbs that may ask for a change, and what the text begins with or plainly means."""

    verbs: frozenset[str]
    first: set[str]


class ToolMatcher:
    """Ranks the offered tools by the words of a text. Rarer words weigh more."""

    def __init__(self, functions: Sequence[FunctionSpec]) -> None:
        sources = _source_words([x.name for x in functions])
        self.tools = [_offered(x, sources) for x in functions]
        self._counts = Counter(stem for tool in self.tools for stem in tool.weights)

    def rank(self, text: str, hints: Mapping[str, float] | None = None) -> list[Match]:
        """The tools that share words with the text, best first; equals keep their order.

        `hints` are further stems that the text speaks for without saying them, and how
        strongly: 1 is as if it had said them.
        """
        said = _said(text)
        said |= {x: weight for x, weight in (hints or {}).items() if x not in said}
        meant = frozenset(x for x, weight in (hints or {}).items() if weight == 1)
        wanted = _Wanted(_wanted_changes(text) | meant, {*list(said)[:1], *meant})
        matches = [self._match(tool, said, text, wanted) for tool in self.tools]
        return sorted((x for x in matches if x.score > 0), key=lambda x: -x.score)

    def _match(
        self, tool: OfferedTool, said: Mapping[str, float], text: str, wanted: _Wanted
    ) -> Match:
        if re.search(rf"(?<![\w-]){re.escape(tool.spec.name)}(?![\w-])", text) and (
            "_" in tool.spec.name or "-" in tool.spec.name
        ):
            return Match(tool, math.inf, tool.name_stems, fits=True)
        scores = {stem: self._score(tool, stem) * weight for stem, weight in said.items()}
        speaking = frozenset(stem for stem, score in scores.items() if score > 0)
        score = sum(scores.values()) * self._name_coverage(tool, speaking)
        fits = _fits(tool, speaking, said, score) or self._is_the_search(tool, wanted, score)
        return Match(tool, score, speaking, fits and _may_be_meant(tool, speaking, wanted))

    def _is_the_search(self, tool: OfferedTool, wanted: _Wanted, score: float) -> bool:
        """`Search for whales`: one tool searches, and any words may be searched for."""
        if score <= 0 or not wanted.first & _SEARCHING or not tool.takes_any_words:
            return False
        return [x for x in self.tools if x.name_stems & _SEARCHING] == [tool]

    def _score(self, tool: OfferedTool, stem: str) -> float:
        own = tool.weights.get(stem, 0.0) * self._rarity(stem)
        for other in related(stem):
            weight = tool.weights.get(other, 0.0)
            if weight:
                own = max(own, weight * self._rarity(other) * _RELATED)
        return own * (_GENERIC if is_generic(stem) else 1.0)

    def _rarity(self, stem: str) -> float:
        return 1.0 + math.log(len(self.tools) / self._counts[stem]) if self._counts[stem] else 0.0

    def _name_coverage(self, tool: OfferedTool, speaking: frozenset[str]) -> float:
        """Nearer to 1 the more of the tool's name was said."""
        telling = [x for x in tool.name_stems if not is_generic(x)] or list(tool.name_stems)
        if not telling:
            return 1.0
        hit = sum(x in speaking or bool(related(x) & speaking) for x in telling)
        return 1.0 - _UNUSED_NAME * (1 - hit / len(telling))


def _said(text: str) -> dict[str, float]:
    """The stems that a text says and how much each counts: what it is about says little of how."""
    said = {x.stem: 1.0 for x in words(text) if not is_stop(x.stem)}
    about = _ABOUT.search(text)
    if about and any(not is_generic(x) for x in _stems(text[: about.start()])):
        said |= dict.fromkeys(_stems(text[about.end() :]), _TOPIC)
        said |= dict.fromkeys(_stems(text[: about.start()]), 1.0)
    return said


def _fits(
    tool: OfferedTool, speaking: frozenset[str], said: Mapping[str, float], score: float
) -> bool:
    """Whether the words are enough to call the tool, not only the best there are."""
    all_telling = [x for x, weight in said.items() if weight == 1.0 and not is_generic(x)]
    telling = [x for x in all_telling if x in speaking]
    if score < _LEAST_SCORE or not telling:
        return False
    share = len(telling) / len(all_telling)
    named = [x for x in telling if x in tool.name_stems or related(x) & tool.name_stems]
    if named:
        return share >= _LEAST_SHARE
    if len(telling) >= _LEAST_DESCRIPTION_WORDS:
        return share >= _LEAST_SHARE_DESCRIBED
    return share >= _LEAST_SHARE_OF_ONE and tool.weights.get(telling[0], 0.0) >= _SENTENCE


def _may_be_meant(tool: OfferedTool, speaking: frozenset[str], wanted: _Wanted) -> bool:
    """A tool that changes something is not called unless that was asked for, nor one that does not
    change what was to be changed."""
    for verb in wanted.first & _CHANGING:
        if verb not in speaking or tool.name_stems & _READING:
            return False
    verbs = {*tool.changes, tool.verb}
    return not tool.changes or any(x in wanted.verbs or related(x) & wanted.verbs for x in verbs)


def _wanted_changes(text: str) -> frozenset[str]:
    """The verbs in a text that may ask for a change.

    None in a question or after "show": "show the last commits" commits nothing. And no plural
    or past form: "the deleted files" are not to be deleted.
    """
    said = words(text)
    if said and (said[0].stem in _READING or said[0].stem in _QUESTIONS):
        return frozenset()
    return frozenset(x.stem for x in said if not _INFLECTED.search(x.text.lower()))


def _offered(spec: FunctionSpec, sources: frozenset[str]) -> OfferedTool:
    parameters = parameters_of(spec.parameters)
    if _reckons(spec):
        parameters = tuple(
            replace(x, topic="expression") if x.topic == "text" else x for x in parameters
        )
    stems = name_words(spec.name)
    own = list(stems)
    while len(own) > 1 and own[0] in sources:
        own.pop(0)
    named = frozenset(own)
    weights: dict[str, float] = {}
    _weigh(weights, stems[: len(stems) - len(own)], _SOURCE)
    _weigh(weights, named, _NAME)
    title = spec.parameters.get("title")
    _weigh(weights, _stems(title) if isinstance(title, str) and "Arg" not in title else [], _TITLE)
    description = " ".join(spec.description.split())
    sentence = _SENTENCE_END.split(description, maxsplit=1)[0]
    verb = next((x.stem for x in words(sentence)), "")
    _weigh(weights, [verb], _VERB)
    _weigh(weights, _stems(sentence), _SENTENCE)
    _weigh(weights, _stems(description[len(sentence) :]), _REST)
    for parameter in parameters:
        _weigh_parameter(weights, parameter)
    spoken = " ".join(plain_name(spec.name).split()[len(stems) - len(own) :])
    return OfferedTool(spec, spoken, verb, parameters, weights, named)


def _reckons(spec: FunctionSpec) -> bool:
    """Whether its text is a sum to work out."""
    return bool(_RECKONERS & {*name_words(spec.name), *_stems(spec.description)})


def _weigh_parameter(weights: dict[str, float], parameter: Parameter) -> None:
    _weigh(weights, (x for x in parameter.stems if not is_stop(x)), _PARAMETER)
    _weigh(weights, (x for y in parameter.choices for x in _stems(str(y))), _CHOICE)
    _weigh(weights, _stems(parameter.description), _PARAMETER_TEXT)


def _weigh(weights: dict[str, float], stems: Iterable[str], weight: float) -> None:
    for word in stems:
        weights[word] = max(weight, weights.get(word, 0.0))


def _stems(text: str) -> list[str]:
    return [x.stem for x in words(text) if not is_stop(x.stem)]


def _source_words(names: Sequence[str]) -> frozenset[str]:
    """First words that several names share: most likely the source's name, not the tool's.

    A verb is none: `search_books` and `search_films` do share what they do.
    """
    firsts = Counter(stems[0] for name in names if len(stems := name_words(name)) > 1)
    shared = (x for x, count in firsts.items() if count > 1)
    return frozenset(x for x in shared if not is_action(x) and not is_generic(x))
