"""One connection to a server: its transport, process and state."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ...core.calls import Host
from ...settings.server import ServerSettings
from ..process import ChildProcess, StderrLog, inherited_environment, start_process
from .auth.sign_in import Clocks
from .auth.token_store import Access
from .http.facts import HttpFacts
from .stdio import stdio_streams
from .traffic import Traffic

if TYPE_CHECKING:
    import httpx2


@dataclass
class Connection:
    """One attempt to reach a server.

    `process` is that of a stdio server. `in_a_hurry`: end it without a grace period. `hosts` can be
    asked to sign in.
    """

    settings: ServerSettings
    stderr: StderrLog
    access: Access | None = None
    hosts: Callable[[], Sequence[Host]] = tuple
    traffic: Traffic = field(default_factory=Traffic)
    http: HttpFacts = field(default_factory=HttpFacts)
    process: ChildProcess | None = None
    in_a_hurry: bool = True
    closed_on_purpose: bool = False

    async def start(self) -> None:
        """Start the server's process, where there is one; `end` must follow.

        Raises:
            OSError: it cannot be started.
        """
        settings = self.settings
        if settings.transport == "stdio":
            command = (*settings.through, settings.command, *settings.args)
            env = {**inherited_environment(), **settings.env}
            grace = settings.close_timeout_seconds
            self.process = await start_process(command, env, settings.cwd, self.stderr, grace)

    async def end(self) -> None:
        """End the process with all that it started."""
        if self.process is not None:
            await self.process.end(in_a_hurry=self.in_a_hurry)

    def open(self, clocks: Clocks, callers: Callable[[], Sequence[Host]]) -> Any:
        """A new transport for the SDK's client. Each one can be entered once.

        A sign-in asks a host that waits for the server, or one of the `callers`. `clocks` stop.
        """
        if self.process is not None:
            return stdio_streams(self.process, self.stderr)
        # Here, because its libraries are heavy; the SDK is loaded by now.
        from .http.client import http_streams

        return http_streams(self.settings, self.http, self._auth(clocks, callers))

    def _auth(self, clocks: Clocks, callers: Callable[[], Sequence[Host]]) -> httpx2.Auth | None:
        """The sign-in of the server, or None where the settings forbid it."""
        from .auth.provider import ServerAuth

        if self.access is None or self.settings.auth.use == "no":
            return None
        return ServerAuth(self.settings, self.access, clocks, lambda: [*self.hosts(), *callers()])

    async def last_words(self) -> None:
        """After a loss, wait a moment for the exit code and stderr."""
        if self.process is not None and (self.process.stdout_ended or self.process.stdin_ended):
            await self.process.last_words()

    def how_it_ended(self) -> str:
        """Why nothing more can come, for a sentence; empty when the server is not the reason."""
        if self.process is None:
            return self.http.failure
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
