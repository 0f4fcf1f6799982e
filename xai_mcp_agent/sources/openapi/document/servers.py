"""Where an operation is called: the first server that can be, its variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from ipaddress import ip_address
from typing import Any
from urllib.parse import urljoin, urlsplit

from ....core.tools import JsonObject
from .values import list_of, object_of, texts_of

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_MAX_URL = 2_000
# They answer whoever asks from this machine, with its credentials.
_OF_THE_MACHINE = ("metadata.google.internal", "metadata.goog", "fd00:ec2::254", "instance-data")


class NoServer(ValueError):
    """A server that is not called unless a person names it; says why."""


def base_url(servers: Iterable[Any], document_url: str) -> str:
    """The absolute URL of the first usable server, without a slash at its end; empty without any.

    `document_url` is where the document came from, if it came from a URL.

    Raises:
        NoServer: it is where the credentials of the machine are given out.
    """
    for server in servers:
        url = urljoin(document_url, _filled(object_of(server)))[:_MAX_URL]
        if is_usable(url):
            _check_host(url)
            return url.partition("?")[0].partition("#")[0].rstrip("/")
    return ""


def is_usable(url: str) -> bool:
    """Whether requests can be sent to it."""
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def servers_in(*levels: JsonObject) -> list[Any]:
    """The servers of the first of these that names any; the document's own host without any."""
    return next((found for x in levels if (found := list_of(x.get("servers")))), [{"url": "/"}])


def _filled(server: JsonObject) -> str:
    url, variables = server.get("url"), object_of(server.get("variables"))

    def value(found: re.Match[str]) -> str:
        variable = object_of(variables.get(found[1]))
        default, choices = variable.get("default"), texts_of(variable.get("enum"))
        return str(default) if default is not None else choices[0] if choices else found[0]

    return _VARIABLE.sub(value, url) if isinstance(url, str) else ""


def _check_host(url: str) -> None:
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    try:
        is_of_machine = ip_address(host).is_link_local
    except ValueError:
        is_of_machine = False
    if is_of_machine or host in _OF_THE_MACHINE:
        raise NoServer(
            f"the server that the document names, {host}, may give out credentials of this "
            "machine, and is not called unless the settings name it"
        )
