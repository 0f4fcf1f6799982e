"""Words: reading them from texts and names, and bringing them to one form to compare them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache, lru_cache

from ...search.terms import STOP_WORDS, SYNONYMS, singular
from .vocabulary import (
    ACTION_WORDS,
    CHANGING_WORDS,
    CURRENCIES,
    GENERIC_WORDS,
    IRREGULAR,
    SAME_THINGS,
    SMALL_WORDS,
    SUPERLATIVES,
    UNITS,
)

_EMPTY = (STOP_WORDS | SMALL_WORDS) - GENERIC_WORDS

# Letters and digits of any language, with an apostrophe inside.
_WORD = re.compile(r"[^\W_]+(?:['\u2019][^\W_]+)*")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[A-Za-z])(?=[0-9]{2})")
# Chinese, Japanese and Korean write without spaces: two signs at a time serve as words.
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]+")
_SYLLABLE = re.compile(r"[aeiouy]+[^aeiouy]+")
_SHORT_END = re.compile(r"(?:^|[^aeiou])[aeiouy][^aeiouywx]$")
_KNOWN_STEMS = 20_000  # The words of a few thousand tool definitions.


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a text: as written, in its compared form, and where it stands."""

    text: str
    stem: str
    start: int
    end: int


def words(text: str) -> list[Word]:
    """The words of a text in order. Unspaced scripts give overlapping pairs of signs."""
    return [word for found in _WORD.finditer(text) for word in _words_at(found)]


def name_words(name: str) -> list[str]:
    """The stems of an identifier: `searchBooks`, `search_books`, `search-books` read the same."""
    return [stem(x[0]) for x in _WORD.finditer(_CAMEL.sub(" ", name))]


def plain_name(name: str) -> str:
    """An identifier as a person would say it: `search books`."""
    return " ".join(x[0].lower() for x in _WORD.finditer(_CAMEL.sub(" ", name)))


@lru_cache(maxsize=_KNOWN_STEMS)
def stem(word: str) -> str:
    """The form in which words are compared: lower case, without the endings of English grammar."""
    low = word.lower().replace("\u2019", "'").removesuffix("'s").replace("'", "")
    if low in IRREGULAR:
        return _without_derivation(IRREGULAR[low])
    if len(low) < 4 or not low.isascii() or not low.isalpha():
        return low
    return _without_derivation(_without_past(singular(low)))


def base_form(word: str) -> str:
    """A word without the ending of the past or of a plural: `ordered` and `orders` are `order`."""
    low = word.lower()
    plain = low.isascii() and low.isalpha() and len(low) > 3
    return IRREGULAR.get(low) or (_without_past(singular(low)) if plain else low)


def stem_set(listed: str) -> frozenset[str]:
    """The stems of the words of a text."""
    return frozenset(stem(word) for word in listed.split())


def is_stop(stemmed: str) -> bool:
    """Whether a word says nothing about what is wanted."""
    return stemmed in _stems(_EMPTY) or (len(stemmed) == 1 and stemmed.isascii())


def is_generic(stemmed: str) -> bool:
    """Whether a word says little: almost every tool finds or shows something."""
    return stemmed in _stems(GENERIC_WORDS)


def is_action(stemmed: str) -> bool:
    """Whether a word is a usual verb of a request."""
    return stemmed in _stems(ACTION_WORDS)


def is_change(stemmed: str) -> bool:
    """Whether a word asks for something to be changed."""
    return stemmed in _stems(CHANGING_WORDS)


def related(stemmed: str) -> frozenset[str]:
    """Stems that may stand for this one in general English."""
    return _groups(f"{SYNONYMS};{SAME_THINGS}").get(stemmed, frozenset())


def superlative_in(said: str) -> str:
    """The superlative a text uses, such as `oldest`, or an empty string."""
    return next((x.text.lower() for x in words(said) if x.text.lower() in SUPERLATIVES), "")


def same_unit(one: str, other: str) -> bool:
    """Whether two names mean the same unit: `miles` and `mi`."""
    return bool({other.lower(), stem(other)} & _unit_names(one))


def unit_name(said: str) -> str:
    """The first of the names that a unit has: `kilometre` for `km`; empty for what is none."""
    wanted = {said.lower(), stem(said)}
    groups = (x.split() for x in UNITS.split(";"))
    return next((x[0] for x in groups if wanted & {*x, *map(stem, x)}), "")


def is_money(name: str) -> bool:
    """Whether this names a currency."""
    return name.lower() in CURRENCIES or stem(name) in _stems(CURRENCIES)


def _words_at(found: re.Match[str]) -> Iterator[Word]:
    text, start = found[0], found.start()
    unspaced = _UNSPACED.search(text)
    if unspaced is None:
        yield Word(text, stem(text), start, found.end())
        return
    for at in range(max(1, len(text) - 1)):
        pair = text[at : at + 2]
        yield Word(pair, pair.lower(), start + at, start + at + len(pair))


def _without_past(word: str) -> str:
    for ending in ("ing", "ed"):
        base = word.removesuffix(ending)
        if base != word and len(base) > 2 and _SYLLABLE.search("x" + base + "x"):
            return _restored(base) if re.search("[aeiouy]", base) else word
    return word


def _restored(base: str) -> str:
    """The verb without its ending: `planned` lost a doubled letter, `priced` its `e`."""
    if len(base) > 3 and base[-1] == base[-2] and base[-1] not in "lsz":
        return base[:-1]
    short = len(_SYLLABLE.findall(base)) == 1 and _SHORT_END.search(base)
    return base + "e" if base.endswith(("at", "bl", "iz")) or short else base


def _without_derivation(word: str) -> str:
    """`translation`, `translator`, `translate` become one; so do `cancelled` and `cancel`."""
    for ending, kept in (("ation", 2), ("ator", 2), ("ly", 0)):
        if word.endswith(ending) and len(word) > len(ending) + 3:
            word = word[: len(word) - len(ending) + kept]
    several = len(_SYLLABLE.findall(word)) > 1
    if word.endswith("e") and len(word) > 4 and (several or not _SHORT_END.search(word[:-1])):
        word = word[:-1]
    return word[:-1] if len(word) > 5 and word[-1] == word[-2] else word


@cache
def _stems(listed: frozenset[str]) -> frozenset[str]:
    return frozenset(stem(word) for word in listed)


@cache
def _groups(table: str) -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for listed in re.split(r"[;\n]", table):
        group = {stem(word) for word in listed.split()}
        for word in group:
            found.setdefault(word, set()).update(group - {word})
    return {word: frozenset(others) for word, others in found.items()}


@cache
def _unit_names(name: str) -> frozenset[str]:
    """Every name of a unit, as it is and in the compared form."""
    wanted = {name.lower(), stem(name)}
    found = {name.lower()}
    for listed in UNITS.split(";"):
        group = {form for word in listed.split() for form in (word, stem(word))}
        found |= group if wanted & group else set()
    return frozenset(found)
