"""Swagger 2.0 in the words of OpenAPI 3: its parameters, bodies and responses, one by one."""

from __future__ import annotations

from typing import Any

from ....core.json import JsonObject, as_list, as_object
from .values import texts_of

_FORM, _MULTIPART, _JSON = (
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/json",
)
# What a parameter says of itself and not of its values.
_OF_PARAMETERS = frozenset((
    "name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema",
))  # fmt: skip
_STYLES = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
}


def parameter_of(given: JsonObject) -> JsonObject:
    """A parameter in the path, the query or a header."""
    found = {
        word: given[word] for word in ("name", "in", "required", "description") if word in given
    }
    found["schema"] = {word: x for word, x in given.items() if word not in _OF_PARAMETERS}
    if given.get("type") == "array":
        style, explode = _STYLES.get(str(given.get("collectionFormat")), ("form", False))
        if given.get("in") in ("path", "header") and style == "form":
            style = "simple"
        found |= {"style": style, "explode": explode}
    return found


def body_of(parameters: list[JsonObject], consumes: Any) -> JsonObject | None:
    """The request body that the parameters in `body` and `formData` come to."""
    whole = [x for x in parameters if x.get("in") == "body"]
    fields = [x for x in parameters if x.get("in") == "formData"]
    kinds = texts_of(consumes)
    if whole:
        nearest = whole[-1]  # that of the operation, where its path has one, too
        content = {kind: {"schema": nearest.get("schema", {})} for kind in kinds or [_JSON]}
        found: JsonObject = {"content": content, "required": nearest.get("required") is True}
        return {**found, "description": nearest.get("description")}
    return _form_of(fields, kinds) if fields else None


def _form_of(fields: list[JsonObject], kinds: list[str]) -> JsonObject:
    has_file = any(x.get("type") == "file" for x in fields)
    names = [str(x.get("name")) for x in fields]
    required = [name for name, x in zip(names, fields, strict=True) if x.get("required") is True]
    schema = {
        "type": "object",
        "properties": {n: _field_of(x) for n, x in zip(names, fields, strict=True)},
        "required": required,
    }
    is_parted = has_file or (_MULTIPART in kinds and _FORM not in kinds)
    encoding = {n: x for n, y in zip(names, fields, strict=True) if (x := _encoding_of(y))}
    content = {_MULTIPART if is_parted else _FORM: {"schema": schema, "encoding": encoding}}
    return {"content": content, "required": bool(required)}


def _field_of(field: JsonObject) -> JsonObject:
    schema = {word: x for word, x in field.items() if word not in _OF_PARAMETERS}
    if "description" in field:
        schema["description"] = field["description"]
    return (
        {**schema, "type": "string", "format": "binary"} if field.get("type") == "file" else schema
    )


def _encoding_of(field: JsonObject) -> JsonObject:
    if field.get("type") != "array":
        return {}
    style, explode = _STYLES.get(str(field.get("collectionFormat")), ("form", False))
    return {"style": style, "explode": explode}


def response_of(given: JsonObject, produces: Any) -> JsonObject:
    """A response."""
    if "schema" not in given:
        return given
    kinds = texts_of(produces) or [_JSON]
    return {**given, "content": {kind: {"schema": given["schema"]} for kind in kinds}}


def server_urls(root: JsonObject, schemes: Any) -> list[str]:
    """Where the service is, as URLs that may be relative; https first."""
    host, path = root.get("host"), root.get("basePath")
    path = path if isinstance(path, str) else ""
    if not isinstance(host, str) or not host:
        return [path or "/"]
    said = texts_of(schemes) or texts_of(root.get("schemes"))
    usable = sorted((x for x in said if x in ("http", "https")), reverse=True)
    return [f"{scheme}://{host}{path}" for scheme in usable] or [f"//{host}{path}"]


def security_scheme_of(given: JsonObject) -> JsonObject:
    """How somebody proves who they are."""
    if given.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if given.get("type") == "oauth2":
        flow = {"tokenUrl": given.get("tokenUrl"), "scopes": as_object(given.get("scopes"))}
        name = "clientCredentials" if given.get("flow") == "application" else str(given.get("flow"))
        return {"type": "oauth2", "flows": {name: flow}}
    return given


def kinds_of(operation: JsonObject, root: JsonObject, word: str) -> Any:
    """What an operation consumes or produces, or else what all do."""
    return operation[word] if as_list(operation.get(word)) else root.get(word)
