"""What was noticed at the HTTP level about one server."""

from __future__ import annotations

import secrets
from collections import deque
from collections.abc import Callable
from typing import Any

from ..auth.errors import AuthFailure

SESSION_HEADER = "mcp-session-id"
"""Names the session, in the older era of the protocol."""

# Only a request that is under way is looked for, and those are few.
_REMEMBERED = 1000


class Taken:
    """Large results that were taken out of their answers, by the names that stand for them."""

    def __init__(self) -> None:
        self._results: dict[str, dict[str, Any]] = {}

    def put(self, result: dict[str, Any]) -> str:
        """Keep a result; the name under which it is found."""
        name = secrets.token_hex(8)  # nobody else can say it
        self._results[name] = result
        return name

    def pop(self, name: object) -> dict[str, Any] | None:
        """The result of this name, once."""
        return self._results.pop(str(name), None)


class HttpFacts:
    """What was noticed at the HTTP level.

    `status` is that of the last answer, `failure` why there was none. `on_doubt` is called
    when the server may be gone. `is_repeatable` is asked whether a tool does no more when it is
    called twice. `mask` hides secrets, to be used before a text is cut. `no_access` says why access
    could not be had, if that was so. `has_no_endpoint`: nothing at this URL takes messages.
    `large` has large results of no particular request. `answers_in_json`: what was asked last was
    answered with one JSON text. `session_id` goes along with all that is sent in the older era.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.failure = ""
        self.has_no_endpoint = False
        self.answers_in_json = False
        self.session_id = ""
        self.large = Taken()
        self.no_access: AuthFailure | None = None
        self.on_doubt: Callable[[], None] = _nothing
        self.is_repeatable: Callable[[str], bool] = _never
        self.mask: Callable[[str], str] = str
        self._given_up: deque[Any] = deque(maxlen=_REMEMBERED)

    def give_up(self, request: Any) -> None:
        """Nobody waits for the answer to this request any more, and the server is told so."""
        self._given_up.append(request)

    def is_given_up(self, request: Any) -> bool:
        """Whether the server was told to stop working on this request."""
        return request in self._given_up


def _nothing() -> None:
    """Nobody wants to know."""


def _never(_tool: str) -> bool:
    """Nobody has said that a tool may be called twice."""
    return False
