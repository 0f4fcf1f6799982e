"""Where an operation is called, and who may call it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from socket import inet_aton, inet_ntoa
from typing import Any, Literal, cast
from urllib.parse import urljoin, urlsplit

from ...core.json import JsonObject, as_list, as_object
from ...core.places import LINK_LOCAL, place_of_host
from . import swagger
from .document import BadReference, Document, text_of, texts_of
from .plan import SecurityNeed

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_MAX_URL, _MAX_NAME = 2_000, 200
_MAX_PORT = 65_536
# A name with what no name has is one with a variable that nobody filled in, or made to be misread.
_HOST = re.compile(r"[^\s{}<>%\\^`|\"]+")
# They answer whoever asks from this machine, with its credentials.
_METADATA = ("metadata.google.internal", "metadata.goog", "fd00:ec2::254", "instance-data")
_KINDS = ("apiKey", "http", "oauth2", "openIdConnect", "mutualTLS")
_PLACES = ("header", "query", "cookie")


class NoServer(ValueError):
    """A server that is not called unless a person names it; says why."""


def server_url(document: Document, operation: JsonObject, path_item: JsonObject) -> str:
    """Return the absolute URL of the first usable server; empty without any.

    Raises:
        NoServer: it is where the credentials of the machine are given out.
    """
    root, base = document.root, document.uri
    base = "" if base.startswith("file:") else base
    if document.is_swagger:
        urls = swagger.server_urls(root, operation.get("schemes"))
        return _first_usable(({"url": x} for x in urls), base or "https://")
    levels = (as_list(x.get("servers")) for x in (operation, path_item, root))
    return _first_usable(next(filter(None, levels), [{"url": "/"}]), base)


def is_usable(url: str) -> bool:
    """Whether requests can be sent to a URL."""
    try:
        parts = urlsplit(url)
        is_named = bool(parts.hostname) and _HOST.fullmatch(parts.hostname) is not None
        return parts.scheme in ("http", "https") and is_named and parts.port != 0
    except ValueError:
        return False


def _first_usable(servers: Iterable[Any], base: str) -> str:
    for server in servers:
        try:
            url = urljoin(base, _fill_variables(as_object(server)).strip())[:_MAX_URL]
        except ValueError:
            continue
        if is_usable(url) and not _VARIABLE.search(url):
            _check_host(url)
            return url.partition("?")[0].partition("#")[0].rstrip("/")
    return ""


def _fill_variables(server: JsonObject) -> str:
    url, variables = server.get("url"), as_object(server.get("variables"))

    def value(match: re.Match[str]) -> str:
        variable = as_object(variables.get(match[1]))
        default, choices = variable.get("default"), texts_of(variable.get("enum"))
        if isinstance(default, int) and abs(default) < _MAX_PORT:
            return str(default)
        return default if isinstance(default, str) else choices[0] if choices else match[0]

    return _VARIABLE.sub(value, url[:_MAX_URL]) if isinstance(url, str) else ""


def _check_host(url: str) -> None:
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    try:
        address = inet_ntoa(inet_aton(host))  # systems take `2852039166` for an address, too
    except (OSError, ValueError):
        address = host
    if host in _METADATA or place_of_host(address) == LINK_LOCAL:
        raise NoServer(
            f"the document names the server {host}, which may give out credentials of this "
            "machine; it is called only if the settings name it"
        )


class SecuritySchemes:
    """The security schemes of a document, by name."""

    def __init__(self, document: Document) -> None:
        self._document = document
        components = as_object(document.root.get("components"))
        self._schemes = as_object(
            document.root.get("securityDefinitions")
            if document.is_swagger
            else components.get("securitySchemes")
        )

    def needs(self, operation: JsonObject) -> tuple[tuple[SecurityNeed, ...], ...]:
        """Return what an operation needs; an empty alternative says that it may go without.

        `security: []` is one: it takes away what the document says for all operations.
        """
        security = operation.get("security", self._document.root.get("security"))
        if security == []:
            return ((),)
        alternatives = (self._together(x) for x in as_list(security) if isinstance(x, dict))
        return tuple(dict.fromkeys(x for x in alternatives if x is not None))

    def _together(self, alternative: Any) -> tuple[SecurityNeed, ...] | None:
        """Return needs that belong together; None where one of them is not described."""
        needs = [self._need(name, scopes) for name, scopes in as_object(alternative).items()]
        described = tuple(x for x in needs if x is not None)
        return described if len(described) == len(needs) else None

    def _need(self, name: str, scopes: Any) -> SecurityNeed | None:
        try:
            scheme = self._document.follow(self._schemes.get(name))
        except BadReference:
            return None
        if self._document.is_swagger:
            scheme = swagger.security_scheme_of(scheme)
        kind, place = scheme.get("type"), scheme.get("in")
        if kind not in _KINDS:
            return None
        return SecurityNeed(
            text_of(name, _MAX_NAME),
            cast(Any, kind),
            cast(Literal["header"], place) if place in _PLACES and kind == "apiKey" else "",
            text_of(scheme.get("name"), _MAX_NAME),
            text_of(scheme.get("scheme"), _MAX_NAME).lower(),
            tuple(texts_of(scopes)),
            self._token_url(scheme),
        )

    def _token_url(self, scheme: JsonObject) -> str:
        flow = as_object(as_object(scheme.get("flows")).get("clientCredentials"))
        url = text_of(flow.get("tokenUrl"), _MAX_URL)
        is_remote = self._document.uri.startswith("http")
        try:
            return urljoin(self._document.uri, url) if url and is_remote else url
        except ValueError:
            return ""  # it is none; the settings can name one
