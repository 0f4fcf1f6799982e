"""The callbacks of the SDK's client: only for what is really offered to this server.

Giving a callback is what declares the capability. They serve both eras: in the older one the
server asks in the middle of a call, on 2026-07-28 the SDK calls again with the answers.
"""

from __future__ import annotations

from typing import Any

from ..pending import Pending
from ..transport import Connection
from .elicitation import Elicitation
from .log import ServerLog
from .roots import Roots
from .sampling import Sampling


class ClientCallbacks:
    """What one connection's server may ask."""

    def __init__(self, link: Connection, pending: Pending) -> None:
        self.roots = Roots(link.settings)
        self.log = ServerLog(link.settings, link.stderr)
        link.watch.on_log = self.log.take
        self._settings = link.settings
        self.questions = Elicitation(link.settings, pending)
        self._sampling = Sampling(link.settings, pending)

    def callbacks(self) -> dict[str, Any]:
        """The arguments with which the SDK's client is made."""
        made: dict[str, Any] = {"log_level": self.log.level, **self._sampling.offered()}
        if self._settings.elicitation != "decline":
            made["elicitation_callback"] = self.questions.answer
        if self.roots.are_offered:
            made["list_roots_callback"] = self.roots.answer
        return made
