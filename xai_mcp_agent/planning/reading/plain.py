"""One reading of each value that a text states: the surest where it can be read in several ways."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .mentions import Mention, MentionKind, mentions_in
from .vocabulary import word_set

_MAX_MENTIONS = 60
# In this order: what is found first is not looked at again.
_ORDER: tuple[MentionKind, ...] = (
    "url", "email", "quoted", "path", "datetime", "date", "time", "id", "phone", "number", "name",
    "topic",
)  # fmt: skip
# What no prose has: addresses of machines, letters with digits, words with `_` in them.
_CODE = re.compile(
    r"\b\d{1,3}(?:\.\d{1,3}){3}(?:/\d+)?\b"
    r"|#\w+|\b(?=\w*\d)(?=\w*[A-Za-z])[\w-]{4,}\b|\b\w+_\w+\b"
)
# No word is written so, and names of tools are no values: two changes of case at least.
_MIXED = re.compile(r"\b(?=\w*[a-z][A-Z]\w*[A-Z])\w{6,}\b")
_PHONE = re.compile(r"(?<!\w)\+?\d[\d ()-]{7,}\d\b")
# What something is about, in plain words: no name, and in no quotation marks.
_TOPIC = re.compile(
    r"\b(?:about|regarding|concerning|mentioning|(?:related|relating) to"
    r"|on (?:the )?(?:topic|subject|theme) of)\s+(?:(?:the|an?|my|some|any|all)\s+)?"
    r"([a-z][\w'-]*(?:\s[a-z][\w'-]*){0,3}?)"
    r"(?=\s+(?:and|or|in|from|to|for|with|that|which|who|by|then|at|on|of|as|so|before|after|using)\b"
    r"|\s*[.,;:?!)\n]|\s*$)"
)
_SENTENCE_START = re.compile(r"(?:^|[.!?\n:;])[\s'\"(]*$")
_QUESTIONS = word_set(
    """
    i what who when where which how is are was were do does did can could would will please
    if my the a an also then after finally first next additionally lastly hi hey hello
    thanks
    """
)
_NO_NAMES = word_set("API APIs ID IDs URL URLs I OK PM AM")


def plain_mentions(text: str) -> list[Mention]:
    """The values in a text, in their order. None lies in another one."""
    by_kind: dict[str, list[Mention]] = {}
    # What is an id by its form alone may be a thing just as well: `MP3`, `COVID-19`.
    stated = (x for x in mentions_in(text) if x.kind != "id")
    for one in (*_codes(text), *stated, *_loose(text)):
        by_kind.setdefault(one.kind, []).append(one)
    found: list[Mention] = []
    taken = bytearray(len(text))
    for one in (x for kind in _ORDER for x in by_kind.get(kind, ())):
        if any(taken[one.start : one.end]) or _only_begins_a_sentence(text, one):
            continue
        taken[one.start : one.end] = b"\1" * (one.end - one.start)
        found.append(one)
    return sorted(found[:_MAX_MENTIONS], key=lambda x: x.start)


def _codes(text: str) -> Iterator[Mention]:
    yield from (_plain("id", x) for x in _CODE.finditer(text))


def _loose(text: str) -> Iterator[Mention]:
    yield from (_plain("phone", x) for x in _PHONE.finditer(text))
    yield from (_plain("name", x) for x in _MIXED.finditer(text))
    yield from (_plain("topic", x, 1) for x in _TOPIC.finditer(text))


def _plain(kind: MentionKind, found: re.Match[str], group: int = 0) -> Mention:
    start, end = found.span(group)
    return Mention(kind, found[group], start, end, text=found[group])


def _only_begins_a_sentence(text: str, name: Mention) -> bool:
    if name.kind != "name":
        return False
    if name.text.casefold() in _QUESTIONS or name.text in _NO_NAMES:
        return True
    begins = _SENTENCE_START.search(text, max(name.start - 10, 0), name.start)
    is_first = bool(begins) or name.start == 0
    return is_first and " " not in name.text and name.text[1:].islower()
