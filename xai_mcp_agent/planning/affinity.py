"""How much the names of an output and of an input have to do with each other.

An id that is wanted is looked for where the thing is that it identifies: in what is called so, in
what lists such things, in what an input's description names. Rare words say more.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from ..search.terms import root
from .ports import ID_WORDS, Input, Output, ToolPorts, is_generic

# What a word of an input's name counts by where it is found: in the output's own name, above it, in
# what the producer is about, in the words about the output, in those about the producer.
_PLACES = (1.0, 0.85, 0.7, 0.5, 0.35)
_KEPT = 2_000  # outputs, as each is compared with many inputs
_NOT_AN_ID, _RECORD, _ID_FOR_ANOTHER = 0.45, 0.95, 0.6
_OF_ANOTHER = 0.4  # an `id`, but of something else than is wanted
_LOOKED_AT = 0.6
_STRANGE = 0.4  # how much words weigh against an output that nobody wants
_HINTED, _ENOUGH_HINTED, _FEWEST_HINTED = 0.95, 0.6, 2
# Where a name such as `text` or `data` says nothing: of nothing known, half the name, the same
# name, the same format, a description that says what is there.
_UNTOLD, _LIKE_NAMED, _SAME_NAME, _SAME_FORMAT, _DESCRIBED = 0.2, 0.5, 0.6, 0.75, 0.5


@dataclass(frozen=True, slots=True)
class Affinity:
    """0 to 1, and why in words; "" where there is no word for it."""

    score: float
    reason: str = ""


_NONE = Affinity(0.0)
_NOTHING = frozenset[str]()


def affinity(
    producer: ToolPorts,
    out: Output,
    consumer: ToolPorts,
    inp: Input,
    rarity: Callable[[str], float],
) -> Affinity:
    """How much an output and an input have to do with each other, by all that names them."""
    found = (
        _named(producer, out, consumer, inp, rarity),
        _hinted(producer, out, inp, rarity),
        _looked_at(producer, out, consumer, inp),
    )
    return max(found, key=lambda x: x.score)


def _hinted(
    producer: ToolPorts, out: Output, inp: Input, rarity: Callable[[str], float]
) -> Affinity:
    """The description of an input names the tool that gives it."""
    words = producer.name_words
    if not inp.is_opaque or not inp.about or len(words) < _FEWEST_HINTED:
        return _NONE
    whole = sum(map(rarity, words))
    said = sum(rarity(x) for x in words if x in inp.about)
    if not whole or said / whole < _ENOUGH_HINTED:
        return _NONE
    is_it = bool({root(x) for x in out.words} & {root(x) for x in inp.words})
    share = 1.0 if is_it else 0.6 if out.is_implied else 0.4
    return Affinity(_HINTED * said / whole * share, f"its description names {producer.name}")


def _looked_at(producer: ToolPorts, out: Output, consumer: ToolPorts, inp: Input) -> Affinity:
    """What is changed is looked at first: the ids of what is in it are found there."""
    if not (inp.is_opaque and out.is_record and producer.looks_up):
        return _NONE
    about = [x for x in producer.entity if not is_generic(x)]
    if not about or any(x not in consumer.entity for x in about):
        return _NONE
    return Affinity(_LOOKED_AT, f"both are about the {', '.join(sorted(about)[:3])}")


def _named(
    producer: ToolPorts,
    out: Output,
    consumer: ToolPorts,
    inp: Input,
    rarity: Callable[[str], float],
) -> Affinity:
    if inp.words == out.words and not _is_vague(inp.words) and not out.is_implied:
        return Affinity(1.0, f"both are called {inp.name}")
    specific = _specific(inp.words, consumer.entity if inp.is_opaque else _NOTHING)
    if not specific:
        return _unspecific(out, inp)
    places = _places(producer, out)
    whole = sum(map(rarity, specific))
    credit = sum(rarity(x) * places.get(root(x), 0.0) for x in specific)
    score = credit / whole if whole else 0.0
    score *= _as_id(producer, out, inp, specific) * _without_strangers(producer, out, inp)
    shared = [x for x in specific if places.get(root(x))]
    return Affinity(score, f"about the same: {', '.join(shared[:3])}" if shared else "")


def _is_vague(words: Sequence[str]) -> bool:
    """Whether a name says nothing but that it is an id, or the like."""
    return all(is_generic(x) for x in words if x not in ID_WORDS)


@lru_cache(maxsize=_KEPT)
def _specific(words: tuple[str, ...], entity: frozenset[str]) -> tuple[str, ...]:
    """The words that say what is wanted; of a mere `id`, those of what its tool is about."""
    found = tuple(x for x in words if x not in ID_WORDS and not is_generic(x))
    return found or tuple(sorted(x for x in entity if x not in ID_WORDS and not is_generic(x)))


def _as_id(producer: ToolPorts, out: Output, inp: Input, specific: Sequence[str]) -> float:
    if not inp.is_opaque:
        return _ID_FOR_ANOTHER if out.is_opaque else 1.0
    if out.is_record:
        return _RECORD
    if not out.is_opaque:
        return _NOT_AN_ID
    return _OF_ANOTHER if _is_of_another(producer, out, specific) else 1.0


def _is_of_another(producer: ToolPorts, out: Output, wanted: Sequence[str]) -> bool:
    """Whether a mere `id` is that of what it lies in, or of what was asked with, and not wanted."""
    if any(not is_generic(x) for x in out.words):
        return False
    roots = {root(x) for x in wanted}
    above = [x for x in out.context if not is_generic(x)]
    if above:
        return not any(root(x) in roots for x in above)
    asked = [y for x in producer.required if x.is_opaque for y in x.words if not is_generic(y)]
    return bool(asked) and not any(root(x) in roots for x in asked)


def _without_strangers(producer: ToolPorts, out: Output, inp: Input) -> float:
    known = {*inp.words, *inp.about, *producer.entity}
    strange = [x for x in out.words if x not in known and not is_generic(x)]
    return 1 - _STRANGE * len(strange) / len(out.words) if strange else 1.0


def _unspecific(out: Output, inp: Input) -> Affinity:
    score = _UNTOLD
    if inp.shape.format and inp.shape.format == out.shape.format:
        score = _SAME_FORMAT
    if {*inp.words} & {*out.words}:
        score = max(score, _SAME_NAME if inp.words == out.words else _LIKE_NAMED)
    said = {root(x) for x in inp.about if not is_generic(x)}
    own = {root(x) for x in (*out.words, *out.context) if not is_generic(x)}
    return Affinity(max(score, _DESCRIBED) if said & own else score)


def _places(producer: ToolPorts, out: Output) -> Mapping[str, float]:
    """What a root counts by where this output says it."""
    return _credits((out.words, out.context, producer.entity, out.about, producer.about))


@lru_cache(maxsize=_KEPT)
def _credits(said: tuple[Collection[str], ...]) -> Mapping[str, float]:
    found: dict[str, float] = {}
    for words, credit in zip(said, _PLACES, strict=True):
        for x in words:
            found.setdefault(root(x), credit)
    return found
