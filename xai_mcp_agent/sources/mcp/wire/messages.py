"""Messages of JSON-RPC: its codes, what they say, and those that we answer in a server's place."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .watch import TROUBLE

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
"""Stands for anything that went wrong on the way."""


def param_of(message: Any, name: str) -> Any:
    """One parameter of a request or notice; None where it has none of that name."""
    params: dict[str, Any] = message.params or {}
    return params.get(name)


def error_answer(request: Any, code: int, message: str, data: Any = None) -> SessionMessage:
    """An answer to this request that says it went wrong."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    error = ErrorData(code=code, message=message, data=data)
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))


def unreadable_answer(request: Any, why: str) -> SessionMessage:
    """In place of an answer that came and is no use."""
    return error_answer(request, PARSE_ERROR, why, {TROUBLE: "unreadable"})
