"""The endpoint of the older SSE, which a stream names in its first event.

The SDK takes no messages to another server, and then waits for ever without a word; so the event is
looked at before it gets there. Imported when the first server is reached by URL: httpx2 is heavy.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import cast
from urllib.parse import SplitResult, urljoin, urlsplit

import httpx2

from ....secrets.secrets import Mask, masked_and_cut


class NowhereToSend(httpx2.SSEError):
    """No messages can be sent where the server wants them. The two are for people."""

    next_step = "Write the address where the server really is as `url`."

    def __init__(self, problem: str) -> None:
        super().__init__(problem)
        self.problem = problem


class CheckedEndpoint(httpx2.AsyncByteStream):
    """The same stream of whole events; it breaks where it names an endpoint of no use."""

    def __init__(self, inner: object, url: str, mask: Mask) -> None:
        self._inner = cast(httpx2.AsyncByteStream, inner)
        self._url = url
        self._mask = mask

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Its events.

        Raises:
            NowhereToSend: messages should go where they do not.
        """
        async for events in self._inner:
            for place in _endpoints_in(events):
                self._check(place)
            yield events

    async def aclose(self) -> None:
        """Close it."""
        await self._inner.aclose()

    def _check(self, place: str) -> None:
        ours = urlsplit(self._url)
        try:
            theirs = urlsplit(urljoin(self._url, place))
        except ValueError:
            shown = masked_and_cut(repr(place), self._mask)
            raise NowhereToSend(f"it wants messages sent to {shown}, which is no address") from None
        if (ours.scheme, ours.netloc) != (theirs.scheme, theirs.netloc):
            shown = masked_and_cut(_without_secrets(theirs), self._mask)
            raise NowhereToSend(
                f"it wants messages sent to {shown}, "
                "and credentials are not taken to another server"
            )


def _endpoints_in(events: bytes) -> list[str]:
    if b"endpoint" not in events:
        return []
    found: list[str] = []
    # Every Python SDK server sends CRLF (sse-starlette).
    lines = events.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")
    for event in lines.split("\n\n"):
        fields = [line.partition(":")[::2] for line in event.split("\n")]
        if ("event", "endpoint") in [(name, value.strip()) for name, value in fields]:
            found.append("".join(value.strip() for name, value in fields if name == "data"))
    return found


def _without_secrets(url: SplitResult) -> str:
    return f"{url.scheme}://{url.netloc.rpartition('@')[2]}{url.path}"
