"""One endpoint and its clients: their requests as calls, and notices of changes.

Import this module only when the SDK is loaded.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from functools import partial
from typing import TypeAlias, cast

import anyio
import mcp_types as types
from anyio.abc import TaskGroup
from mcp import MCPError
from mcp.server.connection import Connection
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    PromptsListChanged,
    ResourcesListChanged,
    ResourceUpdated,
    ServerEvent,
    ToolsListChanged,
)

from ..bridge.operations import Operations
from ..catalog.catalog import CatalogChanged
from ..core.calls import Caller
from ..core.errors import ServerError, UnknownTool, XaiMcpError
from ..core.json import JsonObject, as_object
from .client import Client, Notices, Request, caller_of, is_modern, name_of
from .endpoint import Endpoint, Options
from .exchanges import Exchange, Exchanges, NoSuchExchange
from .passthrough import PassthroughEndpoint

Do: TypeAlias = Callable[[Caller, Notices], Awaitable[JsonObject]]
"""Carries out a client's request for this caller."""

_SETTLE_SECONDS = 0.1  # changes within this time are one notice
_CLIENT = "client"  # key in the state of a connection
_LATE = (
    "No call waits for this answer: it came too late or twice, or belongs to another request. Send "
    "the request again without `requestState`."
)


class EndpointService:
    """Serves one endpoint to any number of clients."""

    def __init__(self, operations: Operations, options: Options, tasks: TaskGroup) -> None:
        endpoint = PassthroughEndpoint if options.passthrough else Endpoint
        self.endpoint = endpoint(operations, options)
        self.operations = operations
        self._toolbelt = ",".join(options.names)
        self._tasks = tasks
        self._exchanges = Exchanges(tasks)
        self.bus = InMemorySubscriptionBus()
        self._connections = dict[Connection, Client]()  # of the handshake era
        self._changed = anyio.Event()
        self._decisions_version: object = None  # the last announced version of the decisions
        self.instructions = ""

    def follow(self, change: CatalogChanged) -> None:
        """Schedule a notice if a list or a decision of the endpoint's sources changed.

        Records of tools change with each call and are ignored.
        """
        version = self.operations.engine.decisions.version
        if not (change.lists or version != self._decisions_version):
            return
        self._decisions_version = version
        if change.sources.intersection(self.endpoint.sources):
            self._changed.set()

    async def ready(self) -> None:
        """Wait a few seconds until something is ready, and read the sources' instructions."""
        await self.endpoint.ready()
        self.instructions = await self.endpoint.instructions()

    def client_of(self, context: Request, own: Client | None) -> Client:
        """Return the client of a request. Over HTTP on 2026-07-28 each request is a new client."""
        if is_modern(context):
            return own or Client(f"{name_of(context)} over HTTP")
        # A private attribute, but the only thing that stays between requests of a client.
        connection = context.session._connection  # pyright: ignore[reportPrivateUsage]
        client = connection.state.get(_CLIENT)
        if client is None:
            client = connection.state[_CLIENT] = own or Client()
            self._connections[connection] = client
            connection.exit_stack.push_async_callback(self._on_disconnect, connection)
        return cast(Client, client)

    async def run(self, context: Request, own: Client | None, do: Do) -> JsonObject:
        """Carry out a client's request, and pass on questions while it runs.

        Raises:
            MCPError: it failed.
        """
        client = self.client_of(context, own)
        if not is_modern(context):
            return await self._work(do, client, context, None)
        params = dict(context.params or {})
        state, answers = params.pop("requestState", None), params.pop("inputResponses", None)
        params.pop("_meta", None)
        request = {"method": context.method, **params}
        if isinstance(state, str):
            try:
                return await self._exchanges.resume(state, request, as_object(answers), context)
            except NoSuchExchange:
                raise MCPError(types.INVALID_PARAMS, _LATE) from None
        exchange = Exchange(request, context, as_object(answers))
        work = partial(self._work, do, client, context, exchange)
        return await self._exchanges.begin(exchange, work)

    async def _work(
        self, do: Do, client: Client, context: Request, exchange: Exchange | None
    ) -> JsonObject:
        notices = Notices(self._tasks, client, lambda: exchange.context if exchange else context)
        try:
            with protocol_errors():
                caller = caller_of(context, client, self._toolbelt, notices, exchange)
                return await do(caller, notices)
        finally:
            await notices.flush()

    async def subscribe(self, client: Client, uri: str, notify: Callable[[str], object]) -> None:
        """Notify a client when a resource changes."""
        if uri in client.subscriptions:
            return
        source, own_uri = await self.endpoint.resource(uri)
        changes = await self.operations.listen(source, [own_uri], lambda _: notify(uri))
        client.subscriptions[uri] = source, own_uri, changes

    async def unsubscribe(self, client: Client, uri: str) -> None:
        """Stop notifying a client of a resource."""
        if subscription := client.subscriptions.pop(uri, None):
            source, own_uri, changes = subscription
            await self.operations.stop_listening(source, [own_uri], changes)

    def publish(self, uri: str) -> None:
        """Notify listeners of 2026-07-28 that a resource changed."""
        self._tasks.start_soon(self.bus.publish, ResourceUpdated(uri))

    def notify(self, client: Client, uri: str) -> None:
        """Notify a client of the handshake era that a resource changed."""
        for connection, other in self._connections.items():
            if other is client:
                self._tasks.start_soon(connection.send_resource_updated, uri)

    async def announce(self) -> None:
        """Notify all clients of changes, until cancelled."""
        lists = await self.endpoint.lists()
        while True:
            await self._changed.wait()
            await anyio.sleep(_SETTLE_SECONDS)
            self._changed = anyio.Event()
            before, lists = lists, await self.endpoint.lists()
            if lists["tools"] is not before["tools"]:
                await self._notify_all(ToolsListChanged(), Connection.send_tool_list_changed)
            if lists["prompts"] != before["prompts"]:
                await self._notify_all(PromptsListChanged(), Connection.send_prompt_list_changed)
            if lists["resources"] != before["resources"]:
                await self._notify_all(
                    ResourcesListChanged(), Connection.send_resource_list_changed
                )

    async def _notify_all(
        self, event: ServerEvent, send: Callable[[Connection], Awaitable[None]]
    ) -> None:
        await self.bus.publish(event)
        for connection in list(self._connections):
            await send(connection)

    async def _on_disconnect(self, connection: Connection) -> None:
        client = self._connections.pop(connection, None)
        if client is not None:
            await self.forget(client)

    async def forget(self, client: Client) -> None:
        """End the subscriptions and sessions of a client that has disconnected."""
        with anyio.CancelScope(shield=True):  # its connection may have been cancelled
            for uri in list(client.subscriptions):
                await self.unsubscribe(client, uri)
            await self.operations.engine.sessions.forget_client(client.id)


@contextmanager
def protocol_errors() -> Generator[None]:
    """Turn our errors within the block into errors of the protocol."""
    try:
        yield
    except UnknownTool as error:
        raise MCPError(types.INVALID_PARAMS, str(error)) from error
    except ServerError as error:  # the far server's own error
        raise MCPError(error.code or types.INTERNAL_ERROR, error.problem, error.data) from error
    except XaiMcpError as error:
        raise MCPError(types.INTERNAL_ERROR, str(error)) from error
