"""Moves slow work off the event loop."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

T = TypeVar("T")

# Takes a few milliseconds; longer texts would block all other agents and servers.
_MOST_CHARS_ON_LOOP = 2_000


async def beside_loop(chars: int, function: Callable[[], T]) -> T:
    """Return the result of a function that reads `chars` characters; many are read in a thread."""
    if chars <= _MOST_CHARS_ON_LOOP:
        return function()
    return await anyio.to_thread.run_sync(function)
