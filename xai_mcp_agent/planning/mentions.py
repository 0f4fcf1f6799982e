"""What a request says that may be the value of a parameter: quoted texts, numbers, dates, names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .deeds import listed

_MONTHS = "january february march april may june july august september october november december"
_MONTH_NUMBERS = {x[:3]: n for n, x in enumerate(_MONTHS.split(), 1)}
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_MAX_MENTIONS = 60
_NUMBER_WORDS = {
    x: n
    for n, x in enumerate(
        ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"]
    )
}

_NOT_COUNTED = "to|for|of|from|and|or|in|at|by|with|that|which|who|is|are|on|as|if|so|then"

# In this order: what is found first is not looked at again.
_KINDS = (
    ("url", re.compile(r"\bhttps?://[^\s'\"<>]+[^\s'\"<>.,;:!?)\]]|\bwww\.[^\s'\"<>]+\w")),
    ("email", re.compile(r"\b[\w.+-]+@[\w-]+(?:\.[\w-]+)*\.?[A-Za-z]{2,}\b")),
    ("quoted", re.compile(r"(?<!\w)['\"\u2018\u201c]([^'\"\u2018\u201c\u2019\u201d]"
                          r"(?:[^\"\u201d\n']|(?<=\w)'(?=\w))*)['\"\u2019\u201d](?!\w)")),
    ("path", re.compile(r"(?<![\w/])(?:[A-Za-z]:\\|~?/)[\w.~-]+(?:[/\\][\w. ~-]*[\w~-])*"
                        r"|\b[\w-]+\.(?:[a-z]{2,4}\d?|[A-Z]{2,4}|mp[34])\b(?!\.\w)")),
    ("datetime", re.compile(r"\b\d{4}-\d\d?-\d\d?[T ]\d\d?:\d\d(?::\d\d)?\b")),
    ("date", re.compile(
        r"\b\d{4}-\d\d?-\d\d?\b|\b\d{4}/\d\d?/\d\d?\b|\b\d\d?[/.]\d\d?[/.]\d{2,4}\b"
        rf"|\b{_MONTH}\.?\s+\d\d?(?:st|nd|rd|th)?(?:,?\s+\d{{4}})?\b"
        rf"|\b\d\d?(?:st|nd|rd|th)?\s+(?:of\s+)?{_MONTH}\.?(?:,?\s+\d{{4}})?\b"
        r"|\b(?:today|tomorrow|yesterday|tonight)\b"
        r"|\b(?:next|last|this)\s+(?:week|month|year|weekend|monday|tuesday|wednesday|thursday"
        r"|friday|saturday|sunday)\b", re.IGNORECASE)),
    ("time", re.compile(r"\b\d\d?:\d\d(?::\d\d)?(?:\s*[ap]\.?m\b)?|\b\d\d?\s*[ap]\.?m\b",
                        re.IGNORECASE)),
    ("code", re.compile(r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?\b"
                        r"|#\w+|\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{4,}\b|\b\w+_\w+\b")),
    ("phone", re.compile(r"(?<!\w)\+?\d[\d ()-]{7,}\d\b")),
    ("number", re.compile(r"(?<![\w.])[-\u2212]?\d{1,3}(?:,\d{3})+(?:\.\d+)?\b"
                          r"|(?<![\w.])-?\d+(?:\.\d+)?(?=[A-Za-z%]|\b)")),
    # In "lend one to Ada" it counts nothing.
    ("number", re.compile(rf"\b(?!one\b(?:\s+(?:{_NOT_COUNTED})\b|\s*(?:[.,;:?!)]|$)))"
                          rf"(?:{'|'.join(_NUMBER_WORDS)})\b", re.IGNORECASE)),
)  # fmt: skip
_NAME = re.compile(
    r"\b(?!(?:Once|After|Before|When|While|If|For|In|On|At|By|From|With|To|And|But|So|Then|Also|I)\b)"
    r"[A-Z][\w&'\u2019.-]*\w(?:\s+(?:(?:of|the|and|de|la|von|van|in|on)\s+)*"
    r"[A-Z0-9][\w&'\u2019.-]*\b(?<! I))*"
    r"|\b[A-Z]{1,5}\b"
)
# What something is about, in plain words: no name, and in no quotation marks.
_TOPIC = re.compile(
    r"\b(?:about|regarding|concerning|mentioning|(?:related|relating) to"
    r"|on (?:the )?(?:topic|subject|theme) of)\s+(?:(?:the|an?|my|some|any|all)\s+)?"
    r"([a-z][\w'-]*(?:\s[a-z][\w'-]*){0,3}?)"
    r"(?=\s+(?:and|or|in|from|to|for|with|that|which|who|by|then|at|on|of|as|so|before|after|using)\b"
    r"|\s*[.,;:?!)\n]|\s*$)"
)
# No word is written so, and names of tools are no values: two changes of case at least.
_MIXED = re.compile(r"\b(?=\w*[a-z][A-Z]\w*[A-Z])\w{6,}\b")
_SENTENCE_START = re.compile(r"(?:^|[.!?\n:;])[\s'\"(]*$")
_QUESTIONS = listed(
    """
    i what who when where which how is are was were do does did can could would will please
    if my the a an also then after finally first next additionally lastly hi hey hello
    thanks
    """
)
_NO_NAMES = listed("API APIs ID IDs URL URLs I OK PM AM")


@dataclass(frozen=True, slots=True)
class Mention:
    """A value that a request says, from `start` to `end`; `kind` is what it looks like."""

    kind: str
    text: str
    value: Any
    start: int
    end: int


def mentions_in(request: str) -> list[Mention]:
    """The values in a text, in their order. None lies in another one."""
    found: list[Mention] = []
    taken = bytearray(len(request))
    for kind, pattern in _KINDS:
        for match in pattern.finditer(request):
            _add(found, taken, kind, match)
    for match in _NAME.finditer(request):
        if not _only_begins_a_sentence(request, match):
            _add(found, taken, "name", match)
    for match in _MIXED.finditer(request):
        _add(found, taken, "code", match)
    for match in _TOPIC.finditer(request):
        _add(found, taken, "topic", match, 1)
    return sorted(found, key=lambda x: x.start)


def _add(
    found: list[Mention], taken: bytearray, kind: str, match: re.Match[str], group: int = 0
) -> None:
    start, end = match.span(group)
    if len(found) >= _MAX_MENTIONS or any(taken[start:end]):
        return
    taken[start:end] = b"\1" * (end - start)
    text = match[1] if kind == "quoted" else match[group]
    found.append(Mention(kind, text, _value(kind, text), start, end))


def _only_begins_a_sentence(request: str, match: re.Match[str]) -> bool:
    text = match[0]
    if text.casefold() in _QUESTIONS or text in _NO_NAMES:
        return True
    begins = _SENTENCE_START.search(request, max(match.start() - 10, 0), match.start())
    return bool(begins or match.start() == 0) and " " not in text and text[1:].islower()


def _value(kind: str, text: str) -> Any:
    if kind == "number":
        return _number(text)
    if kind == "date":
        return _date(text)
    if kind == "time":
        return _time(text)
    return text.strip()


def _number(text: str) -> int | float:
    if text.casefold() in _NUMBER_WORDS:
        return _NUMBER_WORDS[text.casefold()]
    plain = text.replace(",", "").replace("\u2212", "-")
    return float(plain) if "." in plain else int(plain[:18])


def _date(text: str) -> str:
    """As `2024-05-26` where day, month and year are said; else as it is."""
    if match := re.fullmatch(r"(\d{4})[-/](\d\d?)[-/](\d\d?)", text):
        return f"{match[1]}-{int(match[2]):02}-{int(match[3]):02}"
    month = re.search(_MONTH, text, re.IGNORECASE)
    year, day = re.search(r"\d{4}", text), re.search(r"(?<!\d)\d\d?(?!\d)", text)
    if not month or not day:
        return text
    number = _MONTH_NUMBERS[month[0][:3].casefold()]
    head = f"{year[0]}-" if year else ""
    return f"{head}{number:02}-{int(day[0]):02}"


def _time(text: str) -> str:
    match = re.match(r"(\d\d?)(?::(\d\d))?(?::(\d\d))?\s*([ap])?", text, re.IGNORECASE)
    if not match:
        return text
    hour = int(match[1]) % 12 if match[4] else int(match[1])
    hour += 12 if (match[4] or "").casefold() == "p" else 0
    return f"{hour:02}:{match[2] or '00'}:{match[3] or '00'}"
