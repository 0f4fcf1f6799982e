"""JSON-RPC errors of our own, and exceptions for requests without a response."""

from __future__ import annotations

import secrets
from typing import Any, Literal, TypeAlias

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601

Trouble: TypeAlias = Literal["unsent", "broken", "forgotten", "unreadable"]
"""Reason for an error of our own.

unsent: no connection, so the server never saw the request. broken: the connection ended before the
response was complete. forgotten: the server no longer knows our session. unreadable: the response
is unusable.
"""

# Random, so that no server can write these keys into an error of its own.
_PREFIX = f"xai-mcp-agent/{secrets.token_hex(16)}"
TROUBLE = f"{_PREFIX}/trouble"
NEXT_STEP = f"{_PREFIX}/next-step"
HTTP_STATUS = f"{_PREFIX}/status"


def error_data(
    *, status: int | None = None, trouble: Trouble | None = None, next_step: str = ""
) -> dict[str, Any]:
    """Return the `data` of an error of ours; `next_step` is what a person can do about it."""
    return {HTTP_STATUS: status, TROUBLE: trouble, NEXT_STEP: next_step}


class NotDelivered(Exception):
    """A request was not sent, so the server cannot have seen it."""


class ConnectionLost(Exception):
    """The connection ended while a request waited for its response."""
