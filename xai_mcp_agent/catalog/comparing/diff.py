"""What changed between two definitions of a tool, in lines that a person can read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from ...core.tools import JsonObject
from .schema_diff import PARAMETERS, RESULT, SchemaComparison, type_label
from .wording import LINE_CHARS, from_to, is_same, quoted, shown

_SCHEMAS = {"input_schema": PARAMETERS, "output_schema": RESULT}
_SOURCE_CHARS = 40  # of the address of an icon, which may be the icon itself


def difference(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """A line for each thing that changed; none where the definitions are equal.

    Fits a terminal of 80 columns, unless a name in it is very long. Nothing in it can harm a
    terminal, whatever the source wrote.
    """
    lines: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if not is_same(old, new):
            lines += _of_field(name, old, new)
    return tuple(lines)


def _of_field(name: str, old: Any, new: Any) -> Iterator[str]:
    if name in _SCHEMAS:
        return _of_schema(name, old, new)
    if name == "annotations":
        return _of_annotations(_object(old), _object(new))
    if name == "icons":
        return _of_icons(_list(old), _list(new))
    return _of_value(name.replace("_", " ").capitalize(), old, new)


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


def _of_icons(old: list[Any], new: list[Any]) -> Iterator[str]:
    gone = [x for x in old if not any(is_same(x, y) for y in new)]
    came = [x for x in new if not any(is_same(x, y) for y in old)]
    for icons, said in ((gone, "was removed"), (came, "was added")):
        for icon in icons:
            yield f"Icon {_icon(icon)} {said}"
    if not gone and not came:
        yield "Icons: the same ones, listed differently"


def _icon(icon: Any) -> str:
    source = _object(icon).get("src")
    return shown(icon if source is None else source, _SOURCE_CHARS)


def _object(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, dict) else {}


def _list(value: Any) -> list[Any]:
    return cast("list[Any]", value) if isinstance(value, list) else []
