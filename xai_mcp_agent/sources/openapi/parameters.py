"""Parameters of an operation as arguments of a tool: where each goes, and how it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, cast

from ...core.json import JsonObject, as_list, as_object
from .document import BadOperation, Document, text_of
from .plan import Placement, Style
from .schemas import Notes, Schemas, is_example

# The styles of each location, the usual one first.
_STYLES: dict[str, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"),
    "header": ("simple", "spaceDelimited", "pipeDelimited", "tabDelimited"),
    "cookie": ("form", "cookie"),
    "querystring": ("form",),
}
_ORDER = tuple(_STYLES)
# OpenAPI wants these ignored: they come from the body, the responses and the security.
_IGNORED_HEADERS = ("accept", "content-type", "authorization")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What is in two braces is a template of somebody.
_IN_PATH = re.compile(r"(?<!\{)\{([^{}/?#%\x00-\x1f]+)\}(?!\})")
# A pattern may have braces of its own: `{id:[0-9]{3}}`.
_OF_GATEWAYS = re.compile(r"\{[+*]?([^{}+*:/]+)(?:[+*]|:(?:[^{}]|\{[^{}]*\})*)?\}")
_LEAST = {"string": "minLength", "array": "minItems", "object": "minProperties"}
_MAX_DESCRIPTION, _MAX_NAME = 1_000, 200


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument: where it goes, and the `schema` that the model reads of it."""

    placement: Placement
    schema: JsonObject | bool


def merge_parameters(document: Document, *levels: Any) -> list[JsonObject]:
    """Return the parameters of a path and of its operation; a later level replaces an earlier one.

    Raises:
        BadReference: one leads nowhere, or where it may not.
        BadOperation: they are no list.
    """
    merged: dict[tuple[str, str], JsonObject] = {}
    for level in levels:
        if level is not None and not isinstance(level, list):
            raise BadOperation("its `parameters` are not a list")
        for value in as_list(level):
            parameter = document.follow(value)
            name = parameter.get("name")
            if isinstance(name, int | float) and not isinstance(name, bool):
                parameter = {**parameter, "name": json.dumps(name)}  # YAML reads `1` as a number
            merged[str(parameter.get("in"))[:_MAX_NAME], str(parameter.get("name"))] = parameter
    return list(merged.values())


def plain_path(path: str, parameters: Iterable[JsonObject]) -> str:
    """Write `{id}` for what gateways write: `{id:[0-9]+}`, `{id+}`, `{id*}`, `{+id}`.

    Only where the document describes `id`, and not what is in the braces.
    """
    described = [x.get("name") for x in parameters if x.get("in") == "path"]

    def plain(match: re.Match[str]) -> str:
        is_its_name = match[1] in described and match[0][1:-1] not in described
        return f"{{{match[1]}}}" if is_its_name else match[0]

    return _OF_GATEWAYS.sub(plain, path)


def parameter_arguments(
    parameters: Iterable[JsonObject], path: str, schemas: Schemas, notes: Notes
) -> list[Argument]:
    """Return the arguments that parameters come to, those of the path first.

    Raises:
        BadOperation: one that is required cannot be sent.
        BadReference: a schema refers to where no reference may lead.
    """
    names = dict.fromkeys(_IN_PATH.findall(path))
    arguments: list[Argument] = []
    for parameter in parameters:
        if _is_sent(parameter, names, notes):
            arguments.append(_argument(parameter, schemas, notes))
    described = {x.placement.name for x in arguments if x.placement.location == "path"}
    for name in names:
        if name not in described:
            notes.add(f"The document does not describe the path parameter {name!r}.")
            place = Placement(name, "path", name, is_required=True)
            arguments.append(Argument(place, {"type": "string"}))
    return sorted(arguments, key=lambda x: _ORDER.index(x.placement.location))


def name_arguments(arguments: Iterable[Argument]) -> list[Argument]:
    """Name each for the model. Of several with one name the later ones say where they go."""
    named: dict[str, Argument] = {}
    for argument in arguments:
        place, number = argument.placement, 1
        name = place.name
        while name in named:
            name = f"{place.name}__{place.location}{'' if number == 1 else number}"
            number += 1
        named[name] = replace(argument, placement=replace(place, argument=name))
    return list(named.values())


def describe(schema: JsonObject | bool, *descriptions: Any) -> JsonObject | bool:
    """Return a schema with the first of these descriptions that says something."""
    texts = (text_of(x, _MAX_DESCRIPTION) for x in descriptions)
    description = next(filter(None, texts), "")
    if not description or schema is False:
        return schema
    return {**as_object(schema), "description": description}


def _is_sent(parameter: JsonObject, in_path: Iterable[str], notes: Notes) -> bool:
    """Whether a parameter becomes an argument.

    Raises:
        BadOperation: it is required, and cannot be sent.
    """
    name, location = parameter.get("name"), str(parameter.get("in"))
    problem = ""
    if not isinstance(name, str) or not name or location not in _STYLES:
        problem = "it has no name, or `in` is not a known place"
    elif location == "header" and name.lower() in _IGNORED_HEADERS:
        return False
    elif len(name) > _MAX_NAME or text_of(name, _MAX_NAME) != name:
        problem = "its name is too long or has invisible characters"
    elif location in ("header", "cookie") and not _TOKEN.fullmatch(name):
        problem = f"this is not a valid name of a {location}"
    elif location == "path" and name not in in_path:
        notes.add(f"The parameter {name!r} is not in the path, and is not sent.")
        return False
    if problem:
        shown = repr(text_of(str(name), 60))
        if parameter.get("required") is True:
            raise BadOperation(f"the required parameter {shown} cannot be sent: {problem}.")
        notes.add(f"The parameter {shown} is not sent: {problem}.")
    return not problem


def _argument(parameter: JsonObject, schemas: Schemas, notes: Notes) -> Argument:
    name, location = parameter["name"], parameter["in"]
    media_type, schema = _schema_of(parameter, schemas.document)
    styles = _STYLES[location]
    style = cast(Style, parameter.get("style", styles[0]))
    if style not in styles:
        notes.add(f"There is no style {str(style)[:60]!r} for {name!r}; it is sent as {styles[0]}.")
        style = styles[0]
    explode = parameter.get("explode")
    if not isinstance(explode, bool) or style == "deepObject":
        explode = style in ("form", "cookie", "deepObject")
    is_required = parameter.get("required") is True or location == "path"
    translated = describe(schemas.translate(schema, notes), parameter.get("description"))
    shown = _with_example(translated, parameter.get("example"))
    if location == "path":
        shown = _not_empty(shown, schemas)
    allow_reserved = parameter.get("allowReserved") is True
    place = Placement(name, location, name, style, explode, allow_reserved, media_type, is_required)
    return Argument(place, shown)


def _schema_of(parameter: JsonObject, document: Document) -> tuple[str, Any]:
    content = as_object(parameter.get("content"))
    if not content or "schema" in parameter:
        return "", parameter.get("schema", {})
    media_type, described = next(iter(content.items()))
    return media_type[:_MAX_NAME], document.follow(described).get("schema", {})


def _not_empty(schema: JsonObject | bool, schemas: Schemas) -> JsonObject | bool:
    """Demand a value: without one in the path it would be the address of something else."""
    resolved, _ = schemas.resolve(schema)
    word = _LEAST.get(str(resolved.get("type")), "")
    return schema if not word or resolved.get(word) else {**as_object(schema), word: 1}


def _with_example(schema: JsonObject | bool, example: Any) -> JsonObject | bool:
    """Add the parameter's own example, where its schema has none."""
    if isinstance(schema, bool) or any(x in schema for x in ("examples", "enum", "default")):
        return schema
    return {**schema, "examples": [example]} if is_example(example) else schema
