"""Where an operation is called: the first server that can be, its variables filled in."""

from __future__ import annotations

import re
from collections.abc import Iterable
from socket import inet_aton, inet_ntoa
from typing import Any
from urllib.parse import urljoin, urlsplit

from ....core.json import JsonObject, as_list, as_object
from ....core.places import LINK_LOCAL, place_of_host
from .values import texts_of

_VARIABLE = re.compile(r"\{([^{}]*)\}")
_MAX_URL = 2_000
_MAX_PORT = 65_536  # what a number in an address is
# A name with what no name has is one with a variable that nobody filled in, or made to be misread.
_IS_HOST = re.compile(r"[^\s{}<>%\\^`|\"]+")
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
        url = _absolute(document_url, _filled(as_object(server)))
        if is_usable(url) and not _VARIABLE.search(url):
            _check_host(url)
            return url.partition("?")[0].partition("#")[0].rstrip("/")
    return ""


def _absolute(document_url: str, url: str) -> str:
    """Empty where it is no URL."""
    try:
        return urljoin(document_url, url.strip())[:_MAX_URL]
    except ValueError:
        return ""


def is_usable(url: str) -> bool:
    """Whether requests can be sent to it."""
    try:
        parts = urlsplit(url)
        is_named = bool(parts.hostname) and _IS_HOST.fullmatch(parts.hostname) is not None
        return parts.scheme in ("http", "https") and is_named and parts.port != 0
    except ValueError:
        return False


def servers_in(*levels: JsonObject) -> list[Any]:
    """The servers of the first of these that names any; the document's own host without any."""
    return next((found for x in levels if (found := as_list(x.get("servers")))), [{"url": "/"}])


def _as_the_system_reads(host: str) -> str:
    """Systems take `2852039166` and `0xa9fea9fe` for addresses, too."""
    try:
        return inet_ntoa(inet_aton(host))
    except (OSError, ValueError):
        return host


def _filled(server: JsonObject) -> str:
    url, variables = server.get("url"), as_object(server.get("variables"))

    def value(found: re.Match[str]) -> str:
        variable = as_object(variables.get(found[1]))
        default, choices = variable.get("default"), texts_of(variable.get("enum"))
        if isinstance(default, int) and abs(default) < _MAX_PORT:
            return str(default)
        return default if isinstance(default, str) else choices[0] if choices else found[0]

    return _VARIABLE.sub(value, url[:_MAX_URL]) if isinstance(url, str) else ""


def _check_host(url: str) -> None:
    host = (urlsplit(url).hostname or "").rstrip(".").lower()
    if host in _OF_THE_MACHINE or place_of_host(_as_the_system_reads(host)) == LINK_LOCAL:
        raise NoServer(
            f"the server that the document names, {host}, may give out credentials of this "
            "machine, and is not called unless the settings name it"
        )
