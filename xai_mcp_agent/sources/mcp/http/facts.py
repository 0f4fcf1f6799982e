"""What one HTTP connection noticed about its server, for the errors and the fallback that need it.

Apart from `client.py`, whose libraries are heavy: a `Connection` has its facts from the start.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal, TypeAlias

from ..auth.errors import AuthFailure

Trouble: TypeAlias = Literal["unsent", "broken", "forgotten", "unreadable"]
"""unsent: no connection, so the server never saw the request. broken: the connection ended before
the answer was complete. forgotten: the server does not know our session any more. unreadable: the
answer is no use."""

# Random, so that no server can write these keys into an error of its own.
_PREFIX = f"xai-mcp-agent/{secrets.token_hex(16)}"

TROUBLE = f"{_PREFIX}/trouble"
"""Key in the `data` of a JSON-RPC error that we make in the server's place."""

NEXT_STEP = f"{_PREFIX}/next-step"
"""Another key: what a person can do about the error."""

HTTP_STATUS = f"{_PREFIX}/status"
"""Another key: the status of the HTTP response."""


class HttpFacts:
    """State of one HTTP connection.

    `status` is the status of the last response, `failure` the reason why there was none.
    `has_no_endpoint`: the URL takes no MCP messages. `no_access`: the failure to get access.
    `on_doubt` is called when the server may be gone. `is_repeatable` says whether a tool may be
    called twice. `posting` is a block in which a message is handed over. `mask` hides secrets.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.failure = ""
        self.has_no_endpoint = False
        self.no_access: AuthFailure | None = None
        self.on_doubt: Callable[[], None] = lambda: None
        self.is_repeatable: Callable[[str], bool] = lambda _tool: False
        self.posting: Callable[[Any], AbstractContextManager[None]] = nullcontext
        self.mask: Callable[[str], str] = str


def error_data(
    *, status: int | None = None, trouble: Trouble | None = None, next_step: str = ""
) -> dict[str, Any]:
    """Return the `data` of a JSON-RPC error that we make in the server's place."""
    return {HTTP_STATUS: status, TROUBLE: trouble, NEXT_STEP: next_step}
