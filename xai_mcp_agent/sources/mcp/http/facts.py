"""What was noticed at the HTTP level about one server."""

from __future__ import annotations

from collections.abc import Callable


class HttpFacts:
    """What was noticed at the HTTP level.

    `status` is that of the last answer, `failure` why there was none. `on_doubt` is called
    when the server may be gone.
    """

    def __init__(self) -> None:
        self.status: int | None = None
        self.failure = ""
        self.on_doubt: Callable[[], None] = _nothing


def _nothing() -> None:
    """Nobody wants to know."""
