"""Transport and era of one server: what worked before, and what to try after a failure.

What was found out is remembered while this process runs, so nobody waits for the same server twice.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from ...settings.server import ProtocolMode, ServerSettings
from .connection import Connection
from .failures import hung_up, root_cause

# A stream of the older kind says at once where messages go; another stream never does.
_GUESS_SECONDS = 10.0
# Of all servers of a long-lived process; then the memory starts anew.
_MAX_REMEMBERED = 1000


@dataclass(frozen=True)
class TransportOption:
    """How to reach a server. `is_guess`: where it fails, what failed before says more."""

    settings: ServerSettings
    mode: ProtocolMode
    is_guess: bool = False

    def seconds(self, left: float) -> float:
        """How long to try it, if so much is left for the whole start."""
        return max(min(left, _GUESS_SECONDS) if self.is_guess else left, 1.0)

    def other(self, cause: BaseException, connection: Connection) -> TransportOption | None:
        """What might go better, if anything might."""
        if self.mode == "auto" and hung_up(cause, connection):
            return replace(self, mode="legacy")
        if self.settings.transport_is_guess and connection.http.has_no_endpoint:
            # As the protocol wants it (transports, backwards compatibility): a POST refused with
            # 400, 404 or 405 may mean the older HTTP+SSE.
            older = replace(self.settings, transport="sse", transport_is_guess=False)
            return replace(self, settings=older, is_guess=True)
        was_remembered = self.settings.mode == "auto" and self.mode == "legacy"
        if was_remembered and isinstance(getattr(root_cause(cause), "code", None), int):
            return replace(self, mode="auto")  # it answers otherwise than the last time
        return None


class _Eras:
    """Which servers turned out to speak the older era only. Used from several event loops."""

    def __init__(self) -> None:
        self._older: set[tuple[object, ...]] = set()

    def mode_for(self, settings: ServerSettings) -> ProtocolMode:
        """How to begin with this server."""
        is_known = settings.mode == "auto" and _identity(settings) in self._older
        return "legacy" if is_known else settings.mode

    def remember_older(self, settings: ServerSettings) -> None:
        """It spoke the older era."""
        if len(self._older) >= _MAX_REMEMBERED:
            self._older.clear()
        self._older.add(_identity(settings))

    def forget(self, settings: ServerSettings) -> None:
        """It did not work that way: it may have become a newer one."""
        self._older.discard(_identity(settings))


def _identity(settings: ServerSettings) -> tuple[object, ...]:
    """What makes it the same server; hashed, because a command line may have secrets in it."""
    reached = (settings.transport, settings.command, settings.args, settings.cwd, settings.url)
    return (settings.name, hash(reached))


eras = _Eras()
