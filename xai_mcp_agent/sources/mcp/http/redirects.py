"""Where a server sends requests on to, and how far they follow.

The SDK follows within the origin, with the body and all headers. Credentials go nowhere else, so
any other redirect ends there and is told to a person, who can write the new address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    import httpx2

# A slash at the end, a path that moved: two are many.
_MOST_IN_A_ROW = 10
_COUNT = "xai-mcp-agent/redirects"


def why_not_followed(response: httpx2.Response) -> str:
    """Why the request ends at this redirect, for a sentence; empty where it is followed."""
    following = response.next_request
    if following is None:
        return "it redirects, without a place that could be gone to"
    sent, place = response.request, following.url
    # Secrets may be in the rest of an address.
    named = str(place.copy_with(userinfo=b"", query=None, fragment=None))
    count = _count(sent) + 1
    # Into the next request, which httpx2 made of this one.
    following.extensions = {**following.extensions, _COUNT: count}
    if sent.url.scheme == "https" and place.scheme == "http":
        return f"it redirects to {named}, where everything would travel unprotected"
    if not _is_same_place(sent.url, place):
        return f"it redirects to {named}, and credentials are not taken to another server"
    if following.method != sent.method:
        return f"it redirects to {named} in a way that loses what was asked"
    if place.userinfo and place.userinfo != sent.url.userinfo:
        return f"it redirects to {named} with credentials of its own"
    return f"it redirects in a circle, at last to {named}" if count > _MOST_IN_A_ROW else ""


def _count(request: httpx2.Request) -> int:
    return cast(int, request.extensions.get(_COUNT, 0))


def _is_same_place(old: httpx2.URL, new: httpx2.URL) -> bool:
    if (old.scheme, old.host, old.port) == (new.scheme, new.host, new.port):
        return True
    # The default ports of both: the same server, from now on protected.
    is_upgrade = (old.scheme, new.scheme) == ("http", "https")
    return is_upgrade and old.host == new.host and old.port is None and new.port is None
