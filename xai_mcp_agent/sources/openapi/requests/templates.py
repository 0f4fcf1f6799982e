"""A plan as Jinja2 templates: how a person reads it, and may copy it to change it.

What is sent is the plan itself; a template counts only where the settings have one (`overrides`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from ..plan import Body, Placement, RequestPlan
from .overrides import context_of

_HOLE = re.compile(r"\{([^{}]*)\}")
_IN_TEMPLATE = "%/:@!$&'()*+,;=~?"


@dataclass(frozen=True, slots=True)
class PlanTemplates:
    """A plan as templates; `body` is empty where there is none, or no template can write it."""

    url: str
    headers: Mapping[str, str]
    body: str


def templates_of(plan: RequestPlan) -> PlanTemplates:
    """The plan, to be shown, and to be copied into the settings and changed there."""
    query = [
        _optional(place, f"&{_written(place, place.location)}")
        for place in plan.placements
        if place.location in ("query", "querystring")
    ]
    path = plan.path + ("" if "?" in plan.path or not query else "?")
    places = {x.name: x for x in plan.placements if x.location == "path"}
    pieces = _HOLE.split(path)
    filled = "".join(
        _written(places[x], "path") if n % 2 and x in places
        else quote(f"{{{x}}}" if n % 2 else x, safe=_IN_TEMPLATE)
        for n, x in enumerate(pieces)
    )  # fmt: skip
    return PlanTemplates(filled + "".join(query), _headers(plan), _body(plan))


def _headers(plan: RequestPlan) -> dict[str, str]:
    found = {"Accept": plan.accept}
    for place in plan.placements:
        if place.location == "header":
            found[place.name] = _optional(place, _written(place, "header"))
    cookies = [x for x in plan.placements if x.location == "cookie"]
    if cookies:
        texts = (_optional(x, f"{_written(x, 'cookie')}; ") for x in cookies)
        found["Cookie"] = "".join(texts)
    if plan.body is not None:
        found["Content-Type"] = plan.body.media_type
    return found


def _body(plan: RequestPlan) -> str:
    body = plan.body
    kind = body.media_type.partition(";")[0].strip().lower() if body is not None else ""
    if body is None or kind.startswith("multipart/") or context_of(kind) == "xml":
        return ""
    filters = {"json": " | tojson", "form": " | form"}.get(context_of(kind), "")
    return f"{{{{ {_fields_of(plan, body)}{filters} }}}}"


def _fields_of(plan: RequestPlan, body: Body) -> str:
    if body.argument:
        return f"args[{_literal(body.argument)}]"
    names = {x.argument: x.name for x in plan.placements if x.location == "body"}
    pairs = (f"{_literal(argument)}: {_literal(name)}" for argument, name in names.items())
    return f"args | fields({{{', '.join(pairs)}}})"


def _optional(place: Placement, given: str) -> str:
    if place.is_required:
        return given
    return f"{{% if args[{_literal(place.argument)}] is defined %}}{given}{{% endif %}}"


def _written(place: Placement, filter_: str) -> str:
    """An argument in its place; what is usual there is left out."""
    return f"{{{{ args[{_literal(place.argument)}] | {filter_}({', '.join(_said(place))}) }}}}"


def _said(place: Placement) -> Iterator[str]:
    if place.location == "querystring":
        yield _literal(place.media_type)
        return
    if place.location != "header":
        yield _literal(place.name)
        yield _literal(place.style)
    yield "true" if place.explode else "false"
    if place.media_type and place.location in ("query", "header"):
        yield _literal(place.media_type)


def _literal(text: str) -> str:
    """A text of the document as one of Jinja's, which ends where it ends."""
    return json.dumps(text, ensure_ascii=False)
