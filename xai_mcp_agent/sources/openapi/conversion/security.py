"""Who may call an operation: alternatives, each of needs that belong together."""

from __future__ import annotations

from typing import Any, Literal, cast
from urllib.parse import urljoin

from ....core.json import JsonObject, as_list, as_object
from ..document import swagger
from ..document.document import BadReference, Document
from ..document.references import References
from ..document.values import text_of, texts_of
from ..plan import SecurityNeed

_KINDS = ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS")
_PLACES = ("header", "query", "cookie")
_MAX_NAME, _MAX_URL, _MAX_ALTERNATIVES, _MAX_SCOPES = 200, 2_000, 20, 100


class SecuritySchemes:
    """The schemes of a document, by name."""

    def __init__(self, document: Document, references: References) -> None:
        self._root = document.root
        self._is_swagger = document.dialect.is_swagger
        self._references = references
        self._url = document.place.key
        components = as_object(self._root.get("components"))
        self._schemes = as_object(
            self._root.get("securityDefinitions")
            if self._is_swagger
            else components.get("securitySchemes")
        )

    def needs(self, operation: JsonObject) -> tuple[tuple[SecurityNeed, ...], ...]:
        """What the operation needs; an empty alternative says that it may go without.

        `security: []` is one: it takes away what the document says for all operations.
        """
        said = operation["security"] if "security" in operation else self._root.get("security")
        if said == []:
            return ((),)
        found = (
            self._together(x) for x in as_list(said)[:_MAX_ALTERNATIVES] if isinstance(x, dict)
        )
        return tuple(dict.fromkeys(x for x in found if x is not None))

    def _together(self, given: Any) -> tuple[SecurityNeed, ...] | None:
        """None where one of them is not described: nobody can tell how to satisfy it."""
        needs = [self._need(name, scopes) for name, scopes in as_object(given).items()]
        found = tuple(x for x in needs if x is not None)
        return found if len(found) == len(needs) else None

    def _need(self, name: str, scopes: Any) -> SecurityNeed | None:
        scheme = self._scheme(name)
        kind = scheme.get("type")
        if kind not in _KINDS:
            return None
        place = scheme.get("in")
        return SecurityNeed(
            text_of(name, _MAX_NAME),
            cast(Any, kind),
            cast(Literal["header"], place) if place in _PLACES and kind == "apiKey" else "",
            text_of(scheme.get("name"), _MAX_NAME),
            text_of(scheme.get("scheme"), _MAX_NAME).lower(),
            tuple(texts_of(as_list(scopes)[:_MAX_SCOPES])),
            self._token_url(scheme),
        )

    def _scheme(self, name: str) -> JsonObject:
        try:
            scheme = self._references.followed(self._schemes.get(name))
        except BadReference:
            return {}
        return swagger.security_scheme_of(scheme) if self._is_swagger else scheme

    def _token_url(self, scheme: JsonObject) -> str:
        flow = as_object(as_object(scheme.get("flows")).get("clientCredentials"))
        url = text_of(flow.get("tokenUrl"), _MAX_URL)
        try:
            return urljoin(self._url, url) if url and "://" in self._url else url
        except ValueError:
            return ""  # it is none; the settings can name one
