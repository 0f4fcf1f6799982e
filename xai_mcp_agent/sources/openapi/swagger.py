"""Inputs, responses, servers and security of an operation, in OpenAPI 3 terms.

Swagger 2.0 puts each of these elsewhere and names it differently; only this module knows how.
"""

from __future__ import annotations

import re
from socket import inet_aton, inet_ntoa
from typing import Any, cast
from urllib.parse import urljoin, urlsplit

from ...core.json import JsonObject, as_list, as_object, is_object
from ...core.places import LINK_LOCAL, place_of_host
from .document import BadReference, Document, text_of, texts_of
from .plan import FORM, JSON, MULTIPART, SecurityNeed
from .schemas import SchemaNotes

# Keywords of the parameter itself; all others belong to its schema.
_PARAMETER_KEYWORDS = frozenset((
    "name", "in", "required", "description", "collectionFormat", "allowEmptyValue", "schema",
))  # fmt: skip
_STYLES = {
    "csv": ("form", False),
    "multi": ("form", True),
    "ssv": ("spaceDelimited", False),
    "tsv": ("tabDelimited", False),
    "pipes": ("pipeDelimited", False),
}
_SUCCESS = re.compile(r"2\d\d|2XX", re.IGNORECASE)
_VARIABLE = re.compile(r"\{([^{}]*)\}")
_MAX_URL, _MAX_NAME = 2_000, 200
_MAX_PORT = 65_536
# Other characters come from unfilled variables, or are there to mislead.
_HOST = re.compile(r"[^\s{}<>%\\^`|\"]+")
# Metadata services give the machine's credentials to any program on it.
_METADATA = ("metadata.google.internal", "metadata.goog", "fd00:ec2::254", "instance-data")
_KINDS = ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS")
_PLACES = ("header", "query", "cookie")


# Inputs


def inputs_of(
    document: Document, operation: JsonObject, parameters: list[JsonObject]
) -> tuple[list[JsonObject], JsonObject]:
    """Return an operation's parameters and its request body. `parameters` may include the body.

    Raises:
        BadReference: the body leads nowhere, or to a place that is not allowed.
    """
    if not document.is_swagger:
        return parameters, document.follow(operation.get("requestBody"))
    plain = [x for x in parameters if x.get("in") not in ("body", "formData")]
    body = _body_of(parameters, _media_types(document, operation, "consumes"))
    return [_parameter_of(x) for x in plain], body


def _parameter_of(parameter: JsonObject) -> JsonObject:
    words = ("name", "in", "required", "description")
    result: JsonObject = {word: parameter[word] for word in words if word in parameter}
    result["schema"] = _schema_of(parameter)
    if parameter.get("type") == "array":
        style, explode = _style_of(parameter)
        if parameter.get("in") in ("path", "header") and style == "form":
            style = "simple"
        result |= {"style": style, "explode": explode}
    return result


def _body_of(parameters: list[JsonObject], kinds: list[str]) -> JsonObject:
    """Return the request body for the parameters in `body` and `formData`."""
    bodies = [x for x in parameters if x.get("in") == "body"]
    if not bodies:
        fields = {str(x.get("name")): x for x in parameters if x.get("in") == "formData"}
        return _form_of(fields, kinds) if fields else {}
    body = bodies[-1]  # the operation's own body comes after its path's
    content = {kind: {"schema": body.get("schema", {})} for kind in kinds or [JSON]}
    is_required = body.get("required") is True
    return {"content": content, "required": is_required, "description": body.get("description")}


def _form_of(fields: dict[str, JsonObject], kinds: list[str]) -> JsonObject:
    required = [name for name, x in fields.items() if x.get("required") is True]
    properties = {name: _field_schema(x) for name, x in fields.items()}
    schema = {"type": "object", "properties": properties, "required": required}
    styles = {name: _style_of(x) for name, x in fields.items() if x.get("type") == "array"}
    encoding = {name: {"style": x, "explode": explode} for name, (x, explode) in styles.items()}
    has_file = any(x.get("type") == "file" for x in fields.values())
    kind = MULTIPART if has_file or (MULTIPART in kinds and FORM not in kinds) else FORM
    content = {kind: {"schema": schema, "encoding": encoding}}
    return {"content": content, "required": bool(required)}


def _field_schema(field: JsonObject) -> JsonObject:
    schema = _schema_of(field)
    if "description" in field:
        schema["description"] = field["description"]
    if field.get("type") == "file":
        schema |= {"type": "string", "format": "binary"}
    return schema


def _schema_of(parameter: JsonObject) -> JsonObject:
    return {word: x for word, x in parameter.items() if word not in _PARAMETER_KEYWORDS}


def _style_of(parameter: JsonObject) -> tuple[str, bool]:
    return _STYLES.get(str(parameter.get("collectionFormat")), ("form", False))


def _media_types(document: Document, operation: JsonObject, word: str) -> list[str]:
    """Return the media types that an operation `consumes` or `produces`, or the document's."""
    own = operation.get(word)
    return texts_of(own if as_list(own) else document.root.get(word))


# Responses


def success_responses(document: Document, operation: JsonObject) -> dict[str, JsonObject]:
    """Return the successful responses by status code, in order."""
    responses = as_object(operation.get("responses"))
    by_code: dict[str, JsonObject] = {}
    for code in sorted(filter(_SUCCESS.fullmatch, responses)):
        try:
            response = document.follow(responses[code])
        except BadReference:
            response = {}  # it can still be called
        if document.is_swagger and "schema" in response:
            kinds = _media_types(document, operation, "produces") or [JSON]
            content = {kind: {"schema": response["schema"]} for kind in kinds}
            response = {**response, "content": content}
        by_code[code] = response
    return by_code


# Servers


def server_url(
    document: Document, operation: JsonObject, path_item: JsonObject, notes: SchemaNotes
) -> str:
    """Return the absolute URL of the first usable server; empty if there is none.

    A metadata service, which gives out the machine's credentials, is called only if the settings
    name it.
    """
    base = "" if document.uri.startswith("file:") else document.uri
    if document.is_swagger:
        base = base or "https://"
        urls = _swagger_urls(document.root, operation.get("schemes"))
    else:
        levels = (as_list(x.get("servers")) for x in (operation, path_item, document.root))
        servers = next(filter(None, levels), [{"url": "/"}])
        urls = [_fill_variables(as_object(x)).strip() for x in servers]
    for reference in urls:
        try:
            url = urljoin(base, reference)[:_MAX_URL]
        except ValueError:
            continue
        if not is_usable(url) or _VARIABLE.search(url):
            continue
        if _is_metadata(host := urlsplit(url).hostname or ""):
            notes.add(
                f"The document names the server {host}, which may give out credentials of this "
                "machine; it is called only if the settings name it."
            )
            return ""
        return url.partition("?")[0].partition("#")[0].rstrip("/")
    return ""


def is_usable(url: str) -> bool:
    """Return whether requests can be sent to a URL."""
    try:
        parts = urlsplit(url)
        is_named = bool(parts.hostname) and _HOST.fullmatch(parts.hostname) is not None
        return parts.scheme in ("http", "https") and is_named and parts.port != 0
    except ValueError:
        return False


def _swagger_urls(root: JsonObject, schemes: Any) -> list[str]:
    """Return the service's URLs, absolute or relative, https first."""
    host, path = root.get("host"), root.get("basePath")
    path = path if isinstance(path, str) else ""
    if not isinstance(host, str) or not host:
        return [path or "/"]
    names = texts_of(schemes) or texts_of(root.get("schemes"))
    usable = sorted((x for x in names if x in ("http", "https")), reverse=True)
    return [f"{scheme}://{host}{path}" for scheme in usable] or [f"//{host}{path}"]


def _fill_variables(server: JsonObject) -> str:
    url, variables = server.get("url"), as_object(server.get("variables"))

    def value(match: re.Match[str]) -> str:
        variable = as_object(variables.get(match[1]))
        default, choices = variable.get("default"), texts_of(variable.get("enum"))
        if isinstance(default, int) and abs(default) < _MAX_PORT:
            return str(default)
        return default if isinstance(default, str) else choices[0] if choices else match[0]

    return _VARIABLE.sub(value, url[:_MAX_URL]) if isinstance(url, str) else ""


def _is_metadata(host: str) -> bool:
    host = host.rstrip(".")
    try:
        address = inet_ntoa(inet_aton(host))  # systems accept `2852039166` as an address, too
    except (OSError, ValueError):
        address = host
    return host in _METADATA or place_of_host(address) == LINK_LOCAL


# Security


def security_needs(
    document: Document, operation: JsonObject
) -> tuple[tuple[SecurityNeed, ...], ...]:
    """Return an operation's alternatives; an empty alternative means that none is needed.

    `security: []` is such an alternative: it overrides the document's default for all operations.
    """
    security = operation.get("security", document.root.get("security"))
    if security == []:
        return ((),)
    alternatives: dict[tuple[SecurityNeed, ...], None] = {}
    for schemes in filter(is_object, as_list(security)):
        needs = [_need(document, name, scopes) for name, scopes in schemes.items()]
        usable = tuple(x for x in needs if x is not None)
        if len(usable) == len(needs):
            alternatives[usable] = None
    return tuple(alternatives)


def _need(document: Document, name: str, scopes: Any) -> SecurityNeed | None:
    root = document.root
    if document.is_swagger:
        schemes = root.get("securityDefinitions")
    else:
        schemes = as_object(root.get("components")).get("securitySchemes")
    try:
        scheme = _scheme_of(document.follow(as_object(schemes).get(name)))
    except BadReference:
        return None
    kind, place = scheme.get("type"), scheme.get("in")
    if kind not in _KINDS:
        return None
    return SecurityNeed(
        text_of(name, _MAX_NAME),
        cast(Any, kind),
        cast(Any, place) if place in _PLACES and kind == "apiKey" else "",
        text_of(scheme.get("name"), _MAX_NAME),
        text_of(scheme.get("scheme"), _MAX_NAME).lower(),
        tuple(texts_of(scopes)),
        _token_url(document, scheme),
    )


def _scheme_of(scheme: JsonObject) -> JsonObject:
    """Return a security scheme in the form of OpenAPI 3."""
    if scheme.get("type") == "basic":
        return {"type": "http", "scheme": "basic"}
    if scheme.get("type") == "oauth2" and "flows" not in scheme:
        flow = str(scheme.get("flow"))
        name = "clientCredentials" if flow == "application" else flow
        return {"type": "oauth2", "flows": {name: {"tokenUrl": scheme.get("tokenUrl")}}}
    return scheme


def _token_url(document: Document, scheme: JsonObject) -> str:
    flow = as_object(as_object(scheme.get("flows")).get("clientCredentials"))
    url = text_of(flow.get("tokenUrl"), _MAX_URL)
    try:
        return urljoin(document.uri, url) if url and document.uri.startswith("http") else url
    except ValueError:
        return ""  # not a URL; the settings can name one
