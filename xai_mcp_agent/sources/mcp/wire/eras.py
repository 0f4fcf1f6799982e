"""The two eras of the protocol, and which servers turned out to speak the older one only.

What was found out is remembered while this process runs, so nobody waits for the same server twice.
"""

from __future__ import annotations

from ....settings.models import ProtocolMode, ServerSettings

# Of all servers of a long-lived process; then the memory starts anew.
_MAX_REMEMBERED = 1000
_FIRST_MODERN = "2026"  # versions are dates


def is_modern(version: str) -> bool:
    """Whether a server that speaks this version is asked without shaking hands first."""
    return version >= _FIRST_MODERN


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
