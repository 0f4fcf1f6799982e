"""Where a document may send us: what came from the internet names no servers in our own network."""

from __future__ import annotations

from ...core.errors import SourceFailed
from ...core.places import INTERNET
from ...settings.openapi import OpenApiSettings
from ..web.origins import origin_of

_NOWHERE = "nowhere"  # of a host that nobody knows: it may be anywhere a moment later


class ServerPlaces:
    """Checks the servers that the document of one service names, each once."""

    def __init__(self, settings: OpenApiSettings) -> None:
        self._settings = settings
        self._known = set[tuple[str, str]]()

    async def check(self, base_url: str) -> None:
        """Let calls go there, or not. A `baseUrl` of a person always counts, and so does a file.

        Raises:
            SourceFailed: the document came from elsewhere, and it is another host that credentials
                would go to, or one in a network that the document has no business in.
        """
        settings, origin = self._settings, origin_of(base_url)
        if settings.base_url or not settings.is_remote or origin in self._known:
            return
        if origin != origin_of(settings.spec):
            if settings.auth or settings.headers:
                raise self._refused(origin, "credentials go there only if a person says so")
            known = {INTERNET, *await _places_of(settings.spec)} - {_NOWHERE}
            if not await _places_of(base_url) <= known:
                raise self._refused(origin, "which is not on the internet, as the document is")
        self._known.add(origin)

    def _refused(self, origin: tuple[str, str], why: str) -> SourceFailed:
        server, host = f"{origin[0]}://{origin[1]}", origin_of(self._settings.spec)[1]
        return SourceFailed(
            self._settings.name,
            f"its document is at {host} and names the server {server}: {why}.",
            f'If that is right, add "baseUrl" with the address of the service, such as {server}.',
        )


async def _places_of(url: str) -> set[str]:
    """Where its host is; nowhere that anybody may be sent, if nobody knows."""
    import httpx2  # here, as everywhere: it takes a while

    from ..web.addresses import places_of

    try:
        return await places_of(httpx2.URL(url))
    except (OSError, httpx2.InvalidURL, ValueError):
        return {_NOWHERE}
