"""How long the question which protocol a server speaks may go unanswered.

The SDK asks first in the newer era (`server/discover`), and waits ten seconds, for ever fixed, for
servers that ignore what they do not know; then it shakes hands in the older one. Here the wait is
ours: when it is over, the SDK gets an answer in the server's place. A server that was merely slow
is none the worse: when it refuses to shake hands, the SDK asks again.

What was found out is remembered while this process runs, so nobody waits for the same server twice.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Any

import anyio

from ....core.tools import JsonObject
from ....settings.models import ProtocolMode, ServerSettings

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

_PROBE = "server/discover"
# Codes of the protocol, as the SDK reads them.
_TIMED_OUT = -32001
_OTHER_VERSION = -32022
# Of all servers of a long-lived process; then the memory starts anew.
_MAX_REMEMBERED = 1000


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
        return _error(self._asked, _TIMED_OUT, f"no answer to {_PROBE}")

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
            return _error(request, _OTHER_VERSION, "it speaks another protocol", versions)
        return item


def _error(request: Any, code: int, message: str, data: Any = None) -> SessionMessage:
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    said = ErrorData(code=code, message=message, data=data)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=said))


class _Eras:
    """Which servers turned out to speak the older era only. Used from several event loops."""

    def __init__(self) -> None:
        self._older: set[tuple[object, ...]] = set()

    def mode_for(self, settings: ServerSettings) -> ProtocolMode:
        """How to begin with this server."""
        is_known = settings.mode == "auto" and _identity(settings) in self._older
        return "legacy" if is_known else settings.mode

    def remember_older(self, settings: ServerSettings) -> None:
        """It spoke the older era."""
        if len(self._older) >= _MAX_REMEMBERED:
            self._older.clear()
        self._older.add(_identity(settings))

    def forget(self, settings: ServerSettings) -> None:
        """It did not work that way: it may have become a newer one."""
        self._older.discard(_identity(settings))


def _identity(settings: ServerSettings) -> tuple[object, ...]:
    """What makes it the same server; hashed, because a command line may have secrets in it."""
    reached = (settings.transport, settings.command, settings.args, settings.cwd, settings.url)
    return (settings.name, hash(reached))


eras = _Eras()
