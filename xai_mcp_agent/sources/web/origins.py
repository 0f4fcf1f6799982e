"""Origins of URLs: what credentials are for, and within which redirects are followed."""

from __future__ import annotations

from urllib.parse import urlsplit

_USUAL_PORTS = {"http": ":80", "https": ":443"}


def is_same_host(url: str, elsewhere: str) -> bool:
    """Whether somebody who was sent there is still at the same host and port, or now safely so."""
    here, there = origin_of(url), origin_of(elsewhere)
    return there in (here, ("https", here[1]))


def origin_of(url: str) -> tuple[str, str]:
    """The scheme, and the host with the port if it is not the usual one: what credentials are for.

    Without credentials in it, in lower case.
    """
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), parts.netloc.rpartition("@")[2].lower()
    return scheme, host.removesuffix(_USUAL_PORTS.get(scheme, " "))
