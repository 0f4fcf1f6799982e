"""One connection to a server: its process, its health, notes and errors on its messages."""

from __future__ import annotations

import secrets
import signal
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from ...core.calls import Host
from ...core.visible import visible_text
from ...settings.server import ServerSettings
from ..process import ChildProcess, inherited_environment, start_process
from ..stderr import StderrLog
from .auth.errors import AuthFailure
from .auth.token_store import Access
from .clocks import Clocks
from .health import Health

PARSE_ERROR = -32700
METHOD_NOT_FOUND = -32601

Trouble: TypeAlias = Literal["unsent", "broken", "forgotten", "unreadable"]
"""Reason for an error of our own.

unsent: no connection, so the server never saw the request. broken: the connection ended before the
response was complete. forgotten: the server no longer knows our session. unreadable: the response
is unusable.
"""

# Random, so that no server can write these keys into an error of its own.
_PREFIX = f"xai-mcp-agent/{secrets.token_hex(16)}"
TROUBLE = f"{_PREFIX}/trouble"
NEXT_STEP = f"{_PREFIX}/next-step"
HTTP_STATUS = f"{_PREFIX}/status"

_FIRST_MODERN = "2026"  # versions are dates
_NOTE_CHARS = 300
_MAX_NOTES = 100


def is_modern(version: str) -> bool:
    """Return whether servers of this protocol version need no handshake."""
    return version >= _FIRST_MODERN


@dataclass
class Connection:
    """One attempt to reach a server.

    `hosts` can ask a person to sign in; `on_end` is called when nothing more can arrive. `process`
    is a stdio server's process. With `in_a_hurry` it ends without a grace period.

    Over HTTP, `status` is the last response's status, and `failure` the reason if there was no
    response. `has_no_endpoint`: the URL takes no MCP messages. `no_access` is the reason why access
    failed. `posting` wraps the block that sends a message.
    """

    settings: ServerSettings
    stderr: StderrLog
    access: Access | None = None
    hosts: Callable[[], Sequence[Host]] = tuple
    on_end: Callable[[], None] = lambda: None
    process: ChildProcess | None = None
    in_a_hurry: bool = True
    closed_on_purpose: bool = False
    clocks: Clocks = field(default_factory=Clocks)
    health: Health = field(init=False)
    _notes: dict[str, list[str]] = field(default_factory=dict[str, list[str]])  # by method

    status: int | None = None
    failure: str = ""
    has_no_endpoint: bool = False
    no_access: AuthFailure | None = None
    posting: Callable[[Any], AbstractContextManager[None]] = nullcontext

    def __post_init__(self) -> None:
        self.health = Health(self.clocks.limit, self.on_end)

    async def start(self) -> None:
        """Start the server's process, if it has one; `end` must follow.

        Raises:
            OSError: the process cannot be started.
        """
        settings = self.settings
        if settings.transport == "stdio":
            command = (*settings.through, settings.command, *settings.args)
            env = {**inherited_environment(), **settings.env}
            grace = settings.close_timeout_seconds
            self.process = await start_process(command, env, settings.cwd, self.stderr, grace)

    async def end(self) -> None:
        """End the process and everything it started."""
        if self.process is not None:
            # A hung server would not notice a closed stdin either.
            await self.process.end(in_a_hurry=self.in_a_hurry or self.health.is_hung)

    def notes(self, *, of_tools: bool) -> list[str]:
        """Return remarks for people on the last tool listing, or on all other responses."""
        lists = [y for x, y in self._notes.items() if (x == "tools/list") == of_tools]
        return [text for notes in lists for text in notes]

    def note(self, text: str, method: str) -> None:
        """Add a remark on a response to this method, once."""
        notes = self._notes.setdefault(method, [])
        remark = visible_text(text, _NOTE_CHARS)
        if len(notes) >= _MAX_NOTES:
            remark = "There are more notes like these."
        if remark not in notes:
            notes.append(remark)

    def forget_notes(self, method: str) -> None:
        """Drop the notes on a method, because it is requested again."""
        self._notes.pop(method, None)

    async def wait_for_exit(self) -> None:
        """Wait a moment after a loss for the exit code and stderr."""
        if self.process is not None and (self.process.stdout_ended or self.process.stdin_ended):
            await self.process.wait_for_exit()

    def end_reason(self) -> str:
        """Return why the connection ended, as a clause; empty if the server is not the cause."""
        if self.process is None:
            return self.failure
        code = self.process.exit_code
        if code is None:
            if self.process.stdin_ended:
                return "it closed its standard input"
            return "it closed its standard output" if self.process.stdout_ended else ""
        return f"it exited with code {code}" if code >= 0 else _killed_by(-code)


def _killed_by(number: int) -> str:
    try:
        return f"it was killed by signal {number} ({signal.Signals(number).name})"
    except ValueError:
        return f"it was killed by signal {number}"


def error_data(
    *, status: int | None = None, trouble: Trouble | None = None, next_step: str = ""
) -> dict[str, Any]:
    """Return the `data` of an error of ours; `next_step` is what a person can do about it."""
    return {HTTP_STATUS: status, TROUBLE: trouble, NEXT_STEP: next_step}


class NotDelivered(Exception):
    """A request was not sent, so the server cannot have seen it."""


class ConnectionLost(Exception):
    """The connection ended while a request waited for its response."""
