"""Where a document may send us: what came from the internet names no servers in our own network."""

from __future__ import annotations

from ...core.errors import SourceFailed
from ...core.places import INTERNET
from ...settings.openapi import OpenApiSettings
from ..web.origins import origin_of


def places_for(
    settings: OpenApiSettings, base_url: str, document_place: str
) -> frozenset[str] | None:
    """Where the server that a document names may be: on the internet, or where the document is.

    None: anywhere, because a person named it, with `baseUrl` or in a file.

    Raises:
        SourceFailed: credentials would go to another host than that of the document.
    """
    if settings.base_url or not settings.is_remote or not base_url:
        return None
    is_elsewhere = origin_of(base_url) != origin_of(settings.spec)
    if is_elsewhere and (settings.auth or settings.headers):
        raise misplaced(settings, base_url, "credentials go there only if a person says so")
    return frozenset((INTERNET, document_place))


def misplaced(settings: OpenApiSettings, base_url: str, why: str) -> SourceFailed:
    """The error for a server that a document names and that is not called."""
    server, host = "://".join(origin_of(base_url)), origin_of(settings.spec)[1]
    return SourceFailed(
        settings.name,
        f"its document is at {host} and names the server {server}: {why}.",
        f'If that is right, add "baseUrl" with the address of the service, such as {server}.',
    )
