"""JSON-RPC messages: made of what a server sent, and made here in a server's place."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, cast

from .http.facts import error_data

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601


class NotDelivered(Exception):
    """A request that was not even handed over: the server cannot have seen it."""


class ConnectionLost(Exception):
    """The connection ended while a request waited for its answer."""


_ANSWER = {"jsonrpc", "id", "result"}
_FIRST_MODERN = "2026"  # versions are dates


def is_modern(version: str) -> bool:
    """Whether a server that speaks this version is asked without shaking hands first."""
    return version >= _FIRST_MODERN


@cache
def message_reader() -> Callable[[Any], SessionMessage]:
    """The function that makes a message of parsed JSON; it raises ValueError where it is none."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import JSONRPCResponse, jsonrpc_message_adapter

    any_message, answer = jsonrpc_message_adapter.validate_python, JSONRPCResponse.model_validate

    def read(value: Any) -> SessionMessage:
        # Nearly all are answers; of those the SDK would find out by trying every kind.
        is_answer = isinstance(value, dict) and cast("dict[str, Any]", value).keys() == _ANSWER
        return SessionMessage((answer if is_answer else any_message)(value, by_name=False))

    return read


def unreadable_answer(request: Any, why: str) -> SessionMessage:
    """The error in place of an answer that came and is no use."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    error = ErrorData(code=PARSE_ERROR, message=why, data=error_data(trouble="unreadable"))
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))
