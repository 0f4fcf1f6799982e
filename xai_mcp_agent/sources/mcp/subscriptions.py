"""Subscriptions to a server's changes: listeners, subscribe requests, listen streams.

The handshake era has a subscribe request for each resource. On 2026-07-28 there is a listen stream
for each resource instead, so that one can come and go without the others missing anything.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias

import anyio
from anyio.abc import TaskGroup

from ...core.backoff import Backoff
from ...core.errors import PROGRAM_ERRORS, ServerError, SourceError
from ...core.events import LISTS
from ..base import OnUpdate
from .connection import METHOD_NOT_FOUND, Connection, is_modern
from .failures import is_missing_method
from .requests import McpRequest, Requests

if TYPE_CHECKING:
    import mcp_types as types
    from anyio.abc import TaskStatus
    from mcp import Client

    Opened: TypeAlias = Callable[[types.SubscriptionFilter], None]

logger = logging.getLogger(__name__)

_NEXT_STEP = "Read it again from time to time instead."
_ACK_SECONDS = 5.0
# Changes of the same thing this close together are reported once.
_BURST_SECONDS = 0.05
# Characters between a subscribed URI and the rest of a URI below it.
_BORDERS = ("/", "?", "#")


class Subscriptions:
    """Subscriptions of one connection: any task opens and closes them, `serve` maintains them."""

    def __init__(
        self, connection: Connection, requests: Requests, updates: UpdateListeners
    ) -> None:
        self._connection = connection
        self._requests = requests
        self._updates = updates
        self._open: dict[str, anyio.CancelScope] = {}
        self._one_change = anyio.Lock()
        self._streams: TaskGroup | None = None

    async def serve(self, *, task_status: TaskStatus[None]) -> None:
        """Subscribe again to every resource with a listener, then deliver changes."""
        async with anyio.create_task_group() as self._streams:
            task_status.started()
            for uri in self._updates.uris:
                self._streams.start_soon(self._resume, uri)
            for name in LISTS:
                self._updates.notice(name)
            await self._updates.deliver()

    async def open(self, uri: str) -> None:
        """Subscribe to a resource, unless it is subscribed already.

        Raises:
            SourceError: the server refuses, or has no subscriptions.
        """
        async with self._one_change:
            if uri in self._open:
                return
            send = partial(self._listen if self._is_modern else self._request, uri)
            try:
                accepted = await self._requests.send(f"subscribing to {uri!r}", send, McpRequest())
            except SourceError as error:
                if not is_missing_method(error):
                    raise
                accepted = False
            if not accepted:
                problem = f"it does not announce when {uri} changes."
                name = self._connection.settings.name
                raise ServerError(name, problem, METHOD_NOT_FOUND, _NEXT_STEP)

    async def close(self, uri: str) -> None:
        """End a resource's subscription; errors are only logged."""
        async with self._one_change:
            scope = self._open.pop(uri, None)
            if scope is None:
                return
            scope.cancel()
            try:
                if not self._is_modern:
                    send = partial(self._request, uri, ends=True)
                    await self._requests.send(f"leaving {uri!r}", send, McpRequest())
            except SourceError as cause:
                logger.debug("%s", cause)

    @property
    def _is_modern(self) -> bool:
        return is_modern(self._requests.require_client().protocol_version)

    async def _resume(self, uri: str) -> None:
        try:
            await self.open(uri)
        except SourceError as cause:
            logger.warning("No news of %s until the next connection: %s", uri, cause)
        else:
            self._updates.notice(uri)

    async def _request(self, uri: str, *, ends: bool = False) -> bool:
        """Begin or end a subscription of the handshake era."""
        import mcp_types as types  # as heavy as the SDK, which is loaded by now

        if ends:
            request = types.UnsubscribeRequest(params=types.UnsubscribeRequestParams(uri=uri))
        else:
            request = types.SubscribeRequest(params=types.SubscribeRequestParams(uri=uri))
        # The client's own method warns that newer servers do not have this one.
        await self._requests.require_client().session.send_request(request, types.EmptyResult)
        if not ends:
            self._open[uri] = anyio.CancelScope()
        return True

    async def _listen(self, uri: str) -> bool:
        assert self._streams is not None, "the connection is being served"
        outcome: bool | Exception = await self._streams.start(self._keep_stream, uri)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    async def _keep_stream(self, uri: str, *, task_status: TaskStatus[bool | Exception]) -> None:
        """Keep a resource's stream open; report whether the server accepted it, or the error."""

        def opened(accepted: types.SubscriptionFilter) -> None:
            if accepted.resource_subscriptions:
                self._open[uri] = scope
            else:
                scope.cancel()
            task_status.started(bool(accepted.resource_subscriptions))

        with anyio.CancelScope() as scope:
            cause = await keep_listening(
                self._requests.require_client(),
                {"resource_subscriptions": [uri]},
                opened=opened,
                missed=partial(self._updates.notice, uri),
                on_lost=self._connection.health.doubt,
                patience_seconds=inf,  # the request has its own timeout
            )
            task_status.started(cause or False)  # it returned, so the server has no such stream


class UpdateListeners:
    """One server's listeners, by a resource's URI or the name of a list.

    They outlive connections: each connection subscribes anew for them, and then everything counts
    as changed, because nothing is replayed.
    """

    def __init__(self) -> None:
        self._listeners: dict[str, list[OnUpdate]] = {}
        self._changed: dict[str, None] = {}  # an ordered set
        self._something_changed = anyio.Event()

    @property
    def has_listeners(self) -> bool:
        """Whether there are listeners."""
        return bool(self._listeners)

    @property
    def uris(self) -> list[str]:
        """URIs of the resources with listeners."""
        return [x for x in self._listeners if x not in LISTS]

    def add(self, topic: str, on_update: OnUpdate) -> None:
        """Add a listener, which is called on the event loop."""
        self._listeners.setdefault(topic, []).append(on_update)

    def remove(self, topic: str, on_update: OnUpdate) -> bool:
        """Remove a listener; return whether it was the last one."""
        listeners = self._listeners.get(topic, [])
        if on_update in listeners:
            listeners.remove(on_update)
        if listeners or topic not in self._listeners:
            return False
        del self._listeners[topic]
        return True

    def notice(self, topic: str) -> None:
        """Note a change. Called for each notice, so it must be quick.

        A server may report a resource below the subscribed one.
        """
        for subscribed in self._listeners:
            if _is_at_or_below(topic, subscribed):
                self._changed[subscribed] = None
                self._something_changed.set()

    async def deliver(self) -> None:
        """Call the listeners after changes, for ever."""
        while True:
            await self._something_changed.wait()
            await anyio.sleep(_BURST_SECONDS)
            changed, self._changed = self._changed, {}
            self._something_changed = anyio.Event()
            for topic in changed:
                for on_update in list(self._listeners.get(topic, ())):
                    _call(on_update, topic)


def _is_at_or_below(changed: str, subscribed: str) -> bool:
    if changed == subscribed:
        return True
    if subscribed in LISTS or not changed.startswith(subscribed):
        return False
    return subscribed.endswith(_BORDERS) or changed[len(subscribed)] in _BORDERS


def _call(on_update: OnUpdate, topic: str) -> None:
    try:
        on_update(topic)
    except PROGRAM_ERRORS:
        # A listener is the user's code: its errors must not end the connection.
        logger.exception("A listener for changes of %s raised", topic)


async def keep_listening(
    client: Client,
    filter_: dict[str, Any],
    *,
    opened: Opened,
    missed: Callable[[], None],
    on_lost: Callable[[], None],
    patience_seconds: float = _ACK_SECONDS,
) -> Exception | None:
    """Keep a listen stream open with `filter_` (arguments of the SDK's `listen`).

    `opened` gets the filter that the server accepted. `missed` is called when the stream was
    reopened, because changes in between are not replayed. `on_lost` is called when it breaks.
    Returns only if there can be no stream, with the error if there was one. `patience_seconds`
    limits the first opening.
    """
    pauses = Backoff()
    await pauses.before_opening()
    is_open, cause = await _run_stream(client, filter_, opened, on_lost, patience_seconds)
    if not is_open:
        return cause
    while True:  # a proxy or a restart may have closed it
        await pauses.before_opening()
        is_open, _ = await _run_stream(client, filter_, lambda _: missed(), on_lost, _ACK_SECONDS)
        if not is_open:
            on_lost()


async def _run_stream(
    client: Client,
    filter_: dict[str, Any],
    opened: Opened,
    on_lost: Callable[[], None],
    patience_seconds: float,
) -> tuple[bool, Exception | None]:
    """Run one stream to its end; return whether it was opened, and the error that ended it."""
    from mcp import MCPError
    from mcp.client.subscriptions import ListenNotSupportedError, SubscriptionLost

    is_open = False
    try:
        with anyio.move_on_after(patience_seconds) as patience:
            async with client.listen(**filter_) as notices:
                patience.deadline, is_open = float("inf"), True
                opened(notices.honored)
                async for _ in notices:
                    pass  # the dispatcher has passed each on
    except (ListenNotSupportedError, MCPError) as cause:
        logger.debug("no listen stream: %s", cause)
        return is_open, cause
    except SubscriptionLost as cause:
        on_lost()
        return is_open, cause
    return is_open, None
