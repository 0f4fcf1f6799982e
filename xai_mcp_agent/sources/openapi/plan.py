"""How a call of an operation becomes a request: plain data, made once for each tool.

The words mean what they do in OpenAPI 3.2; Swagger 2.0 is translated into them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeAlias, cast

from ...core.json import JsonObject

Location: TypeAlias = Literal["path", "query", "header", "cookie", "querystring", "body"]

Style: TypeAlias = Literal[
    "form", "simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited",
    "deepObject", "cookie",
]  # fmt: skip
"""As in OpenAPI; `tabDelimited` is `collectionFormat: tsv` of Swagger 2.0."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one argument of the tool goes. `name` is what the service calls it.

    With a `media_type` its value is written as that, and not by its style. One in the `body` is a
    property of it.
    """

    argument: str
    location: Location
    name: str
    style: Style = "simple"
    explode: bool = False
    allow_reserved: bool = False
    media_type: str = ""
    is_required: bool = False


@dataclass(frozen=True, slots=True)
class Part:
    """How one property of a form is written. `is_file`: as bytes, with a name for the file.

    With a `style` it is written as a parameter in the query would be, otherwise as `media_type`.
    """

    media_type: str = ""
    style: Style | None = None
    explode: bool = True
    allow_reserved: bool = False
    is_file: bool = False
    is_list: bool = False
    headers: Mapping[str, str] = field(default_factory=dict[str, str])


@dataclass(frozen=True, slots=True)
class Body:
    """What is sent as the body.

    `argument` is the one that is the whole body; without it the placements in the `body` are its
    properties. `parts` are those of a form, by their names at the service.
    """

    media_type: str
    argument: str = ""
    is_required: bool = False
    parts: Mapping[str, Part] = field(default_factory=dict[str, Part])


@dataclass(frozen=True, slots=True)
class SecurityNeed:
    """One scheme that a request must satisfy. `scheme` is the name in the document.

    `kind` as in the document; `http` has its `method` (`basic`, `bearer`), `apiKey` where its
    `name` goes (`place`), `oauth2` its `token_url` for client credentials.
    """

    scheme: str
    kind: Literal["apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"]
    place: Literal["", "header", "query", "cookie"] = ""
    name: str = ""
    method: str = ""
    scopes: tuple[str, ...] = ()
    token_url: str = ""

    @property
    def family(self) -> str:
        """Its kind, or of `http` its method in lower case."""
        return self.method.lower() if self.kind == "http" else self.kind


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """How one operation is called.

    `path` is the template of the document, with the mere name of each parameter; `base_url` is
    absolute, its variables filled in, or empty where the document names no server. `security` are
    alternatives, the needs of each belong together; an empty alternative: none is needed; empty:
    the document does not say. `may_be_async`: it answers 202 and says where its result will be.
    """

    method: str
    path: str
    base_url: str
    placements: tuple[Placement, ...] = ()
    body: Body | None = None
    security: tuple[tuple[SecurityNeed, ...], ...] = ()
    accept: str = "*/*"
    may_be_async: bool = False

    def as_json(self) -> JsonObject:
        """The plan as a person reads it: what is as usual is left out."""
        return _to_json(self)


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        members = ((x, getattr(value, x.name)) for x in fields(value))
        return {x.name: _to_json(y) for x, y in members if _is_shown(x, y)}
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value).items()
        return {name: _to_json(x) for name, x in members}
    return [_to_json(x) for x in cast(Any, value)] if isinstance(value, list | tuple) else value


def _is_shown(member: Field[Any], value: Any) -> bool:
    is_usual = value is None or value in (member.default, "", (), {})
    return not is_usual or member.name == "base_url" or (member.name == "style" and bool(value))
