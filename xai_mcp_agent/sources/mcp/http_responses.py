"""HTTP responses as the SDK can read them: errors, ids, bodies up to a limit."""

from __future__ import annotations

from typing import Any

import httpx2
from mcp_types import INTERNAL_ERROR, METHOD_NOT_FOUND
from pydantic_core import from_json, to_json

from ...core.json import JsonObject, as_object
from .connection import Trouble, error_data


def error_response(
    request: httpx2.Request,
    message: str,
    *,
    status: int | None = None,
    trouble: Trouble | None = None,
    next_step: str = "",
) -> httpx2.Response:
    """Return an error response of ours in place of the server's response."""
    data = error_data(status=status, trouble=trouble, next_step=next_step)
    error = {"code": INTERNAL_ERROR, "message": message, "data": data}
    return rpc_error_response(request, status or 400, error)


def rpc_error_response(request: httpx2.Request, status: int, error: Any) -> httpx2.Response:
    """Return a JSON-RPC error; the SDK looks for one if the status is 400 or above."""
    message = {"jsonrpc": "2.0", "id": None, "error": error}
    return httpx2.Response(max(status, 400), json=message, request=request)


def answer_to(request: Any, body: bytes) -> bytes:
    """Return the body with the id of the request: an error may have none (JSON-RPC 2.0).

    The SDK does the same on streams; in JSON it trusts the id and waits for ever.

    Raises:
        ValueError: the body is no JSON-RPC response.
    """
    if not body.strip():
        raise ValueError("it is empty")
    try:
        message = as_object(from_json(body))
    except ValueError:
        raise ValueError("it is not valid JSON") from None
    if "result" not in message and "error" not in message:
        raise ValueError("it is not a JSON-RPC response")
    if message.get("id") == request:
        return body
    return to_json({**message, "id": request})


def rpc_error_in(body: bytes) -> JsonObject | None:
    """Return the JSON-RPC error in a body, if there is one."""
    try:
        message = as_object(from_json(body))
    except ValueError:
        return None
    error = as_object(message.get("error"))
    return error if "jsonrpc" in message and "code" in error else None


def is_forgotten(status: int, error: JsonObject | None) -> bool:
    """Return whether a server refused a request because it has forgotten the session.

    The request was then not carried out. A server has to answer 404 (MCP, transports); servers made
    from the TypeScript SDK's examples answer 400.
    """
    if status == 404:
        return error is None or error.get("code") != METHOD_NOT_FOUND
    return status == 400 and "session" in str((error or {}).get("message", "")).lower()
