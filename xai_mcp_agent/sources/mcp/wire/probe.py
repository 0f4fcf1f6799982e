"""How long the question which protocol a server speaks may go unanswered.

The SDK asks first in the newer era (`server/discover`), and waits ten seconds, for ever fixed, for
servers that ignore what they do not know; then it shakes hands in the older one. Here the wait is
ours: when it is over, the SDK gets an answer in the server's place. A server that was merely slow
is none the worse: when it refuses to shake hands, the SDK asks again.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from ....core.tools import JsonObject
from .messages import error_answer

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

_PROBE = "server/discover"
# Codes of the protocol, as the SDK reads them.
_TIMED_OUT = -32001
_OTHER_VERSION = -32022


class Probe:
    """The wait for the answer to one connection's first question."""

    def __init__(self, seconds: float) -> None:
        self.is_over = False
        self._seconds = seconds
        self._asked: Any = None
        self._handshake: Any = None
        self._late_versions: list[Any] = []
        self._scope = anyio.CancelScope()

    def sent(self, method: str | None, request: Any) -> None:
        """Note what is sent to the server."""
        if method == _PROBE:
            self._asked = request
            self._scope.deadline = anyio.current_time() + self._seconds
        elif method == "initialize":
            self._handshake = request
        elif method is not None:
            self.is_over = True  # the era is settled

    async def next_of(self, stream: Any) -> SessionMessage | Exception:
        """The next message, or the answer that stands for the one that does not come."""
        with anyio.CancelScope(deadline=self._scope.deadline) as self._scope:
            item = await stream.__anext__()
            return item if isinstance(item, Exception) else self._seen(item)
        self._scope = anyio.CancelScope()
        return error_answer(self._asked, _TIMED_OUT, f"no answer to {_PROBE}")

    def _seen(self, item: SessionMessage) -> SessionMessage:
        message: Any = item.message
        request = getattr(message, "id", None)
        if request is None:
            return item
        if request == self._asked:
            self._scope.deadline = inf
            result: JsonObject = getattr(message, "result", None) or {}
            self._late_versions = result.get("supportedVersions", []) if self._handshake else []
        elif request == self._handshake and self._late_versions and hasattr(message, "error"):
            # It was slow, and does not speak the older era at all: the SDK is to ask again.
            versions = {"supported": self._late_versions, "requested": ""}
            return error_answer(request, _OTHER_VERSION, "it speaks another protocol", versions)
        return item
