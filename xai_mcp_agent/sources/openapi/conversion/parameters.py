"""Parameters of an operation as arguments of a tool: where each goes, and how it is written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from ....core.json import JsonObject, as_list, as_object
from ..document.document import BadOperation, BadReference
from ..document.references import References
from ..document.values import text_of
from ..plan import Location, Placement, Style
from .definitions import Notes
from .schemas import Schemas

# Those that a location takes, the usual one first.
_STYLES: dict[str, tuple[Style, ...]] = {
    "path": ("simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited"),
    "query": ("form", "spaceDelimited", "pipeDelimited", "tabDelimited", "deepObject"),
    "header": ("simple", "spaceDelimited", "pipeDelimited", "tabDelimited"),
    "cookie": ("form", "cookie"),
    "querystring": ("form",),
}
_ORDER = tuple(_STYLES)
# OpenAPI wants these ignored: they come from the body, the responses and the security.
_NOT_OURS = ("accept", "content-type", "authorization")
_TOKEN = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
# What is in two braces is a template of somebody.
_IN_PATH = re.compile(r"(?<!\{)\{([^{}/?#%\x00-\x1f]+)\}(?!\})")
# A pattern may have braces of its own: `{id:[0-9]{3}}`.
_OF_GATEWAYS = re.compile(r"\{[+*]?([^{}+*:/]+)(?:[+*]|:(?:[^{}]|\{[^{}]*\})*)?\}")
_LEAST = {"string": "minLength", "array": "minItems", "object": "minProperties"}
_MAX_DESCRIPTION = 1_000
_MAX_NAME = 200
_MAX_PARAMETERS = 2_000  # the most of a real operation are about 100


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument, as the document names it. `schema` is what the model reads of it."""

    name: str
    location: Location
    schema: JsonObject | bool
    is_required: bool = False
    style: Style = "simple"
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""

    def placed(self, argument: str) -> Placement:
        """Where it goes, when it has this name among the arguments."""
        return Placement(
            argument, self.location, self.name, self.style, self.explode,
            self.allow_reserved, self.media_type, self.is_required,
        )  # fmt: skip


def merged(references: References, *levels: Any) -> list[JsonObject]:
    """The parameters of a path and of its operation; what a later level says again counts.

    Raises:
        BadReference: one leads nowhere, or where it may not.
        BadOperation: they are no list, or too many.
    """
    found: dict[tuple[str, str], JsonObject] = {}
    for level in levels:
        if level is not None and not isinstance(level, list):
            raise BadOperation("its `parameters` are no list")
        if len(as_list(level)) > _MAX_PARAMETERS:
            raise BadOperation(f"it has more than {_MAX_PARAMETERS:,} parameters")
        for given in as_list(level):
            parameter = _with_text(references.followed(given))
            found[str(parameter.get("in"))[:_MAX_NAME], str(parameter.get("name"))] = parameter
    return list(found.values())


def _with_text(parameter: JsonObject) -> JsonObject:
    """YAML reads a name such as `1` as a number."""
    name = parameter.get("name")
    is_number = isinstance(name, int | float) and not isinstance(name, bool)
    return {**parameter, "name": json.dumps(name)} if is_number else parameter


def arguments_of(
    parameters: Iterable[JsonObject], path: str, schemas: Schemas, notes: Notes
) -> list[Argument]:
    """What a caller gives for the parameters, those of the path first.

    Raises:
        BadOperation: one that is required cannot be sent.
        BadReference: a schema refers to where no reference may lead.
    """
    in_path = dict.fromkeys(_IN_PATH.findall(path))
    found = [_argument(x, in_path, schemas, notes) for x in parameters]
    arguments = [x for x in found if x is not None]
    declared = {x.name for x in arguments if x.location == "path"}
    for name in in_path:
        if name not in declared:
            notes.add(f"The document does not describe {name!r}, which is in the path.")
            arguments.append(Argument(name, "path", {"type": "string"}, is_required=True))
    return sorted(arguments, key=lambda x: _ORDER.index(x.location))


def plain_path(path: str, parameters: Iterable[JsonObject]) -> str:
    """The path with `{id}` for what gateways write: `{id:[0-9]+}`, `{id+}`, `{id*}`, `{+id}`.

    Only where the document describes `id`, and not what is in the braces.
    """
    declared = [x.get("name") for x in parameters if x.get("in") == "path"]

    def plain(found: re.Match[str]) -> str:
        is_its_name = found[1] in declared and found[0][1:-1] not in declared
        return f"{{{found[1]}}}" if is_its_name else found[0]

    return _OF_GATEWAYS.sub(plain, path)


def named(arguments: Iterable[Argument]) -> list[tuple[str, Argument]]:
    """Each with its name for the model. Of several the first has its own, the others say where."""
    taken: dict[str, Argument] = {}
    for argument in arguments:
        name, number = argument.name, 1
        while name in taken:
            name = f"{argument.name}__{argument.location}{'' if number == 1 else number}"
            number += 1
        taken[name] = argument
    return list(taken.items())


def with_words(schema: JsonObject | bool, *words: Any) -> JsonObject | bool:
    """A schema with the first description that there is, its own last."""
    said = next((x for word in words if (x := text_of(word, _MAX_DESCRIPTION))), "")
    if not said or schema is False:
        return schema
    return {**as_object(schema), "description": said}


def _argument(
    given: JsonObject, in_path: Iterable[str], schemas: Schemas, notes: Notes
) -> Argument | None:
    """None: it is not sent."""
    name, location = given.get("name"), str(given.get("in"))
    if not isinstance(name, str) or not name or location not in _STYLES:
        return _without(given, "it has no name, or is in no place that there is", notes)
    if location == "header" and name.lower() in _NOT_OURS:
        return None
    if len(name) > _MAX_NAME or text_of(name, _MAX_NAME) != name:
        return _without(given, "its name cannot be shown", notes)
    if location in ("header", "cookie") and not _TOKEN.fullmatch(name):
        return _without(given, f"no {location} can have this name", notes)
    if location == "path" and name not in in_path:
        notes.add(f"The parameter {name!r} is not in the path, and is not sent.")
        return None
    return _placed(given, name, location, schemas, notes)


def _without(given: JsonObject, why: str, notes: Notes) -> None:
    """Go without a parameter.

    Raises:
        BadOperation: it is required.
    """
    shown = repr(text_of(str(given.get("name")), 60))
    if given.get("required") is True:
        raise BadOperation(f"the required parameter {shown} cannot be sent: {why}.")
    notes.add(f"The parameter {shown} is not sent: {why}.")


def _placed(
    given: JsonObject, name: str, location: Any, schemas: Schemas, notes: Notes
) -> Argument:
    media_type, schema = _schema_of(given, schemas.references)
    translated = schemas.translated(schema, notes)
    usual = _STYLES[location]
    style = cast(Style, given.get("style", usual[0]))
    if style not in usual:
        notes.add(f"There is no style {str(style)[:60]!r} for {name!r}; it is sent as {usual[0]}.")
        style = usual[0]
    explode = given.get("explode")
    if not isinstance(explode, bool) or style == "deepObject":
        explode = style in ("form", "cookie", "deepObject")
    is_required = given.get("required") is True or location == "path"
    shown = _shown(with_words(translated, given.get("description")), given)
    if location == "path":
        shown = _not_empty(shown, schemas)
    allow_reserved = given.get("allowReserved") is True
    return Argument(name, location, shown, is_required, style, explode, allow_reserved, media_type)


def _not_empty(schema: JsonObject | bool, schemas: Schemas) -> JsonObject | bool:
    """Without a value in the path it would be the address of something else."""
    resolved, _ = schemas.resolved(schema)
    word = _LEAST.get(str(resolved.get("type")), "")
    return schema if not word or resolved.get(word) else {**as_object(schema), word: 1}


def _schema_of(given: JsonObject, references: References) -> tuple[str, Any]:
    content = as_object(given.get("content"))
    if not content or "schema" in given:
        return "", given.get("schema", {})
    media_type, described = next(iter(content.items()))
    try:
        schema = references.followed(described).get("schema", {})
    except BadReference as cause:
        raise BadOperation(f"a parameter: {cause}.") from None
    return media_type[:_MAX_NAME], schema


def _shown(schema: JsonObject | bool, given: JsonObject) -> JsonObject | bool:
    """With the parameter's own example, where its schema has none."""
    example = given.get("example")
    if not isinstance(example, str | int | float) or isinstance(schema, bool):
        return schema
    if isinstance(example, bool) or example == "" or len(str(example)) > _MAX_NAME:
        return schema
    is_shown = any(x in schema for x in ("examples", "enum", "default"))
    return schema if is_shown else {**schema, "examples": [example]}
