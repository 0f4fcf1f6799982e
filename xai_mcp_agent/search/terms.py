"""Terms of a text to search by, and terms with nearly the same meaning."""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Mapping
from functools import cache, lru_cache

_MAX_CHARACTERS = 20_000  # of one text: further ones add nothing new
_CJK = "\u3040\u30ff", "\u3400\u4dbf", "\u4e00\u9fff", "\uac00\ud7af", "\uf900\ufaff"  # from, to
_CJK_SET = "".join("-".join(x) for x in _CJK)
_PIECE = re.compile(rf"[{_CJK_SET}]+|[^\W_{_CJK_SET}]+")
# Boundaries in an identifier: `fooBar`, `HTTPServer`; not `v2`, nor `mp3`.
_CASE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_ENDS = r"[.;!?\n\u3002\uff01\uff1f]"
_CLAUSE = re.compile(
    # From the first of them only, so that a thousand dots take linear time.
    rf"(?<!{_ENDS}){_ENDS}+(?:\s|$)|\b(?:then|also|afterwards|after that|finally|next)\b",
    re.IGNORECASE,
)
_SHORTEST_PLURAL, _SHORTEST_ROOT = 4, 4
_MAX_CACHED_CHARS = 30  # of a text whose terms are cached
_LENGTH_SHARE = 0.5  # how much less the words of a text of twice the usual length count
# A whole word in common says much more than a syllable.
_PART_LENGTH, _PART_WEIGHT = 3, 0.25

# Words of any request or description: of English, and of asking for something.
_STOP_WORDS = """
    a about all also am an and any are as at be been being but by can could did do does doing done
    for from had has have having he her here his how i if in into is it its just let like ll many
    me more most much my no not of on one or other our out over own re same she should so some such
    than that the
    their them then there these they this those through to too under until up us ve very was we were
    what when where which while who whom why will with within without would you your
    give given go goes going get got help kindly know look make makes made may might must need needs
    needed please provide provided provides tell thank thanks try use used uses using via want
    wanted wants wish show
"""
# Endings that make another word of the same root, the longest first.
_ENDINGS = """
    ization ational ication ations ements ating ation ators ated ator ates ement ments ment ings
    ions ance ence ate ing ion ers ors ity ive al ed er ly or e y
"""
# Verbs with the same meaning, by line. Names of things mislead more than they help.
_SYNONYMS = """
    create add new insert register
    delete remove erase clear drop cancel
    fetch retrieve read obtain return
    list display view browse enumerate
    search find lookup query locate discover
    update edit modify change set alter adjust
    send post publish share deliver
    message email mail sms notify notification
    picture image photo
    play start run execute launch
    stop end halt
    compute calculate evaluate
    convert transform translate
    summarize overview brief
    compare difference
    analyze analysis analyse
    recommend suggest
    random generate
    download save
    upload import
    verify validate check
"""
STOP_WORDS, _LONGEST_FIRST = frozenset(_STOP_WORDS.split()), _ENDINGS.split()


def terms(text: str) -> list[str]:
    """Return the terms of a text in order, with repetitions.

    Words without case and English plural; identifiers in parts; for Chinese, Japanese and Korean,
    which write no spaces, every two characters.
    """
    text = text[:_MAX_CHARACTERS]
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text)
    return [
        x
        for piece in _PIECE.findall(text)
        for x in (_split_short(piece) if len(piece) <= _MAX_CACHED_CHARS else _split(piece))
    ]


def separate_words(identifier: str) -> str:
    """Return the words of an identifier, separated by spaces."""
    return " ".join(x[0] for x in _PIECE.finditer(_CASE.sub(" ", identifier)))


def spelling_terms(text: str) -> dict[str, float]:
    """Return the words of a text with weights, and their parts with small weights.

    So a typing error is forgiven, and a word matches inside another.
    """
    weights: dict[str, float] = defaultdict(float)
    for word in terms(text):
        weights[word] += 1.0
        padded = f"^{word}$"
        for start in range(len(padded) - _PART_LENGTH + 1):
            weights[f"~{padded[start : start + _PART_LENGTH]}"] += _PART_WEIGHT
    return weights


def weigh(
    counts: Mapping[str, float], usual_length: float, weight: float = 1.0
) -> dict[str, float]:
    """Return the weight of each term of a text: less if the text is longer than usual."""
    length = 1 - _LENGTH_SHARE + _LENGTH_SHARE * sum(counts.values()) / usual_length
    return {term: weight * count / length for term, count in counts.items()}


def clauses(text: str) -> list[str]:
    """Return the parts of a request that each ask for something."""
    return [x for x in _CLAUSE.split(text[:_MAX_CHARACTERS]) if x and x.strip()]


def synonyms(term: str) -> tuple[str, ...]:
    """Return other terms for the same action."""
    return _synonyms().get(term, ())


@lru_cache(maxsize=50_000)
def root(term: str) -> str:
    """Return a term without its ending: `conversion` and `converter` have the same root."""
    for ending in _LONGEST_FIRST:
        if term.endswith(ending) and len(term) - len(ending) >= _SHORTEST_ROOT:
            return term[: -len(ending)]
    return term


def singular(word: str) -> str:
    """Return a word in lower case without an English plural ending."""
    if len(word) < _SHORTEST_PLURAL or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > _SHORTEST_PLURAL:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes", "zes")) else word[:-1]


def _split(piece: str) -> tuple[str, ...]:
    """Return the terms in letters and digits without separators."""
    if any(low <= piece[0] <= high for low, high in _CJK):
        return tuple(piece[n : n + 2] for n in range(max(len(piece) - 1, 1)))
    words = (x.casefold() for x in _CASE.sub(" ", piece).split(" "))
    return tuple(singular(x) for x in words if len(x) > 1 and x not in STOP_WORDS)


# The same words are in thousands of descriptions.
_split_short = lru_cache(maxsize=20_000)(_split)


@cache
def _synonyms() -> dict[str, tuple[str, ...]]:
    others: dict[str, tuple[str, ...]] = {}
    for line in _SYNONYMS.strip().splitlines():
        group = terms(line)
        for term in group:
            others[term] = tuple(x for x in group if x != term)
    return others
