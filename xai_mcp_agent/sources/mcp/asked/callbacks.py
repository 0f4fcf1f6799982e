"""The callbacks of the SDK's client: only for what is really offered to this server.

Giving a callback is what declares the capability. They serve both eras: in the older one the
server asks in the middle of a call, on 2026-07-28 the SDK calls again with the answers.
"""

from __future__ import annotations

from typing import Any

from ....settings.models import ServerSettings
from ...host import Host
from ..pending import Pending
from .elicitation import Elicitation


class Asked:
    """What one connection's server may ask; `host` answers where nobody makes a call."""

    def __init__(self, settings: ServerSettings, pending: Pending, host: Host) -> None:
        self._settings = settings
        self._elicitation = Elicitation(settings, pending, host)

    def callbacks(self) -> dict[str, Any]:
        """The arguments with which the SDK's client is made."""
        if self._settings.elicitation == "decline":
            return {}
        return {"elicitation_callback": self._elicitation.answer}
