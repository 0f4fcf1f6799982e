"""Messages of JSON-RPC: its codes, what they say, and those that we answer in a server's place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from .watch import TROUBLE

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

_ANSWER = {"jsonrpc", "id", "result"}

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601
INTERNAL_ERROR = -32603
"""Stands for anything that went wrong on the way."""


def param_of(message: Any, name: str) -> Any:
    """One parameter of a request or notice; None where it has none of that name."""
    params: dict[str, Any] = message.params or {}
    return params.get(name)


@cache
def message_reader() -> Callable[[Any], SessionMessage]:
    """Makes a message of what JSON holds; it raises ValueError where that is none."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

    any_message, answer = jsonrpc_message_adapter.validate_python, JSONRPCResponse.model_validate

    def read(value: Any) -> SessionMessage:
        # Nearly all are answers; of those the SDK would find out by trying every kind.
        is_answer = isinstance(value, dict) and cast("dict[str, Any]", value).keys() == _ANSWER
        return SessionMessage((answer if is_answer else any_message)(value, by_name=False))

    return read


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
