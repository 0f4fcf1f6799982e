"""JSON-RPC errors that we make in a server's place, and what ends a request without an answer."""

from __future__ import annotations

import secrets
from typing import Any, Literal, TypeAlias

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601

Trouble: TypeAlias = Literal["unsent", "broken", "forgotten", "unreadable"]
"""unsent: no connection, so the server never saw the request. broken: the connection ended before
the answer was complete. forgotten: the server does not know our session any more. unreadable: the
answer is no use."""

# Random, so that no server can write these keys into an error of its own.
_PREFIX = f"xai-mcp-agent/{secrets.token_hex(16)}"
TROUBLE = f"{_PREFIX}/trouble"
NEXT_STEP = f"{_PREFIX}/next-step"
HTTP_STATUS = f"{_PREFIX}/status"


def error_data(
    *, status: int | None = None, trouble: Trouble | None = None, next_step: str = ""
) -> dict[str, Any]:
    """Return the `data` of such an error; `next_step` is what a person can do about it."""
    return {HTTP_STATUS: status, TROUBLE: trouble, NEXT_STEP: next_step}


class NotDelivered(Exception):
    """A request that was not sent: the server cannot have seen it."""


class ConnectionLost(Exception):
    """The connection ended while a request waited for its answer."""
