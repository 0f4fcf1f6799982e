"""One configured MCP server as a source: started on demand, reconnected, closed."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from time import monotonic
from typing import TypeVar

import anyio

from ...core.backoff import Backoff
from ...core.calls import PROGRAM, Caller, Host, ToolInvocation
from ...core.errors import SourceError, SourceFailed
from ...core.events import (
    CLOSED,
    Inventory,
    Observer,
    SourceLost,
    SourceState,
    SourceStatus,
    SourceUnreachable,
)
from ...core.results import ToolResult
from ...settings.server import ProtocolMode, ServerSettings
from ..base import Shared, closed_error, ready_within
from ..pool import StartQueue
from ..stderr import StderrLog
from . import sdk
from .auth.token_store import Access
from .connection import Connection, is_modern
from .failures import Failures, LastingFailure, NotSent, hung_up, root_cause
from .features import McpFeatures
from .session import McpSession
from .subscriptions import UpdateListeners

logger = logging.getLogger(__name__)

T = TypeVar("T")

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
# Even when a caller waits: a server that dies at once must not be started in a busy loop.
_SHORTEST_PAUSE_SECONDS = 0.1
# After these tries it stays down until a caller asks for it.
_MAX_TRIES_IN_A_ROW = 6
# An attempt that fails this soon after a request leaves time for another one.
_SOON_SECONDS = 5.0
# A stream of the older kind names its address for messages at once; another stream never does.
_GUESS_SECONDS = 10.0
_MAX_INSTRUCTIONS_CHARS = 2000  # characters; agents get no more either


class McpSource:
    """A `Source` over one MCP server. Create it on the event loop that will run it."""

    kind = "mcp"

    _observer: Observer  # of the owner

    def __init__(
        self,
        settings: ServerSettings,
        mask: Callable[[str], str],
        host: Host,
        updates: UpdateListeners,
        starts: StartQueue,
        access: Access | None = None,
    ) -> None:
        self.updates = updates
        self._settings = settings
        self._host = host
        self._access = access
        self._mask = mask
        self.state: SourceState = "idle"
        self._error: SourceError | None = None
        self._session: McpSession | None = None
        self._connect_seconds: float | None = None
        self._backoff = Backoff(_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS)
        self._ready_at: float | None = None  # of the last attempt, if its session became ready
        self._era = self._server = ""
        self._stopping = anyio.Event()
        self._verdict: Shared[McpSession] = Shared()
        self._waiting_hosts: list[Host] = []  # hosts of the callers that wait for it
        self._starts, self._start = starts, object()  # of the last attempt
        self._turn = anyio.CancelScope()  # of the wait for it

    @property
    def name(self) -> str:
        """The server's name in the settings."""
        return self._settings.name

    def status(self) -> SourceStatus:
        """Return the status of the source."""
        session, error = self.usable, self._error
        listings = session.listings if session else None
        inventory = listings.inventory if listings else Inventory(self.name, ())
        connection = self._session.connection if self._session else None
        stderr_tail = connection.stderr.tail() if connection else ()
        other_notes = connection.notes(of_tools=False) if connection and session else ()
        instructions = listings.instructions if listings else ""
        return SourceStatus(
            name=self.name,
            kind=self.kind,
            state=self.state,
            transport=self._settings.transport,
            era=self._era,
            server=self._mask(self._server),
            tool_count=len(inventory.tools) if session else None,
            prompt_count=len(inventory.prompts),
            resource_count=len(inventory.resources),
            connect_seconds=self._connect_seconds,
            error=error.problem if error else "",
            next_step=error.next_step if error else "",
            stderr_tail=stderr_tail or (error.stderr_tail if error else ()),
            notes=(*inventory.notes, *other_notes),
            # Redacted before it is cut, because half a secret is not recognised.
            instructions=self._settings.redacted(instructions[: 2 * _MAX_INSTRUCTIONS_CHARS])[
                :_MAX_INSTRUCTIONS_CHARS
            ],
            tells_instructions=self._settings.instructions,
        )

    async def own(self, observer: Observer) -> None:
        """Connect, serve and heal until stopped. Run by exactly one task."""
        self.state, self._observer = "connecting", observer
        try:
            while await self._wait_for_turn():
                self._ready_at = None
                error = await self._attempt()
                self._starts.end(self._start)
                self._backoff.count(self._ready_at)
                await self._pause(gives_up=isinstance(error, LastingFailure))
        finally:
            self.state = "closed"
            self._verdict.settle(closed_error(self.name))

    def stop(self) -> None:
        """Ask the owner task to close and end."""
        self._stopping.set()
        self._verdict.has_waiter.set()
        self._turn.cancel()
        self._starts.end(self._start)
        if self._session:
            self._session.close()

    async def ready(self, caller: Caller = PROGRAM) -> Inventory:
        """Wait for the outcome of the current or next attempt; return the inventory."""
        return await (await self._usable(caller)).listings.fresh(caller)

    async def refresh(self, caller: Caller = PROGRAM) -> Inventory:
        """List everything again; return the inventory."""
        return await self.with_session(lambda session: session.listings.refresh(caller), caller)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one tool; see `Source.call`."""
        started = monotonic()
        return await self.with_session(
            lambda session: session.call(invocation, started),
            invocation.caller,
            invocation.timeout_seconds,
        )

    def features(self, caller: Caller) -> McpFeatures:
        """Return the server's features other than tools."""
        return McpFeatures(self, caller)

    @property
    def usable(self) -> McpSession | None:
        """The session, if one is ready."""
        return self._session if self.state == "ready" else None

    async def with_session(
        self,
        do: Callable[[McpSession], Awaitable[T]],
        caller: Caller = PROGRAM,
        seconds: float | None = None,
    ) -> T:
        """Use the session; retry once if the server cannot have seen the request.

        Raises:
            SourceFailed: no session was ready in time.
        """
        started, session = monotonic(), self._session
        if session is None or self.state != "ready" or session.connection.health.is_suspect:
            session = await self._usable_within(seconds, started, caller)
        try:
            return await do(session)
        except NotSent as cause:
            logger.info("Sending the request again over a new connection: %s", cause.problem)
        return await do(await self._usable_within(seconds, started, caller))

    async def _usable_within(
        self, seconds: float | None, started: float, caller: Caller
    ) -> McpSession:
        """Return the session, waiting until `seconds` after `started`.

        Raises:
            SourceFailed: no session was ready in time.
        """
        with ready_within(self, seconds, monotonic() - started):
            return await self._usable(caller)

    async def _usable(self, caller: Caller) -> McpSession:
        """Wait for a session and return it.

        Raises:
            SourceFailed: the attempt failed.
        """
        if self.state == "closed":
            raise closed_error(self.name)
        if session := self.usable:
            await session.connection.health.wait_until_settled()
        if session := self.usable:
            return session
        waiting_since = anyio.current_time()
        began_before = self.state == "connecting" and self._backoff.tries > 0
        if caller.host is not None:
            self._waiting_hosts.append(caller.host)
        try:
            return await self._verdict.wait()
        except SourceFailed:
            if not began_before or anyio.current_time() - waiting_since > _SOON_SECONDS:
                raise
        # The attempt may have begun before a person repaired its cause.
        return await self._verdict.wait()

    async def _wait_for_turn(self) -> bool:
        """Wait for the turn of a stdio start; return False if the source was stopped."""
        self._start = object()
        if self._settings.transport == "stdio" and not self._stopping.is_set():
            with anyio.CancelScope() as self._turn:
                await self._starts.begin(self._start)
        return not self._stopping.is_set()

    async def _attempt(self) -> SourceError | None:
        """Run one session from start to end; return the error that ended it.

        If the start failed, waiting callers get its error.
        """
        started = anyio.current_time()
        mode = "legacy" if _key(self._settings) in _legacy_servers else self._settings.mode
        option = _Option(self._settings, mode)
        error, other = await self._serve_once(option, self._settings.start_timeout_seconds)
        if other is not None:
            spent = anyio.current_time() - started
            remaining = self._settings.start_timeout_seconds - spent
            remaining = min(remaining, _GUESS_SECONDS) if other.is_guess else remaining
            retry_error, _ = await self._serve_once(other, max(remaining, 1.0))
            if not (other.is_guess and isinstance(retry_error, SourceFailed)):
                error = retry_error
        if self._stopping.is_set() or error is None:
            return None
        self._error = error
        logger.info("%s", error)  # callers get the exception
        if isinstance(error, SourceFailed):
            self._observer.notice(SourceUnreachable(self.name, error.problem))
            self.state = "retrying"
            self._settle(error)
        return error

    async def _serve_once(
        self, option: _Option, seconds: float
    ) -> tuple[SourceError | None, _Option | None]:
        """Run one process or connection; return the error that ended it, and the next option."""
        stderr = StderrLog(self._mask)
        connection = Connection(
            option.settings, stderr, self._access, self._hosts, self._stop_using
        )
        failures = Failures(connection, self._mask)
        session = McpSession(
            connection, option.mode, failures, self._observer, self._host, self.updates
        )
        self._session, self.state, started = session, "connecting", anyio.current_time()
        try:
            await connection.start()
            if not sdk.is_loaded.is_set():
                await sdk.load(self._stopping)  # the process starts meanwhile
            if self._stopping.is_set():
                return None, None
            await session.serve(seconds, lambda: self._use(session, started))
        except Exception as cause:  # noqa: BLE001 - any failure affects this server alone
            if not session.was_ready:
                _legacy_servers.discard(_key(self._settings))  # the server may be newer by now
                await connection.wait_for_exit()
                return failures.at_start(cause, session.phase), option.other(cause, connection)
            logger.debug("%s: the session ended with %r", self.name, cause)
        finally:
            await connection.end()
        on_purpose = self._stopping.is_set()
        error = None if on_purpose else failures.of_loss()
        self._observer.notice(SourceLost(self.name, error.problem if error else CLOSED, on_purpose))
        return error, None

    def _hosts(self) -> list[Host]:
        """Return the hosts to ask while connecting; the one that has waited longest is last."""
        return [self._host, *reversed(self._waiting_hosts)]

    def _use(self, session: McpSession, started: float) -> None:
        """Use the session, now that its tools are listed."""
        self._ready_at = anyio.current_time()
        self._connect_seconds = self._ready_at - started
        self._settings = session.connection.settings  # the transport may have been detected
        self._era, self._server = session.era, session.server
        if not is_modern(self._era) and self._settings.mode == "auto":
            _legacy_servers.add(_key(self._settings))
        self._error, self.state = None, "ready"
        self._starts.end(self._start)
        self._settle(session)

    def _stop_using(self) -> None:
        if self.state == "ready":
            self.state = "retrying"

    def _settle(self, outcome: McpSession | SourceError) -> None:
        verdict, self._verdict, self._waiting_hosts = self._verdict, Shared[McpSession](), []
        verdict.settle(outcome)

    async def _pause(self, *, gives_up: bool) -> None:
        """Wait before the next attempt, at most until a caller uses the source."""
        if self._stopping.is_set():
            return
        # A listener for changes waits for the server without calling it.
        has_tried_enough = self._backoff.tries >= _MAX_TRIES_IN_A_ROW
        gave_up = gives_up or (has_tried_enough and not self.updates.has_listeners)
        self.state = "failed" if gave_up else "retrying"
        await anyio.sleep(_SHORTEST_PAUSE_SECONDS)
        with anyio.move_on_after(None if gave_up else self._backoff.seconds):
            await self._verdict.has_waiter.wait()


@dataclass(frozen=True)
class _Option:
    """Transport and mode of an attempt. `is_guess`: the previous attempt's error says more."""

    settings: ServerSettings
    mode: ProtocolMode
    is_guess: bool = False

    def other(self, cause: BaseException, connection: Connection) -> _Option | None:
        """Return the option to try after this error, if any."""
        if self.mode == "auto" and hung_up(cause, connection):
            return replace(self, mode="legacy")
        if self.settings.transport_is_guess and connection.has_no_endpoint:
            # MCP (transports, backwards compatibility): a POST refused with 400, 404 or 405 may
            # mean the older HTTP+SSE.
            older = replace(self.settings, transport="sse", transport_is_guess=False)
            return replace(self, settings=older, is_guess=True)
        was_remembered = self.settings.mode == "auto" and self.mode == "legacy"
        if was_remembered and isinstance(getattr(root_cause(cause), "code", None), int):
            return replace(self, mode="auto")  # it has changed since last time
        return None


# Servers that speak only the older era, for all bridges of this process.
_legacy_servers: set[tuple[object, ...]] = set()


def _key(settings: ServerSettings) -> tuple[object, ...]:
    """Return a server's identity; hashed, because a command line may hold secrets."""
    address = (settings.transport, settings.command, settings.args, settings.cwd, settings.url)
    return (settings.name, settings.mode, hash(address))
