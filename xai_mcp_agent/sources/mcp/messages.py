"""JSON-RPC messages: made of what a server sent, and made here in a server's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .http.facts import error_data

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601


class NotDelivered(Exception):
    """A request that was not even handed over: the server cannot have seen it."""


class ConnectionLost(Exception):
    """The connection ended while a request waited for its answer."""


_FIRST_MODERN = "2026"  # versions are dates


def is_modern(version: str) -> bool:
    """Whether a server that speaks this version is asked without shaking hands first."""
    return version >= _FIRST_MODERN


def unreadable_answer(request: Any, why: str) -> SessionMessage:
    """The error in place of an answer that came and is no use."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    error = ErrorData(code=PARSE_ERROR, message=why, data=error_data(trouble="unreadable"))
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))
