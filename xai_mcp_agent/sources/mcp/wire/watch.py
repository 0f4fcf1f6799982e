"""Observations about one connection, made by those who see its messages pass."""

from __future__ import annotations

from collections.abc import Callable

import anyio

from ....core.tools import JsonObject
from ....core.visible import visible_text

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
