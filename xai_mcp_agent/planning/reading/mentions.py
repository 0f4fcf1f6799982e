"""Values that a text states: what kind each is, and where it stands. Nothing about any tool."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Literal, TypeAlias

from .dates import moments
from .places import zones
from .vocabulary import MONEY_SIGNS, NUMBER_WORDS
from .words import is_action, is_generic, is_stop, stem

MentionKind: TypeAlias = Literal[
    "quoted", "url", "email", "path", "date", "time", "datetime", "zone", "id", "number", "unit",
    "name", "phrase", "expression", "reference", "phone", "topic",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Mention:
    """A value in a text. `before` is the small word that leads to it: `from`, `to`, `in`, `by`.

    `text` is how it is written, without quotation marks.
    """

    kind: MentionKind
    value: Any
    start: int
    end: int
    before: str = ""
    text: str = ""

    def overlaps(self, start: int, end: int) -> bool:
        """Whether it shares a character with that stretch of the text."""
        return self.start < end and start < self.end


_QUOTED = re.compile(
    r'"(?P<a>[^"\n]*)"|\u201c(?P<b>[^\u201d\n]*)\u201d|`(?P<c>[^`\n]+)`|\u00ab(?P<d>[^\u00bb\n]*)\u00bb'
    r"|(?<!\w)['\u2018](?P<e>[^'\u2019\n]*(?:['\u2019]\w[^'\u2019\n]*)*)['\u2019](?!\w)"
)
_URL = re.compile(r"\b(?:https?|ftp|file|wss?)://[^\s<>\"'`]+", re.I)
_EMAIL = re.compile(r"(?<![\w.+-])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,5}")
_PATH = re.compile(
    # Every repetition has an end: a pasted text must not keep the search busy.
    r"(?<![\w/.:~@+-])(?:(?:~|\.{1,2})?/[\w.@%+~/-]*|[A-Za-z]:\\[^\s\"'<>|]*"
    r"|(?:[\w@+-]{1,80}/){0,20}\.?[\w@+-]{1,80}(?:\.[\w@+-]{1,80}){0,3}\.(?!\d)[A-Za-z]\w{0,7}"
    r")(?![\w/])"
)
_HERE = re.compile(
    r"\b(?:here|(?:this|the) current (?:folder|directory|repository|repo)"
    r"|this (?:folder|directory|repository|repo|project))\b",
    re.I,
)
_ID = re.compile(
    r"#(?P<hash>\w+)|(?<![\w.-])(?P<id>[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}"
    r"|[A-Z]{1,8}-?\d[\w-]*|(?=[a-f]*\d)(?=\d*[a-f])[0-9a-f]{7,40}|97[89]-?\d[\d-]{8,12}"
    r"|(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[A-Za-z]\w*(?:[_-]\w+)+)(?![\w-])"
)
_NUMBER = re.compile(
    r"(?<![\w.,])(?:(?<=[\s(=:])|(?<![^\s(]))?(?P<sign>[-\u2212])?"
    r"(?P<digits>\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\.\d+)"
    r"(?![\d]|\.\d|(?:st|nd|rd|th)\b)(?=\W|_|[A-Za-z\u00b0%/]{1,4}\b|$)"
)
_NOT_COUNTED = "to|for|of|from|and|or|in|at|by|with|that|which|who|is|are|on|as|if|so|then"
_NUMBER_WORD = re.compile(
    # In "lend one to Ada" it counts nothing.
    rf"\b(?!one\b(?:\s+(?:{_NOT_COUNTED})\b|\s*(?:[.,;:?!)]|$)))"
    r"(?:(?P<tens>twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety)[ -])?"
    rf"(?P<word>{'|'.join(sorted(NUMBER_WORDS, key=len, reverse=True))})"
    r"(?:[ -](?P<times>hundred|thousand|million|dozen))?\b",
    re.I,
)
# In "the first one" or "this one" it does not count anything.
_NOT_COUNTING = re.compile(
    r"\b(?:the|this|that|which|each|every|any|first|last|next|other)\s+$", re.I
)
_UNIT = re.compile(
    r"\s*(?:degrees?\s+|\u00b0\s*)?(?P<unit>(?:[^\W\d_]+[\u00b2\u00b3]?|%)(?:/[a-z]+)?)"
)
_HOW_MANY = re.compile(r"\bhow (?:many|much)\s+(?P<unit>[^\W\d_]+)", re.I)
_IN_ONE = re.compile(r"\s+(?:are (?:there )?)?in (?P<one>an?|one) (?P<unit>[^\W\d_]+)", re.I)
_EXPRESSION = re.compile(
    r"(?<![\w.(])[(\s]{0,20}-?\d[\d.]*(?:\s*(?:\*\*|[-+*/^%()\u00d7\u00f7])\s*[\d.()]+)+(?<!\.)"
)
_AMOUNT = r"(-?\d+(?:\.\d+)?(?:/\d+)?)"
_SPOKEN_SUMS = tuple(
    (re.compile(rf"(?<![\w./]){form}(?![\w/])", re.IGNORECASE), written)
    for form, written in (
        (rf"{_AMOUNT} ?(?:%|percent|per cent) of {_AMOUNT}", r"\1 / 100 * \2"),
        (rf"square root of {_AMOUNT}", r"(\1) ** 0.5"),
        (rf"{_AMOUNT} to the power (?:of )?{_AMOUNT}", r"(\1) ** \2"),
        (rf"{_AMOUNT} plus {_AMOUNT}", r"\1 + \2"),
        (rf"{_AMOUNT} minus {_AMOUNT}", r"\1 - \2"),
        (rf"{_AMOUNT} times {_AMOUNT}", r"(\1) * (\2)"),
        (rf"{_AMOUNT} divided by {_AMOUNT}", r"(\1) / (\2)"),
    )
)
_CAPITALISED = r"(?:(?:[A-Z]|Dr|Mr|Mrs|Ms|St|Prof)\.(?=\s[A-Z])|[A-Z][\w'\u2019-]*)"
_NAME = re.compile(
    rf"(?<![\w/]){_CAPITALISED}(?:\s+(?:(?:of|de|van|von|da|del|la|le|the)\s+)?{_CAPITALISED})*"
)
# Where a capital says nothing: at the beginning, or behind a word such as "please".
_BEGINS = re.compile(r"(?:^|[.!?\n:;,(])[\s'\"(]*$|\b(?:please|then|and|or|to|you|also)\s+$", re.I)
_NAME_WORD = re.compile(r"[\w'\u2019-]+")
_LEADING = (
    "in|at|near|for|by|to|into|from|of|about|on|onto|as|with|named|called|titled|regarding|"
    "containing|matching|after|before|since|until|between|against|through|via|over"
)
_PHRASE = re.compile(rf"\b(?P<lead>{_LEADING})\s+(?P<rest>[^,;:?!()\n]+)", re.I)
_LEADS = re.compile(rf"(?:{_LEADING})\b", re.IGNORECASE)
_PHRASE_ENDS = re.compile(rf"\s+(?:{_LEADING}|and|or|then|but|please)\b.*", re.I | re.S)
_ARTICLE = re.compile(r"^(?:(?:the|a|an|my|your|our|their|his|her|its|some|all|any)\s+)+", re.I)
_BEFORE = re.compile(
    r"(?P<word>[a-z]+)\s+(?:(?:the|a|an|my|your|our|their|city|user|number|value)\s+)*$",
    re.I,
)
_REFERENCE = re.compile(
    r"\b(?:(?:it|its|them|they|their|that|this|those|these|him|her|the (?:same|results?|answer|"
    r"output|outcome|sum|total|product|difference|quotient|value)(?: (?:one|result))?)\b"
    r"(?!['\u2019]|\s+(?:is|was|are|were)\s+(?:in|at)\b)"
    # "The last commit" is a thing of its own; "the last one" and "the last" are not.
    r"|the (?:first|second|third|last|latter|former)(?: (?:one|result|item|entry))?"
    r"(?=\s*(?:[.,;:?!)]|$)|\s+(?:for|to|of|in|by|from|and|with|then|into|please|on|at)\b))",
    re.IGNORECASE,
)
# "What time is it" refers to nothing.
_DUMMY = re.compile(r"\b(?:is|was|will|does|do|make|be)\s+$", re.I)
# A distance is also a number, and its small words lead to what follows them.
_AWAY = re.compile(r"\b(?:days?|weeks?|in|ago|until|till|since)\b", re.IGNORECASE)
# "Until Friday" also says where it begins: today.
_OTHER_END = {"until": "from", "till": "from", "since": "to"}
_MAX_DIGITS = 30  # Nobody counts further.
_LONGEST_PHRASE = 60
_LEAST_ROOM = 40  # Characters before a value in which its leading word is looked for.


def mentions_in(text: str, today: date | None = None) -> list[Mention]:
    """Everything the text states, in order. A stretch may be read in several ways.

    Dates go by `today`; see `dates.moments`.
    """
    fixed = [*_quoted(text), *_fixed(text), *_moments(text, today)]
    fixed += [Mention("zone", x.name, x.start, x.end) for x in zones(text)]
    masked = _masked(text, fixed)
    ids = list(_ids(masked))
    named = [x for x in ids if masked[x.start] != "#"]
    found = [*fixed, *ids, *_numbers(_masked(masked, named)), *_loose(masked)]
    found = [
        replace(
            x,
            before=x.before or _before(text, x.start),
            text=x.value if x.kind == "quoted" else text[x.start : x.end],
        )
        for x in found
    ]
    return sorted(found, key=lambda x: (x.start, -x.end))


def within(mentions: Iterable[Mention], start: int, end: int) -> list[Mention]:
    """The mentions that lie in that stretch of the text."""
    return [x for x in mentions if start <= x.start and x.end <= end]


def whole(value: float | int) -> int | None:
    """A number as an integer, if it is one."""
    return int(value) if math.isfinite(value) and value == int(value) else None


def number_in(text: str) -> float | int | None:
    """The one number that a text says, or None."""
    found = [x.value for x in _numbers(text) if x.kind == "number"]
    return found[0] if found else None


def _quoted(text: str) -> Iterator[Mention]:
    for found in _QUOTED.finditer(text):
        yield Mention("quoted", found[found.lastgroup or 0], found.start(), found.end())


def _fixed(text: str) -> Iterator[Mention]:
    """URLs, addresses and paths: no other reading of them is meant."""
    taken: list[Mention] = []
    patterns: tuple[tuple[MentionKind, re.Pattern[str]], ...] = (
        ("url", _URL), ("email", _EMAIL), ("path", _PATH),
    )  # fmt: skip
    for kind, pattern in patterns:
        for found in pattern.finditer(text):
            value = found[0].rstrip(".,;:!?)]}") if kind != "path" else found[0]
            mention = Mention(kind, value, found.start(), found.start() + len(value))
            if not any(x.overlaps(mention.start, mention.end) for x in taken):
                taken.append(mention)
    yield from (x for x in taken if not (x.kind == "path" and x.value in ("/", "e.g", "i.e")))
    for found in _HERE.finditer(text):
        yield Mention("path", ".", found.start(), found.end())


def _moments(text: str, today: date | None) -> Iterator[Mention]:
    for moment in moments(text, today):
        kind: MentionKind = "date"
        if moment.kind != "date":
            kind = "time" if moment.kind == "time" else "datetime"
        end = _OTHER_END.get(text[moment.start : moment.end].lower(), "")
        yield Mention(kind, moment.value, moment.start, moment.end, end)


def _masked(text: str, taken: Iterable[Mention]) -> str:
    """The text with what is surely something else blanked, at the same length."""
    for mention in taken:
        if mention.kind != "zone" and not _AWAY.search(text[mention.start : mention.end]):
            length = mention.end - mention.start
            text = text[: mention.start] + "\0" * length + text[mention.end :]
    return text


def _numbers(text: str) -> Iterator[Mention]:
    for found in _NUMBER.finditer(text):
        digits = found["digits"].replace(",", "")
        if len(digits) > _MAX_DIGITS or not math.isfinite(float(digits)):
            continue
        value = float(digits) if re.search(r"[.eE]", digits) else int(digits)
        start = found.start("sign") if found["sign"] else found.start("digits")
        if found["sign"] and start and text[start - 1] not in " (=:\n":
            start = found.start("digits")
        elif found["sign"]:
            value = -value
        yield from _with_unit(text, Mention("number", value, start, found.end()))
    for found in _NUMBER_WORD.finditer(text):
        if found[0].lower() != "one" or not _NOT_COUNTING.search(text[: found.start()][-12:]):
            yield from _with_unit(text, _spelled(found))


def _spelled(found: re.Match[str]) -> Mention:
    value = NUMBER_WORDS[found["word"].lower()] + NUMBER_WORDS.get((found["tens"] or "").lower(), 0)
    value *= NUMBER_WORDS.get((found["times"] or "").lower(), 1)
    return Mention("number", value, found.start(), found.end())


def _with_unit(text: str, number: Mention) -> Iterator[Mention]:
    """The number, and the unit after it or the money sign before it."""
    yield number
    sign = text[number.start - 1 : number.start]
    if sign in MONEY_SIGNS:
        yield Mention("unit", MONEY_SIGNS[sign], number.start - 1, number.start, "number")
        return
    unit = _UNIT.match(text, number.end)
    if unit and _may_be_unit(unit["unit"], text[number.end : unit.end() + len(" into ")]):
        yield Mention("unit", unit["unit"], unit.start("unit"), unit.end("unit"), "number")


def _may_be_unit(word: str, around: str) -> bool:
    """Whether a word after a number is its unit: `5km`, `300 K`, `12 in to cm`, not `5 and`."""
    if not is_stop(stem(word)) or not around.startswith(" "):
        return True
    return bool(re.fullmatch(r"[b-hj-zB-HJ-Z]", word) or re.search(r"in\s+(?:to|into)\b", around))


def _ids(text: str) -> Iterator[Mention]:
    for found in _ID.finditer(text):
        yield Mention("id", found["hash"] or found["id"], found.start(), found.end())


def _loose(masked: str) -> Iterator[Mention]:
    """Readings that only some parameter makes sense of."""
    for found in _HOW_MANY.finditer(masked):
        if is_stop(stem(found["unit"])):
            continue
        yield Mention("unit", found["unit"], found.start("unit"), found.end("unit"), "to")
        if one := _IN_ONE.match(masked, found.end()):
            yield Mention("number", 1, one.start("one"), one.end("one"))
            yield Mention("unit", one["unit"], one.start("unit"), one.end("unit"), "number")
    for found in _EXPRESSION.finditer(masked):
        start = found.end() - len(found[0].lstrip())
        yield Mention("expression", found[0].strip(), start, found.end())
    yield from _spoken_sums(masked)
    yield from _names(masked)
    yield from _phrases(masked)
    for found in _REFERENCE.finditer(masked):
        if found[0].lower() != "it" or not _DUMMY.search(masked[: found.start()][-8:]):
            yield Mention("reference", found[0].lower(), found.start(), found.end())


def _spoken_sums(text: str) -> Iterator[Mention]:
    """`19 percent of 250`, `the square root of 2`, `1/3 plus 1/4` as sums to work out."""
    for form, written in _SPOKEN_SUMS:
        for found in form.finditer(text):
            yield Mention("expression", found.expand(written), found.start(), found.end())


def _names(text: str) -> Iterator[Mention]:
    for found in _NAME.finditer(text):
        start, end = _without_verb(text, found.start(), found.end())
        name = re.sub(r"['\u2019]s?$", "", text[start:end])
        owns = "of" if len(name) < end - start else ""  # "Ada's loans" are loans of Ada.
        if name and name.split("'")[0] != "I" and not (name.islower() or is_stop(stem(name))):
            yield Mention("name", name, start, start + len(name), owns)


def _without_verb(text: str, start: int, end: int) -> tuple[int, int]:
    """Where a name really begins: `Find Jane Austen` is a request, not her name.

    Within a sentence a capital says that even a usual word belongs to a name: `in New York`.
    """
    begins = bool(_BEGINS.search(text[max(0, start - _LEAST_ROOM) : start]))
    for found in _NAME_WORD.finditer(text, start, end):
        known = stem(found[0])
        is_initial = len(found[0]) == 1 and text[found.end() : found.end() + 1] == "."
        is_usual = is_stop(known) or is_generic(known) or is_action(known)
        if is_initial or not is_usual or (not begins and found.end() < end):
            return found.start(), end
    return end, end


def _phrases(text: str) -> Iterator[Mention]:
    """What follows a preposition, up to the next one."""
    at = 0
    while (found := _PHRASE.search(text, at)) is not None:
        at = found.start("rest")
        rest = _PHRASE_ENDS.sub("", found["rest"][:_LONGEST_PHRASE]).split(". ")[0].split("\0")[0]
        article = _ARTICLE.match(rest)
        start = at + (article.end() if article else 0)
        value = text[start : at + len(rest)].strip().rstrip(".")
        if value and not _LEADS.match(value):
            yield Mention("phrase", value, start, start + len(value), found["lead"].lower())


def _before(text: str, start: int) -> str:
    found = _BEFORE.search(text[max(0, start - _LEAST_ROOM) : start].rstrip("'\"`\u201c\u2018("))
    return found["word"].lower() if found else ""
