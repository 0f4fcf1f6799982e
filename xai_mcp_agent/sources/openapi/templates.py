"""Templates from the settings that replace a plan's URL, headers or body.

They are Jinja2 from the settings, never from a document, and run in a sandbox. Values are encoded
for their place unless a filter has done that. `templates_of` turns a plan into such templates, for
people to copy and change.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeAlias
from urllib.parse import urlsplit
from xml.sax.saxutils import escape

from ...core.errors import BadSetting, InvalidArguments
from ...core.json import is_object
from ...settings.openapi import OperationSettings
from . import styles
from .plan import FORM, JSON, Location, Placement, RequestPlan, Style, base_of, is_json
from .request import RequestParts, fill_path, overlay_headers
from .styles import Pairs, Unwritable

if TYPE_CHECKING:
    from jinja2 import Template

Context: TypeAlias = Literal["url", "header", "json", "form", "xml", "text"]
"""Where a template's text goes; this decides how its values are encoded."""

_ENCODERS: Mapping[Context, Callable[[str], str]] = {
    "url": styles.in_url,
    "header": str,
    "json": lambda text: json.dumps(text)[1:-1],
    "form": styles.in_url,
    "xml": escape,
    "text": str,
}


class _Encoded(str):
    """A text that is already encoded for its place."""

    __slots__ = ()


def override(
    parts: RequestParts, operation: OperationSettings, arguments: Mapping[str, Any], base_url: str
) -> RequestParts:
    """Return a request in which the templates of the settings replace some parts.

    Raises:
        BadSetting: a template is wrong, or leads to another server.
        InvalidArguments: a template uses a missing argument, or cannot write one.
    """
    values = {"args": dict(arguments), "base_url": base_url}
    if operation.url:
        # The base URL is encoded already.
        url = _render(operation.url, "url", "url", {**values, "base_url": _Encoded(base_url)})
        parts = replace(parts, url=_check_url(url, base_url))
    if operation.headers:
        rendered = {  # without the delimiter that optional cookies leave at the end
            name: _render(text, "header", f"headers.{name}", values).rstrip("; ")
            for name, text in operation.headers.items()
        }
        headers = overlay_headers(parts.headers, rendered)
        parts = replace(parts, headers={x: y for x, y in headers.items() if y})
    return _with_body(parts, operation.body, values) if operation.body else parts


def check_templates(operation: OperationSettings) -> None:
    """Compile an operation's templates, to report mistakes when settings are read.

    Raises:
        BadSetting: a template is wrong; says which and why.
    """
    templates = {"url": operation.url, "body": operation.body}
    templates |= {f"headers.{name}": text for name, text in operation.headers.items()}
    for where, text in templates.items():
        _compile(text, "text", where)


def _with_body(parts: RequestParts, template: str, values: Mapping[str, Any]) -> RequestParts:
    media_types = (text for name, text in parts.headers.items() if name.lower() == "content-type")
    media_type = next(media_types, JSON)
    context = _context_of(media_type)
    if context is None:
        raise BadSetting("`body` of an operation: a multipart form cannot be a template.")
    text = _render(template, context, "body", values)
    if context == "json":
        try:
            json.loads(text)
        except ValueError:
            raise BadSetting(
                "`body` of an operation: the result is not JSON. Write values as "
                '{{ args.name | tojson }}, or in quotes as "{{ args.name }}".'
            ) from None
    headers = {**parts.headers, "Content-Type": media_type}
    return replace(parts, headers=headers, body=(media_type, text.encode("utf-8", "replace")))


def _context_of(media_type: str) -> Context | None:
    """Return how values in a body are encoded, or None if a template cannot write it."""
    kind = base_of(media_type)
    if kind.startswith("multipart/"):
        return None
    if is_json(kind):
        return "json"
    return "xml" if "xml" in kind else "form" if kind == FORM else "text"


def _check_url(url: str, base_url: str) -> str:
    """Return the absolute URL. It must be at the service, because credentials are sent along."""
    # A fragment is never sent, and would swallow credentials that are added to the query.
    url = url.strip().partition("#")[0].replace("?&", "?").rstrip("?")
    if "://" not in url.partition("?")[0]:
        url = base_url.rstrip("/") + "/" + url.lstrip("/")
    if urlsplit(url)[:2] != urlsplit(base_url)[:2]:
        raise BadSetting(
            "`url` of an operation: it leads to another server than `baseUrl`. Write a path, or "
            "change `baseUrl`."
        )
    try:
        styles.refuse_dot_segments(urlsplit(url).path)
    except Unwritable as cause:
        raise InvalidArguments("the URL", [f"an argument in the path: {cause}"], "a name") from None
    return url


# Jinja2


def _render(template: str, context: Context, where: str, values: Mapping[str, Any]) -> str:
    from jinja2 import TemplateError

    try:
        return _compile(template, context, where).render(values)
    except (TemplateError, TypeError, ValueError, ArithmeticError, LookupError) as cause:
        problem = f"the template {where} of the operation: {cause}"
        raise InvalidArguments("the request", [problem], "what the template uses") from None


@lru_cache(maxsize=256)
def _compile(template: str, context: Context, where: str) -> Template:
    from jinja2 import TemplateError

    try:
        return _environment(context).from_string(template)
    except (TemplateError, RecursionError) as cause:
        raise BadSetting(f"`{where}` of an operation is no usable template: {cause}.") from None


def _environment(context: Context) -> Any:
    # Here, because most services have no templates.
    from jinja2 import StrictUndefined, Undefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    encode = _ENCODERS[context]

    class JsonEnvironment(ImmutableSandboxedEnvironment):
        """Jinja environment that looks names up as keys: `args.items` is the argument `items`."""

        def getattr(self, obj: Any, attribute: str) -> Any:
            is_ours = isinstance(obj, dict | Undefined)
            return self.getitem(obj, attribute) if is_ours else super().getattr(obj, attribute)

        def getitem(self, obj: Any, argument: Any) -> Any:
            if isinstance(obj, Undefined):
                return obj  # a missing value has no members either
            if is_object(obj) and argument not in obj:
                return self.undefined(name=str(argument))
            return super().getitem(obj, argument)

    def encode_value(value: Any) -> Any:
        if isinstance(value, _Encoded | Undefined):
            return value
        if context == "json" and not isinstance(value, str):
            return styles.json_text(value)
        return encode(styles.value_text(value))

    environment = JsonEnvironment(
        undefined=StrictUndefined, finalize=encode_value, keep_trailing_newline=True
    )  # autoescape is for HTML: `finalize` encodes for the place
    environment.filters |= _FILTERS
    return environment


def _writer(
    location: Location, write: Callable[[Placement, Any], Pairs | str], joint: str = ""
) -> Callable[..., _Encoded]:
    """Return a filter that writes a value like a parameter in this location."""
    usual_style: Style = "form" if joint else "simple"

    def filter_(
        value: Any, name: str = "", style: Style = usual_style, explode: bool = bool(joint),
        media_type: str = "",
    ) -> _Encoded:  # fmt: skip
        output = write(Placement("", location, name, style, explode, False, media_type), value)
        if isinstance(output, str):
            return _Encoded(output)
        return _Encoded(joint.join(f"{key}={text}" for key, text in output))

    return filter_


def _fields(value: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {name: value[argument] for argument, name in names.items() if argument in value}


def _form(value: Mapping[str, Any]) -> _Encoded:
    query = _FILTERS["query"]
    return _Encoded("&".join(x for name, text in value.items() if (x := query(text, name))))


def _tojson(value: Any) -> _Encoded:
    return _Encoded(styles.json_text(value))


_FILTERS: dict[str, Callable[..., Any]] = {
    "path": _writer("path", styles.path_text),
    "pathsegment": _writer("path", styles.path_text),
    "query": _writer("query", styles.query_pairs, "&"),
    "querystring": _writer("querystring", styles.querystring),
    "header": _writer("header", styles.header_text),
    "cookie": _writer("cookie", styles.cookie_pairs, "; "),
    "fields": _fields,
    "form": _form,
    "tojson": _tojson,
}


# Plans as templates


def templates_of(plan: RequestPlan) -> OperationSettings:
    """Return the plan as templates that people can read, and change in the settings.

    `body` is empty if there is none, or if a template cannot write it.
    """
    query = [
        _optional(x, f"&{_value(x)}")
        for x in plan.placements
        if x.location in ("query", "querystring")
    ]
    path = plan.path + ("" if "?" in plan.path or not query else "?")
    url = fill_path(path, {x.name: _value(x) for x in plan.placements if x.location == "path"})
    headers = {"Accept": plan.accept}
    headers |= {x.name: _optional(x, _value(x)) for x in plan.placements if x.location == "header"}
    if cookies := [x for x in plan.placements if x.location == "cookie"]:
        headers["Cookie"] = "".join(_optional(x, f"{_value(x)}; ") for x in cookies)
    if plan.body is not None:
        headers["Content-Type"] = plan.body.media_type
    return OperationSettings(url=url + "".join(query), headers=headers, body=_body(plan))


def _body(plan: RequestPlan) -> str:
    body = plan.body
    context = _context_of(body.media_type) if body else None
    if body is None or context is None:
        return ""
    filters = {"json": " | tojson", "form": " | form"}.get(context, "")
    if body.argument:
        return f"{{{{ args[{_literal(body.argument)}]{filters} }}}}"
    names = [x for x in plan.placements if x.location == "body"]
    members = ", ".join(f"{_literal(x.argument)}: {_literal(x.name)}" for x in names)
    return f"{{{{ args | fields({{{members}}}){filters} }}}}"


def _optional(place: Placement, text: str) -> str:
    if place.is_required:
        return text
    return f"{{% if args[{_literal(place.argument)}] is defined %}}{text}{{% endif %}}"


def _value(place: Placement) -> str:
    """Return a template expression for an argument, with the filter of its location."""
    explode = "true" if place.explode else "false"
    options = [_literal(place.name), _literal(place.style), explode]
    options += [_literal(place.media_type)] if place.media_type else []
    return f"{{{{ args[{_literal(place.argument)}] | {place.location}({', '.join(options)}) }}}}"


def _literal(text: str) -> str:
    """Quote a text of the document as a Jinja string literal."""
    return json.dumps(text, ensure_ascii=False)
