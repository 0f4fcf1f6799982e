"""Parameters and request bodies as tool arguments: where each goes and which values it accepts.

A body becomes one argument for each property if nothing is lost that way, otherwise one argument.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from ...core.json import JsonObject, as_list, as_object
from .document import BadOperation, Document, text_of, texts_of
from .plan import (
    FORM,
    JSON,
    MULTIPART,
    Body,
    FormPart,
    Placement,
    Style,
    base_of,
    is_json_type,
)
from .request import TOKEN
from .schemas import SchemaNotes, Schemas, is_example, types_of

# The styles of each location, the default first.
_STYLES: dict[str, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"),
    "header": ("simple", "spaceDelimited", "pipeDelimited", "tabDelimited"),
    "cookie": ("form", "cookie"),
    "querystring": ("form",),
}
_ORDER = tuple(_STYLES)
# OpenAPI says to ignore these: they come from the body, the responses and the security.
_IGNORED_HEADERS = ("accept", "content-type", "authorization")
# Double braces belong to somebody's own template language.
_IN_PATH = re.compile(r"(?<!\{)\{([^{}/?#%\x00-\x1f]+)\}(?!\})")
# A pattern may contain braces: `{id:[0-9]{3}}`.
_GATEWAY_PARAMETER = re.compile(r"\{[+*]?([^{}+*:/]+)(?:[+*]|:(?:[^{}]|\{[^{}]*\})*)?\}")
_VALUE_WORDS = frozenset(("examples", "enum", "default"))
_LEAST = {"string": "minLength", "array": "minItems", "object": "minProperties"}
_BODY = "body"
_MAX_DESCRIPTION, _MAX_FILE_DESCRIPTION, _MAX_NAME = 1_000, 800, 200
_MAX_PARTS = 2_000  # schemas of one body; schemas that refer to each other multiply
# Keywords that an object may have and still become one argument for each property.
_PLAIN_OBJECT_KEYWORDS = frozenset((
    "type", "properties", "required", "description", "deprecated", "examples", "format", "allOf",
    "additionalProperties", "unevaluatedProperties",
))  # fmt: skip
# Media types, the best supported first.
_BEST = tuple(map(re.compile, (
    JSON, r"\*/\*", r"application/\*", r"application/merge-patch\+json", r".*[/+]json",
    FORM, MULTIPART, r".*[/+]xml", r"text/.*",
)))  # fmt: skip
_A_FILE = "Text, or a data: URL with base64 (`data:image/png;name=a.png;base64,...`)."


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: where it goes, and the `schema` that the model reads."""

    placement: Placement
    schema: JsonObject | bool


def name_arguments(arguments: Iterable[Argument]) -> list[Argument]:
    """Name each argument for the model. If two have the same name, the later adds its location."""
    by_name: dict[str, Argument] = {}
    for argument in arguments:
        place, number = argument.placement, 1
        name = place.name
        while name in by_name:
            name = f"{place.name}__{place.location}{'' if number == 1 else number}"
            number += 1
        by_name[name] = replace(argument, placement=replace(place, argument=name))
    return list(by_name.values())


# Parameters


def merge_parameters(document: Document, *levels: Any) -> list[JsonObject]:
    """Return the parameters of a path and its operation; a later level replaces an earlier one.

    Raises:
        BadReference: a reference leads nowhere, or outside the allowed files.
        BadOperation: `parameters` is not a list.
    """
    merged: dict[tuple[str, str], JsonObject] = {}
    for level in levels:
        if level is not None and not isinstance(level, list):
            raise BadOperation("its `parameters` are not a list")
        for value in as_list(level):
            parameter = document.follow(value)
            place, name = str(parameter.get("in"))[:_MAX_NAME], str(parameter.get("name"))
            # Nest describes `x-req` and `X-Req`: header names ignore case.
            merged[place, name.lower() if place == "header" else name] = parameter
    return list(merged.values())


def plain_path(path: str, parameters: Iterable[JsonObject]) -> str:
    """Rewrite the parameters of API gateways as `{id}`: `{id:[0-9]+}`, `{id+}`, `{id*}`, `{+id}`.

    It does so only if the document describes `id` and not the whole text in the braces.
    """
    described = [x.get("name") for x in parameters if x.get("in") == "path"]

    def plain(match: re.Match[str]) -> str:
        is_its_name = match[1] in described and match[0][1:-1] not in described
        return f"{{{match[1]}}}" if is_its_name else match[0]

    return _GATEWAY_PARAMETER.sub(plain, path)


def parameter_arguments(
    parameters: Iterable[JsonObject], path: str, schemas: Schemas, notes: SchemaNotes
) -> list[Argument]:
    """Return the arguments for these parameters, path parameters first.

    Raises:
        BadOperation: a required parameter cannot be sent.
        BadReference: a schema refers to a place that is not allowed.
    """
    names = dict.fromkeys(_IN_PATH.findall(path))
    usable = [x for x in parameters if _is_usable(x, names, notes)]
    arguments = [_parameter_argument(x, schemas, notes) for x in usable]
    described = {x["name"] for x in usable if x["in"] == "path"}
    for name in (x for x in names if x not in described):
        notes.add(f"The document does not describe the path parameter {name!r}.")
        place = Placement(name, "path", name, is_required=True)
        arguments.append(Argument(place, {"type": "string"}))
    return sorted(arguments, key=lambda x: _ORDER.index(x.placement.location))


def _is_usable(parameter: JsonObject, in_path: Iterable[str], notes: SchemaNotes) -> bool:
    """Return whether a parameter becomes an argument.

    Raises:
        BadOperation: the parameter is required but cannot be sent.
    """
    name, location = parameter.get("name"), str(parameter.get("in"))
    if not isinstance(name, str) or not name or location not in _STYLES:
        problem = "it has no name, or `in` is not a known place"
    elif location == "header" and name.lower() in _IGNORED_HEADERS:
        return False
    elif text_of(name, _MAX_NAME) != name:
        problem = "its name is too long or has invisible characters"
    elif location in ("header", "cookie") and not TOKEN.fullmatch(name):
        problem = f"this is not a valid name of a {location}"
    elif location == "path" and name not in in_path:
        notes.add(f"The parameter {name!r} is not in the path, and is not sent.")
        return False
    else:
        return True
    label = repr(text_of(str(name), 60))
    if parameter.get("required") is True:
        raise BadOperation(f"the required parameter {label} cannot be sent: {problem}.")
    notes.add(f"The parameter {label} is not sent: {problem}.")
    return False


def _parameter_argument(parameter: JsonObject, schemas: Schemas, notes: SchemaNotes) -> Argument:
    name, location = parameter["name"], parameter["in"]
    content, media_type, schema = as_object(parameter.get("content")), "", parameter.get("schema")
    if content and "schema" not in parameter:
        media_type, content_entry = next(iter(content.items()))
        schema = schemas.document.follow(content_entry).get("schema")
    styles = _STYLES[location]
    style = cast(Style, parameter.get("style", styles[0]))
    if style not in styles:
        notes.add(f"There is no style {str(style)[:60]!r} for {name!r}; it is sent as {styles[0]}.")
        style = styles[0]
    explode = parameter.get("explode")
    if not isinstance(explode, bool) or style == "deepObject":
        explode = style in ("form", "cookie", "deepObject")
    argument_schema = describe(schemas.translate(schema, notes), parameter.get("description"))
    # Use the parameter's own example if its schema has none.
    has_values = _VALUE_WORDS.intersection(as_object(argument_schema))
    example = parameter.get("example")
    if isinstance(argument_schema, dict) and is_example(example) and not has_values:
        argument_schema = {**argument_schema, "examples": [example]}
    if location == "path":
        argument_schema = _not_empty(argument_schema, schemas)
    is_required = parameter.get("required") is True or location == "path"
    allow_reserved = parameter.get("allowReserved") is True
    media_type = media_type[:_MAX_NAME]
    place = Placement(name, location, name, style, explode, allow_reserved, media_type, is_required)
    return Argument(place, argument_schema)


def _not_empty(schema: JsonObject | bool, schemas: Schemas) -> JsonObject | bool:
    """Require a value: a path without it would be the address of another resource."""
    resolved = schemas.resolve(schema)
    word = _LEAST.get(str(resolved.get("type")), "")
    return schema if not word or resolved.get(word) else {**as_object(schema), word: 1}


def describe(schema: JsonObject | bool, *descriptions: Any) -> JsonObject | bool:
    """Return the schema with the first of these descriptions that is not empty."""
    texts = (text_of(x, _MAX_DESCRIPTION) for x in descriptions)
    description = next(filter(None, texts), "")
    if not description or schema is False:
        return schema
    return {**as_object(schema), "description": description}


# Bodies


def body_arguments(
    request_body: JsonObject, schemas: Schemas, notes: SchemaNotes, *, is_optional: bool
) -> tuple[Body | None, list[Argument]]:
    """Return the body to send and its arguments, or None if there is nothing to send.

    If the body names an argument, it is the whole body; otherwise each argument is a property.
    `is_optional` means that the method usually has no body.

    Raises:
        BadReference: the body refers to a place that is not allowed.
    """
    content = as_object(request_body.get("content"))
    if not content:
        return None, []
    content_type = min(content, key=_rank)
    media = schemas.document.follow(content[content_type])
    schema = schemas.translate(media.get("schema", {}), notes)
    has_nothing = not as_object(schema).get("properties")
    if is_optional and has_nothing and as_object(schema).keys() <= {"type", "properties"}:
        return None, []
    media_type = _sendable(content_type)
    kind = base_of(media_type)
    is_form, is_required = kind in (FORM, MULTIPART), request_body.get("required") is True
    parts = _parts(schema, as_object(media.get("encoding")), kind, schemas) if is_form else {}
    body = Body(media_type, _BODY, is_required, parts)
    properties = _flatten(schemas, schema, notes) if is_form or is_json_type(kind) else {}
    # If no property is given, no body is sent; if any is, the required ones must be.
    is_partial = any(x for _, x in properties.values()) and not is_required
    if not properties or is_partial:
        whole = _whole_schema(kind, schema)
        words = as_object(whole).get("description"), request_body.get("description")
        place = Placement(_BODY, _BODY, _BODY, is_required=is_required)
        return body, [Argument(place, describe(whole, *words))]
    arguments: list[Argument] = []
    for name, (x, is_required) in properties.items():
        part = parts.get(name, FormPart())
        argument_schema = _file_schema(x) if part.is_file and not part.is_list else x
        place = Placement(name, _BODY, name, is_required=is_required)
        arguments.append(Argument(place, argument_schema))
    return replace(body, argument=""), arguments


def _flatten(
    schemas: Schemas, schema: Any, notes: SchemaNotes
) -> dict[str, tuple[JsonObject | bool, bool]]:
    """Return each property of an object with all its `allOf` parts, and whether it is required.

    There are none if properties cannot express the whole schema.
    """
    properties: dict[str, JsonObject | bool] = {}
    required: dict[str, None] = {}
    queue, count = [schema], 0
    while queue:
        part = schemas.resolve(queue.pop(), notes)
        count += 1
        if count > _MAX_PARTS or not _is_plain_object(part):
            return {}
        for name, x in as_object(part.get("properties")).items():
            before = properties.get(name, x)
            properties[name] = x if before == x else {"allOf": [before, x]}
        required |= dict.fromkeys(texts_of(part.get("required")))
        queue += reversed(as_list(part.get("allOf")))
    for name in required:
        properties.setdefault(name, {})  # required but not described anywhere
    return {name: (x, name in required) for name, x in properties.items()}


def _is_plain_object(schema: JsonObject) -> bool:
    has_parts = not schema.keys().isdisjoint(("properties", "allOf", "required"))
    is_object = schema.get("type") == "object" or ("type" not in schema and has_parts)
    closing = ("additionalProperties", "unevaluatedProperties")
    is_closed = all(schema.get(word, False) is False for word in closing)
    return is_object and is_closed and schema.keys() <= _PLAIN_OBJECT_KEYWORDS


def _whole_schema(kind: str, schema: JsonObject | bool) -> JsonObject | bool:
    """Return the schema of the one argument that is the whole body."""
    own = as_object(schema)
    if kind in (FORM, MULTIPART) and not own:
        return {"type": "object"}
    if kind in (FORM, MULTIPART) or is_json_type(kind):
        return schema
    if _is_xml(kind):
        return describe({"type": "string"}, own.get("description"), "An XML document.")
    return {**own, "type": "string"} if kind.startswith("text/") else _file_schema(schema)


def _file_schema(schema: JsonObject | bool) -> JsonObject:
    text = text_of(as_object(schema).get("description"), _MAX_FILE_DESCRIPTION)
    return {"type": "string", "description": f"{text} ({_A_FILE})" if text else _A_FILE}


# Parts of a form


def _parts(schema: Any, encoding: JsonObject, kind: str, schemas: Schemas) -> dict[str, FormPart]:
    """Return how to write each property of a form, over all its alternatives."""
    parts: dict[str, FormPart] = {}
    queue, visited = [schema], set[int]()
    while queue and len(visited) < _MAX_PARTS:
        resolved = schemas.resolve(queue.pop())
        if id(resolved) not in visited:
            visited.add(id(resolved))
            for name, x in as_object(resolved.get("properties")).items():
                parts[name] = _part(x, as_object(encoding.get(name)), kind, schemas)
            for word in ("allOf", "anyOf", "oneOf"):
                queue += as_list(resolved.get(word))
    return parts


def _part(schema: Any, encoding: JsonObject, kind: str, schemas: Schemas) -> FormPart:
    shape = schemas.resolve(schema)
    is_list = "array" in types_of(shape)
    item = schemas.resolve(shape.get("items")) if is_list else shape
    is_styled = any(word in encoding for word in ("style", "explode", "allowReserved"))
    # Before 3.1 these applied to URL-encoded forms only.
    if is_styled and (kind == FORM or not schemas.document.is_old):
        style = encoding.get("style")
        style = style if style in _STYLES["query"] else "form"
        explode = encoding.get("explode", style in ("form", "deepObject")) is not False
        return FormPart("", style, explode, encoding.get("allowReserved") is True, is_list=is_list)
    media_type = text_of(encoding.get("contentType"), _MAX_NAME).partition(",")[0].strip()
    is_file = kind == MULTIPART and _is_file(item, media_type)
    is_object = bool({"object", "array"} & types_of(item)) or "properties" in item
    if kind == FORM and not is_object and not media_type:
        return FormPart(style="form", is_list=is_list)
    if not media_type or "*" in media_type:
        media_type = JSON if is_object else "application/octet-stream" if is_file else "text/plain"
    return FormPart(media_type, is_file=is_file, is_list=is_list)


def _is_file(item: JsonObject, media_type: str) -> bool:
    if types_of(item) - {"string", "null"}:
        return False
    is_raw = item.get("format") == "binary" or "contentMediaType" in item
    if is_raw and "contentEncoding" not in item:
        return True
    is_plain = not media_type or media_type.startswith(("text/", JSON)) or "json" in media_type
    return not is_plain and "string" in types_of(item)


# Media types


def _rank(media_type: str) -> int:
    """Rank media types: the best supported come first."""
    kind = base_of(media_type)
    ranks = (n for n, pattern in enumerate(_BEST) if pattern.fullmatch(kind))
    return next(ranks, len(_BEST))


def _sendable(media_type: str) -> str:
    if "*" not in media_type:
        return text_of(media_type, _MAX_NAME)
    usual = {"text": "text/plain", "application": JSON, "*": JSON}
    return usual.get(media_type.partition("/")[0], "application/octet-stream")


def _is_xml(kind: str) -> bool:
    return kind.endswith(("/xml", "+xml"))
