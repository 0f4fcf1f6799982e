"""The gateway: endpoints over the sources of one bridge, for clients over any transport.

Import this module only when the SDK is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup, TaskStatus
from mcp.server.lowlevel import NotificationOptions
from mcp.server.streamable_http_manager import StreamableHTTPASGIApp, StreamableHTTPSessionManager
from starlette.applications import Starlette
from starlette.routing import BaseRoute, Route

from ..bridge.operations import Operations
from ..catalog.catalog import CatalogChanged
from .client import Client
from .endpoint import Options
from .handlers import sdk_server
from .service import EndpointService

logger = logging.getLogger(__name__)

_SESSION_SECONDS = 600.0  # for an idle HTTP client; 99 of 100 never say goodbye
_EVERYTHING = Options()


class Gateway:
    """Endpoints of one bridge, used on its loop within `async with`.

    Raises:
        UnknownServer, SettingsError: `options` name an unknown source or group.
    """

    def __init__(self, operations: Operations, options: Options = _EVERYTHING) -> None:
        self._operations = operations
        self._options = options
        self._services: dict[Options, EndpointService] = {}
        self._tasks: TaskGroup | None = None

    async def __aenter__(self) -> Gateway:
        self._stack = stack = AsyncExitStack()
        self._tasks = await stack.enter_async_context(anyio.create_task_group())
        stack.callback(self._tasks.cancel_scope.cancel)
        stack.callback(self._operations.catalog.subscribe(self._follow))
        self.service()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._stack.aclose()

    def _follow(self, change: CatalogChanged) -> None:
        for service in self._services.values():
            service.follow(change)

    def service(
        self, names: tuple[str, ...] | None = None, *, passthrough: bool = False
    ) -> EndpointService:
        """Return the service of these sources and groups, which start to connect.

        Raises:
            UnknownServer, SettingsError: there is none of that name.
        """
        assert self._tasks is not None, "the gateway is not running"
        names = self._options.names if names is None else names
        options = replace(self._options, names=names, passthrough=passthrough)
        if options not in self._services:
            service = EndpointService(self._operations, options, self._tasks)
            self._services[options] = service
            for do in (service.endpoint.connect, service.announce):
                self._tasks.start_soon(_run_isolated, do)
        return self._services[options]

    async def serve(self, read: Any, write: Any, server: str = "") -> None:
        """Serve one client over two message streams, until it closes them.

        With `server`, it gets that server alone and unchanged; see `passthrough.py`.
        """
        service = self.service((server,), passthrough=True) if server else self.service()
        client = Client()
        await service.ready()
        sdk = sdk_server(service, client)
        options = sdk.create_initialization_options(NotificationOptions(True, True, True))
        try:
            await sdk.run(read, write, options)
        finally:
            await service.forget(client)

    def http_app(self, routes: Sequence[BaseRoute] = ()) -> Starlette:
        """Return the HTTP app: `/mcp`, and `/mcp/NAME` for each source and group.

        Wrap it in an `AccessGuard`. `routes` are added beside them.
        """
        settings = self._operations.settings
        paths = {"/mcp": self._options.names}
        if not self._options.names:
            names = (*settings.usable, *settings.group_names)
            paths |= {f"/mcp/{x}": (x,) for x in names}
        endpoints = {path: _HttpEndpoint(self, names) for path, names in paths.items()}
        own = [Route(path, endpoint=endpoint) for path, endpoint in endpoints.items()]
        return Starlette(routes=[*own, *routes])

    async def keep(self, sessions: StreamableHTTPSessionManager) -> None:
        """Keep HTTP sessions until the gateway ends."""
        assert self._tasks is not None, "the gateway is not running"
        await self._tasks.start(_run, sessions)


async def _run_isolated(do: Callable[[], Awaitable[None]]) -> None:
    """Run a task for one endpoint; its error does not affect the others."""
    try:
        await do()
    except Exception:
        logger.exception("A part of the gateway failed")


async def _run(sessions: StreamableHTTPSessionManager, *, task_status: TaskStatus[None]) -> None:
    async with sessions.run():
        task_status.started()
        await anyio.sleep_forever()


class _HttpEndpoint:
    """HTTP sessions of one endpoint, whose sources connect on first use."""

    def __init__(self, gateway: Gateway, names: tuple[str, ...]) -> None:
        self._gateway = gateway
        self._names = names
        self._starting = anyio.Lock()
        self._app: StreamableHTTPASGIApp | None = None

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        async with self._starting:
            if self._app is None:
                self._app = await self._start()
        await self._app(scope, receive, send)

    async def _start(self) -> StreamableHTTPASGIApp:
        service = self._gateway.service(self._names)
        await service.ready()
        sessions = StreamableHTTPSessionManager(
            sdk_server(service), session_idle_timeout=_SESSION_SECONDS
        )
        await self._gateway.keep(sessions)
        return StreamableHTTPASGIApp(sessions)
