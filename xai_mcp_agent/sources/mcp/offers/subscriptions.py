"""What one connection is subscribed to, in the way of its protocol era.

The handshake era has a request for it. On 2026-07-28 there is a listen stream instead, one for each
resource here, so that each can come and go without the others missing anything.
"""

from __future__ import annotations

import logging
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import anyio
from anyio.abc import TaskGroup

from ....core.errors import ServerError, SourceError
from ...base import LISTS
from ..failures import is_missing_method
from ..health import Health
from ..requests import Requests
from ..wire.eras import is_modern
from ..wire.messages import METHOD_NOT_FOUND
from .listening import keep_listening
from .updates import Updates

if TYPE_CHECKING:
    import mcp_types as types
    from anyio.abc import TaskStatus

logger = logging.getLogger(__name__)

_NEXT_STEP = "Read it again from time to time instead."


class Subscriptions:
    """Opened and closed by any task, while the one that runs `serve` keeps them."""

    def __init__(self, server: str, requests: Requests, health: Health, updates: Updates) -> None:
        self._server = server
        self._requests = requests
        self._health = health
        self._updates = updates
        self._open: dict[str, anyio.CancelScope] = {}
        self._one_change = anyio.Lock()
        self._streams: TaskGroup | None = None

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
        """Subscribe again to all that is wanted, and tell the listeners what changes."""
        async with anyio.create_task_group() as self._streams:
            task_status.started()
            for uri in self._updates.uris:
                self._streams.start_soon(self._resume, uri)
            for name in LISTS:
                self._updates.notice(name)
            await self._updates.deliver()

    async def open(self, uri: str) -> None:
        """Have the server tell when this resource changes; nothing happens if it does already.

        Raises:
            SourceError: it refuses, or cannot do such a thing.
        """
        async with self._one_change:
            if uri in self._open:
                return
            ask = partial(self._listen if self._is_modern else self._subscribe, uri)
            try:
                agreed = await self._requests.ask(
                    f"subscribing to {uri!r}", ask, self._requests.seconds
                )
            except SourceError as error:
                if not is_missing_method(error):
                    raise
                agreed = False
            if not agreed:
                raise self._refusal(uri)

    async def close(self, uri: str) -> None:
        """Nobody wants to hear of it any more. What goes wrong with that is of no interest."""
        async with self._one_change:
            scope = self._open.pop(uri, None)
            if scope is None:
                return
            scope.cancel()
            try:
                if not self._is_modern:
                    ask = partial(self._unsubscribe, uri)
                    await self._requests.ask(f"leaving {uri!r}", ask, self._requests.seconds)
            except SourceError as cause:
                logger.debug("%s", cause)

    @property
    def _is_modern(self) -> bool:
        return is_modern(self._requests.connected().protocol_version)

    async def _resume(self, uri: str) -> None:
        try:
            await self.open(uri)
        except SourceError as cause:
            logger.warning("No news of %s until the next connection: %s", uri, cause)
        else:
            self._updates.notice(uri)

    async def _subscribe(self, uri: str) -> bool:
        import mcp_types as types  # as heavy as the SDK, which is loaded by now

        params = types.SubscribeRequestParams(uri=uri)
        await self._send(types.SubscribeRequest(params=params))
        self._open[uri] = anyio.CancelScope()
        return True

    async def _unsubscribe(self, uri: str) -> None:
        import mcp_types as types

        params = types.UnsubscribeRequestParams(uri=uri)
        await self._send(types.UnsubscribeRequest(params=params))

    async def _send(self, request: Any) -> None:
        import mcp_types as types

        # The client's own method for it warns that newer servers have none.
        await self._requests.connected().session.send_request(request, types.EmptyResult)

    async def _listen(self, uri: str) -> bool:
        assert self._streams is not None, "the connection is being served"
        outcome: bool | Exception = await self._streams.start(self._keep_stream, uri)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _keep_stream(self, uri: str, *, task_status: TaskStatus[bool | Exception]) -> None:
        """Report whether the server agreed to tell, or why it did not."""

        def opened(agreed: types.SubscriptionFilter) -> None:
            if agreed.resource_subscriptions:
                self._open[uri] = scope
            else:
                scope.cancel()
            task_status.started(bool(agreed.resource_subscriptions))

        with anyio.CancelScope() as scope:
            cause = await keep_listening(
                self._requests.connected(),
                {"resource_subscriptions": [uri]},
                opened=opened,
                missed=partial(self._updates.notice, uri),
                on_lost=self._health.doubt,
                patience_seconds=inf,  # whoever asked has a limit of their own
            )
            task_status.started(cause or False)  # it returned, so there is no such stream

    def _refusal(self, uri: str) -> ServerError:
        problem = f"it does not tell when {uri} changes."
        return ServerError(self._server, problem, METHOD_NOT_FOUND, _NEXT_STEP)
