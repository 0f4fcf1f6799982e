"""Templates of an operator that count in place of a plan: of the URL, of headers, of the body.

They are Jinja2, never made of a document. A template can look up arguments, choose and encode, and
nothing else: loops, calls, arithmetic and macros are refused, because a sandbox does not stop them
from running on and on.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from ....core.errors import BadSetting, InvalidArguments
from ....settings.openapi import OperationSettings
from ..plan import Placement
from .bodies import is_json
from .request import RequestParts
from .serialize import (
    Unwritable,
    cookie_pairs,
    header_text,
    in_url,
    json_text,
    path_text,
    query_pairs,
    querystring,
    refuse_dot_segments,
    text_of,
)

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.nodes import Node

Context: TypeAlias = Literal["url", "header", "json", "form", "xml", "text"]
"""Where a template's text goes, which decides how values in it are encoded."""

_MAX_TEMPLATE_CHARS = 8_000  # a page or two; nobody reads a longer one
_MAX_CHARS = 2_000_000  # of what one gives, and of each step on the way
_NAMES = ("args", "base_url")
_TESTS = ("defined", "undefined", "none", "string", "number", "boolean", "mapping", "sequence")
_ALLOWED = frozenset((
    "And", "CondExpr", "Compare", "Const", "Dict", "Filter", "Getattr", "Getitem", "If", "Keyword",
    "Name", "Not", "Operand", "Or", "Output", "Pair", "Template", "TemplateData", "Test",
))  # fmt: skip


class _Encoded(str):
    """A text that is encoded for its place already."""

    __slots__ = ()


def overridden(
    parts: RequestParts, operation: OperationSettings, arguments: Mapping[str, Any], base_url: str
) -> RequestParts:
    """A request with what the operator's templates say in place of the plan's.

    Raises:
        BadSetting: a template is wrong, or leads to another server.
        InvalidArguments: a template uses an argument that is not there, or cannot write one.
    """
    values = {"args": dict(arguments), "base_url": base_url}
    if operation.url:
        url = _rendered(operation.url, "url", "url", values)
        parts = replace(parts, url=_checked_url(url, base_url))
    if operation.headers:
        headers = {
            name: _rendered(text, "header", f"headers.{name}", values)
            for name, text in operation.headers.items()
        }
        known = {x.lower() for x in headers}
        kept = {name: text for name, text in parts.headers.items() if name.lower() not in known}
        parts = replace(parts, headers={**kept, **{x: y for x, y in headers.items() if y}})
    return _with_body(parts, operation.body, values) if operation.body else parts


def check_templates(operation: OperationSettings) -> None:
    """Compile the templates of an operation, so that a wrong one is told when settings are read.

    Raises:
        BadSetting: one is wrong; says which and why.
    """
    if operation.url:
        _compiled(operation.url, "url", "url")
    for name, text in operation.headers.items():
        _compiled(text, "header", f"headers.{name}")
    if operation.body:
        _compiled(operation.body, "json", "body")


def _with_body(parts: RequestParts, template: str, values: Mapping[str, Any]) -> RequestParts:
    told = (text for name, text in parts.headers.items() if name.lower() == "content-type")
    media_type = next(told, "application/json")
    kind = media_type.partition(";")[0].strip().lower()
    if kind.startswith("multipart/"):
        raise BadSetting("`body` of an operation: a form with files cannot be a template.")
    text = _rendered(template, context_of(kind), "body", values)
    if is_json(kind):
        _check_json(text)
    return replace(
        parts,
        headers={**parts.headers, "Content-Type": media_type},
        body=(media_type, text.encode("utf-8", "replace")),
    )


def context_of(kind: str) -> Context:
    """How values are encoded in a body of this media type."""
    if is_json(kind):
        return "json"
    if "xml" in kind:
        return "xml"
    return "form" if kind == "application/x-www-form-urlencoded" else "text"


def _check_json(text: str) -> None:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        raise BadSetting(
            "`body` of an operation: it gives no JSON. Write values as {{ args.name | tojson }}, "
            'or in quotes as "{{ args.name }}".'
        ) from None


def _checked_url(url: str, base_url: str) -> str:
    """The address, whole. It must be the service's: its credentials go along."""
    # A fragment is never sent, and would take along what credentials add to the query.
    url = url.strip().partition("#")[0].replace("?&", "?").rstrip("?")
    if "://" not in url.partition("?")[0]:
        url = base_url.rstrip("/") + "/" + url.lstrip("/")
    if urlsplit(url)[:2] != urlsplit(base_url)[:2]:
        raise BadSetting(
            "`url` of an operation: it leads to another server than `baseUrl`. Write a path, or "
            "change `baseUrl`."
        )
    try:
        refuse_dot_segments(urlsplit(url).path)
    except Unwritable as cause:
        raise InvalidArguments("the URL", [f"an argument in the path: {cause}"], "a name") from None
    return url


def _rendered(template: str, context: Context, where: str, values: Mapping[str, Any]) -> str:
    from jinja2 import UndefinedError

    made: list[str] = []
    left = _MAX_CHARS
    try:
        for piece in _compiled(template, context, where).generate(**_known(values, context)):
            left -= len(piece)
            if left < 0:
                raise Unwritable(f"it gives more than {_MAX_CHARS:,} characters")
            made.append(piece)
    except (UndefinedError, Unwritable) as cause:
        problem = f"the template {where} of the operation: {cause}"
        raise InvalidArguments("the request", [problem], "what the template uses") from None
    return "".join(made)


def _known(values: Mapping[str, Any], context: Context) -> Mapping[str, Any]:
    """What a template can name. In a URL the base URL is one already."""
    is_url = context == "url"
    return {**values, "base_url": _Encoded(values["base_url"])} if is_url else values


@lru_cache(maxsize=256)
def _compiled(template: str, context: Context, where: str) -> Template:
    from jinja2 import TemplateError

    try:
        if len(template) > _MAX_TEMPLATE_CHARS:
            raise _Forbidden(f"it has more than {_MAX_TEMPLATE_CHARS:,} characters")
        environment = _environment(context)
        _check(environment.parse(template))
        return environment.from_string(template)
    except (TemplateError, _Forbidden, RecursionError) as cause:
        said = "it is nested too deeply" if isinstance(cause, RecursionError) else str(cause)
        raise BadSetting(f"`{where}` of an operation is no usable template: {said}.") from None


class _Forbidden(Exception):
    """A template has what none may have."""


def _check(tree: Node) -> None:
    """Refuse whatever is not known to end soon."""
    from jinja2 import nodes

    for node in (tree, *tree.find_all(nodes.Node)):
        name = type(node).__name__
        if name not in _ALLOWED:
            raise _Forbidden(f"line {node.lineno}: {name} is not allowed in it")
        if isinstance(node, nodes.Name) and node.name not in _NAMES:
            raise _Forbidden(
                f"line {node.lineno}: there is no {node.name}; arguments are args.{node.name}"
            )
        if isinstance(node, nodes.Filter) and (node.name not in _FILTERS or node.node is None):
            raise _Forbidden(f"line {node.lineno}: there is no filter {node.name}")
        if isinstance(node, nodes.Test) and node.name not in _TESTS:
            raise _Forbidden(f"line {node.lineno}: there is no test {node.name}")
        if isinstance(node, nodes.Pair) and not isinstance(node.value, nodes.Const):
            raise _Forbidden(f"line {node.lineno}: an object in it may only hold texts")


@lru_cache(maxsize=8)
def _environment(context: Context) -> Any:
    from jinja2 import StrictUndefined, Undefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    class JsonEnvironment(ImmutableSandboxedEnvironment):
        """Knows no attributes of Python, only members of JSON values."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            return self.getitem(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            if isinstance(obj, Undefined):
                return obj  # what is not there has no members either
            is_known = isinstance(obj, dict) or (
                isinstance(obj, list) and isinstance(argument, int)
            )
            try:
                return cast(Any, obj)[argument] if is_known else self.undefined(name=str(argument))
            except (LookupError, TypeError):
                return self.undefined(name=str(argument))

    environment = JsonEnvironment(
        undefined=StrictUndefined, finalize=_encoder(context), autoescape=False,
        keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters = dict(_FILTERS)
    environment.globals = {}
    return environment


def _encoder(context: Context) -> Callable[[Any], Any]:
    """Encodes each value for its place, unless a filter has done that."""
    ways: dict[Context, Callable[[str], str]] = {
        "url": in_url, "form": in_url, "xml": escape, "json": lambda text: json.dumps(text)[1:-1],
        "header": str, "text": str,
    }  # fmt: skip
    encode = ways[context]

    def encoded(value: Any) -> Any:
        from jinja2 import Undefined

        if isinstance(value, _Encoded | Undefined):
            return value
        if context == "json" and not isinstance(value, str):
            return json_text(value)
        return encode(text_of(value))

    return encoded


def _sized(text: str) -> _Encoded:
    if len(text) > _MAX_CHARS:
        raise Unwritable(f"it gives more than {_MAX_CHARS:,} characters")
    return _Encoded(text)


def _pathsegment(value: Any) -> _Encoded:
    return _path(value)


def _path(value: Any, name: str = "", style: Any = "simple", explode: bool = False) -> _Encoded:
    return _sized(path_text(Placement("", "path", name, style, explode), value))


def _query(
    value: Any, name: str, style: Any = "form", explode: bool = True, media_type: str = ""
) -> _Encoded:
    place = Placement("", "query", name, style, explode, media_type=media_type)
    return _sized("&".join(f"{key}={text}" for key, text in query_pairs(place, value)))


def _querystring(value: Any, media_type: str) -> _Encoded:
    place = Placement("", "querystring", "", media_type=media_type)
    return _sized(querystring(place, value))


def _header(value: Any, explode: bool = False, media_type: str = "") -> _Encoded:
    place = Placement("", "header", "", "simple", explode, media_type=media_type)
    return _sized(header_text(place, value))


def _cookie(value: Any, name: str, style: Any = "form", explode: bool = True) -> _Encoded:
    place = Placement("", "cookie", name, style, explode)
    return _sized("; ".join(f"{key}={text}" for key, text in cookie_pairs(place, value)))


def _tojson(value: Any) -> _Encoded:
    return _sized(json_text(value))


def _fields(value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {name: value[argument] for argument, name in names.items() if argument in value}


def _form(value: Mapping[str, Any]) -> _Encoded:
    return _sized("&".join(x for name, text in value.items() if (x := _query(text, name))))


def _default(value: Any, instead: Any = "") -> Any:
    from jinja2 import Undefined

    return instead if isinstance(value, Undefined) else value


_FILTERS: dict[str, Callable[..., Any]] = {
    "cookie": _cookie, "default": _default, "fields": _fields, "form": _form, "header": _header,
    "path": _path, "pathsegment": _pathsegment, "query": _query,
    "querystring": _querystring, "tojson": _tojson,
}  # fmt: skip
