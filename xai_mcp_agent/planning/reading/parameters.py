"""Parameters of a tool as the offline model reads them, whatever its JSON Schema looks like."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeAlias, cast

from ...core.json import JsonObject, as_text
from ...core.schemas import properties, required
from .words import name_words, stem_set

JsonType: TypeAlias = Literal["string", "integer", "number", "boolean", "array", "object"]
Topic: TypeAlias = Literal[
    "zone", "url", "email", "path", "datetime", "date", "time", "unit", "id", "place", "person",
    "language", "expression", "name", "query", "text", "end",
]  # fmt: skip

# Schemas may refer to themselves; nobody states more than this in a sentence.
_MAX_DEPTH = 4
_MAX_PATTERN = 200  # Longer ones take long to match.
_TYPES = ("string", "integer", "number", "boolean", "array", "object")

_TOPIC_OF_FORMAT: dict[str, Topic] = {
    "date": "date", "date-time": "datetime", "time": "time", "uri": "url", "url": "url",
    "email": "email", "path": "path", "file-path": "path", "directory-path": "path", "uuid": "id",
}  # fmt: skip

# Words of a parameter's name that tell what it takes, the surest first.
_TOPIC_OF_NAME: tuple[tuple[Topic, str], ...] = (
    ("zone", "timezone tz zone"),
    ("url", "url uri link website href webpage"),
    ("email", "email mail"),
    ("path", "path file filename filepath dir directory folder cwd"),
    ("datetime", "datetime timestamp"),
    ("date", "date day deadline birthday birthdate checkin checkout"),
    ("time", "time hour clock"),
    ("unit", "unit currency measure"),
    ("language", "language lang"),
    ("person", "author person user reader member customer owner recipient borrower assignee sender "
     "employee patient student guest username"),
    ("id", "id key code isbn sku number sha hash revision commit ref ticket uuid"),
    ("place", "city place location country region state town address airport "
     "station area venue"),
    ("expression", "expression formula equation"),
    ("query", "query q search term keyword keywords phrase topic pattern"),
    ("name", "name title label"),
)  # fmt: skip
_TOPIC_OF_DESCRIPTION: tuple[tuple[Topic, str], ...] = (
    ("zone", r"\btime ?zone|\bIANA\b"),
    ("datetime", r"\bISO[ -]8601 (?:date-?time|timestamp)|YYYY-MM-DDTHH"),
    ("date", r"\bYYYY-MM-DD\b|\bMM/DD/YYYY\b|\bDD/MM/YYYY\b|\bISO (?:8601 )?date\b"),
    ("time", r"\bHH:MM\b|24-hour"),
    ("url", r"\bURL\b"),
    ("email", r"\be-?mail address"),
    ("path", r"\b(?:file|directory|folder) path\b|\bpath (?:to|of)\b"),
)
_FALLBACK = re.compile(
    r"\bdefaults? (?:to|is|=)[ :]*['\"`]?([\w/+.:-]+)|"
    r"\buse ['\"`]([^'\"`]+)['\"`][^.;]*\b(?:if|when|unless)\b[^.;]*\b(?:no|not|none|missing)\b",
    re.IGNORECASE,
)
_EXAMPLE = re.compile(
    r"\b(?:e\.g\.|such as|for example|example:)[,:]? *(?:['\"`]([^'\"`]+)['\"`]|([\w./:+-]*\w))",
    re.I,
)
_MAIN = stem_set("input text question prompt message")
_THINGS = stem_set("item thing product article ingredient object element entry good dish")
_QUOTED_WORD = re.compile(r"['\"`]([\w./+-]+)['\"`]")
_FROM = stem_set(
    """
    from source src origin start begin since after old departure base
    """
)
_TO = stem_set(
    """
    to target destination dest end finish until before new arrival into
    """
)


@dataclass(frozen=True, slots=True)
class Parameter:
    """What one parameter takes. `choices` are its only values when `strict`, else its usual ones.

    `fallback` is the value its schema or description gives when nobody says one. `is_main`: a
    tool that requires nothing works on this one when it is given. `values` is what a map takes that
    has any keys; a text must match the `pattern`.
    """

    name: str
    kind: JsonType
    topic: Topic
    required: bool = False
    description: str = ""
    choices: tuple[Any, ...] = ()
    strict: bool = False
    fallback: Any = None
    is_main: bool = False
    item: Parameter | None = None
    fields: tuple[Parameter, ...] = ()
    values: Parameter | None = None
    pattern: str = ""

    @property
    def stems(self) -> list[str]:
        """The words of its name, in the form in which words are compared."""
        return name_words(self.name)

    @property
    def direction(self) -> Literal["from", "to", ""]:
        """Whether it is the one end of a pair: `source_unit`, `to_currency`, `end_date`."""
        stems = set(self.stems)
        return "from" if stems & _FROM else "to" if stems & _TO else ""

    @property
    def is_wanted(self) -> bool:
        """Whether a value is looked for in all the words, not only where it is plainly given."""
        return self.required or self.is_main

    @property
    def has_fixed_choices(self) -> bool:
        """Whether nothing but its choices is allowed."""
        return self.strict and bool(self.choices)

    @property
    def is_thing(self) -> bool:
        """Whether it names a thing rather than takes any text: `item`, not `message`."""
        own = self.stems
        return self.kind == "string" and self.topic == "text" and bool(own) and own[-1] in _THINGS

    @property
    def is_flag(self) -> bool:
        """Whether it is a yes or a no."""
        return self.kind == "boolean"

    @property
    def is_number(self) -> bool:
        """Whether it takes a number."""
        return self.kind in ("integer", "number")


def parameters_of(schema: Any) -> tuple[Parameter, ...]:
    """The parameters of a tool's input schema, in its order; an odd schema has odd ones or none."""
    found = _fields(schema, schema, 0)
    if any(x.required for x in found):
        return found
    texts = (x for x in found if x.kind == "string" and not x.choices)
    main = next((x for x in texts if x.topic == "query" or _MAIN & set(x.stems)), None)
    return tuple(replace(x, is_main=x is main) for x in found)


def examples_in(schema: Any, name: str) -> list[Any]:
    """Values that the schema itself shows for a parameter: `examples`, or one after "such as"."""
    spec = _plain(properties(_plain(schema, schema)).get(name, {}), schema)
    shown = spec.get("examples")
    if isinstance(shown, list) and shown:
        return cast(list[Any], shown)
    found = _EXAMPLE.search(as_text(spec.get("description")))
    return [found[1] or found[2]] if found else []


def _fields(schema: Any, root: Any, depth: int) -> tuple[Parameter, ...]:
    if depth > _MAX_DEPTH:
        return ()
    plain = _plain(schema, root)
    needed = set(required(plain))
    return tuple(
        _parameter(name, spec, root, needed=name in needed, depth=depth)
        for name, spec in properties(plain).items()
    )


def _parameter(name: str, spec: Any, root: Any, *, needed: bool, depth: int) -> Parameter:
    plain = _plain(spec, root)
    description = as_text(plain.get("description"))
    choices, strict = _choices(plain, description)
    kind = _kind(plain, choices)
    return Parameter(
        name=name,
        kind=kind,
        topic=_topic(name, plain, description),
        required=needed,
        description=description,
        choices=choices,
        strict=strict,
        fallback=_fallback(plain, description, kind),
        item=_item(name, plain, root, depth) if kind == "array" else None,
        fields=_fields(plain, root, depth + 1) if kind == "object" else (),
        values=_values(name, plain, root, depth) if kind == "object" else None,
        pattern=as_text(plain.get("pattern"))[:_MAX_PATTERN],
    )


def _values(name: str, plain: JsonObject, root: Any, depth: int) -> Parameter | None:
    """What the values of a map are, which has names of things as its keys."""
    spec = plain.get("additionalProperties")
    if not isinstance(spec, dict) or depth >= _MAX_DEPTH or plain.get("properties"):
        return None
    return _parameter(name, spec, root, needed=True, depth=depth + 1)


def _item(name: str, plain: JsonObject, root: Any, depth: int) -> Parameter | None:
    if depth >= _MAX_DEPTH:
        return None
    return _parameter(name, plain.get("items"), root, needed=True, depth=depth + 1)


def _plain(spec: Any, root: Any) -> JsonObject:
    """The schema with its reference followed and its first real alternative taken."""
    found = _object(spec)
    for _ in range(_MAX_DEPTH):
        inner = _inner(found, root)
        if inner is None:
            return found
        found = {**inner, **{k: v for k, v in found.items() if k not in _COMBINING}}
    return {k: v for k, v in found.items() if k not in _COMBINING}


_COMBINING = ("$ref", "anyOf", "oneOf", "allOf")


def _inner(spec: JsonObject, root: Any) -> JsonObject | None:
    if isinstance(spec.get("$ref"), str):
        return _referred(spec["$ref"], root)
    for key in ("anyOf", "oneOf"):
        if isinstance(spec.get(key), list):
            real = [x for x in _objects(spec[key]) if x.get("type") != "null"]
            return real[0] if real else {}
    if isinstance(spec.get("allOf"), list):
        merged: JsonObject = {}
        for part in _objects(spec["allOf"]):
            merged |= part
        return merged
    return None


def _referred(reference: str, root: Any) -> JsonObject:
    found = root
    for step in reference.removeprefix("#").strip("/").split("/"):
        found = _object(found).get(step)
    return _object(found)


def _kind(plain: JsonObject, choices: tuple[Any, ...]) -> JsonType:
    named = plain.get("type")
    listed = cast(list[Any], named) if isinstance(named, list) else [named]
    for name in listed:
        if name in _TYPES:
            return name
    if isinstance(plain.get("properties"), dict):
        return "object"
    if choices and all(isinstance(x, int | float) for x in choices):
        return "number"
    return "string"


def _choices(plain: JsonObject, description: str) -> tuple[tuple[Any, ...], bool]:
    if "const" in plain and _is_json(plain["const"]):
        return (plain["const"],), True
    if isinstance(plain.get("enum"), list):
        return tuple(x for x in cast(list[Any], plain["enum"]) if _is_json(x)), True
    # Some servers list the values only in words: "Whether to list 'local', 'remote' or 'all'".
    if not re.search(r"\be\.g\.|\bsuch as\b|\bexample\b|\blike\b", description):
        quoted = list(dict.fromkeys(_QUOTED_WORD.findall(description)))
        if len(quoted) > 1:
            return tuple(quoted), False
    return (), False


def _topic(name: str, plain: JsonObject, description: str) -> Topic:
    told = as_text(plain.get("format"))
    if told in _TOPIC_OF_FORMAT:
        return _TOPIC_OF_FORMAT[told]
    stems = name_words(name)
    if {"time", "zone"} <= set(stems):
        return "zone"
    for topic, listed in _TOPIC_OF_NAME:
        if set(stems) & stem_set(listed):
            return topic
    for topic, pattern in _TOPIC_OF_DESCRIPTION:
        if re.search(pattern, description):
            return topic
    # `from` or `destination` alone: one end of something, whatever it is.
    return "end" if set(stems) <= _FROM | _TO and stems else "text"


def _fallback(plain: JsonObject, description: str, kind: JsonType) -> Any:
    if plain.get("default") is not None and _is_json(plain["default"]):
        return plain["default"]
    stated = _FALLBACK.search(description) if kind == "string" else None
    return (stated[1] or stated[2]).rstrip(".:") if stated else None


def _is_json(value: Any) -> bool:
    """Whether a value may be sent on: Python reads NaN in JSON, others do not."""
    try:
        json.dumps(value, allow_nan=False)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


def _object(value: Any) -> JsonObject:
    return cast(JsonObject, value) if isinstance(value, Mapping) else {}


def _objects(values: Iterable[Any]) -> list[JsonObject]:
    return [_object(x) for x in values]
