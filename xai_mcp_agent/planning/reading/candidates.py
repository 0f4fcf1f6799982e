"""Which of the values that a text states suit a parameter, and in which order of preference."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from difflib import get_close_matches
from typing import Any

from .mentions import Mention, MentionKind, whole
from .parameters import Parameter, Topic
from .vocabulary import ORDERS
from .words import Word, same_unit, stem, stem_set, words

_KINDS: dict[Topic, tuple[MentionKind, ...]] = {
    "zone": ("zone",), "url": ("url",), "email": ("email",), "path": ("path", "quoted"),
    "datetime": ("datetime", "date"), "date": ("date", "datetime"), "time": ("time", "datetime"),
    "unit": ("unit", "quoted", "name", "phrase"), "id": ("id", "quoted", "number"),
    "place": ("quoted", "name", "phrase"), "person": ("quoted", "name", "phrase"),
    "language": ("name", "phrase"), "expression": ("quoted", "expression"),
    "name": ("quoted", "name"), "query": ("quoted",), "text": ("quoted",),
    "end": ("path", "url", "email", "quoted", "date", "time", "id", "unit", "name", "phrase"),
}  # fmt: skip
# The small words that lead to each: "in Paris", "by Jane Austen", "into French".
_LEADS: dict[Topic, frozenset[str]] = {
    "unit": frozenset({"to", "into", "in", "from", "as", "number"}),
    "place": frozenset({"in", "at", "near", "for", "from", "to", "of", "into"}),
    "person": frozenset({"for", "by", "as", "to", "from", "of", "with", "does", "did", "has"}),
    "language": frozenset({"to", "into", "in"}),
    "end": frozenset({"from", "to", "into", "between", "and", "until", "number"}),
    "name": frozenset({"named", "called", "titled", "for", "of", "as"}),
}
_ORDERS, _NONE = {word: stem_set(listed) for word, listed in ORDERS.items()}, frozenset[str]()
_FOLDER_WORDS = stem_set("dir directory folder repo repository root cwd")
_FROM = frozenset({"from", "since", "after", "between", "number", "of"})
_TO = frozenset({"to", "into", "until", "till", "before", "in", "as"})
# Kinds that are what they are wherever they stand; others need a word that leads to them.
_SURE: frozenset[MentionKind] = frozenset(
    {"zone", "url", "email", "path", "date", "time", "datetime"}
)
# A unit sign that is also a small word counts only next to a number.
_SMALL_WORDS = frozenset({"in", "a", "at", "am", "as", "to", "of", "or", "is", "on", "i"})
# Of a word that may be misspelt; and how alike it must be.
_LEAST_LETTERS, _LEAST_LIKENESS = 6, 0.85
_MOST_CHOICES = 100
_DATE_PATTERNS = {"MM/DD/YYYY": "{1}/{2}/{0}", "DD/MM/YYYY": "{2}/{1}/{0}",
                  "YYYY/MM/DD": "{0}/{1}/{2}", "DD.MM.YYYY": "{2}.{1}.{0}",
                  "DD-MM-YYYY": "{2}-{1}-{0}", "MM-DD-YYYY": "{1}-{2}-{0}"}  # fmt: skip


def candidates(
    parameter: Parameter, free: Sequence[Mention], *, has_partner: bool = False
) -> list[Mention]:
    """The mentions that suit a parameter, best first.

    `has_partner`: the tool also takes the other end (`to_unit` beside `from_unit`), so a
    value that clearly is the other end does not suit.
    """
    kinds = _KINDS[parameter.topic]
    suiting = [x for x in free if x.kind in kinds and _is_led_to(parameter, x)]
    ordered = sorted(suiting, key=lambda x: (-_lead_score(parameter, x), kinds.index(x.kind)))
    if not parameter.direction:
        return ordered
    scored = [(_direction_score(parameter, x), x) for x in ordered]
    if has_partner:
        scored = [x for x in scored if x[0] >= 0]
    return [x for _, x in sorted(scored, key=lambda pair: -pair[0])]


def value_of(parameter: Parameter, mention: Mention, free: Sequence[Mention] = ()) -> Any:
    """The mention as a value of the parameter's type; None when it cannot be one."""
    value = mention.value
    if parameter.is_number:
        return _number(parameter, value)
    if parameter.topic == "date" and mention.kind in ("date", "datetime"):
        return _written_date(parameter, value[:10])
    if parameter.topic == "time" and mention.kind == "datetime":
        return value[11:16]
    if parameter.topic == "datetime" and mention.kind == "date":
        times = [x.value for x in free if x.kind == "time"]
        return f"{value}T{times[0]}:00"[:19] if times else value
    return str(value)


def chosen(
    parameter: Parameter, text: str, offset: int, free: Sequence[Mention]
) -> list[tuple[Mention, Any]]:
    """Every value of a list of choices that the text names, with where; best first."""
    named = list(_named_choices(parameter, text, offset, free))
    inner = [x for x, _ in named]
    kept = [(x, value) for x, value in named if not any(_inside(x, y) for y in inner)]
    return sorted(kept, key=lambda pair: -_direction_score(parameter, pair[0]))


def misspelt(parameter: Parameter, text: str, offset: int) -> list[tuple[Mention, Any]]:
    """The choice that a word of the text was meant for: `temprature`."""
    by_name = {x.lower(): x for x in parameter.choices if isinstance(x, str)}
    for word in words(text) if len(by_name) <= _MOST_CHOICES else ():
        if len(word.text) >= _LEAST_LETTERS:
            near = get_close_matches(word.text.lower(), by_name, n=1, cutoff=_LEAST_LIKENESS)
            if near:
                start, end = word.start + offset, word.end + offset
                return [(Mention("quoted", by_name[near[0]], start, end), by_name[near[0]])]
    return []


def opposes(parameter: Parameter, mention: Mention) -> bool:
    """Whether a value clearly is the other end of the pair that the parameter is one end of."""
    return _direction_score(parameter, mention) < 0


def path_suits(parameter: Parameter, tool_stems: frozenset[str], value: Any) -> bool:
    """Whether a path is a folder where a folder is wanted, and a file where a file is."""
    if parameter.topic != "path" or not isinstance(value, str):
        return True
    told = {*parameter.stems, *tool_stems}
    if told & _FOLDER_WORDS:
        return _is_folder(value)
    return "file" not in told or not _is_folder(value)


def _is_folder(path: str) -> bool:
    return not re.search(r"\w\.\w+$", path)


def _is_led_to(parameter: Parameter, mention: Mention) -> bool:
    if mention.kind in _SURE or mention.kind in ("unit", "expression"):
        return True
    led = _lead_score(parameter, mention) > 0
    if mention.kind == "phrase":
        return led and parameter.is_wanted and len(mention.value.split()) <= 4
    return led or parameter.is_wanted


def _lead_score(parameter: Parameter, mention: Mention) -> int:
    if mention.kind == "path":
        return int(_is_folder(mention.value) == bool(_FOLDER_WORDS & set(parameter.stems)))
    leads = _LEADS.get(parameter.topic)
    return int(mention.before in leads) if leads else 0


def _direction_score(parameter: Parameter, mention: Mention) -> int:
    """1 when it is that end of a pair, -1 when it is the other, 0 when nobody knows."""
    if not parameter.direction:
        return 0
    end = "from" if mention.before in _FROM else "to" if mention.before in _TO else ""
    if not end:
        return 0
    # "In" may lead to either; only the word itself is sure.
    return 1 if end == parameter.direction else 0 if mention.before in ("in", "of") else -1


def _number(parameter: Parameter, value: Any) -> int | float | None:
    if isinstance(value, str):
        value = int(value) if value.isdecimal() and len(value) < 16 else None
    if value is None or parameter.kind == "number":
        return value
    return whole(value)


def _written_date(parameter: Parameter, value: str) -> str:
    """An ISO date in the form that the description asks for."""
    parts = value.split("-")
    if len(parts) == 3:
        for pattern, form in _DATE_PATTERNS.items():
            if pattern in parameter.description.upper():
                return form.format(*parts)
    return value


def _named_choices(
    parameter: Parameter, text: str, offset: int, free: Sequence[Mention]
) -> Iterator[tuple[Mention, Any]]:
    said = words(text)
    units = [x for x in free if x.kind == "unit"]
    for value in parameter.choices:
        for start, end in _places(value, text, said):
            around = [x for x in free if x.start <= start + offset and end + offset <= x.end]
            before = _before(text, start, around)
            mention = Mention("quoted", value, start + offset, end + offset, before)
            if text[start:end].lower() not in _SMALL_WORDS or before == "number":
                yield mention, value
        yield from ((replace(x, kind="quoted"), value) for x in units if x.value == value)


def _places(value: Any, text: str, said: Sequence[Word]) -> Iterator[tuple[int, int]]:
    """Where the text says a choice: its words in a row, the same unit, or the number."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return
    wanted = [x.stem for x in words(str(value))]
    for at in range(len(said) - len(wanted) + 1 if wanted else 0):
        row = said[at : at + len(wanted)]
        if [x.stem for x in row] == wanted:
            yield row[0].start, row[-1].end
    yield from ((x.start, x.end) for x in said if _ORDERS.get(x.text.lower(), _NONE) & {*wanted})
    if len(wanted) == 1 and isinstance(value, str):
        yield from ((x.start, x.end) for x in said if x.stem != wanted[0] and _same(x, value))


def _same(word: Word, value: str) -> bool:
    return same_unit(value, word.text) or same_unit(value, stem(word.text))


def _before(text: str, start: int, around: Iterable[Mention]) -> str:
    for mention in around:
        if mention.before and mention.kind in ("unit", "name", "phrase"):
            return mention.before
    found = re.search(r"([A-Za-z]+|\d)\s*(?:(?:the|a|an|degrees?)\s+)*$", text[:start][-40:])
    if not found:
        return ""
    return "number" if found[1].isdigit() else found[1].lower()


def _inside(one: Mention, other: Mention) -> bool:
    return (
        other.start <= one.start
        and one.end <= other.end
        and (other.end - other.start > one.end - one.start)
    )
