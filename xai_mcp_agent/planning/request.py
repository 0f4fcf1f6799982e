"""Parser of requests: steps that each ask for something, and their values."""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..search.terms import root, singular, terms
from .vocabulary import verb_groups, word_set

_MAX_CHARACTERS, _MAX_STEPS, _MAX_MENTIONS = 8_000, 14, 60
_MONTH = r"(?:jan|feb|mar|apr|may|june?|july?|aug|sept?|oct|nov|dec)[a-z]*\.?"
_DAY_NAME = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_DATE = (
    rf"\d{{1,2}}(?:st|nd|rd|th)?\ (?:of\ )?{_MONTH}(?:,?\ \d{{4}})?"
    rf"|{_MONTH}\ \d{{1,2}}(?:st|nd|rd|th)?(?:,?\ \d{{4}})?"
)
_HALF_DAY = r"\ ?[ap]\.?m\b\.?"
_NUMBER_WORD = (
    r"two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|one(?=\ \w)"
    # In "lend one to Ada" the "one" is not a number.
    r"(?!\ (?:on|to|for|of|from|and|or|in|at|by|with|that|who|is|as)\b)"
)
_TOPIC_LEAD = (
    r"about|regarding|concerning|mentioning|relat(?:ed|ing)\ to"
    r"|on\ (?:the\ )?(?:topic|subject)\ of"
)
_TOPIC_ENDS = "and|or|in|from|to|for|with|that|which|who|by|then|at|on|of|as|so|before|after|using"
_CAPITAL = r"(?:(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Prof)\.(?=\s[A-Z])|[A-Z][\w'\u2019-]*)"
# All kinds of values in one pattern; at each position the first alternative wins. Repetitions are
# bounded, so that the search in a long text takes linear time.
_VALUE = re.compile(
    rf"""
    (?P<url>\b(?i:https?|ftp|file|wss?)://[^\s<>"'`]+)
    | (?P<email>(?<![\w.+-])[\w.+-]{{1,64}}@[\w-]{{1,63}}(?:\.[\w-]{{1,63}}){{1,5}})
    | "(?P<quoted>[^"\n]+)" | \u201c(?P<quoted2>[^\u201d\n]+)\u201d | `(?P<quoted3>[^`\n]+)`
    | (?<!\w)['\u2018](?P<quoted4>[^'\u2019\n]+(?:['\u2019]\w[^'\u2019\n]*)*)['\u2019](?!\w)
    | (?P<datetime>(?<![\w-])\d{{4}}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?
        (?:Z\b|[+-]\d\d:?\d\d)?)
    | (?P<date>(?<![\w/-])(?:\d{{4}}[-/]\d{{1,2}}[-/]\d{{1,2}}|\d{{1,2}}[-/.]\d{{1,2}}[-/.]\d{{4}}
        |(?i:{_DATE}))(?![\w/-])
        |\b(?i:today|tonight|tomorrow|yesterday
        |(?:next|this|coming|last)\ (?:week(?:end)?|month|year|{_DAY_NAME}))\b)
    | (?P<time>(?<![\w:.+-])
        (?:\d{{1,2}}:[0-5]\d(?::[0-5]\d)?(?:{_HALF_DAY})?|\d{{1,2}}{_HALF_DAY})
        (?![\w:])|(?i:\b(?:noon|midnight)\b))
    | (?P<path>(?<![\w/.:~@+-])(?:(?:~|\.{{1,2}})?/[\w.@%+~/-]+|[A-Za-z]:\\[^\s"'<>|]+
        |(?:[\w@+-]{{1,80}}/){{0,20}}[\w@+-]{{1,80}}(?:\.[\w@+-]{{1,80}}){{0,3}}\.(?!\d)[A-Za-z]\w{{1,7}})
        (?![\w/]))
    | (?P<id>\#\w+|\b\d{{1,3}}(?:\.\d{{1,3}}){{3}}(?:/\d+)?\b
        |(?<![\w-])(?=\w*\d)(?=[\w-]*[A-Za-z])[\w-]{{4,64}}\b|\b[A-Za-z0-9]+_\w+\b)
    | (?P<phone>(?<!\w)\+?\d[\d\ ()-]{{7,20}}\d\b)
    | (?P<number>(?<![\w.,])[-\u2212]?(?:\d{{1,3}}(?:,\d{{3}})+|\d+)(?:\.\d+)?(?!\d|\.\d)
        |\b(?<!the\ )(?<!this\ )(?<!that\ )(?<!each\ )(?i:{_NUMBER_WORD})\b)
    | (?P<name>(?<![\w/]){_CAPITAL}(?:\s+(?:(?:of|de|van|von|da|del|la|le|the)\s+)?{_CAPITAL})*)
    | \b(?i:{_TOPIC_LEAD})\s+(?:(?:the|an?|my|some|any|all)\s+)?
        (?P<topic>[a-z][\w'-]*(?:\s[a-z][\w'-]*){{0,3}}?)
        (?=\s+(?:{_TOPIC_ENDS})\b|\s*[.,;:?!)\n]|\s*$)
    """,
    re.VERBOSE,
)
_COUNTS = (
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
    "twelve",
)  # fmt: skip
# A sentence, a line, or a word such as "next" ends a step anywhere; a comma and "and" often join
# words, so a verb must follow them.
_BOUNDARY = re.compile(
    r"(?<=[.!?])(?<!\bDr\.)(?<!\bMr\.)(?<!\bMs\.)(?<!\bMrs\.)(?<!\bSt\.)(?<!\bNo\.)"
    r"\s+(?=[\"'(]?[A-Z0-9])|(?<!\s)\s*[\n;]\s*"
    r"|(?:,|(?<!\s))\s*\b(?:and\s+|but\s+)?(?:then|after that|afterwards|finally|lastly)\b[,:]?\s*"
    r"|(?<!\s)\s+(?:and|but)\s+also\s+"
    r"|(?P<weak>,\s+(?:and\s+|but\s+|or\s+)?|(?<!\s)\s+(?:and|but|&)\s+)",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"\s*(?:(?:\d{1,2}[.)]|[-*\u2022])\s+)?(?:(?:please|also|first|next|now|so|and|hi|hello|then"
    r"|kindly|(?:can|could|would|will) you|i(?:'d| would) like to|i (?:want|need)(?: you)? to"
    r"|help me|let's)"
    r"\b[,:!]?\s*)*",
    re.IGNORECASE,
)
_BEGINS = re.compile(r"(?:^|[.!?\n:;])[\s'\"(]*$")
# Capitalised words at the start of sentences that are not names.
_NO_NAMES = word_set(
    "i what who when where which how is are was were do does did can could will please if my"
    " the a an also then after finally first next additionally lastly hi hey hello thanks api"
    " apis id ids url urls ok pm am"
)
_FIRST_WORDS = re.compile(r"([A-Za-z]+)\s*(\w*)")
# Kinds of values that do not describe a tool.
_NOT_ABOUT_TOOLS = frozenset(("quoted", "email", "id", "phone"))
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
class Mention:
    """Value in a request, of a `kind` such as `email`; `text` is its spelling."""

    kind: str
    value: Any
    text: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class RequestStep:
    """Step of a request: its text, terms, roots and values.

    `unquoted` is its text without quotations. `points_...` and `names_result` say how it refers to
    earlier steps and results.
    """

    text: str
    start: int
    words: tuple[str, ...]
    roots: frozenset[str]
    mentions: tuple[Mention, ...]
    unquoted: str
    verb_groups: frozenset[str]
    points_back: bool
    points_at_result: bool
    names_result: bool


@dataclass(frozen=True, slots=True)
class PlanRequest:
    """Request, split into steps."""

    text: str
    steps: tuple[RequestStep, ...]
    roots: frozenset[str]


def read_request(
    text: str, is_verb: Callable[[str, str], bool], tool_names: Container[str] = ()
) -> PlanRequest:
    """Split a request into steps. `is_verb` knows the words that begin one, from tools' names.

    Names of tools, in lower case, are not values.
    """
    text = text[:_MAX_CHARACTERS]
    mentions = [x for x in mentions_in(text) if x.text.casefold() not in tool_names]
    spans = [x for x in _spans(text, mentions, is_verb) if terms(text[slice(*x)])][:_MAX_STEPS]
    steps = tuple(_step(text, start, end, mentions) for start, end in spans)
    return PlanRequest(text, steps, frozenset(map(root, terms(text))))


def mentions_in(text: str) -> list[Mention]:
    """Return the values in a text, in order."""
    mentions: list[Mention] = []
    for match in _VALUE.finditer(text):
        kind = match.lastgroup or ""
        spelling, (start, end) = match[kind], match.span(kind)
        if kind == "name":
            name = _name(text, spelling, start)
            spelling, start = name, end - len(name)
            if "'" in spelling or "\u2019" in spelling:  # "Ada's loans" are loans of Ada
                spelling = re.sub(r"['\u2019]s?$", "", spelling)
        if spelling:
            kind = kind.rstrip("234")
            mentions.append(Mention(kind, _value(kind, spelling), spelling, start, end))
    return mentions[:_MAX_MENTIONS]


def _name(text: str, name: str, start: int) -> str:
    """Return a name without the verb at the start of its sentence, or ""."""
    words = name.split()
    begins = bool(_BEGINS.search(text, max(start - 10, 0), start)) or start == 0
    while words and (words[0].casefold() in _NO_NAMES or (begins and _is_usual(words[0]))):
        words, begins = words[1:], False
    is_first_alone = begins and len(words) == 1 and words[0][1:].islower()
    return "" if is_first_alone or not words else name[name.index(words[0]) :]


def _is_usual(word: str) -> bool:
    return bool(verb_groups((root(singular(word.casefold())),)))


def _value(kind: str, spelling: str) -> Any:
    if kind == "number":
        digits = spelling.replace(",", "").replace("\u2212", "-")
        if spelling.casefold() in _COUNTS:
            return _COUNTS.index(spelling.casefold()) + 1
        return float(digits) if "." in digits else int(digits)
    if kind == "date":
        plain = re.sub(r"(?<=\d)(?:st|nd|rd|th)|,|\.|\bof ", "", spelling).title()
        for form in ("%d %B %Y", "%B %d %Y", "%d %b %Y", "%b %d %Y", "%Y/%m/%d"):
            try:
                return datetime.strptime(plain, form).date().isoformat()
            except ValueError:
                pass
    return spelling


def _spans(
    text: str, mentions: Sequence[Mention], is_verb: Callable[[str, str], bool]
) -> list[tuple[int, int]]:
    """Return start and end of each step; no boundary lies inside a value."""
    in_value = bytearray(len(text) + 1)
    for x in mentions:
        if x.kind not in ("name", "topic"):
            in_value[x.start : x.end] = b"\1" * (x.end - x.start)
    spans: list[tuple[int, int]] = []
    start = 0
    for boundary in _BOUNDARY.finditer(text):
        if any(in_value[boundary.start() : boundary.end()]):
            continue
        following = _FIRST_WORDS.match(text, boundary.end())
        is_weak = boundary["weak"] is not None
        if is_weak and not (following and is_verb(following[1], following[2])):
            continue
        if is_weak and not terms(text[start : boundary.start()]):
            continue
        spans.append((start, boundary.start()))
        start = boundary.end()
    return [_without_lead(text, *x) for x in (*spans, (start, len(text)))]


def _without_lead(text: str, start: int, end: int) -> tuple[int, int]:
    lead = _LEAD.match(text, start, end)
    return (lead.end() if lead else start), start + len(text[start:end].rstrip())


def _step(text: str, start: int, end: int, mentions: Sequence[Mention]) -> RequestStep:
    part = text[start:end]
    words = tuple(terms(part))
    own = tuple(x for x in mentions if start <= x.start < end)
    unquoted = part
    for one in (x for x in own if x.kind in _NOT_ABOUT_TOOLS):
        unquoted = unquoted.replace(one.text, " ", 1)
    roots = (root(singular(x)) for x in re.findall(r"[a-z]+", part.casefold()))
    return RequestStep(
        part, start, words, frozenset(map(root, words)), own, unquoted, verb_groups(roots),
        points_back=bool(_POINTS_BACK.search(part)),
        points_at_result=bool(_POINTS_AT_A_RESULT.search(part)),
        names_result=bool(_NAMES_A_RESULT.search(part)),
    )  # fmt: skip
