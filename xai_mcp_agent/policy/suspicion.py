"""Words of servers that a person should read: orders to a model, and names of other servers' tools.

A mark says where something stands and why it is odd, for a person to judge. It blocks nothing.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Any, cast

from ..core.events import Inventory
from ..core.json import JsonObject, children, clipped
from ..core.names import skeleton
from ..core.tools import Tool
from ..core.visible import count_hidden, visible
from .orders import MOST_CHARS, orders_in

_MOST_TEXTS = 2_000  # of one tool; and characters of all of them together
_MOST_OF_A_TOOL = 200_000
_WORDS_CHARS = 120  # of what is quoted
_MOST_MARKS = 20  # of one tool


@dataclass(frozen=True, slots=True)
class Mark:
    """Something odd that a server says. `tool` is empty for its instructions.

    `place` is where it stands, such as `description`; `reason` says what is odd, and `words` are
    what is said, cleaned and on one line.
    """

    source: str
    tool: str
    place: str
    reason: str
    words: str = ""

    def __str__(self) -> str:
        where = f"{self.tool}, {self.place}" if self.tool else self.place
        return f"{where}: {self.reason}" + (f": {self.words!r}" if self.words else "")


_NAMED = re.compile(r"[A-Za-z][\w-]{5,80}")
_PARTS_OF_NAMES = re.compile(r"[a-z\d][A-Z]|[_\d-]")


def marks_of(
    inventories: Mapping[str, Inventory], wanted: Collection[str] | None = None
) -> list[Mark]:
    """What is odd in what these sources say, in their order; of the `wanted` ones only.

    The others count as those whose tools may be named.
    """
    names = _Names(inventories)
    found: list[Mark] = []
    for source, inventory in inventories.items():
        if wanted is None or source in wanted:
            texts = [("instructions", inventory.instructions)] if inventory.instructions else []
            found += _marks(source, "", texts, names)
            for tool in inventory.tools:
                found += _marks(source, tool.name, _texts_of(tool), names)
                found += names.look_alikes(tool)
    return found


def _marks(source: str, tool: str, texts: Iterable[tuple[str, str]], names: _Names) -> list[Mark]:
    """Those of one tool, or of the instructions."""
    found: dict[tuple[str, str], Mark] = {}
    for place, text in texts:
        for reason, words in (*_oddities(text), *names.named_in(text, source, place)):
            found.setdefault((place, reason), Mark(source, tool, place, reason, words))
    return list(islice(found.values(), _MOST_MARKS))


def _oddities(text: str) -> Iterator[tuple[str, str]]:
    if hidden := count_hidden(text):
        thing = "a character" if hidden == 1 else f"{hidden:,} characters"
        yield f"has {thing} in it that nobody sees", _words(text)
    if len(text) > MOST_CHARS:
        yield f"is {len(text):,} characters long; models read the first {MOST_CHARS:,}", ""
    yield from orders_in(text)


def _words(text: str) -> str:
    words = " ".join(visible(text[:MOST_CHARS]).split())
    return clipped(words, _WORDS_CHARS)


def _texts_of(tool: Tool) -> Iterator[tuple[str, str]]:
    """All that a model or a person may read of a tool, with its place; not without end."""
    left = _MOST_OF_A_TOOL
    for place, text in islice(_all_texts_of(tool), _MOST_TEXTS):
        left -= len(text)
        if left < 0:
            return
        yield place, text


def _all_texts_of(tool: Tool) -> Iterator[tuple[str, str]]:
    yield "name", tool.name
    if tool.title:
        yield "title", tool.title
    yield "description", tool.description
    waiting: list[tuple[str, Any]] = [("", tool.input_schema)]
    while waiting:
        name, part = waiting.pop()
        if isinstance(part, dict):
            yield from _texts_in(name, cast(JsonObject, part))
            waiting += _parts_of(name, cast(JsonObject, part))
        else:
            waiting += [(name, x) for x in children(part)]


def _texts_in(name: str, schema: JsonObject) -> Iterator[tuple[str, str]]:
    place = f"parameter {_short(name)}" if name else "parameters"
    for word in ("title", "description", "default", "const", "pattern", "format"):
        if isinstance(text := schema.get(word), str):
            yield place, text
    for word in ("enum", "examples"):
        if isinstance(values := schema.get(word), list):
            for value in cast(list[Any], values):
                if isinstance(value, str):
                    yield place, value
    if isinstance(named := schema.get("properties"), dict):
        for parameter in cast(JsonObject, named):
            # As words: `content_of_the_file` is read so.
            yield f"parameter {_short(parameter)}", f"{parameter} {parameter.replace('_', ' ')}"


def _parts_of(name: str, schema: JsonObject) -> Iterator[tuple[str, Any]]:
    for word, part in schema.items():
        if word in ("properties", "$defs", "definitions") and isinstance(part, dict):
            yield from cast(JsonObject, part).items()
        elif word not in ("enum", "examples", "default", "const"):
            yield name, part


def _short(name: str) -> str:
    words = " ".join(visible(name[:_WORDS_CHARS]).split())
    return clipped(words, 40)


class _Names:
    """The names of the tools of several sources: which is whose, and which look alike."""

    def __init__(self, inventories: Mapping[str, Inventory]) -> None:
        self._sources: defaultdict[str, set[str]] = defaultdict(set)
        self._own: defaultdict[str, set[str]] = defaultdict(set)
        self._alike: defaultdict[str, set[tuple[str, str]]] = defaultdict(set)
        for source, inventory in inventories.items():
            for tool in inventory.tools:
                self._add(source, tool)

    def _add(self, source: str, tool: Tool) -> None:
        name = tool.name.lower()
        self._alike[skeleton(tool.name)].add((source, tool.name))
        self._own[source].update((name, *(x.lower() for x in _parameters(tool))))
        for one in (name, f"{source}_{name}".lower()):
            if len(one) > 5 and _PARTS_OF_NAMES.search(tool.name if one == name else one):
                self._sources[one].add(source)

    def named_in(self, text: str, source: str, place: str) -> Iterator[tuple[str, str]]:
        """Tools of other sources that a text names; plain words are not taken for names."""
        if place == "name":
            return
        for word in dict.fromkeys(_NAMED.findall(text[:MOST_CHARS])):
            others = self._sources.get(word.lower()) if _PARTS_OF_NAMES.search(word) else None
            if others and source not in others and word.lower() not in self._own[source]:
                yield (
                    f"names the tool {word} of {', '.join(sorted(others)[:3])}",
                    _around(text, word),
                )

    def look_alikes(self, tool: Tool) -> Iterator[Mark]:
        """That a name looks like another one, and is written in other letters."""
        if tool.name.isascii():
            return
        for source, name in sorted(self._alike[skeleton(tool.name)]):
            if (source, name) != (tool.source, tool.name):
                reason = f"looks like {name if name.isascii() else ascii(name)} of {source}"
                yield Mark(tool.source, tool.name, "name", reason, ascii(tool.name)[1:-1])


def _parameters(tool: Tool) -> Iterable[str]:
    named = tool.input_schema.get("properties")
    return cast(JsonObject, named) if isinstance(named, dict) else ()


def _around(text: str, word: str) -> str:
    at = max(text.find(word) - _WORDS_CHARS // 2, 0)
    return " ".join(visible(text[at : at + _WORDS_CHARS]).split())
