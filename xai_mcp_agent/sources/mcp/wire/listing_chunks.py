"""Long listings in pieces: the SDK is given as many tools at once as it can look at quickly."""

from __future__ import annotations

import itertools
from collections import deque
from typing import TYPE_CHECKING, Any

import anyio

from ....core.tools import JsonObject

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

# A few milliseconds of the SDK's time.
_TOOLS_IN_A_PIECE = 100
_CURSOR = "xai-mcp-agent/piece/"


class ListingChunks:
    """The pieces of one connection's last listing that were not asked for yet.

    The SDK looks at each tool several times, on the event loop: thousands on one page would hold
    up every other server. So a long page becomes several; those after the first are answered here.
    """

    def __init__(self) -> None:
        self._rest: dict[str, JsonObject] = {}
        self._answers: deque[SessionMessage] = deque()
        self._scope = anyio.CancelScope()
        # A place that was listed before would look like a listing in circles.
        self._numbers = itertools.count(1)

    @property
    def are_there(self) -> bool:
        """Whether messages are to be taken from here too."""
        return bool(self._rest or self._answers)

    def cut(self, page: JsonObject) -> None:
        """Leave as many tools on the page as the SDK may have at once, and keep the others."""
        self._rest.clear()
        tools: list[Any] = page["tools"]
        if len(tools) <= _TOOLS_IN_A_PIECE:
            return
        before, goes_on = page, page.get("nextCursor")
        for start in range(_TOOLS_IN_A_PIECE, len(tools), _TOOLS_IN_A_PIECE):
            piece = {**page, "tools": tools[start : start + _TOOLS_IN_A_PIECE]}
            before["nextCursor"] = cursor = f"{_CURSOR}{next(self._numbers)}"
            self._rest[cursor] = before = piece
        before["nextCursor"] = goes_on
        page["tools"] = tools[:_TOOLS_IN_A_PIECE]

    def has(self, message: Any) -> bool:
        """Whether this request asks for one of them; then its answer comes out of `next_of`."""
        params: JsonObject = getattr(message, "params", None) or {}
        cursor = params.get("cursor")
        piece = self._rest.pop(cursor, None) if isinstance(cursor, str) else None
        if piece is None:
            return False
        # Here, because the SDK is only imported once a server is started.
        from mcp.shared.message import SessionMessage
        from mcp_types import JSONRPCResponse

        answer = JSONRPCResponse(jsonrpc="2.0", id=message.id, result=piece)
        self._answers.append(SessionMessage(answer))
        self._scope.cancel()
        return True

    async def next_of(self, stream: Any) -> SessionMessage | Exception | None:
        """The next message from here or from the stream; None is no message, ask again."""
        if self._answers:
            return self._answers.popleft()
        with anyio.CancelScope() as self._scope:
            return await stream.__anext__()
        return None
