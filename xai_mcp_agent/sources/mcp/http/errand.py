"""What is known of a message on its way: whose it is, until when, whether it may go twice.

The SDK posts each message in a task of its own, which knows nothing of the call behind it. But it
posts it in the context of the one who sent it, and so this reaches the HTTP client.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import anyio

from ..wire.messages import param_of
from .facts import HttpFacts, Taken

if TYPE_CHECKING:
    import httpx2
    from mcp_types import JSONRPCMessage


@dataclass(slots=True)
class Errand:
    """One request: its number, and when nobody waits for its answer any more.

    `may_go_twice`: nothing changes when the server carries it out a second time. `body` is the
    answer where it is one JSON text, until it was looked at. `resumed`: how often its stream was
    opened again. `large` has its result if that is large. `answer` is one that is here already.
    """

    id: Any
    deadline: float
    may_go_twice: bool
    body: bytes | None = None
    answer: httpx2.Response | None = None
    resumed: int = 0
    large: Taken = field(default_factory=Taken)


_errand: ContextVar[Errand | None] = ContextVar("xai_mcp_errand", default=None)


def current_errand() -> Errand | None:
    """The request that this task is posting; None for all that is not a request."""
    return _errand.get()


def errand_in(context: Context | None) -> Errand | None:
    """The request behind what was done in this context."""
    return context.get(_errand) if context is not None else None


@contextmanager
def errand_of(message: JSONRPCMessage, facts: HttpFacts) -> Generator[None]:
    """Whose message is handed over within the block, for those who carry it from there."""
    method = getattr(message, "method", None)
    if method == "notifications/cancelled":
        facts.give_up(param_of(message, "requestId"))
    is_request = method is not None and getattr(message, "id", None) is not None
    # Taken back at the end: this task sends other things as well.
    token = _errand.set(_new(message, facts) if is_request else None)
    try:
        yield
    finally:
        _errand.reset(token)


def _new(request: Any, facts: HttpFacts) -> Errand:
    # All other methods only read, or begin what is forgotten when nobody goes on with it.
    repeatable = request.method != "tools/call" or facts.is_repeatable(param_of(request, "name"))
    return Errand(request.id, anyio.current_effective_deadline(), repeatable)
