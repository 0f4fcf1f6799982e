"""What changed between two JSON Schemas, line by line; any JSON is accepted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from ...core.json import JsonObject, as_object
from ...core.schemas import types_of
from .wording import LINE_CHARS, from_to, is_same, plain, quoted, shown

_MAX_DEPTH = 20  # schemas may be as deep as a server likes, and refer to themselves
_LABEL_DEPTH = 3
_LABELS = 4  # of the alternatives of a type
_LABEL_CHARS = 24
_NAME_CHARS = 26
_MOST_ALTERNATIVES = 100  # each is compared with each
_NO_NAME = "(no name)"
_MISSING = object()
_UNIONS = ("anyOf", "oneOf")
_TYPES = ("$defs", "definitions")
# Of a schema as a whole, whatever it allows: they stay outside where a type becomes a choice.
_REMARKS = ("title", "description", "default", "examples", "deprecated", "$defs", "definitions")


@dataclass(frozen=True, slots=True)
class Nouns:
    """What a person calls a schema, and the parts of it."""

    all_of_it: str
    part: str
    type: str


PARAMETERS = Nouns("Parameters", "Parameter", "Type")
RESULT = Nouns("Result", "Result field", "Result type")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where in a schema: a path of names, from the top or from a named type."""

    nouns: Nouns
    path: str = ""
    type: str = ""

    def __str__(self) -> str:
        path = quoted(self.path, _NAME_CHARS, keep_end=True)
        if not self.type:
            return f"{self.nouns.part} {path}" if self.path else self.nouns.all_of_it
        name = quoted(self.type, _NAME_CHARS)
        if self.path:
            return f"Field {path} of {self.nouns.type.lower()} {name}"
        return f"{self.nouns.type} {name}"

    def field(self, name: str) -> _Place:
        name = name or _NO_NAME
        return replace(self, path=f"{self.path}.{name}" if self.path else name)

    def items(self, mark: str = "[]") -> _Place:
        return replace(self, path=f"{self.path}{mark}")


class SchemaComparison:
    """Compares two schemas, each with the types that it names itself."""

    def __init__(self, nouns: Nouns, old: Any, new: Any) -> None:
        self._nouns = nouns
        self._old, self._new = old, new
        self._met: set[tuple[str, str]] = set()
        self._rules: dict[str, Callable[[_Place, str, Any, Any, int], Iterator[str]]] = {
            "items": self._items,
            "prefixItems": self._items,
            "additionalProperties": self._further,
            "enum": self._choices,
            "required": self._rewritten,
            **dict.fromkeys((*_UNIONS, "allOf"), self._alternatives),
            **dict.fromkeys(_TYPES, self._named_types),
        }

    def lines(self) -> Iterator[str]:
        """A line for each thing that changed; at least one if the schemas differ at all."""
        return self._of(_Place(self._nouns), self._old, self._new, 0)

    def _of(self, place: _Place, old: Any, new: Any, depth: int) -> Iterator[str]:
        if is_same(old, new):
            return
        has_told = False
        for line in self._parts(place, old, new, depth):
            has_told = True
            yield line
        if not has_told:
            yield from _values(place, "", old, new)

    def _parts(self, place: _Place, old: Any, new: Any, depth: int) -> Iterator[str]:
        if depth > _MAX_DEPTH or not (_is_schema(old) and _is_schema(new)):
            return
        refs = _ref_of(old), _ref_of(new)
        if refs[0] != refs[1]:
            if refs in self._met:
                return
            self._met.add(refs)
            old, new = _resolved(old, self._old), _resolved(new, self._new)
        if old is False or new is False:
            yield f"{place}: type {type_label(old, self._old)} → {type_label(new, self._new)}"
            return
        before, after = _as_choices(as_object(old), as_object(new))
        labels = type_label(before, self._old, 0), type_label(after, self._new, 0)
        if labels[0] != labels[1]:
            yield f"{place}: type {labels[0]} → {labels[1]}"
        yield from self._properties(place, before, after, depth)
        for word in dict.fromkeys((*before, *after)):
            was, now = before.get(word, _MISSING), after.get(word, _MISSING)
            if not is_same(was, now):
                yield from self._rule(place, word, was, now, depth)

    def _rule(self, place: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        if word == "type" and _is_type(was) and _is_type(now):
            return  # it is in the labels
        if word == "properties" and {type(was), type(now)} <= {dict, object}:
            return
        yield from self._rules.get(word, self._value)(place, word, was, now, depth)

    def _properties(
        self, place: _Place, before: JsonObject, after: JsonObject, depth: int
    ) -> Iterator[str]:
        old, new = _map(before, "properties"), _map(after, "properties")
        was_needed, is_needed = _names(before, "required"), _names(after, "required")
        for name in dict.fromkeys((*old, *new, *was_needed, *is_needed)):
            here = place.field(str(name))
            if name in old and name not in new:
                yield f"{here} was removed"
            elif name in new and name not in old:
                need = "required" if name in is_needed else "optional"
                yield f"{here} was added ({type_label(new[name], self._new)}, {need})"
            else:
                if (name in was_needed) != (name in is_needed):
                    yield f"{here} is {'required' if name in is_needed else 'optional'} now"
                yield from self._of(here, old.get(name), new.get(name), depth + 1)

    def _items(self, place: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        if isinstance(was, list) and isinstance(now, list):
            old, new = cast("list[Any]", was), cast("list[Any]", now)
            for i in range(max(len(old), len(new))):
                one = old[i] if i < len(old) else _MISSING
                other = new[i] if i < len(new) else _MISSING
                yield from self._item(place.items(f"[{i}]"), word, one, other, depth)
        else:
            yield from self._item(place.items(), word, was, now, depth)

    def _item(self, here: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        if was is _MISSING and _is_schema(now):
            yield f"{here}: described now ({type_label(now, self._new)})"
        elif now is _MISSING:
            yield f"{here}: not described any more"
        elif was is _MISSING:
            yield from _values(here, word, was, now)
        else:
            yield from self._of(here, was, now, depth + 1)

    def _further(self, place: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        if isinstance(was, dict) and isinstance(now, dict):
            yield from self._of(place.field("*"), was, now, depth + 1)
        elif now is False:
            yield f"{place}: others than those named are refused now"
        elif was is False:
            yield f"{place}: others than those named are accepted now"
        else:
            yield from _values(place, word, was, now)

    def _choices(self, place: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        if not (isinstance(was, list) and isinstance(now, list)):
            yield from _values(place, word, was, now)
            return
        gone = _others(cast("list[Any]", was), cast("list[Any]", now))
        came = _others(cast("list[Any]", now), cast("list[Any]", was))
        if came:
            yield _listed(f"{place} may be ", came, " now")
        if gone:
            yield _listed(f"{place} may not be ", gone, " any more")
        if not gone and not came:
            yield from self._rewritten(place, "allowed values", was, now, depth)

    def _alternatives(
        self, place: _Place, word: str, was: Any, now: Any, depth: int
    ) -> Iterator[str]:
        """Those that are alike in type are compared; a new type is in the label already."""
        if not (_is_short_list(was) and _is_short_list(now)):
            if _is_short_list(was) == _is_short_list(now) or word == "allOf":
                yield from _values(place, word, was, now)
            return
        gone, came = _others(was, now), _others(now, was)
        of_old = {type_label(x, self._old, 0) for x in was}
        of_new = {type_label(x, self._new, 0) for x in now}
        for old in gone:
            label = type_label(old, self._old, 0)
            twins = (x for x in came if type_label(x, self._new, 0) == label)
            if (new := next(twins, _MISSING)) is not _MISSING:
                came = [x for x in came if x is not new]
                yield from self._of(place, old, new, depth + 1)
            elif label in of_new:
                yield f"{place}: one of its forms ({label}) was removed"
        for new in came:
            if (label := type_label(new, self._new, 0)) in of_old:
                yield f"{place}: another form ({label}) was added"

    def _named_types(
        self, place: _Place, word: str, was: Any, now: Any, depth: int
    ) -> Iterator[str]:
        if not {type(was), type(now)} <= {dict, object}:
            yield from _values(place, word, was, now)
        old, new = _map({word: was}, word), _map({word: now}, word)
        for name in dict.fromkeys((*old, *new)):
            here = _Place(self._nouns, type=str(name) or _NO_NAME)
            if name not in new:
                yield f"{here} was removed"
            elif name not in old:
                yield f"{here} was added ({type_label(new[name], self._new)})"
            else:
                yield from self._of(here, old[name], new[name], depth + 1)

    def _rewritten(self, place: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        """Lists of which only the members count, and those have been looked at."""
        if not (_is_text_list(was) and _is_text_list(now)) and word == "required":
            yield from _values(place, word, was, now)
        elif isinstance(was, list) and isinstance(now, list):
            old, new = cast("list[Any]", was), cast("list[Any]", now)
            if not _others(old, new) and not _others(new, old):
                yield f"{place}: {word} listed differently, and means the same"

    def _value(self, place: _Place, word: str, was: Any, now: Any, depth: int) -> Iterator[str]:
        return _values(place, word, was, now)


def type_label(schema: Any, root: Any, items_depth: int = _LABEL_DEPTH) -> str:
    """What kind of value a schema allows, as in `array of string`, `integer or null`."""
    return _label(schema, root, items_depth, _LABEL_DEPTH)


def _resolved(schema: Any, root: Any) -> Any:
    """The schema that a `$ref` leads to within its document, with what else stands beside it."""
    seen: set[str] = set()
    while ref := _ref_of(schema):
        target = _at(root, ref)
        if ref in seen or not _is_schema(target):
            break
        seen.add(ref)
        beside = {name: x for name, x in schema.items() if name != "$ref"}
        schema = {**as_object(target), **beside}
    return schema


def _label(schema: Any, root: Any, items_depth: int, depth: int) -> str:
    if isinstance(schema, bool):
        return "anything" if schema else "nothing"
    spec = as_object(_resolved(schema, root))
    named = spec.get("type")
    if named == "array" and items_depth and depth and _is_schema(spec.get("items")):
        return f"array of {_label(spec['items'], root, items_depth - 1, depth - 1)}"
    if isinstance(named, str):
        return plain(named, _LABEL_CHARS)
    if isinstance(named, list):
        return _joined([plain(str(x), _LABEL_CHARS) for x in cast("list[Any]", named)], " or ")
    for word in (*_UNIONS, "allOf"):
        if depth and _is_short_list(spec.get(word)):
            inner = [_label(x, root, items_depth, depth - 1) for x in spec[word]]
            return _joined(inner, " and " if word == "allOf" else " or ")
    if types := types_of(spec):
        return _joined(types, " or ")
    return "object" if isinstance(spec.get("properties"), dict) else "anything"


def _joined(labels: list[str], word: str) -> str:
    several = list(dict.fromkeys(labels))
    return word.join([*several[:_LABELS], *(["others"] if len(several) > _LABELS else [])])


def _at(root: Any, ref: str) -> Any:
    """What a pointer such as `#/$defs/Address` points to; None for one that leads elsewhere."""
    if not ref.startswith("#"):
        return None
    for step in ref[1:].split("/")[1:]:
        name = step.replace("~1", "/").replace("~0", "~")
        if not isinstance(root, dict):
            return None
        root = cast(JsonObject, root).get(name)
    return root


def _as_choices(old: JsonObject, new: JsonObject) -> tuple[JsonObject, JsonObject]:
    """Where one of both is a choice of types, and the other is not: that one as a choice of one."""
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


def _values(place: _Place, word: str, old: Any, new: Any) -> Iterator[str]:
    what = f"{place}: {plain(word, _NAME_CHARS)}".rstrip()
    if old is _MISSING or new is _MISSING:
        part, said = (new, "was added") if old is _MISSING else (old, "was removed")
        yield f"{what} {shown(part, max(LINE_CHARS - len(what) - len(said) - 2, 12))} {said}"
        return
    for passage in from_to(old, new, LINE_CHARS - len(what) - 2):
        yield f"{what} {passage}"


def _listed(before: str, values: list[Any], after: str) -> str:
    room = LINE_CHARS - len(before) - len(after)
    texts = [shown(x, _NAME_CHARS) for x in values]
    count = len(texts)
    while count > 1 and len(_with_rest(texts, count)) > room:
        count -= 1
    return f"{before}{_with_rest(texts, count)}{after}"


def _with_rest(texts: list[str], count: int) -> str:
    rest = len(texts) - count
    return ", ".join(texts[:count]) + (f" and {rest} more" if rest else "")


def _others(these: list[Any], those: list[Any]) -> list[Any]:
    """What is in these and not in those."""
    texts = {x for x in those if isinstance(x, str)}
    rest = [x for x in those if not isinstance(x, str)]
    return [
        x
        for x in these
        if (x not in texts if isinstance(x, str) else not any(is_same(x, y) for y in rest))
    ]


def _is_schema(value: Any) -> bool:
    return isinstance(value, dict | bool)


def _is_type(value: Any) -> bool:
    return value is _MISSING or isinstance(value, str) or _is_text_list(value)


def _is_text_list(value: Any) -> bool:
    if value is _MISSING:
        return True
    return isinstance(value, list) and all(isinstance(x, str) for x in cast("list[Any]", value))


def _is_short_list(value: Any) -> bool:
    return isinstance(value, list) and len(cast("list[Any]", value)) <= _MOST_ALTERNATIVES


def _ref_of(schema: Any) -> str:
    ref = as_object(schema).get("$ref")
    return ref if isinstance(ref, str) else ""


def _map(schema: JsonObject, word: str) -> JsonObject:
    return as_object(schema.get(word))


def _names(schema: JsonObject, word: str) -> list[str]:
    found = schema.get(word)
    names = cast("list[Any]", found) if isinstance(found, list) else []
    return [x for x in names if isinstance(x, str)]
