"""The ways in which one server may be reached, and which one to try after another failed."""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...settings.models import ProtocolMode, ServerSettings
from .failures import hung_up, root_cause
from .transport import Connection

# A stream of the older kind says at once where messages go; another stream never does.
_GUESS_SECONDS = 10.0


@dataclass(frozen=True)
class Way:
    """How to reach a server. `is_guess`: where it fails, what failed before says more."""

    settings: ServerSettings
    mode: ProtocolMode
    is_guess: bool = False

    def seconds(self, left: float) -> float:
        """How long to try it, if so much is left for the whole start."""
        return max(min(left, _GUESS_SECONDS) if self.is_guess else left, 1.0)

    def other(self, cause: BaseException, link: Connection) -> Way | None:
        """What might go better, if anything might."""
        if self.mode == "auto" and hung_up(cause, link):
            return replace(self, mode="legacy")
        if self.settings.transport_is_guess and link.http.has_no_endpoint:
            # As the protocol wants it (transports, backwards compatibility): a POST refused with
            # 400, 404 or 405 may mean the older HTTP+SSE.
            older = replace(self.settings, transport="sse", transport_is_guess=False)
            return replace(self, settings=older, is_guess=True)
        was_remembered = self.settings.mode == "auto" and self.mode == "legacy"
        if was_remembered and isinstance(getattr(root_cause(cause), "code", None), int):
            return replace(self, mode="auto")  # it answers otherwise than the last time
        return None
