"""Redirects: followed within the origin only, by the SDK.

Credentials go nowhere else, and a person is told the new address.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from ...secrets.secrets import Mask, masked_and_cut

if TYPE_CHECKING:
    import httpx2

# A slash at the end, a path that moved: two are many.
_MOST_IN_A_ROW = 10
_COUNT = "xai-mcp-agent/redirects"


def why_not_followed(response: httpx2.Response, mask: Mask) -> str:
    """Why the request ends at this redirect, for a sentence; empty where it is followed."""
    following = response.next_request
    if following is None:
        return "it redirects, without a place that could be gone to"
    sent, place = response.request, following.url
    named = masked_and_cut(_without_secrets(place), mask)
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


def _without_secrets(url: httpx2.URL) -> str:
    return str(url.copy_with(userinfo=b"", query=None, fragment=None))


def _count(request: httpx2.Request) -> int:
    return cast(int, request.extensions.get(_COUNT, 0))


def _is_same_place(old: httpx2.URL, new: httpx2.URL) -> bool:
    if (old.scheme, old.host, old.port) == (new.scheme, new.host, new.port):
        return True
    # The default ports of both: the same server, from now on protected.
    is_upgrade = (old.scheme, new.scheme) == ("http", "https")
    return is_upgrade and old.host == new.host and old.port is None and new.port is None
