"""Request bodies as arguments: their properties, where that loses nothing, or one for all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, cast

from ....core.json import JsonObject, as_list, as_object
from ..document.references import References
from ..document.values import text_of, texts_of
from ..plan import Body, Part, Style
from .definitions import Notes
from .parameters import Argument, with_words
from .schemas import Schemas

_JSON, _FORM, _MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)
_BODY = "body"
_MAX_MEDIA_TYPE, _MAX_NAME = 200, 200
_MAX_DEPTH = 8  # of choices in choices, and of what XML is made of
# Schemas of one body: those that refer to each other multiply.
_MAX_PARTS = 2_000
_STYLES = ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject")
# What may be said of an object whose properties are arguments.
_OF_PLAIN_OBJECTS = frozenset((
    "type", "properties", "required", "description", "deprecated", "examples", "format", "allOf",
    "additionalProperties", "unevaluatedProperties",
))  # fmt: skip
_A_FILE = "Text, or a data: URL with base64 (`data:image/png;name=a.png;base64,...`)."


@dataclass(frozen=True, slots=True)
class BodyArguments:
    """What is sent, and what a caller gives. Without `whole` the properties are arguments."""

    body: Body
    arguments: tuple[Argument, ...]
    whole: Argument | None = None


def body_arguments(
    given: JsonObject, schemas: Schemas, notes: Notes, *, is_optional: bool, is_new: bool
) -> BodyArguments | None:
    """The arguments for a request body; None where there is nothing to give.

    `is_optional`: the method has no body as a rule. `is_new`: of 3.1 or later.

    Raises:
        BadReference: it refers to where no reference may lead.
    """
    content = as_object(given.get("content"))
    if not content:
        return None
    media_type = min(content, key=_rank)
    described = schemas.references.followed(content[media_type])
    reader = _BodyReader(schemas, notes, _sendable(media_type), described, is_new=is_new)
    if is_optional and reader.is_empty:
        return None
    return reader.arguments(given)


class _BodyReader:
    """Reads one media type of a body."""

    def __init__(
        self,
        schemas: Schemas,
        notes: Notes,
        media_type: str,
        described: JsonObject,
        *,
        is_new: bool,
    ) -> None:
        self._schemas = schemas
        self._notes = notes
        self._media_type = media_type
        self._base = media_type.partition(";")[0].strip().lower()
        self._raw = described.get("schema", {})
        self._encoding = as_object(described.get("encoding"))
        self._is_new = is_new
        self._schema = schemas.translated(self._raw, notes)

    @property
    def is_empty(self) -> bool:
        """Whether it has no properties, and no words about any."""
        schema = as_object(self._schema)
        return not schema.get("properties") and schema.keys() <= {"type", "properties"}

    def arguments(self, given: JsonObject) -> BodyArguments:
        """All that a caller gives."""
        is_required = given.get("required") is True
        flat = self._flat(is_required)
        body = Body(self._media_type, "" if flat else _BODY, is_required)
        if self._base in (_FORM, _MULTIPART):
            body = Body(self._media_type, body.argument, is_required, parts=self._parts())
        elif _is_xml(self._base):
            name, xml = xml_of(self._schemas.references, self._raw)
            body = Body(self._media_type, body.argument, is_required, xml_name=name, xml=xml)
        if flat is None:
            return BodyArguments(body, (), self._whole(given, is_required))
        self._notes.add(*flat.notes.lines)
        return BodyArguments(body, tuple(self._properties(flat)))

    def _flat(self, is_required: bool) -> _Flat | None:
        """None: a property by itself would not say all."""
        is_structured = _is_json(self._base) or self._base in (_FORM, _MULTIPART)
        if not (is_structured or _is_xml(self._base)):
            return None
        flat = _Flat(self._schemas)
        if not flat.add(self._schema) or not flat.properties:
            return None
        # Without any of them there is no body, with one there must be these.
        return flat if is_required or not flat.required else None

    def _properties(self, flat: _Flat) -> Iterator[Argument]:
        for name, schema in flat.properties.items():
            shown = schema
            if (part := self._part(name, schema)) and part.is_file and not part.is_list:
                shown = _as_file(schema)
            yield Argument(name, _BODY, shown, name in flat.required)

    def _whole(self, given: JsonObject, is_required: bool) -> Argument:
        schema = self._schema
        if not (_is_json(self._base) or _is_xml(self._base) or self._base in (_FORM, _MULTIPART)):
            is_text = self._base.startswith("text/")
            own = as_object(schema)
            schema = {**own, "type": "string"} if is_text else _as_file(own)
        elif self._base in (_FORM, _MULTIPART) and not as_object(schema):
            schema = {"type": "object"}
        own_words = as_object(schema).get("description")
        return Argument(
            _BODY, _BODY, with_words(schema, own_words, given.get("description")), is_required
        )

    # Forms

    def _parts(self) -> dict[str, Part]:
        if self._base not in (_FORM, _MULTIPART):
            return {}
        found = _all_properties(self._schemas, self._schema)
        return {name: self._part(name, schema) for name, schema in found}

    def _part(self, name: str, schema: Any) -> Part:
        said = as_object(self._encoding.get(name))
        shape = self._shape(schema)
        is_list = "array" in _types(shape)
        item = self._shape(shape.get("items")) if is_list else shape
        if self._is_styled(said):
            style = said.get("style")
            known = cast(Style, style) if style in _STYLES else "form"
            explode = said.get("explode", known in ("form", "deepObject"))
            return Part(
                style=known, explode=explode is not False, is_list=is_list,
                allow_reserved=said.get("allowReserved") is True,
            )  # fmt: skip
        media_type = text_of(said.get("contentType"), _MAX_MEDIA_TYPE).partition(",")[0].strip()
        is_file = self._base == _MULTIPART and _is_file(item, media_type)
        is_object = bool({"object", "array"} & _types(item)) or "properties" in item
        if self._base == _FORM and not is_object and not media_type:
            return Part(style="form", is_list=is_list)
        usual = _JSON if is_object else "application/octet-stream" if is_file else "text/plain"
        headers = _fixed_headers(self._schemas.references, said)
        sent = usual if "*" in media_type else media_type or usual
        return Part(sent, is_file=is_file, is_list=is_list, headers=headers)

    def _is_styled(self, said: JsonObject) -> bool:
        """Whether it is written as a parameter. Until 3.0 that was for one kind of form only."""
        is_said = any(word in said for word in ("style", "explode", "allowReserved"))
        return is_said and (self._base == _FORM or self._is_new)

    def _shape(self, schema: Any) -> JsonObject:
        return self._schemas.resolved(schema)[0]


class _Flat:
    """The properties of an object, and of all that it is put together from."""

    def __init__(self, schemas: Schemas) -> None:
        self._schemas = schemas
        self._left = _MAX_PARTS
        self.properties: dict[str, JsonObject | bool] = {}
        self.required: dict[str, None] = {}
        self.notes = Notes()

    def add(self, schema: Any, depth: int = _MAX_DEPTH) -> bool:
        """Add those of one schema; False where it says more than properties can."""
        found, notes = self._schemas.resolved(schema)
        self._left -= 1
        if not depth or self._left < 0 or not _is_plain_object(found):
            return False
        self.notes.add(*notes.lines)
        for name, x in as_object(found.get("properties")).items():
            before = self.properties.get(name, x)
            self.properties[name] = x if before == x else {"allOf": [before, x]}
        if not all(self.add(x, depth - 1) for x in as_list(found.get("allOf"))):
            return False
        for name in texts_of(found.get("required")):
            self.required[name] = None
            self.properties.setdefault(name, {})  # required, and nowhere described
        return True


def _is_plain_object(schema: JsonObject) -> bool:
    kind = schema.get("type")
    is_object = kind == "object" or (kind is None and not schema.keys().isdisjoint(_PARTS))
    is_closed = all(schema.get(word, False) is False for word in _OPENS)
    return is_object and is_closed and schema.keys() <= _OF_PLAIN_OBJECTS


_PARTS = {"properties", "allOf", "required"}
_OPENS = ("additionalProperties", "unevaluatedProperties")


def _all_properties(schemas: Schemas, schema: Any) -> Iterable[tuple[str, Any]]:
    """The properties of an object, whichever of its choices it is."""
    waiting, seen = [schema], set[int]()
    while waiting and len(seen) < _MAX_PARTS:
        found, _ = schemas.resolved(waiting.pop())
        if id(found) not in seen:
            seen.add(id(found))
            yield from as_object(found.get("properties")).items()
            for word in ("allOf", "anyOf", "oneOf"):
                waiting += as_list(found.get(word))


def _as_file(schema: Any) -> JsonObject:
    own = as_object(schema)
    said = text_of(own.get("description"), _MAX_DEPTH * 100)
    return {"type": "string", "description": f"{said} ({_A_FILE})" if said else _A_FILE}


def _is_file(item: JsonObject, media_type: str) -> bool:
    if _types(item) - {"string"}:
        return False
    is_raw = item.get("format") == "binary" or "contentMediaType" in item
    if is_raw and "contentEncoding" not in item:
        return True
    is_plain = not media_type or media_type.startswith(("text/", _JSON)) or "json" in media_type
    return not is_plain and "string" in _types(item)


def _fixed_headers(references: References, said: JsonObject) -> dict[str, str]:
    """The headers of a part that always say the same."""
    found: dict[str, str] = {}
    for name, header in as_object(said.get("headers")).items():
        schema = as_object(references.followed(header).get("schema"))
        value = schema.get("const", schema.get("default"))
        if isinstance(value, str) and name.lower() != "content-type":
            found[text_of(name, _MAX_NAME)] = text_of(value, _MAX_NAME)
    return found


def _types(schema: JsonObject) -> set[str]:
    kinds = schema.get("type", [])
    return {kinds} if isinstance(kinds, str) else set(texts_of(kinds)) - {"null"}


# Media types


def _rank(media_type: str) -> int:
    """The best understood first."""
    base = media_type.partition(";")[0].strip().lower()
    exact = (_JSON, "*/*", "application/*", "application/merge-patch+json")
    if base in exact:
        return exact.index(base)
    tests = (_is_json(base), base == _FORM, base == _MULTIPART, _is_xml(base), base[:5] == "text/")
    return len(exact) + (tests.index(True) if True in tests else len(tests))


def _sendable(media_type: str) -> str:
    if "*" not in media_type:
        return text_of(media_type, _MAX_MEDIA_TYPE)
    kind = media_type.partition("/")[0]
    return {"text": "text/plain", "application": _JSON, "*": _JSON}.get(
        kind, "application/octet-stream"
    )


def _is_json(base: str) -> bool:
    return base.endswith(("/json", "+json"))


def _is_xml(base: str) -> bool:
    return base.endswith(("/xml", "+xml"))


# XML


def xml_of(references: References, schema: Any) -> tuple[str, JsonObject]:
    """The name of the root element, and what is said of those in it.

    Raises:
        BadReference: it leads nowhere, or where it may not.
    """
    found = as_object(schema)
    reference = found.get("$ref")
    name = as_object(references.followed(found).get("xml")).get("name")
    if not isinstance(name, str) or not name:
        name = reference.rpartition("/")[2] if isinstance(reference, str) else "root"
    return text_of(name, _MAX_NAME), _xml(references, schema, _MAX_DEPTH, iter(range(_MAX_PARTS)))


def _xml(references: References, schema: Any, depth: int, left: Iterator[int]) -> JsonObject:
    if next(left, None) is None:
        return {}
    found = references.followed(schema)
    words = ("name", "attribute", "wrapped", "prefix", "namespace")
    said = as_object(found.get("xml"))
    xml: JsonObject = {x: said[x] for x in words if isinstance(said.get(x), str | bool)}
    if not depth:
        return xml
    parts = (found, *(references.followed(x) for x in as_list(found.get("allOf"))))
    named = {n: _xml(references, x, depth - 1, left) for p in parts for n, x in _named(p)}
    if inner := {n: x for n, x in named.items() if x}:
        xml["properties"] = inner
    if items := _xml(references, found.get("items"), depth - 1, left):
        xml["items"] = items
    return xml


def _named(schema: JsonObject) -> Iterable[tuple[str, Any]]:
    return as_object(schema.get("properties")).items()
