"""Differences between two definitions of a tool, in lines to read.

Lines fit a terminal of 80 columns, unless a name in them is very long, and nothing in them can harm
a terminal, whatever the source wrote.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from ..core.json import JsonObject, as_list, as_object, is_list, is_object
from ..core.schemas import dereference, required, types_of
from .wording import LINE_CHARS, canonical, from_to, is_same, plain, quoted, value_text

_MAX_DEPTH = 20  # schemas refer to themselves
_LABEL_DEPTH, _MOST_LABELS = 3, 4
_MOST_VALUES = 10  # values of an enum in one line
_LABEL_CHARS, _NAME_CHARS, _SOURCE_CHARS = 24, 26, 40
_MISSING = object()
_UNIONS = ("anyOf", "oneOf")
# Keywords of a schema as a whole: they stay outside if a type becomes a choice.
_REMARKS = ("title", "description", "default", "examples", "deprecated", "$defs", "definitions")

# Limits of full texts; the rest is counted.
_MOST_CHARS, _MOST_TEXTS = 4000, 30
# Keywords of JSON Schema whose keys are names of a source, such as of parameters.
_WITH_NAMES = ("properties", "patternProperties", "$defs", "definitions", "dependentSchemas")
_LONGEST_KEYWORD = len("unevaluatedProperties")

_LOST = "The earlier definition is no longer in the history, so the changes are unknown"
_HIDDEN = "Something changed that is hidden because it is secret"


def differences(
    old: JsonObject | None, new: JsonObject | None, *, in_full: bool = False
) -> tuple[str, ...]:
    """Like `difference`, for definitions with different digests; never empty."""
    if old is None or new is None:
        return (_LOST,)
    return (difference_in_full if in_full else difference)(old, new) or (_HIDDEN,)


def difference(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """Return a line for each change; none if the definitions are equal."""
    lines: list[str] = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        if not is_same(old, new):
            what = name.replace("_", " ").capitalize()
            was, now = (_MISSING if x is None else x for x in (old, new))
            lines += [*_field_lines(name, old, new)] or _value_lines(what, was, now, ": ")
    return tuple(lines)


def difference_in_full(before: JsonObject, after: JsonObject) -> tuple[str, ...]:
    """Like `difference`, followed by every new text that it cuts."""
    lines, texts = difference(before, after), list[str]()
    old = {text for _, text in _texts("", before)}
    for path, text in _texts("", after):
        if text not in old and not any(plain(text, len(line)) in line for line in lines):
            old.add(text)
            texts.append(_in_full(path, text))
    more = [f"and {len(texts) - _MOST_TEXTS} more new texts"] if len(texts) > _MOST_TEXTS else []
    return (*lines, *texts[:_MOST_TEXTS], *more)


def _texts(path: str, value: Any) -> Iterator[tuple[str, str]]:
    """Yield every text of a source in a definition, with its path, and no JSON Schema keywords."""
    if isinstance(value, str):
        yield path, value
    elif is_object(value):
        for name, inner in value.items():
            if len(name) > _LONGEST_KEYWORD or path.rpartition(".")[2] in _WITH_NAMES:
                yield path, name
            yield from _texts(f"{path}.{name}" if path else name, inner)
    elif is_list(value):
        for inner in value:
            yield from _texts(path, inner)


def _in_full(path: str, text: str) -> str:
    length = f" (the first {_MOST_CHARS:,} of {len(text):,} characters)"
    more = length if len(text) > _MOST_CHARS else ""
    return f"In full, {plain(path, 100)}{more}: '{plain(text, _MOST_CHARS)}'"


def _field_lines(name: str, old: Any, new: Any) -> Iterator[str]:
    """Yield lines about a field that has parts, such as a schema."""
    match name:
        case "input_schema" | "output_schema":
            yield from _schema_lines("Parameter" if name[0] == "i" else "Result field", old, new)
        case "annotations":
            before, after = as_object(old), as_object(new)
            for key in dict.fromkeys((*before, *after)):
                if not is_same(before.get(key), after.get(key)):
                    claims = _claim(before.get(key)), _claim(after.get(key))
                    yield f"Annotation {quoted(str(key), _SOURCE_CHARS)}: {claims[0]} → {claims[1]}"
        case "tags" | "icons":
            noun = "Tag" if name == "tags" else "Icon"
            for items, others, verb in ((old, new, "removed"), (new, old, "added")):
                for item in _members_not_in(as_list(items), as_list(others)):
                    source = as_object(item).get("src", item)
                    yield f"{noun} {value_text(source, _SOURCE_CHARS)} was {verb}"
        case _:
            pass


def _claim(value: Any) -> str:
    words = {None: "not given", True: "yes", False: "no"}
    return words[value] if value is None or isinstance(value, bool) else value_text(value, 20)


def _value_lines(what: str, old: Any, new: Any, colon: str = " ") -> list[str]:
    if old is _MISSING or new is _MISSING:
        part, verb = (new, "was added") if old is _MISSING else (old, "was removed")
        room = max(LINE_CHARS - len(what) - len(verb) - 2, 12)
        return [f"{what} {value_text(part, room)} {verb}"]
    passages = from_to(old, new, LINE_CHARS - len(what) - 2)
    return [f"{what}{colon}{passage}" for passage in passages]


# Schemas


def _schema_lines(noun: str, old: Any, new: Any) -> Iterator[str]:
    at = _Place(noun)
    if old is None:
        yield f"{at}: described now ({type_label(new, new)})"
    elif new is None:
        yield f"{at}: not described any more"
    else:
        yield from _SchemaComparison(old, new).lines(at, old, new)


@dataclass(frozen=True, slots=True)
class _Place:
    """Position in a schema: a path of names, from the top or from a named type."""

    noun: str
    path: str = ""
    type: str = ""

    def __str__(self) -> str:
        path = quoted(self.path, _NAME_CHARS, keep_end=True)
        is_result = self.noun.startswith("Result")
        if self.type:
            noun, name = "Result type" if is_result else "Type", quoted(self.type, _NAME_CHARS)
            return f"Field {path} of {noun.lower()} {name}" if self.path else f"{noun} {name}"
        whole = "Result" if is_result else "Parameters"
        return f"{self.noun} {path}" if self.path else whole

    def field(self, name: str) -> _Place:
        name = name or "(no name)"
        return replace(self, path=f"{self.path}.{name}" if self.path else name)


class _SchemaComparison:
    """Compares two schemas, each with its own named types."""

    def __init__(self, old: Any, new: Any) -> None:
        self._old, self._new = old, new
        self._compared: set[tuple[str, str]] = set()

    def lines(self, at: _Place, old: Any, new: Any, depth: int = 0) -> Iterator[str]:
        """Yield a line for each change; at least one if the schemas differ at all."""
        if not is_same(old, new):
            yield from [*self._parts(at, old, new, depth)] or _value_lines(f"{at}:", old, new)

    def _parts(self, at: _Place, old: Any, new: Any, depth: int) -> Iterator[str]:
        if depth > _MAX_DEPTH or not (_is_schema(old) and _is_schema(new)):
            return
        refs = _ref_of(old), _ref_of(new)
        if refs[0] != refs[1]:
            if refs in self._compared:
                return
            self._compared.add(refs)
            old, new = _resolved(old, self._old), _resolved(new, self._new)
        before, after = _as_choices(as_object(old), as_object(new))
        both = (old, new) if False in (old, new) else (before, after)
        labels = type_label(both[0], self._old, 0), type_label(both[1], self._new, 0)
        if labels[0] != labels[1]:
            yield f"{at}: type {labels[0]} → {labels[1]}"
        yield from self._properties(at, before, after, depth)
        for word in dict.fromkeys((*before, *after)):
            was, now = before.get(word, _MISSING), after.get(word, _MISSING)
            if not is_same(was, now):
                yield from self._word(at, word, was, now, depth)

    def _properties(
        self, at: _Place, before: JsonObject, after: JsonObject, depth: int
    ) -> Iterator[str]:
        old, new = as_object(before.get("properties")), as_object(after.get("properties"))
        was_needed, is_needed = required(before), required(after)
        for name in dict.fromkeys((*old, *new, *was_needed, *is_needed)):
            here = at.field(str(name))
            if name in old and name not in new:
                yield f"{here} was removed"
            elif name in new and name not in old:
                need = "required" if name in is_needed else "optional"
                yield f"{here} was added ({type_label(new[name], self._new)}, {need})"
            else:
                if (name in was_needed) != (name in is_needed):
                    yield f"{here} is {'required' if name in is_needed else 'optional'} now"
                yield from self.lines(here, old.get(name), new.get(name), depth + 1)

    def _word(self, at: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        """Yield lines about one keyword; `_parts` reports types and properties."""
        old, new = as_list(was), as_list(now)
        are_lists, are_schemas = is_list(was) and is_list(now), _is_schema(was) and _is_schema(now)
        lines: list[str] = []
        match word:
            case "type" | "properties" | "required":
                return  # a changed order is shown only if nothing else changed
            case "items" if are_schemas:
                lines += self.lines(replace(at, path=f"{at.path}[]"), was, now, depth + 1)
            case "additionalProperties" if is_object(was) and is_object(now):
                lines += self.lines(at.field("*"), was, now, depth + 1)
            case "additionalProperties" if was is False or now is False:
                lines.append(
                    f"{at}: others than those named are {'accepted' if now else 'refused'} now"
                )
            case "enum" if are_lists:
                lines += _enum_lines(at, old, new)
            case "anyOf" | "oneOf" | "allOf" if are_lists:
                yield from self._alternatives(at, old, new, depth)
                return
            case "$defs" | "definitions":
                lines += self._type_definitions(at, as_object(was), as_object(now), depth)
            case _:
                pass
        yield from lines or _value_lines(f"{at}: {plain(word, _NAME_CHARS)}", was, now)

    def _alternatives(
        self, at: _Place, was: list[Any], now: list[Any], depth: int
    ) -> Iterator[str]:
        """Compare alternatives of the same type; `_parts` reports new types."""
        came = _members_not_in(now, was)
        of_old = {type_label(x, self._old, 0) for x in was}
        of_new = {type_label(x, self._new, 0) for x in now}
        for old in _members_not_in(was, now):
            label = type_label(old, self._old, 0)
            twins = (i for i, x in enumerate(came) if type_label(x, self._new, 0) == label)
            if (twin := next(twins, None)) is not None:
                yield from self.lines(at, old, came.pop(twin), depth + 1)
            elif label in of_new:
                yield f"{at}: one of its forms ({label}) was removed"
        for new in came:
            if (label := type_label(new, self._new, 0)) in of_old:
                yield f"{at}: another form ({label}) was added"

    def _type_definitions(
        self, at: _Place, old: JsonObject, new: JsonObject, depth: int
    ) -> Iterator[str]:
        for name in dict.fromkeys((*old, *new)):
            here = _Place(at.noun, type=str(name) or "(no name)")
            if name not in new:
                yield f"{here} was removed"
            elif name not in old:
                yield f"{here} was added ({type_label(new[name], self._new)})"
            else:
                yield from self.lines(here, old[name], new[name], depth + 1)


def _enum_lines(at: _Place, was: list[Any], now: list[Any]) -> Iterator[str]:
    for values, others, verb, end in (
        (now, was, "may be", "now"), (was, now, "may not be", "any more")
    ):  # fmt: skip
        if news := _members_not_in(values, others):
            texts = ", ".join(value_text(x, _NAME_CHARS) for x in news[:_MOST_VALUES])
            rest = len(news) - _MOST_VALUES
            texts += f" and {rest} more" if rest > 0 else ""
            room = max(LINE_CHARS - len(f"{at} {verb}  {end}"), _NAME_CHARS)
            yield f"{at} {verb} {plain(texts, room)} {end}"


def type_label(schema: Any, root: Any, items_depth: int = _LABEL_DEPTH) -> str:
    """Return the kind of value that a schema allows, as in `array of string`, `integer or null`."""
    return _label(schema, root, items_depth, _LABEL_DEPTH)


def _label(schema: Any, root: Any, items_depth: int, depth: int) -> str:
    if isinstance(schema, bool):
        return "anything" if schema else "nothing"
    spec = as_object(_resolved(schema, root))
    type_name = spec.get("type")
    if type_name == "array" and items_depth and depth and _is_schema(spec.get("items")):
        return f"array of {_label(spec['items'], root, items_depth - 1, depth - 1)}"
    if isinstance(type_name, str | list):
        names = as_list(type_name) or [type_name]
        return _joined([plain(str(x), _LABEL_CHARS) for x in names], " or ")
    for word in (*_UNIONS, "allOf"):
        if depth and isinstance(spec.get(word), list):
            inner = [_label(x, root, items_depth, depth - 1) for x in spec[word]]
            return _joined(inner, " and " if word == "allOf" else " or ")
    if types := types_of(spec):
        return _joined(types, " or ")
    return "object" if isinstance(spec.get("properties"), dict) else "anything"


def _joined(labels: list[str], word: str) -> str:
    several = list(dict.fromkeys(labels))
    more = ["others"] if len(several) > _MOST_LABELS else []
    return word.join([*several[:_MOST_LABELS], *more])


def _resolved(schema: Any, root: Any) -> Any:
    """Return the schema that a `$ref` leads to within its document, with its siblings."""
    return dereference(schema, root)[0] if is_object(schema) else schema


def _as_choices(old: JsonObject, new: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Return both schemas as choices if one of them is a choice of types."""
    for word in _UNIONS:
        if (word in old) != (word in new):
            return _as_choice(word, old), _as_choice(word, new)
    return old, new


def _as_choice(word: str, schema: JsonObject) -> JsonObject:
    if any(x in schema for x in _UNIONS):
        return schema
    inner = {name: x for name, x in schema.items() if name not in _REMARKS}
    outer = {name: x for name, x in schema.items() if name in _REMARKS}
    return {**outer, word: [inner]}


def _members_not_in(items: list[Any], others: list[Any]) -> list[Any]:
    texts = set(map(canonical, others))
    return [x for x in items if canonical(x) not in texts]


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _ref_of(schema: Any) -> str:
    ref = as_object(schema).get("$ref")
    return ref if isinstance(ref, str) else ""
