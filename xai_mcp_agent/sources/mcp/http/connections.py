"""How many connections to one server are open, and in use; about, for the pool does not tell."""

from __future__ import annotations

from time import monotonic


class Connections:
    """Those of one client, which closes idle ones after so many seconds."""

    def __init__(self, idle_seconds: float) -> None:
        self._idle_seconds = idle_seconds
        self._in_use: int = 0
        self._open: int = 0
        self._all_in_use_at = 0.0

    @property
    def is_one_idle(self) -> bool:
        """Whether the next request needs no new one."""
        if monotonic() - self._all_in_use_at > self._idle_seconds:
            self._open = self._in_use
        return self._in_use < self._open

    def begin(self) -> None:
        """A request takes one, until `end`."""
        self._in_use += 1
        self._open = max(self._open, self._in_use)

    def end(self) -> None:
        """A request is over."""
        if self._in_use == self._open:
            self._all_in_use_at = monotonic()
        self._in_use -= 1
