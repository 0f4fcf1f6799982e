"""Swagger 2.0 in the words of OpenAPI 3: its parameters, bodies and responses, one by one."""

from __future__ import annotations

from typing import Any

from ...core.json import JsonObject, as_list, as_object
from .document import texts_of
from .request import FORM, JSON, MULTIPART

# What a parameter says of itself; the other words are about its values.
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


def parameter_of(parameter: JsonObject) -> JsonObject:
    """Return a parameter in the path, the query or a header."""
    words = ("name", "in", "required", "description")
    result: JsonObject = {word: parameter[word] for word in words if word in parameter}
    result["schema"] = _schema_of(parameter)
    if parameter.get("type") == "array":
        style, explode = _style_of(parameter)
        if parameter.get("in") in ("path", "header") and style == "form":
            style = "simple"
        result |= {"style": style, "explode": explode}
    return result


def body_of(parameters: list[JsonObject], media_types: Any) -> JsonObject | None:
    """Return the request body that the parameters in `body` and `formData` come to."""
    bodies = [x for x in parameters if x.get("in") == "body"]
    fields = [x for x in parameters if x.get("in") == "formData"]
    kinds = texts_of(media_types)
    if bodies:
        body = bodies[-1]  # that of the operation, where its path has one, too
        content = {kind: {"schema": body.get("schema", {})} for kind in kinds or [JSON]}
        is_required = body.get("required") is True
        return {"content": content, "required": is_required, "description": body.get("description")}
    return _form_of(fields, kinds) if fields else None


def response_of(response: JsonObject, media_types: Any) -> JsonObject:
    """Return a response."""
    if "schema" not in response:
        return response
    kinds = texts_of(media_types) or [JSON]
    return {**response, "content": {kind: {"schema": response["schema"]} for kind in kinds}}


def server_urls(root: JsonObject, schemes: Any) -> list[str]:
    """Return where the service is, as URLs that may be relative; https first."""
    host, path = root.get("host"), root.get("basePath")
    path = path if isinstance(path, str) else ""
    if not isinstance(host, str) or not host:
        return [path or "/"]
    named = texts_of(schemes) or texts_of(root.get("schemes"))
    usable = sorted((x for x in named if x in ("http", "https")), reverse=True)
    return [f"{scheme}://{host}{path}" for scheme in usable] or [f"//{host}{path}"]


def security_scheme_of(scheme: JsonObject) -> JsonObject:
    """Return a security scheme."""
    if scheme.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if scheme.get("type") == "oauth2":
        flow = {"tokenUrl": scheme.get("tokenUrl"), "scopes": as_object(scheme.get("scopes"))}
        name = str(scheme.get("flow"))
        flows = {"clientCredentials" if name == "application" else name: flow}
        return {"type": "oauth2", "flows": flows}
    return scheme


def media_types(operation: JsonObject, root: JsonObject, word: str) -> Any:
    """Return what an operation `consumes` or `produces`, or else what all do."""
    return operation[word] if as_list(operation.get(word)) else root.get(word)


def _form_of(fields: list[JsonObject], kinds: list[str]) -> JsonObject:
    named = {str(x.get("name")): x for x in fields}
    required = [name for name, x in named.items() if x.get("required") is True]
    schema = {
        "type": "object",
        "properties": {name: _field_schema(x) for name, x in named.items()},
        "required": required,
    }
    encoding: JsonObject = {}
    for name, field in named.items():
        if field.get("type") == "array":
            style, explode = _style_of(field)
            encoding[name] = {"style": style, "explode": explode}
    has_file = any(x.get("type") == "file" for x in fields)
    is_multipart = has_file or (MULTIPART in kinds and FORM not in kinds)
    kind = MULTIPART if is_multipart else FORM
    return {
        "content": {kind: {"schema": schema, "encoding": encoding}},
        "required": bool(required),
    }


def _field_schema(field: JsonObject) -> JsonObject:
    schema = _schema_of(field)
    if "description" in field:
        schema["description"] = field["description"]
    if field.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    return schema


def _schema_of(parameter: JsonObject) -> JsonObject:
    return {word: x for word, x in parameter.items() if word not in _OF_PARAMETERS}


def _style_of(parameter: JsonObject) -> tuple[str, bool]:
    return _STYLES.get(str(parameter.get("collectionFormat")), ("form", False))
