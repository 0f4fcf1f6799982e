"""What changed between two definitions of a tool, or two sets of tools, in lines to read."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from ...core.json import JsonObject, as_list
from ..event import Subject
from .renames import as_if_named, likely_renames
from .schema import PARAMETERS, RESULT, SchemaComparison, as_object, type_label
from .wording import LINE_CHARS, from_to, is_same, plain, quoted, shown

_SCHEMAS = {"input_schema": PARAMETERS, "output_schema": RESULT}
_SOURCE_CHARS = 40  # of the address of an icon, which may be the icon itself

# More than a page in one text, or than these together, nobody reads; how much there is is said.
_MOST_CHARS, _MOST_TEXTS = 4000, 30
# JSON Schema's own words need no reading; under these stand names of parameters and the like.
_WITH_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LONGEST_KEYWORD = len("unevaluatedProperties")

_LOST = "What it was is not in the history any more, so what changed cannot be told"
_HIDDEN = "Something changed that is hidden because it is secret"


def difference(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """A line for each thing that changed; none where the definitions are equal.

    Fits a terminal of 80 columns, unless a name in it is very long. Nothing in it can harm a
    terminal, whatever the source wrote.
    """
    lines: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if not is_same(old, new):
            lines += _of_field(name, old, new) or _of_value(_title(name), old, new)
    return tuple(lines)


def _of_field(name: str, old: Any, new: Any) -> list[str]:
    """What is different in parts of a field; nothing where it has no parts that are."""
    if name in _SCHEMAS:
        return list(_of_schema(name, old, new))
    if name == "annotations":
        return list(_of_annotations(as_object(old), as_object(new)))
    if name == "tags":
        return list(_of_tags(as_list(old), as_list(new)))
    return list(_of_icons(as_list(old), as_list(new))) if name == "icons" else []


def _title(name: str) -> str:
    return name.replace("_", " ").capitalize()


def _of_value(what: str, old: Any, new: Any) -> Iterator[str]:
    if old is None or new is None:
        part, said = (new, "was added") if old is None else (old, "was removed")
        yield f"{what} {shown(part, LINE_CHARS - len(what) - len(said) - 2)} {said}"
        return
    for passage in from_to(old, new, LINE_CHARS - len(what) - 2):
        yield f"{what}: {passage}"


def _of_schema(name: str, old: Any, new: Any) -> Iterator[str]:
    nouns = _SCHEMAS[name]
    if old is None:
        yield f"{nouns.all_of_it}: described now ({type_label(new, new)})"
    elif new is None:
        yield f"{nouns.all_of_it}: not described any more"
    else:
        yield from SchemaComparison(nouns, old, new).lines()


def _of_annotations(old: JsonObject, new: JsonObject) -> Iterator[str]:
    for name in dict.fromkeys((*old, *new)):
        if not is_same(old.get(name), new.get(name)):
            word = quoted(str(name), _SOURCE_CHARS)
            yield f"Annotation {word}: {_claim(old.get(name))} → {_claim(new.get(name))}"


def _claim(value: Any) -> str:
    named = {None: "not given", True: "yes", False: "no"}
    return named[value] if value is None or isinstance(value, bool) else shown(value, 20)


def _of_tags(old: list[Any], new: list[Any]) -> Iterator[str]:
    for one, other, said in ((old, new, "was removed"), (new, old, "was added")):
        for tag in one:
            if not any(is_same(tag, x) for x in other):
                yield f"Tag {shown(tag, _SOURCE_CHARS)} {said}"


def _of_icons(old: list[Any], new: list[Any]) -> Iterator[str]:
    gone = [x for x in old if not any(is_same(x, y) for y in new)]
    came = [x for x in new if not any(is_same(x, y) for y in old)]
    for icons, said in ((gone, "was removed"), (came, "was added")):
        for icon in icons:
            yield f"Icon {_icon(icon)} {said}"
    if not gone and not came:
        yield "Icons: the same ones, listed differently"


def _icon(icon: Any) -> str:
    source = as_object(icon).get("src")
    return shown(icon if source is None else source, _SOURCE_CHARS)


def difference_in_full(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """As `difference`, and then every new text that it does not show whole."""
    lines = difference(before, after)
    cut = list(_not_shown(before, after, lines))
    more = [f"and {len(cut) - _MOST_TEXTS} more new texts"] if len(cut) > _MOST_TEXTS else []
    return (*lines, *(_in_full(path, text) for path, text in cut[:_MOST_TEXTS]), *more)


def _not_shown(
    before: JsonObject, after: JsonObject, lines: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """The new texts that stand in no line as a whole, each with where it is."""
    known = {text for _, text in _texts(before)}
    for path, text in _texts(after):
        if text not in known and not any(plain(text, len(line)) in line for line in lines):
            known.add(text)
            yield path, text


def _texts(definition: JsonObject) -> Iterator[tuple[str, str]]:
    """Every text in it that is not the protocol's own, with where it is. However deep."""
    left: list[tuple[str, Any]] = list(reversed(definition.items()))
    while left:
        path, value = left.pop()
        if isinstance(value, str):
            yield path, value
        elif isinstance(value, dict):
            fields = cast("dict[str, Any]", value)
            yield from ((path, x) for x in fields if _is_of_the_source(path, x))
            left += [(f"{path}.{x}", y) for x, y in reversed(fields.items())]
        elif isinstance(value, list):
            left += [(path, x) for x in reversed(cast("list[Any]", value))]


def _is_of_the_source(path: str, name: str) -> bool:
    """Whether a name of a field was thought out by whoever made the tool."""
    return len(name) > _LONGEST_KEYWORD or path.rpartition(".")[2] in _WITH_NAMES


def _in_full(path: str, text: str) -> str:
    length = f" (the first {_MOST_CHARS:,} of {len(text):,} characters)"
    more = length if len(text) > _MOST_CHARS else ""
    return f"In full, {plain(path, 100)}{more}: '{plain(text, _MOST_CHARS)}'"


class Defined(NamedTuple):
    """A definition by its digest; `definition` is None where it was lost."""

    digest: str
    definition: JsonObject | None


_Tools: TypeAlias = Mapping[Subject, Defined]


@dataclass(frozen=True, slots=True)
class Version:
    """A definition that a tool had from a time on. `lines` tell how it differs from the last."""

    digest: str
    time: datetime
    position: int
    definition: JsonObject | None
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToolChanged:
    """What became of a tool. `lines` tell what is different in it, if it is there both times.

    One that was `renamed` is called as it is at the later time, and `was` is what it was called
    before. That it is the same tool is likely, not known.
    """

    tool: Subject
    how: Literal["added", "removed", "renamed", "changed"]
    lines: tuple[str, ...] = ()
    was: Subject | None = None


def differences(
    old: JsonObject | None, new: JsonObject | None, *, in_full: bool = False
) -> tuple[str, ...]:
    """As `diff.difference`, of definitions that have different digests; never without a line.

    With `in_full` as `difference_in_full`, for who looks at one tool.
    """
    if old is None or new is None:
        return (_LOST,)
    return (difference_in_full if in_full else difference)(old, new) or (_HIDDEN,)


def compared(old: _Tools, new: _Tools, last: _Tools) -> list[ToolChanged]:
    """What became of each tool, by the names of sources and tools.

    `last` tells how those that are not there any more were at last.
    """
    found = list(_changes(old, new, last))
    return sorted(found, key=lambda x: (x.tool.kind.name, x.tool.source, x.tool.tool or ""))


def _changes(old: _Tools, new: _Tools, last: _Tools) -> Iterator[ToolChanged]:
    for tool in old.keys() & new.keys():
        if old[tool].digest != new[tool].digest:
            lines = differences(old[tool].definition, new[tool].definition)
            yield ToolChanged(tool, "changed", lines)
    gone = {x: last.get(x, old[x]) for x in old.keys() - new.keys()}
    came = {x: new[x] for x in new.keys() - old.keys()}
    renames = _renames(gone, came)
    for was, tool in renames.items():
        before, after = old[was].definition or {}, new[tool].definition or {}
        lines = difference(*as_if_named(tool.tool or "", before, after))
        yield ToolChanged(tool, "renamed", lines, was)
    for tool in gone.keys() - renames.keys():
        yield ToolChanged(tool, "removed")
    for tool in came.keys() - set(renames.values()):
        yield ToolChanged(tool, "added")


def _renames(gone: _Tools, came: _Tools) -> dict[Subject, Subject]:
    """Those that are likely, of each source."""
    old, new = _by_source(gone), _by_source(came)
    found: dict[Subject, Subject] = {}
    for source in old.keys() & new.keys():
        for was, name in likely_renames(old[source], new[source]).items():
            found[replace(source, tool=was)] = replace(source, tool=name)
    return found


def _by_source(tools: _Tools) -> dict[Subject, list[JsonObject]]:
    found: dict[Subject, list[JsonObject]] = defaultdict(list)
    for tool, (_, definition) in tools.items():
        if definition is not None:
            found[tool.anchor].append({**definition, "name": tool.tool})
    return found
