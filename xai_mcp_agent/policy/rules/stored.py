"""Rules of the store as they count in this process: looked up again while calls are made.

Where the settings ask for them, no call of an agent is made without: a store that is away, empty
or damaged must not let through what somebody decided to hold.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import TypeAlias

import anyio

from ...core.errors import RulesUnknown
from ...settings.rules import Rule

Read: TypeAlias = Callable[[], Awaitable[tuple[Rule, ...]]]
"""What is in the store now; raises `RulesUnknown`."""

_LOOK_SECONDS = 2.0  # not for every call; a person who changes rules does not expect it sooner
_HOLD_SECONDS = 60.0  # a store that is started anew, or busy, is back by then


class StoredRules:
    """Used on the bridge's loop. `rules` are those that were read last."""

    def __init__(self, read: Read, clock: Callable[[], float] = time.monotonic) -> None:
        self.rules: tuple[Rule, ...] = ()
        self._read = read
        self._clock = clock
        self._looking = anyio.Lock()
        self._looked: float | None = None
        self._found: float | None = None

    async def look(self) -> None:
        """See to it that the rules are those of the store, as they were moments ago.

        Those that were read hold for a minute where it cannot be read again.

        Raises:
            RulesUnknown: it says nothing, and has not for longer.
        """
        async with self._looking:
            now = self._clock()
            is_fresh = self._looked is not None and now - self._looked < _LOOK_SECONDS
            if is_fresh and self._found is not None:
                return
            try:
                self.rules = await self._read()
            except RulesUnknown:
                if self._found is None or now - self._found >= _HOLD_SECONDS:
                    self._found = None
                    raise
            else:
                self._found = now
            self._looked = now
