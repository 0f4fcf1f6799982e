"""A listen stream, by which a server of 2026-07-28 tells of changes: kept open while it can be.

What comes over it is seen where all messages come in (`wire/streams.py`), before the SDK gets them;
here it is opened, and opened again when it ends.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio

from ..pauses import Pauses

if TYPE_CHECKING:
    import mcp_types as types
    from mcp import Client

    Opened: TypeAlias = Callable[[types.SubscriptionFilter], None]

logger = logging.getLogger(__name__)

_ACK_SECONDS = 5.0


async def keep_listening(
    client: Client,
    wanted: dict[str, Any],
    *,
    opened: Opened,
    missed: Callable[[], None],
    on_lost: Callable[[], None],
    patience_seconds: float = _ACK_SECONDS,
) -> Exception | None:
    """Keep a stream open for what is `wanted` (arguments of the SDK's `listen`), until cancelled.

    `opened` is told what the server agreed to; `missed`, that the stream was opened again: what
    happened meanwhile is not replayed. `on_lost` is told when it breaks. Returns only where
    there can be no stream, and why, if that is known. `patience_seconds`: how long the first one
    may take to open.
    """
    pauses = Pauses()
    await pauses.before_opening()
    is_open, cause = await _one_stream(client, wanted, opened, on_lost, patience_seconds)
    if not is_open:
        return cause
    while True:  # a proxy or a restart may have closed it
        await pauses.before_opening()
        is_open, _ = await _one_stream(client, wanted, lambda _: missed(), on_lost, _ACK_SECONDS)
        if not is_open:
            on_lost()


async def _one_stream(
    client: Client,
    wanted: dict[str, Any],
    opened: Opened,
    on_lost: Callable[[], None],
    patience_seconds: float,
) -> tuple[bool, Exception | None]:
    """One stream from start to end: whether it was open at all, and what ended it."""
    from mcp import MCPError
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

    is_open = False
    try:
        with anyio.move_on_after(patience_seconds) as patience:
            async with client.listen(**wanted) as notices:
                patience.deadline, is_open = float("inf"), True
                opened(notices.honored)
                async for _ in notices:
                    pass  # each was noticed when it arrived
    except (ListenNotSupportedError, MCPError) as cause:
        logger.debug("no listen stream: %s", cause)
        return is_open, cause
    except SubscriptionLost as cause:
        on_lost()
        return is_open, cause
    return is_open, None
