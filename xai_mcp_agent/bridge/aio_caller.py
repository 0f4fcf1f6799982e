"""Who calls an engine from another loop than its own."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from .engine import Engine
from .portal import Portal

T = TypeVar("T")


class AioCaller:
    """What all parts of `AioBridge` have: the engine, and the way to its loop."""

    def __init__(self, portal: Portal, engine: Engine) -> None:
        self.portal = portal
        self.engine = engine
        # One that was forgotten ends its servers all the same.
        weakref.finalize(self, portal.begin_to_close).atexit = False

    async def run(self, do: Callable[..., Coroutine[Any, Any, T]], *args: Any, **options: Any) -> T:
        """For our own parts: an engine's coroutine method, run on the bridge's loop."""
        return await self.portal.awaited(do, self.engine, *args, **options)
