"""A request in steps: its parts that each ask for something, with the values that they say."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..search.terms import root, singular, terms
from .deeds import groups_of

if TYPE_CHECKING:
    from .reading.mentions import Mention
    from .reading.parts import Part

_MAX_CHARACTERS = 8_000
_MAX_STEPS = 14
_QUOTED = frozenset(("quoted", "email", "id", "phone"))
_FIRST_WORDS = re.compile(r"([A-Za-z]+)\s*(\w*)")
_WORD = re.compile(r"[a-z]+")
_POINTS_BACK = re.compile(
    r"\b(?:it|its|this|that|these|those|them|they|their|same|result(?:s|ing)?|above|previous"
    r"|obtained|retrieved|returned|generated|resulting|said|latter|one|ones|there)\b",
    re.IGNORECASE,
)
_POINTS_AT_A_RESULT = re.compile(
    r"\b(?:results?|previous|obtained|retrieved|returned|generated|resulting|above|converted"
    r"|calculated|translated|extracted|found|analy[sz]ed|identified|mentioned|it|them|these|those)\b",
    re.IGNORECASE,
)
_NAMES_A_RESULT = re.compile(
    r"\b(?:previous|earlier|first|last|prior|above)\s+(?:\w+\s+)?(?:api|call|step|response|result|request"
    r"|analysis|output|tool|answer)s?\b|\b(?:the|these|those|this|its)\s+(?:\w+\s+)?"
    r"(?:results?|output|response|answer)\b|\b(?:obtained|retrieved|returned|received)\s+from\b"
    r"|\bbased on (?:the|these|this|that|it|them)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Step:
    """A part of a request: its text, its terms and their roots, the values in it.

    `asked` is its text without what is only quoted in it; `deeds` are groups of its verbs.

    `points_back` says that it speaks of something that was named or found before.
    """

    text: str
    start: int
    words: tuple[str, ...]
    roots: frozenset[str]
    mentions: tuple[Mention, ...]
    asked: str
    deeds: frozenset[str]
    points_back: bool
    points_at_result: bool
    names_result: bool

    @property
    def end(self) -> int:
        """Where it ends in the request."""
        return self.start + len(self.text)


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants, in steps."""

    text: str
    steps: tuple[Step, ...]
    mentions: tuple[Mention, ...]
    words: frozenset[str]
    roots: frozenset[str]


def read_request(
    text: str, is_verb: Callable[[str, str], bool], names: Container[str] = ()
) -> Request:
    """The steps of a request. `is_verb` tells the words that begin one, as tools say them.

    The `names` of tools, in lower case, are no values.
    """
    # Here: its patterns take as long to load as the rest of a planner.
    from .reading.parts import split_parts
    from .reading.plain import plain_mentions

    text = text[:_MAX_CHARACTERS]
    mentions = [x for x in plain_mentions(text) if x.text.casefold() not in names]

    def begins(part: Part) -> bool:
        found = None if part.lead else _FIRST_WORDS.match(part.text)
        return bool(found and is_verb(found[1], found[2]))

    parts = split_parts(text, mentions, lambda a, b: bool(terms(text[a:b])), begins)
    spans = [(x.start, x.end) for x in parts if terms(x.text)][:_MAX_STEPS]
    steps = tuple(_step(text, a, b, mentions) for a, b in spans)
    words = terms(text)
    return Request(
        text, steps, tuple(mentions), frozenset(words), frozenset(root(x) for x in words)
    )


def _asked(text: str, start: int, end: int, mentions: Sequence[Mention]) -> str:
    kept: list[str] = []
    for one in mentions:
        if one.kind in _QUOTED:
            kept.append(text[start : one.start])
            start = min(one.end, end)
    return " ".join((*kept, text[start:end]))


def _step(text: str, start: int, end: int, mentions: list[Mention]) -> Step:
    part = text[start:end]
    words = tuple(terms(part))
    own = tuple(x for x in mentions if start <= x.start < end)
    said = (root(singular(x)) for x in _WORD.findall(part.casefold()))
    return Step(
        part, start, words, frozenset(root(x) for x in words), own, _asked(text, start, end, own),
        groups_of(said),
        points_back=bool(_POINTS_BACK.search(part)),
        points_at_result=bool(_POINTS_AT_A_RESULT.search(part)),
        names_result=bool(_NAMES_A_RESULT.search(part)),
    )  # fmt: skip
