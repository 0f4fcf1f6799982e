"""Work that would hold up the event loop, done in a thread."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio.to_thread

T = TypeVar("T")

# Read in a few milliseconds; longer ones would hold up all other agents and servers.
_MOST_CHARS_ON_LOOP = 2_000


async def beside_loop(chars: int, function: Callable[[], T]) -> T:
    """The result of a function that reads so many characters; from a thread if they are many."""
    if chars <= _MOST_CHARS_ON_LOOP:
        return function()
    return await anyio.to_thread.run_sync(function)
