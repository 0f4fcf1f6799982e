"""Origins of URLs: where credentials belong, and which redirects are followed."""

from __future__ import annotations

from urllib.parse import urlsplit

_USUAL_PORTS = {"http": ":80", "https": ":443"}


def is_same_host(url: str, elsewhere: str) -> bool:
    """Return whether a redirect stays at the same host and port, or moves it to HTTPS."""
    here, there = origin_of(url), origin_of(elsewhere)
    return there in (here, ("https", here[1]))


def origin_of(url: str) -> tuple[str, str]:
    """Return scheme and host, with an unusual port: the origin that credentials belong to.

    It is in lower case, without credentials.
    """
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()
    return scheme, host.removesuffix(_USUAL_PORTS.get(scheme, " "))
