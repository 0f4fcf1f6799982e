"""What is known of a message on its way: whose it is, until when, whether it may go twice.

The SDK posts each message in a task of its own, which knows nothing of the call behind it. But it
posts it in the context of the one who sent it, and so this reaches the HTTP client.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import anyio

from .facts import HttpFacts

if TYPE_CHECKING:
    from mcp_types import JSONRPCMessage


@dataclass(slots=True)
class Errand:
    """One request: its number, when nobody waits for its answer any more, what it asks for.

    `may_go_twice`: nothing changes when the server carries it out a second time.
    """

    id: Any
    deadline: float
    method: str
    may_go_twice: bool


_errand: ContextVar[Errand | None] = ContextVar("xai_mcp_errand", default=None)


def current_errand() -> Errand | None:
    """The request that this task is posting; None for all that is not a request."""
    return _errand.get()


def set_out(message: JSONRPCMessage, facts: HttpFacts) -> None:
    """Called with each message in the task of the one who sends it."""
    method = getattr(message, "method", None)
    request = getattr(message, "id", None)
    if method is None or request is None:
        _errand.set(None)
        if method == "notifications/cancelled":
            facts.give_up(_param(message, "requestId"))
        return
    # All other methods only read, or begin what is forgotten when nobody goes on with it.
    repeatable = method != "tools/call" or facts.is_repeatable(_param(message, "name"))
    _errand.set(Errand(request, anyio.current_effective_deadline(), method, repeatable))


def _param(message: Any, name: str) -> Any:
    params: dict[str, Any] = message.params or {}
    return params.get(name)
