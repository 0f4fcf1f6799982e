"""One connection to a server: its transport, and what is known about it from outside."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio

from ...core.host import Host
from ...settings.server import ServerSettings
from .auth.authorization import Authorization
from .auth.sign_in import Clocks
from .auth.token_store import Access
from .http.facts import HttpFacts
from .stdio.process import ServerProcess, StdioFacts, start_process
from .stdio.stderr import StderrLog
from .stdio.transport import stdio_transport
from .wire.streams import watched
from .wire.watch import Watch


@dataclass
class Connection:
    """One attempt to reach a server: how, and what was noticed meanwhile."""

    settings: ServerSettings
    stderr: StderrLog
    access: Access | None = None
    hosts: Callable[[], Sequence[Host]] = tuple
    watch: Watch = field(default_factory=Watch)
    http: HttpFacts = field(default_factory=HttpFacts)
    stdio: StdioFacts = field(default_factory=StdioFacts)
    closed_on_purpose: bool = False

    def open(self, clocks: Clocks, callers: Callable[[], Sequence[Host]]) -> Any:
        """A new transport for the SDK's client. Each one can be entered once.

        To sign in, whoever waits for it or one of the `callers` is asked, while `clocks` stop.
        """
        if self.settings.transport == "stdio":
            transport = stdio_transport(self.settings, self.stderr, self.stdio)
        else:
            # Here, because its libraries are heavy; the SDK is loaded by now.
            from .http.client import http_streams

            access = self._authorization(clocks, callers)
            transport = http_streams(self.settings, self.http, access)
        return watched(transport, self.watch, self.settings.probe_timeout_seconds)

    async def start_early(self) -> None:
        """Start the process, where there is one, before `open`; see `discard`.

        Raises:
            OSError: it cannot be started.
        """
        if self.settings.transport == "stdio":
            self.stdio.process = await start_process(self.settings, self.stderr)

    async def discard(self) -> None:
        """End a process that was started early for a transport that nobody opened."""
        if self.process is not None and not self.stdio.is_used:
            with anyio.CancelScope(shield=True):
                await self.process.end(in_a_hurry=True)

    def _authorization(
        self, clocks: Clocks, callers: Callable[[], Sequence[Host]]
    ) -> Authorization | None:
        """What gets access where the server asks for it; not where the settings forbid it."""
        if self.access is None or self.settings.auth.use == "no":
            return None
        return Authorization(
            self.settings, self.access, clocks, lambda: [*self.hosts(), *callers()]
        )

    @property
    def process(self) -> ServerProcess | None:
        """The child process, once started."""
        return self.stdio.process

    async def last_words(self) -> None:
        """After a loss: wait a moment for what explains it."""
        if self.process is not None:
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
