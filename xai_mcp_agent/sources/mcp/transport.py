"""Which way a server is reached, and what is known about the connection from outside."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from ...settings.models import ServerSettings
from .http import HttpFacts, http_transport, sse_transport
from .stderr import StderrLog
from .stdio import ServerProcess, stdio_transport
from .streams import Watch, watched


@dataclass
class Connection:
    """One attempt to reach a server: how, and what was noticed meanwhile."""

    settings: ServerSettings
    stderr: StderrLog
    watch: Watch = field(default_factory=Watch)
    http: HttpFacts = field(default_factory=HttpFacts)
    _facts: dict[str, Any] = field(default_factory=dict[str, Any])

    def open(self) -> Any:
        """A new transport for the SDK's client. Each one can be entered once."""
        match self.settings.transport:
            case "stdio":
                transport = stdio_transport(self.settings, self.stderr, self._facts)
            case "http":
                transport = http_transport(self.settings, self.http)
            case "sse":
                transport = sse_transport(self.settings, self.http)
        return watched(transport, self.watch)

    @property
    def process(self) -> ServerProcess | None:
        """The child process, once started."""
        return self._facts.get("process")

    @property
    def exit_code(self) -> int | None:
        """How the child process ended, if it did."""
        return self.process.exit_code if self.process else None

    def hurry(self, yes: bool) -> None:
        """Whether leaving skips the grace that a server which answers deserves."""
        self._facts["in_a_hurry"] = yes
