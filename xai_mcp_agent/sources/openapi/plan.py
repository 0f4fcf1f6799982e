"""The plan for an operation's requests: plain data, one for each tool.

It uses the terms of OpenAPI 3.2, also for Swagger 2.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields, is_dataclass
from typing import Any, Literal, TypeAlias, cast

from ...core.json import JsonObject

JSON, FORM, MULTIPART = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
)

Location: TypeAlias = Literal["path", "query", "header", "cookie", "querystring", "body"]

Style: TypeAlias = Literal[
    "form", "simple", "label", "matrix", "spaceDelimited", "pipeDelimited", "tabDelimited",
    "deepObject", "cookie",
]  # fmt: skip
"""As in OpenAPI; `tabDelimited` is `collectionFormat: tsv` of Swagger 2.0."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Where one argument of the tool goes. `name` is the service's name for it.

    With a `media_type`, its value is written in that format instead of its style. With the location
    `body`, it is a property of the body.
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
class FormPart:
    """The format of one property of a form.

    With `is_file` it is sent as bytes with a file name, with a `style` like a query parameter,
    otherwise as `media_type`.
    """

    media_type: str = ""
    style: Style | None = None
    explode: bool = True
    allow_reserved: bool = False
    is_file: bool = False
    is_list: bool = False


@dataclass(frozen=True, slots=True)
class Body:
    """The body of a request.

    `argument` is the argument that is the whole body; if empty, the placements in the `body` are
    its properties. `parts` are the parts of a form, by the service's names.
    """

    media_type: str
    argument: str = ""
    is_required: bool = False
    parts: Mapping[str, FormPart] = field(default_factory=dict[str, FormPart])


@dataclass(frozen=True, slots=True)
class SecurityNeed:
    """One scheme that a request must satisfy. `scheme` is its name in the document.

    `kind` is as in the document. `http` has a `method` (`basic`, `bearer`), `apiKey` has a `name`
    and a `place` where it goes, `oauth2` has a `token_url` for client credentials.
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
        """The kind; for `http` the method in lower case."""
        return self.method.lower() if self.kind == "http" else self.kind


@dataclass(frozen=True, slots=True)
class RequestPlan:
    """The plan for calls of one operation.

    `path` is the document's template, with only the name of each parameter. `base_url` is absolute
    with its variables filled in, or empty if the document names no server. `security` lists
    alternatives; all needs of one alternative apply together. An empty alternative means that no
    credentials are needed, an empty list that the document does not say. `may_be_async` means that
    it may answer 202 with the address of its result.
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
        """Return the plan as JSON for people, without default values."""
        return _to_json(self)


def _to_json(value: Any) -> Any:
    if is_dataclass(value):
        members = ((x, getattr(value, x.name)) for x in fields(value))
        return {x.name: _to_json(y) for x, y in members if _is_notable(x, y)}
    if isinstance(value, Mapping):
        members = cast(Mapping[str, Any], value).items()
        return {name: _to_json(x) for name, x in members}
    return [_to_json(x) for x in cast(Any, value)] if isinstance(value, list | tuple) else value


def _is_notable(member: Field[Any], value: Any) -> bool:
    is_usual = value is None or value in (member.default, "", (), {})
    return not is_usual or member.name == "base_url" or (member.name == "style" and bool(value))


# Media types


def base_of(media_type: str) -> str:
    """Return a media type without its parameters, in lower case."""
    return media_type.partition(";")[0].strip().lower()


def is_json_type(kind: str) -> bool:
    """Return whether a media type, in lower case, is JSON."""
    return kind.endswith(("/json", "+json"))


def is_json(kind: str) -> bool:
    """Return whether a body of this media type, in lower case, is written as JSON."""
    return kind in ("", "*/*", "application/*") or is_json_type(kind)
