"""Which things in a result a request asks about, by the words that it and they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import get_close_matches
from typing import Any, cast

from ....planning.reading.words import stem, words
from .results import extreme, leaves, main_items

_OF_ONE = 0.9
_LEAST_LIKENESS = 0.8  # `frankenstien` is 0.92 of `frankenstein`
_LEAST_LETTERS = 5  # of a word that may be misspelt, in several words of three
_MOST_KNOWN_WORDS = 2_000


def share_said(data: Any, sought: Sequence[str], superlative: str = "") -> float:
    """How much of what is sought the best thing in a result says, from 0 to 1."""
    items = _items(data)
    if superlative and len(items) > 1 and extreme(items, superlative) is not None:
        return 1.0
    wanted = _spelt(sought, items)
    if not wanted or not items:
        return 0.0
    share = max(len(wanted & _said_by(x)) for x in items) / len(wanted)
    # Things that are so tell more than how many there are.
    return share if main_items(data) else _OF_ONE * share


def narrowed(data: Any, sought: Sequence[str]) -> Any:
    """The result with only those of its things that say most of what is sought; all when all or
    none do."""
    items = main_items(data)
    if not items or len(items) == 1:
        return data
    wanted = _spelt(sought, items)
    hits = [len(wanted & _said_by(x)) for x in items]
    most = max(hits)
    kept = [x for x, hit in zip(items, hits, strict=True) if hit == most]
    if not most or len(kept) == len(items):
        return data
    if isinstance(data, dict):
        whole = cast(dict[str, Any], data)
        return {k: kept for k, v in whole.items() if v is items}
    return kept


def _items(data: Any) -> list[Any]:
    items = main_items(data)
    return [data] if items is None else items


def _spelt(sought: Sequence[str], items: Sequence[Any]) -> set[str]:
    """The stems of what is sought; of a word that no thing says, that of the most like one."""
    known: dict[str, str] = {}
    for item in items:
        for text in _texts(item):
            known.update((x.text.lower(), x.stem) for x in words(text))
        if len(known) > _MOST_KNOWN_WORDS:
            break
    stems = set(known.values())
    found: set[str] = set()
    for word in sought:
        own = stem(word)
        if own not in stems and len(word) >= min(_LEAST_LETTERS, 3 + (len(sought) < 2) * 2):
            near = get_close_matches(word.lower(), known, n=1, cutoff=_cutoff(word))
            own = known[near[0]] if near else own
        found.add(own)
    return found


def _cutoff(word: str) -> float:
    return _LEAST_LIKENESS if len(word) >= _LEAST_LETTERS else 0.6


def _said_by(item: Any) -> set[str]:
    """What a thing says: the words of its values, and the names of what is true of it."""
    found = {x.stem for text in _texts(item) for x in words(text)}
    for leaf in leaves(item):
        if leaf.value is True:
            found.update(leaf.stems)
    return found


def _texts(item: Any) -> Iterator[str]:
    for leaf in leaves(item):
        value: Any = leaf.value
        values = cast(list[Any], value) if isinstance(value, list) else [value]
        yield from (x for x in values if isinstance(x, str))
    # Names of things may be keys: {"milk": 3}.
    for inner in [item, *(cast(dict[str, Any], item).values() if isinstance(item, dict) else ())]:
        if isinstance(inner, dict):
            counts = cast(dict[str, Any], inner)
            if all(type(x) is int for x in counts.values()):
                yield from counts
