"""Parts of a request: the stretches that each ask for one thing."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from .mentions import Mention, within
from .vocabulary import QUESTION_WORDS
from .words import is_action, is_stop, stem, words

# A sentence, a line, or a word that says "next" ends a part wherever it stands.
_STRONG = re.compile(
    r"(?<=[.!?\u3002])\s+(?=[\"'\u201c(]?[A-Z0-9])|(?<=[\u3002\uff01\uff1f\uff1b])|(?<!\s)\s*\n\s*"
    r"|(?<!\s)\s*;\s*|(?<!\s)\s+(?=\d{1,2}\)\s)"
    r"|(?:,|(?<!\s))\s*\b(?:and\s+|but\s+)?(?:then|after that|afterwards|finally|lastly)\b[,:]?\s*"
    r"|(?<!\s)\s+(?:and|but)\s+also\s+",
    re.IGNORECASE,
)
# These join words as often as they join requests.
_WEAK = re.compile(
    r"(?<!\s)\s*,\s+(?:and\s+|but\s+|or\s+)?|(?<!\s)\s+(?:and|but|&)\s+",
    re.IGNORECASE,
)
# "Sing me a song": whatever the verb, something is asked for.
_ORDER = re.compile(r"[a-z]+ (?:me|us|a|an|the|my|our|this|that|it|some)\b", re.IGNORECASE)
_LIST_NUMBER = re.compile(r"\s*\d{1,2}[.)]\s*")
_ABBREVIATION = re.compile(r"(?:\b(?:Dr|Mr|Mrs|Ms|St|Prof|No|vs|etc|e\.g|i\.e)|\b[A-Z])\.$")
_LEAD = re.compile(
    r"^\s*(?:(?:\d{1,2}[.)]|[-*\u2022])\s+)?"
    r"(?:(?:please|also|first|second|third|next|now|ok|okay|so|well|and|hi|hello|hey|kindly|then|"
    r"can you|could you|would you|will you|i want to|i would like to|i'd like to|i need to|"
    r"i want you to|i(?:'m| am) (?:looking for|trying to)|help me|let's|just|don't forget to|"
    r"(?:please )?remember to)\b[,:!]?(?:\s+|$))*",
    re.IGNORECASE,
)
_WISH = re.compile(
    r"\bI(?:(?:'d| would) (?:like|love)|(?:'m| am)? (?:want|need|wish|looking|trying|planning))\b",
    re.IGNORECASE,
)
_STATING = re.compile(
    r"\b(?:is|are|was|were|has|have|should|must|will|I|I'm|my|it|it's|that)\b", re.IGNORECASE
)
# Values that no boundary may cut.
_SOLID = {"quoted", "url", "email", "path", "date", "time", "datetime", "number", "expression"}


@dataclass(frozen=True, slots=True)
class Part:
    """A stretch of a request and the values it states, which keep their places in the request.

    Up to `asks_to` it says what is wanted; what follows only states more about it. `lead` are the
    polite words before it.
    """

    text: str
    start: int
    end: int
    mentions: tuple[Mention, ...]
    is_wish: bool = False
    asks_to: int | None = None
    lead: str = ""

    @property
    def asks(self) -> bool:
        """Whether it is a request, a question or a wish by its form."""
        text = self.text if self.asks_to is None else self.text[: self.asks_to - self.start]
        is_order = _ORDER.match(text) and not is_stop(words(text)[0].stem)
        return self.is_wish or bool(is_order) or text.endswith("?") or begins_request(text)

    @property
    def states(self) -> bool:
        """Whether it only says how something is: `The host is example.org.`"""
        return not self.asks and bool(_STATING.search(self.text))

    def with_statement(self, following: Part) -> Part:
        """The two as one, of which only this one says what is wanted."""
        between = " " * (following.start - self.end)
        return replace(
            self,
            text=self.text + between + following.text,
            end=following.end,
            mentions=self.mentions + following.mentions,
            asks_to=self.asks_to or self.end,
        )

    def matching_text(self) -> str:
        """Its words without the values, which say nothing about which tool is meant."""
        text = self.text
        for mention in self.mentions:
            if mention.kind in (*_SOLID, "zone", "id"):
                start, end = mention.start - self.start, mention.end - self.start
                text = text[:start] + " " * (end - start) + text[end:]
        return text if self.asks_to is None else text[: self.asks_to - self.start]


def split_parts(
    text: str, mentions: Sequence[Mention], fits: Callable[[int, int], bool],
    begins: Callable[[Part], bool],
) -> list[Part]:  # fmt: skip
    """The parts of a request, in order.

    "And" parts two requests only when each side alone is enough to choose a
    tool, which `fits` tells for a stretch, and when what follows `begins` a request.
    """
    stretches: list[tuple[int, int]] = []
    for start, end in _stretches(text, _STRONG, mentions, 0, len(text)):
        stretches += _split_weakly(text, mentions, fits, begins, start, end)
    return [part for start, end in stretches if (part := part_of(text, mentions, start, end))]


def part_of(text: str, mentions: Sequence[Mention], start: int, end: int) -> Part | None:
    """That stretch as a part, without the polite words before it; None when nothing is left."""
    lead = _LEAD.match(text[start:end])
    start += lead.end() if lead else 0
    wanted = text[start:end].rstrip()
    if not wanted.strip(" .,;:!?"):
        return None
    polite = lead[0].strip() if lead else ""
    is_wish = bool(_WISH.search(polite) or _WISH.match(wanted))
    stated = tuple(within(mentions, start, end))
    return Part(wanted, start, start + len(wanted), stated, is_wish, lead=polite)


def begins_request(text: str, verbs: frozenset[str] = frozenset()) -> bool:
    """Whether a text begins with a verb that asks for something, or with a question word."""
    first = words(_LEAD.sub("", text, count=1))[:1]
    return any(x.stem in verbs or is_action(x.stem) or x.stem in _QUESTION_STEMS for x in first)


_QUESTION_STEMS = frozenset(stem(x) for x in QUESTION_WORDS)


def _split_weakly(
    text: str, mentions: Sequence[Mention], fits: Callable[[int, int], bool],
    begins: Callable[[Part], bool], start: int, end: int,
) -> Iterator[tuple[int, int]]:  # fmt: skip
    pieces = list(_stretches(text, _WEAK, mentions, start, end))
    for (_, left_end), (right, right_end) in pairwise(pieces):
        following = part_of(text, mentions, right, right_end)
        if following is None or not begins(following):
            continue
        if fits(start, left_end) and fits(right, right_end):
            yield start, left_end
            start = right
    yield start, end


def _stretches(
    text: str, boundary: re.Pattern[str], mentions: Sequence[Mention], start: int, end: int
) -> Iterator[tuple[int, int]]:
    """What lies between the boundaries that cut neither a value nor an abbreviation."""
    solid = [x for x in mentions if x.kind in _SOLID]
    for found in boundary.finditer(text, start, end):
        if any(x.start < found.end() and found.start() < x.end for x in solid):
            continue
        if _is_unfinished(text[start : found.start()]):
            continue
        yield start, found.start()
        start = found.end()
    yield start, end


def _is_unfinished(stretch: str) -> bool:
    """Whether its last dot ends no sentence: that of a list number, a title, an initial."""
    return bool(_LIST_NUMBER.fullmatch(stretch) or _ABBREVIATION.search(stretch[-6:]))
