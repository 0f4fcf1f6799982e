"""What is noticed about one connection, by those who see its messages pass."""

from __future__ import annotations

from collections.abc import Callable

import anyio


class Watch:
    """What was noticed about one connection.

    `ended` is set when nothing more can arrive; `heard_at` is when something last did; `notes`
    tell what was left out of the last listing; `on_tools_changed` is called for each notice
    that the list of tools is not what it was.
    """

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.heard_at = 0.0
        self.notes: list[str] = []
        self.listed: set[str] = set()
        self.on_tools_changed: Callable[[], None] = _nothing

    def note(self, text: str) -> None:
        """Remember a remark for people, once."""
        if text not in self.notes:
            self.notes.append(text)

    def listing_begins(self) -> None:
        """Forget what was noticed about the last listing."""
        self.notes.clear()
        self.listed.clear()


def _nothing() -> None:
    """Nobody wants to know."""
