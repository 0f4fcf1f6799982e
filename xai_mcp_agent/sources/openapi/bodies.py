"""Request bodies as arguments: their properties, where that loses nothing, or one for all.

Also what responses say of results: which media types can be asked for, and their schema.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, cast

from ...core.json import JsonObject, as_list, as_object
from . import swagger
from .document import BadOperation, BadReference, Document, text_of, texts_of
from .parameters import Argument, describe
from .plan import Body, Part, Placement, Style
from .request import FORM, JSON, MULTIPART, base_of
from .schemas import Notes, Schemas, types_of

# Characters. A model sees the result itself; a schema is also compared, and kept in the history,
# for each tool, and those of large services are megabytes together.
_MAX_OUTPUT = 20_000
_MAX_ACCEPTED = 5
_MEDIA_TYPE = re.compile(r"[\w!#$&^.+*-]{1,80}/[\w!#$&^.+*-]{1,120}")
_SUCCESS = re.compile(r"2\d\d|2XX", re.IGNORECASE)
_JOB_HEADERS = ("location", "operation-location", "azure-asyncoperation", "content-location")
_BODY = "body"
_MAX_MEDIA_TYPE, _MAX_NAME, _MAX_DESCRIPTION = 200, 200, 800
_MAX_DEPTH = 8  # of parts in parts
_MAX_PARTS = 2_000  # schemas of one body: those that refer to each other multiply
_STYLES = ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject")
# What may be said of an object whose properties are arguments.
_OF_PLAIN_OBJECTS = frozenset((
    "type", "properties", "required", "description", "deprecated", "examples", "format", "allOf",
    "additionalProperties", "unevaluatedProperties",
))  # fmt: skip
_A_FILE = "Text, or a data: URL with base64 (`data:image/png;name=a.png;base64,...`)."


def body_arguments(
    request_body: JsonObject, schemas: Schemas, notes: Notes, *, is_optional: bool
) -> tuple[Body | None, list[Argument]]:
    """Return how a request body is sent, and its arguments; None where there is nothing to give.

    One argument is the whole body if the body names it, else each is a property of it.
    `is_optional`: the method has no body as a rule.

    Raises:
        BadReference: it refers to where no reference may lead.
    """
    content = as_object(request_body.get("content"))
    if not content:
        return None, []
    media_type = min(content, key=_rank)
    described = schemas.document.follow(content[media_type])
    schema = schemas.translate(described.get("schema", {}), notes)
    if is_optional and _is_empty(as_object(schema)):
        return None, []
    kind = _Kind(_sendable(media_type), schemas, as_object(described.get("encoding")))
    is_required = request_body.get("required") is True
    body = Body(kind.media_type, _BODY, is_required, kind.parts(schema))
    flat = _flatten(schemas, schema) if kind.is_structured else None
    # Without any property there is no body; with one there must be the required ones.
    if flat is None or not flat.properties or (flat.required and not is_required):
        shown = kind.whole_schema(schema)
        words = as_object(shown).get("description"), request_body.get("description")
        return body, [_argument(_BODY, describe(shown, *words), is_required=is_required)]
    notes.add(*flat.notes.lines)
    return replace(body, argument=""), [
        _argument(name, kind.property_schema(name, x), is_required=name in flat.required)
        for name, x in flat.properties.items()
    ]


def _argument(name: str, schema: JsonObject | bool, *, is_required: bool) -> Argument:
    return Argument(Placement(name, _BODY, name, is_required=is_required), schema)


def _is_empty(schema: JsonObject) -> bool:
    return not schema.get("properties") and schema.keys() <= {"type", "properties"}


class _Kind:
    """The media type of a body, and how its parts are encoded."""

    def __init__(self, media_type: str, schemas: Schemas, encoding: JsonObject) -> None:
        self.media_type = media_type
        self._schemas = schemas
        self._encoding = encoding
        self._base = base_of(media_type)
        self._is_form = self._base in (FORM, MULTIPART)
        self.is_structured = _is_json(self._base) or self._is_form

    def whole_schema(self, schema: JsonObject | bool) -> JsonObject | bool:
        """Return the schema of one argument that is the whole body."""
        if self._is_form and not as_object(schema):
            return {"type": "object"}
        if self.is_structured:
            return schema
        own = as_object(schema)
        if _is_xml(self._base):
            return describe({"type": "string"}, own.get("description"), "An XML document.")
        if self._base.startswith("text/"):
            return {**own, "type": "string"}
        return _file_schema(schema)

    def property_schema(self, name: str, schema: JsonObject | bool) -> JsonObject | bool:
        """Return the schema of one property that is an argument."""
        part = self._part(name, schema)
        return _file_schema(schema) if part.is_file and not part.is_list else schema

    def parts(self, schema: Any) -> dict[str, Part]:
        """Return how each property of a form is written, whichever of its choices it is in."""
        if not self._is_form:
            return {}
        parts: dict[str, Part] = {}
        queue, seen = [schema], set[int]()
        while queue and len(seen) < _MAX_PARTS:
            resolved, _ = self._schemas.resolve(queue.pop())
            if id(resolved) not in seen:
                seen.add(id(resolved))
                for name, x in as_object(resolved.get("properties")).items():
                    parts[name] = self._part(name, x)
                for word in ("allOf", "anyOf", "oneOf"):
                    queue += as_list(resolved.get(word))
        return parts

    def _part(self, name: str, schema: Any) -> Part:
        encoding = as_object(self._encoding.get(name))
        shape = self._schemas.resolve(schema)[0]
        is_list = "array" in types_of(shape)
        item = self._schemas.resolve(shape.get("items"))[0] if is_list else shape
        if self._is_styled(encoding):
            style = encoding.get("style")
            style = cast(Style, style) if style in _STYLES else "form"
            explode = encoding.get("explode", style in ("form", "deepObject")) is not False
            allow_reserved = encoding.get("allowReserved") is True
            return Part("", style, explode, allow_reserved, is_list=is_list)
        media_type = text_of(encoding.get("contentType"), _MAX_MEDIA_TYPE)
        media_type = media_type.partition(",")[0].strip()
        is_file = self._base == MULTIPART and _is_file(item, media_type)
        is_object = bool({"object", "array"} & types_of(item)) or "properties" in item
        if self._base == FORM and not is_object and not media_type:
            return Part(style="form", is_list=is_list)
        usual = JSON if is_object else "application/octet-stream" if is_file else "text/plain"
        if not media_type or "*" in media_type:
            media_type = usual
        headers = self._fixed_headers(encoding)
        return Part(media_type, is_file=is_file, is_list=is_list, headers=headers)

    def _is_styled(self, encoding: JsonObject) -> bool:
        """Whether it is written as a parameter. Until 3.0 that was for one kind of form only."""
        is_named = any(word in encoding for word in ("style", "explode", "allowReserved"))
        return is_named and (self._base == FORM or not self._schemas.document.is_old)

    def _fixed_headers(self, encoding: JsonObject) -> dict[str, str]:
        """Return the headers of a part that always say the same."""
        headers: dict[str, str] = {}
        for name, header in as_object(encoding.get("headers")).items():
            schema = as_object(self._schemas.document.follow(header).get("schema"))
            value = schema.get("const", schema.get("default"))
            if isinstance(value, str) and name.lower() != "content-type":
                headers[text_of(name, _MAX_NAME)] = text_of(value, _MAX_NAME)
        return headers


class _Flat:
    """The properties of an object, and of all that it is put together from."""

    def __init__(self) -> None:
        self.properties: dict[str, JsonObject | bool] = {}
        self.required: dict[str, None] = {}
        self.notes = Notes()


def _flatten(schemas: Schemas, schema: Any) -> _Flat | None:
    """Return its properties; None where it says more than properties can."""
    flat = _Flat()
    for count, (depth, part, notes) in enumerate(_parts_of(schemas, schema)):
        if depth > _MAX_DEPTH or count > _MAX_PARTS or not _is_plain_object(part):
            return None
        flat.notes.add(*notes.lines)
        for name, x in as_object(part.get("properties")).items():
            before = flat.properties.get(name, x)
            flat.properties[name] = x if before == x else {"allOf": [before, x]}
        for name in texts_of(part.get("required")):
            flat.required[name] = None
    for name in flat.required:
        flat.properties.setdefault(name, {})  # required, and nowhere described
    return flat


def _parts_of(schemas: Schemas, schema: Any) -> Iterator[tuple[int, JsonObject, Notes]]:
    """Yield an object and all parts of its `allOf`, each with its depth."""
    stack: list[tuple[int, Any]] = [(1, schema)]
    while stack:
        depth, value = stack.pop()
        part, notes = schemas.resolve(value)
        yield depth, part, notes
        stack += [(depth + 1, x) for x in reversed(as_list(part.get("allOf")))]


def _is_plain_object(schema: JsonObject) -> bool:
    has_parts = not schema.keys().isdisjoint(("properties", "allOf", "required"))
    is_object = schema.get("type") == "object" or ("type" not in schema and has_parts)
    is_closed = all(
        schema.get(word, False) is False
        for word in ("additionalProperties", "unevaluatedProperties")
    )
    return is_object and is_closed and schema.keys() <= _OF_PLAIN_OBJECTS


def _file_schema(schema: JsonObject | bool) -> JsonObject:
    text = text_of(as_object(schema).get("description"), _MAX_DESCRIPTION)
    return {"type": "string", "description": f"{text} ({_A_FILE})" if text else _A_FILE}


def _is_file(item: JsonObject, media_type: str) -> bool:
    if types_of(item) - {"string", "null"}:
        return False
    is_raw = item.get("format") == "binary" or "contentMediaType" in item
    if is_raw and "contentEncoding" not in item:
        return True
    is_plain = not media_type or media_type.startswith(("text/", JSON)) or "json" in media_type
    return not is_plain and "string" in types_of(item)


# Responses


class Responses:
    """The successful responses of one operation."""

    def __init__(self, operation: JsonObject, document: Document) -> None:
        self._document = document
        responses = as_object(operation.get("responses"))
        media_types = swagger.media_types(operation, document.root, "produces")
        self._by_code = {
            code: self._follow(responses[code], media_types)
            for code in sorted(filter(_SUCCESS.fullmatch, responses))
        }

    def _follow(self, response: Any, media_types: Any) -> JsonObject:
        try:
            followed = self._document.follow(response)
        except BadReference:
            return {}
        is_swagger = self._document.is_swagger
        return swagger.response_of(followed, media_types) if is_swagger else followed

    @property
    def accept(self) -> str:
        """The media types to ask for, JSON first."""
        names = dict.fromkeys(x for content in self._contents() for x in content)
        bases = (x.partition(";")[0].strip() for x in names)
        usable = sorted(filter(_MEDIA_TYPE.fullmatch, bases), key=lambda x: not _is_json(x.lower()))
        return ", ".join(dict.fromkeys(usable[:_MAX_ACCEPTED])) or "*/*"

    @property
    def may_be_async(self) -> bool:
        """Whether it may answer that it has only begun, and where it can be asked."""
        headers = as_object(self._by_code.get("202", {}).get("headers"))
        return any(name.lower() in _JOB_HEADERS for name in headers)

    def output_schema(self, schemas: Schemas) -> JsonObject | None:
        """Return what a result is, where that is an object and not too much to say."""
        for content in self._contents():
            described = next((x for kind, x in content.items() if _is_json(base_of(kind))), None)
            if described is not None:
                try:
                    schema = self._document.follow(described).get("schema")
                    return _whole_schema(schemas, schemas.translate(schema, Notes()))
                except BadOperation:
                    return None  # it can be called all the same
        return None

    def _contents(self) -> Iterator[JsonObject]:
        contents = (as_object(x.get("content")) for x in self._by_code.values())
        return filter(None, contents)


def _whole_schema(schemas: Schemas, schema: JsonObject | bool) -> JsonObject | None:
    resolved, _ = schemas.resolve(schema)
    if resolved.get("type") != "object" and "properties" not in resolved:
        return None
    whole: JsonObject = {**resolved, "type": "object"}
    definitions = schemas.closure(whole)
    if len(json.dumps(whole)) + sum(x.characters for x in definitions) > _MAX_OUTPUT:
        return None
    return {**whole, "$defs": {x.name: x.schema for x in definitions}} if definitions else whole


# Media types


def _rank(media_type: str) -> int:
    """Rank the best understood first."""
    base = base_of(media_type)
    exact = (JSON, "*/*", "application/*", "application/merge-patch+json")
    if base in exact:
        return exact.index(base)
    tests = (_is_json(base), base == FORM, base == MULTIPART, _is_xml(base), base[:5] == "text/")
    return len(exact) + (tests.index(True) if True in tests else len(tests))


def _sendable(media_type: str) -> str:
    if "*" not in media_type:
        return text_of(media_type, _MAX_MEDIA_TYPE)
    usual = {"text": "text/plain", "application": JSON, "*": JSON}
    return usual.get(media_type.partition("/")[0], "application/octet-stream")


def _is_json(base: str) -> bool:
    return base.endswith(("/json", "+json"))


def _is_xml(base: str) -> bool:
    return base.endswith(("/xml", "+xml"))
