"""Results of tools: reading them as data, and finding in them what a later call needs."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, cast

from ....planning.reading.mentions import number_in, whole
from ....planning.reading.parameters import Parameter, Topic
from ....planning.reading.places import is_zone
from ....planning.reading.vocabulary import SUPERLATIVES
from ....planning.reading.words import name_words, stem, stem_set, words

# How surely a value in a result is what a parameter wants.
PLAUSIBLE, SAME_FORM, SAME_NAME = 1, 4, 6
_MAX_DEPTH = 3
_MAX_OWN_FIELDS = 2
_MAX_NAME_WORDS = 3  # A whole text is hardly ever a name or a number of something.
_WORDY = frozenset({"text", "query", "expression"})
_ABOUT_LISTS = stem_set("total count page limit offset next cursor query")
_SAID = 5  # A field that the request itself names: "translate its title".
_DIRECTION_STEMS = stem_set("from to source src target dest destination start end origin")
_MAIN_FIELDS = stem_set("result value total sum answer output amount product")
_TEXT_FIELDS = stem_set("title name text result content answer message summary")
_LINE = re.compile(r"^[ \t]*[-*]?[ \t]*(\w[\w ]{0,30}):[ \t]+(\S.*?)[ \t]*$", re.MULTILINE)
_AFTER_EQUALS = re.compile(r"(?:=|\bis|\bare|:)\s*(?P<rest>[-\u2212]?[\d.].*)", re.DOTALL)
_FORM: dict[Topic, re.Pattern[str]] = {
    "date": re.compile(r"\d{4}-\d{2}-\d{2}"),
    "datetime": re.compile(r"\d{4}-\d{2}-\d{2}(?:T\d{2}:\d{2}\S*)?"),
    "time": re.compile(r"(?:(?<=T)|(?<!\d))\d{2}:\d{2}"),
    "url": re.compile(r"https?://[^\s\"'<>]+"),
    "path": re.compile(r"(?:~|\.{1,2})?/[\w./@~+-]*|[A-Za-z]:\\\S+|[\w-]+(?:\.[A-Za-z]\w*)+"),
    "email": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
}
_ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1}


class Leaf(NamedTuple):
    """A value inside a result and the names that lead to it."""

    path: tuple[str, ...]
    value: Any

    @property
    def stems(self) -> list[str]:
        """The words of its own name."""
        return name_words(self.path[-1]) if self.path else []


def data_in(text: str) -> Any:
    """A result as data: its JSON value, a list when it holds several, else the text itself."""
    values: list[Any] = []
    rest = text.strip()
    while rest[:1] in ("{", "["):
        try:
            value, end = json.JSONDecoder().raw_decode(rest)
        except (ValueError, RecursionError):
            return text
        values.append(value)
        rest = rest[end:].strip()
    if values and not rest:
        return values[0] if len(values) == 1 else values
    return _scalar(text.strip()) if not values else text


def main_items(data: Any) -> list[Any] | None:
    """The list that a result is about: itself, or the one list that it holds."""
    if isinstance(data, list):
        return cast(list[Any], data)
    if not isinstance(data, dict):
        return None
    inner = cast(dict[str, Any], data)
    lists = [cast(list[Any], x) for x in inner.values() if isinstance(x, list)]
    if len(inner) == 1 and lists:
        return lists[0]
    # With more fields of its own it is a thing that also has a list.
    own = [k for k, v in inner.items() if not isinstance(v, list) and stem(k) not in _ABOUT_LISTS]
    listed = [x for x in lists if not x or any(isinstance(y, dict) for y in x)]
    return listed[0] if len(listed) == 1 and len(own) <= _MAX_OWN_FIELDS else None


def pick(items: Sequence[Any], said: str) -> Any:
    """The item that words point at: `the second one`, `the cheapest`; else the first."""
    if not items:
        return None
    spoken = [x.text.lower() for x in words(said)]
    for word in spoken:
        if word in SUPERLATIVES and (found := extreme(items, word)) is not None:
            return found
    for word in spoken:
        if word in _ORDINALS and _ORDINALS[word] < len(items):
            return items[_ORDINALS[word]]
    return items[0]


def value_for(parameter: Parameter, text: str, said: str, least: int = PLAUSIBLE) -> Any:
    """What a result offers for a parameter, or None.

    `said` are the words that may point at one of several items. `least` is how sure
    it must be: `PLAUSIBLE`, `SAME_FORM` or `SAME_NAME`.
    """
    data = data_in(text)
    if isinstance(data, str):
        data = dict(_LINE.findall(text)) or data
    items = main_items(data)
    spoken = {x.stem for x in words(said)}
    if items is not None and parameter.kind != "array":
        focus = pick(items, said)
        found = _best(parameter, focus, spoken, least)
        if found is not None or isinstance(data, list):
            return found
    return _best(parameter, data, spoken, least)


def field_in(text: str, name: str, said: str) -> Any:
    """The value of the field of that name in a result; None when it has none. `said` as above."""
    data = data_in(text)
    if isinstance(data, str):
        data = dict(_LINE.findall(text))
    items = main_items(data)
    wanted = set(name_words(name))
    for leaf in leaves(data if items is None else pick(items, said)):
        if wanted and wanted <= set(leaf.stems) and leaf.value is not None:
            return leaf.value
    return None


def found_id(parameter: Parameter, text: str, name: str) -> Any:
    """The id of the one thing found, or of the one that has exactly that name; else None."""
    items = main_items(data_in(text)) or []
    exact = [x for x in items if any(_is_called(name, leaf.value) for leaf in leaves(x))]
    chosen = exact or items
    if len(chosen) != 1 or not isinstance(chosen[0], dict):
        return None
    value = cast(dict[str, Any], chosen[0]).get(
        parameter.name, cast(dict[str, Any], chosen[0]).get("id")
    )
    wanted = int if parameter.is_number else str
    return value if isinstance(value, wanted) and not isinstance(value, bool) else None


def leaves(value: Any, path: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Every plain value inside a result, and every list of plain values as one."""
    if isinstance(value, dict) and len(path) < _MAX_DEPTH:
        for name, inner in cast(dict[str, Any], value).items():
            yield from leaves(inner, (*path, str(name)))
    elif isinstance(value, list):
        items = cast(list[Any], value)
        if all(not isinstance(x, dict | list) for x in items):
            yield Leaf(path, items)
        else:
            for inner in items[:1]:
                yield from leaves(inner, path)
    elif not isinstance(value, dict):
        yield Leaf(path, value)


def _best(parameter: Parameter, data: Any, said: set[str], least: int) -> Any:
    best_score, best = least - 1, None
    for leaf in leaves(data):
        value = _fitted(parameter, leaf)
        score = _score(parameter, leaf) if value is not None else 0
        if value is not None and leaf.stems and set(leaf.stems) <= said:
            score += _SAID
        if score > best_score:
            best_score, best = score, value
    return best


def _score(parameter: Parameter, leaf: Leaf) -> int:
    """How surely a leaf is what the parameter wants: from 1, plausible, to 10, the same name."""
    wanted = [x for x in parameter.stems if x not in _DIRECTION_STEMS] or parameter.stems
    own = leaf.stems
    if own and own == parameter.stems:
        return 10
    if own and own == wanted:
        return 8
    if own and (own[-1] == wanted[-1] or set(own) <= set(wanted)):
        return SAME_NAME
    if parameter.topic in _FORM or parameter.topic == "zone":
        return SAME_FORM
    if not own or set(own) & (_MAIN_FIELDS if parameter.is_number else _TEXT_FIELDS):
        return SAME_FORM
    return 3 if set(own) & set(wanted) else PLAUSIBLE


def _fitted(parameter: Parameter, leaf: Leaf) -> Any:
    value = leaf.value
    if parameter.kind == "array":
        if isinstance(value, list):
            return cast(list[Any], value)
        return None if value is None else [value]
    if isinstance(value, bool) or value is None or isinstance(value, list | dict):
        return None
    if parameter.is_number:
        return _number(parameter, value)
    return _text(parameter, leaf) if parameter.kind == "string" else None


def _number(parameter: Parameter, value: Any) -> int | float | None:
    if isinstance(value, str):
        after = _AFTER_EQUALS.search(value)
        value = number_in(after["rest"]) if after else number_in(value)
    if value is None or not math.isfinite(value):
        return None
    if parameter.kind == "number":
        return value
    return whole(value)


def _text(parameter: Parameter, leaf: Leaf) -> str | None:
    value = str(leaf.value)
    if parameter.has_fixed_choices and value not in parameter.choices:
        return None
    form = _FORM.get(parameter.topic)
    if form:
        found = form.search(value)
        return found[0] if found else None
    if parameter.topic == "zone":
        return next((x for x in re.findall(r"[\w/+-]+", value) if is_zone(x)), None)
    if not leaf.path and parameter.topic not in _WORDY and len(value.split()) > _MAX_NAME_WORDS:
        return None
    return value.strip() or None


def extreme(items: Sequence[Any], superlative: str) -> Any:
    """The item that a superlative means by one of its fields, or None."""
    fields, greatest = SUPERLATIVES[superlative]
    for field in fields.split():
        ranked = [(x, item) for item in items if (x := _field(item, stem(field))) is not None]
        if ranked and len({type(x) is str for x, _ in ranked}) == 1:
            return (max if greatest else min)(ranked, key=lambda pair: pair[0])[1]
    return None


def _field(item: Any, wanted: str) -> Any:
    for leaf in leaves(item):
        if wanted in leaf.stems and isinstance(leaf.value, int | float | str):
            return leaf.value
    return None


def _scalar(text: str) -> Any:
    """`5`, `true` and `"x"` are data too; anything else is text."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def _is_called(name: str, value: Any) -> bool:
    return isinstance(value, str) and [x.stem for x in words(value)] == [
        x.stem for x in words(name)
    ]
