"""Messages of one connection: their traffic, errors made here, and when the last one arrived."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any

import anyio

from ...core.json import JsonObject
from ...core.visible import visible_text
from .http.facts import error_data

if TYPE_CHECKING:
    from mcp.shared.message import SessionMessage

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601

_FIRST_MODERN = "2026"  # versions are dates
_SHOWN = 300
_MAX_NOTES = 100


class Traffic:
    """State of one connection, taken from its messages.

    `ended` is set when nothing more can arrive, and `heard_at` is when something last did.
    `on_list_changed` is called with `tools`, `prompts` or `resources`, `on_resource_updated` with a
    URI, `on_log` with a log message. All of them may be called often, and must be quick.
    """

    def __init__(self) -> None:
        self.ended = anyio.Event()
        self.heard_at = 0.0
        self.on_list_changed: Callable[[str], None] = _ignore
        self.on_resource_updated: Callable[[str], None] = _ignore
        self.on_log: Callable[[JsonObject], None] = _ignore
        self._notes: dict[str, list[str]] = {}

    def notice(self, method: str, params: Mapping[str, Any]) -> None:
        """Handle a notification of the server."""
        self.heard_at = monotonic()
        match method:
            case (
                "notifications/tools/list_changed"
                | "notifications/prompts/list_changed"
                | "notifications/resources/list_changed"
            ):
                self.on_list_changed(method.split("/")[1])
            case "notifications/resources/updated":
                self.on_resource_updated(str(params.get("uri")))
            case "notifications/message":
                self.on_log(dict(params))
            case _:
                pass

    def notes(self, *, of_tools: bool) -> list[str]:
        """Remarks for people on the last listing of tools, or on all other answers."""
        listed = {x: y for x, y in self._notes.items() if (x == "tools/list") == of_tools}
        return [text for notes in listed.values() for text in notes]

    def note(self, text: str, method: str) -> None:
        """Add a remark on the answer to this method, once."""
        notes = self._notes.setdefault(method, [])
        shown = visible_text(text, _SHOWN)
        if len(notes) >= _MAX_NOTES:
            shown = "There is more of this kind."
        if shown not in notes:
            notes.append(shown)

    def forget_notes(self, method: str) -> None:
        """Begin anew: this is asked for again."""
        self._notes.pop(method, None)


def _ignore(_: object) -> None:
    pass


class NotDelivered(Exception):
    """A request that was not sent: the server cannot have seen it."""


class ConnectionLost(Exception):
    """The connection ended while a request waited for its answer."""


def is_modern(version: str) -> bool:
    """Whether a server that speaks this version is asked without shaking hands first."""
    return version >= _FIRST_MODERN


def unreadable_answer(request: Any, why: str) -> SessionMessage:
    """An error in place of an unreadable response."""
    # Here, because the SDK is only imported once a server is started.
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    error = ErrorData(code=PARSE_ERROR, message=why, data=error_data(trouble="unreadable"))
    return SessionMessage(JSONRPCError(jsonrpc="2.0", id=request, error=error))
