"""Observations about one connection, made by those who see its messages pass."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Literal, TypeAlias

import anyio

from ....core.tools import JsonObject
from ....core.visible import visible_text

Trouble: TypeAlias = Literal["unsent", "broken", "forgotten", "unreadable"]
"""unsent: no connection, so the server never saw the request. broken: the connection ended before
the answer was complete. forgotten: the server does not know our session any more. unreadable: the
answer is no use."""

# Another one in each process, which no server knows: what it says must not pass for our word.
_OURS = f"xai-mcp-agent/{secrets.token_hex(16)}"

TROUBLE = f"{_OURS}/trouble"
"""Key in the `data` of an error answer that a transport of ours gives in a server's place."""

NEXT_STEP = f"{_OURS}/next-step"
"""Another one: what a person can do about it."""

HTTP_STATUS = f"{_OURS}/status"
"""Another one: the status that the server answered with."""


# A person reads them.
_SHOWN = 300
_MOST_NOTES = 100


class Watch:
    """What was noticed about one connection.

    `ended` is set when nothing more can arrive; `heard_at` is when something last did; `notes`
    tell what was left out of the last listing of tools, `other_notes` of other answers; `listed` is
    how large the last listing of each method was, in bytes; `mended` has the tools as the SDK was
    given them, `mended_before` those of the listing before; `on_list_changed` is called with
    `tools`, `prompts` or `resources` for each notice that the list is not what it was, and
    `on_resource_updated` with the URI of a resource that changed; `on_log`
    with each log message.
    """

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.heard_at = 0.0
        self.notes: list[str] = []
        self.listed: dict[str, int] = {}
        self._other_notes: dict[str, list[str]] = {}
        self.mended: dict[str, JsonObject] = {}
        self.mended_before: dict[str, JsonObject] = {}
        self.on_list_changed: Callable[[str], None] = _nothing
        self.on_resource_updated: Callable[[str], None] = _nothing
        self.on_log: Callable[[JsonObject], None] = _nothing

    @property
    def other_notes(self) -> list[str]:
        """Remarks for people on what is not a tool."""
        return [text for texts in self._other_notes.values() for text in texts]

    def note(self, text: str, method: str = "tools/list") -> None:
        """Remember a remark for people on the answer to this method, once."""
        notes = self.notes if method == "tools/list" else self._other_notes.setdefault(method, [])
        shown = visible_text(text, _SHOWN)
        if len(notes) >= _MOST_NOTES:
            shown = "There is more of this kind."
        if shown not in notes:
            notes.append(shown)

    def begins(self, method: str) -> None:
        """A listing is asked for from its beginning, or anything else."""
        self.listed[method] = 0
        self._other_notes.pop(method, None)

    def listing_begins(self) -> None:
        """Forget what was noticed about the last listing of tools."""
        self.notes.clear()
        self.mended_before, self.mended = self.mended, {}


def _nothing(_: object) -> None:
    """Nobody wants to know."""
