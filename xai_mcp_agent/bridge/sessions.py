"""Sessions with a server beside its main one, for clients of other programs.

A client of the handshake era can only be asked during a call, so its calls use a session of that
era, if the server has both. With `"session": "client"` each client has its own. Only the main
session reports to the history and the catalog.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import anyio
from anyio.abc import TaskStatus

from ..core.calls import Caller, ToolInvocation, remaining_seconds
from ..core.errors import SessionsUsedUp, SourceFailed
from ..core.events import SourceEvent
from ..core.results import ToolResult
from ..settings.entry import SourceSettings
from ..settings.models import Settings
from ..settings.server import ProtocolMode, ServerSettings
from ..sources.base import Source
from ..sources.mcp.connection import is_modern
from ..sources.mcp.subscriptions import UpdateListeners
from ..sources.pool import SourcePool

logger = logging.getLogger(__name__)

_IDLE_SECONDS = 600.0


class Session(NamedTuple):
    """Session with a server in this mode; `client` is the id of its client."""

    server: str
    mode: ProtocolMode
    client: str = ""


class Sessions:
    """Sessions beside the main ones, used on the bridge's loop.

    `main` has the main sessions; `make` gives a new source.
    """

    def __init__(
        self,
        main: SourcePool[str],
        settings: Settings,
        make: Callable[[SourceSettings, UpdateListeners], Source],
    ) -> None:
        self._main = main
        main.stop_dependents = self._stop_all_of
        self._settings = settings
        self._make = make
        self._pool = SourcePool(self._new_source, _IgnoreEvents())
        self._updates = defaultdict[Session, UpdateListeners](UpdateListeners)
        self._last_use: dict[Session, float] = {}
        self._calls = Counter[Session]()  # calls under way
        # Whether a server speaks both eras, as far as is known, until its main session is stopped.
        self._speaks_both: dict[str, bool] = {}

    async def serve(self, stop: anyio.Event, *, task_status: TaskStatus[None]) -> None:
        """Keep the sessions until `stop` is set, and end idle ones."""
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._stop_idle)
            await self._pool.serve(task_status.started, stop)
            tasks.cancel_scope.cancel()

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call a tool over the session of the caller; see `Source.call`."""
        server, limit = invocation.tool.key.source, invocation.timeout_seconds
        started = anyio.current_time()
        source = await self.source(server, invocation.caller, limit)
        key = self._key(server, invocation.caller)
        if key is None:
            return await source.call(invocation)
        remaining = remaining_seconds(limit, anyio.current_time() - started)
        self._calls[key] += 1
        try:
            return await source.call(replace(invocation, timeout_seconds=remaining))
        finally:
            self._calls[key] -= 1
            if not self._calls[key]:
                del self._calls[key]

    async def source(self, server: str, caller: Caller, seconds: float | None = None) -> Source:
        """Return the source with the session of the caller, opened within `seconds`.

        Raises:
            UnknownServer, SettingsError: from `SourcePool.start`.
            SourceFailed: the server cannot be reached.
            SessionsUsedUp: this client has no session of its own, and the limit is reached.
        """
        main = self._main.start(server)
        if self._is_for_older(server, caller):
            running = self.running(server, caller)
            if running is None or running.state != "ready":
                with anyio.move_on_after(seconds):
                    await self._try_older(server, main, caller)
        key = self._key(server, caller)
        return main if key is None else self._start(key)

    def running(self, server: str, caller: Caller) -> Source | None:
        """Return the source with the session of the caller, if it is running."""
        key = self._key(server, caller)
        return self._main.running().get(server) if key is None else self._pool.running().get(key)

    def updates(self, server: str, caller: Caller) -> UpdateListeners | None:
        """Return the listener for changes over the caller's session; None for the main one."""
        key = self._key(server, caller)
        return None if key is None else self._updates.get(key)

    def count(self, server: str) -> int:
        """Return the number of sessions beside the main one."""
        return sum(x.server == server for x in self._pool.running())

    async def forget_client(self, client: str) -> None:
        """End the sessions of a client that has disconnected."""
        await self._stop_where(lambda x: x.client == client)

    def _key(self, server: str, caller: Caller) -> Session | None:
        """Return the session of the caller; None for the main one."""
        settings, far = self._server(server), caller.far
        if settings is None or far is None:
            return None
        is_older = self._is_for_older(server, caller)
        client = far.id if settings.session == "client" else ""
        key = Session(server, "legacy" if is_older else settings.mode, client)
        return key if is_older or client else None

    def _server(self, server: str) -> ServerSettings | None:
        settings = self._settings.sources.get(server)
        return settings if isinstance(settings, ServerSettings) else None

    def _is_for_older(self, server: str, caller: Caller) -> bool:
        """Return whether calls of the caller use the handshake era, as far as is known."""
        settings, far = self._server(server), caller.far
        needs_older = far is not None and not far.is_modern and far.can_be_asked
        may_speak_both = settings is not None and settings.mode == "auto"
        return needs_older and may_speak_both and self._speaks_both.get(server, True)

    async def _try_older(self, server: str, main: Source, caller: Caller) -> None:
        """Open a session of the handshake era, or remember that it is unnecessary or impossible."""
        await main.ready(caller)
        key = self._key(server, caller)
        if not is_modern(main.status().era):
            self._speaks_both[server] = False
        elif key is not None:
            try:
                await self._start(key).ready(caller)
                self._speaks_both[server] = True
            except SourceFailed as cause:
                if self._speaks_both.get(server):
                    raise  # a passing failure: it has spoken this era before
                logger.info("%s is only used in its own era: %s", server, cause.problem)
                self._speaks_both[server] = False
                await self._stop_where(lambda x: x == key)

    def _start(self, key: Session) -> Source:
        if key.client and key not in self._pool.running():
            self._check_limit(key)
        self._last_use[key] = anyio.current_time()
        return self._pool.start(key)

    def _check_limit(self, key: Session) -> None:
        settings = self._server(key.server)
        clients = {x.client for x in self._pool.running() if x.server == key.server and x.client}
        if settings is not None and len(clients - {key.client}) >= settings.session_limit:
            raise SessionsUsedUp(
                key.server,
                f"{len(clients)} clients use it, each with a session of its own, and no more can.",
                "Try again when one of them has left, or raise `sessionLimit` in its settings.",
            )

    def _new_source(self, key: Session) -> Source:
        settings = self._server(key.server)
        assert settings is not None, "only servers have keys"
        return self._make(replace(settings, mode=key.mode), self._updates[key])

    async def _stop_idle(self) -> None:
        while True:
            await anyio.sleep(_IDLE_SECONDS / 10)
            for key in self._last_use:
                if self._calls[key] or self._updates[key].has_listeners:
                    self._last_use[key] = anyio.current_time()
            oldest = anyio.current_time() - _IDLE_SECONDS
            await self._stop_where(lambda x, oldest=oldest: self._last_use[x] <= oldest)

    async def _stop_all_of(self, server: str) -> None:
        """Stop with the main session: what is known about the server may have changed."""
        self._speaks_both.pop(server, None)
        await self._stop_where(lambda x: x.server == server)

    async def _stop_where(self, matches: Callable[[Session], bool]) -> None:
        async with anyio.create_task_group() as stopping:
            for key in [x for x in self._last_use if matches(x)]:
                del self._last_use[key]
                if not self._updates[key].has_listeners:
                    del self._updates[key]
                stopping.start_soon(self._pool.stop, key)


class _IgnoreEvents:
    """Observer that ignores all events: only main sessions report."""

    def notice(self, event: SourceEvent) -> None:
        """Ignore the event."""
