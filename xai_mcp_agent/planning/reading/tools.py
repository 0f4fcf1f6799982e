"""A tool as the words of a request see it: what it is called, what it does, what it takes."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from .parameters import Parameter, parameters_of
from .vocabulary import CHANGING_WORDS, READING_WORDS
from .words import is_stop, name_words, stem, words

READING, CHANGING = (frozenset(map(stem, x)) for x in (READING_WORDS, CHANGING_WORDS))
_RECKONERS = frozenset(map(stem, ("calculator", "arithmetic", "math")))
_ADDING = _RECKONING = frozenset({"add"})
# What a tool may reckon with beside numbers.
_PLAIN = frozenset({"date", "time", "datetime", "zone", "unit", "expression"})
# What a description names as an example says nothing of the tool.
_EXAMPLE = re.compile(r"\b(?:such as|e\.g\.|for example,?|example:)[^.;:()]*", re.IGNORECASE)
_SENTENCE_END = re.compile(r"[.!?\n](?:\s|$)|\s{2,}")


@dataclass(frozen=True, eq=False)
class WordedTool:
    """A tool as words see it. What takes time is worked out when it is asked for.

    `read_only` is what its server says of it, if anything.
    """

    key: Any
    name: str
    description: str
    schema: Any
    read_only: bool | None = None

    @cached_property
    def name_stems(self) -> frozenset[str]:
        """The words of its name."""
        return frozenset(name_words(self.name))

    @cached_property
    def parameters(self) -> tuple[Parameter, ...]:
        """What it takes. The text of one that reckons is a sum to work out."""
        found = parameters_of(self.schema)
        if not _RECKONERS & {*self.name_stems, *told_stems(self.description)}:
            return found
        return tuple(replace(x, topic="expression") if x.topic == "text" else x for x in found)

    @cached_property
    def sentence_stems(self) -> tuple[str, ...]:
        """The words of its description's first sentence: most say first what they do."""
        description = " ".join(self.description.split())
        return tuple(told_stems(_SENTENCE_END.split(description, maxsplit=1)[0]))

    @cached_property
    def stems(self) -> frozenset[str]:
        """All words that say something of it."""
        found = {*self.name_stems, *told_stems(self.description)}
        for parameter in self.parameters:
            found.update(x for x in parameter.stems if not is_stop(x))
            found.update(x for y in parameter.choices for x in told_stems(str(y)))
            found.update(told_stems(_EXAMPLE.sub("", parameter.description)))
        return frozenset(found)

    @property
    def verbs(self) -> frozenset[str]:
        """The words that say what it does: those that change something, the description's first."""
        return self.changes | frozenset(self.sentence_stems[:1])

    @property
    def changes(self) -> frozenset[str]:
        """The words of its name that say that it changes something.

        None when it only reads. Adding numbers or days changes nothing. Of a tool that by its
        server's word does not only read, what it does is such a word, too.
        """
        if self.read_only or self.name_stems & READING:
            return frozenset()
        reckons = self.required and all(x.is_number or x.topic in _PLAIN for x in self.required)
        named = (self.name_stems & CHANGING) - (_RECKONING if reckons else frozenset())
        if named or self.read_only is None:
            return named
        return frozenset(self.sentence_stems[:1]) & self.name_stems or self.name_stems

    @property
    def only_reads(self) -> bool:
        """Whether its server says that it changes nothing, or says nothing and its name does."""
        if self.read_only is not None:
            return self.read_only
        return bool(self.name_stems & READING) and not self.name_stems & CHANGING

    @property
    def takes_any_words(self) -> bool:
        """Whether it is a search: any words at all may be meant for it."""
        texts = (x for x in self.parameters if x.kind == "string" and x.is_wanted)
        return any(x.topic in ("query", "text") for x in texts)

    @property
    def adds_things(self) -> bool:
        """Whether it puts things on a list, whatever they are."""
        return self.changes == _ADDING and any(x.is_thing for x in self.required)

    @property
    def required(self) -> list[Parameter]:
        """The parameters that must be given."""
        return [x for x in self.parameters if x.required]


def told_stems(text: str) -> list[str]:
    """The stems of a text that say something, in order."""
    return [x.stem for x in words(text) if not is_stop(x.stem)]
