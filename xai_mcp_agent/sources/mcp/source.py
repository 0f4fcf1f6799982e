"""One configured MCP server as a source: started when asked for, reconnected, closed."""

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
    InventoryChanged,
    Observer,
    SourceConnected,
    SourceLost,
    SourceState,
    SourceStatus,
    SourceUnreachable,
)
from ...core.results import ToolResult
from ...settings.server import ProtocolMode, ServerSettings
from ..healing import Shared
from ..pool import Start, StartQueue
from ..process import StderrLog
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
# Even when somebody is waiting: a server that dies at once must not be started in a busy loop.
_SHORTEST_PAUSE_SECONDS = 0.1
# Then it is left alone until somebody asks for it.
_MAX_TRIES_IN_A_ROW = 6
# An attempt that fails this soon after somebody asked leaves time for another one.
_SOON_SECONDS = 5.0
# A stream of the older kind says at once where messages go; another stream never does.
_GUESS_SECONDS = 10.0
_SHOWN_INSTRUCTIONS = 2000  # characters; agents are told no more either


class McpSource:
    """A `Source` over one MCP server. Made on the event loop that will run it."""

    kind = "mcp"

    _observer: Observer  # of the owner
    _began_at = 0.0  # the start of the attempt

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
        self._waiting: list[Host] = []  # hosts of those who wait for it
        self._starts = starts
        self._start = self._new_start()

    @property
    def name(self) -> str:
        """The server's name in the settings."""
        return self._settings.name

    def status(self) -> SourceStatus:
        """The status of the source."""
        inventory = self.usable.listings.inventory if self.usable else None
        error = self._error
        connection = self._session.connection if self._session else None
        words = connection.stderr.tail() if connection else ()
        others = connection.notes(of_tools=False) if connection else ()
        return SourceStatus(
            name=self.name,
            kind=self.kind,
            state=self.state,
            transport=self._settings.transport,
            era=self._era,
            server=self._mask(self._server),
            tool_count=len(inventory.tools) if inventory else None,
            prompt_count=len(inventory.prompts) if inventory else 0,
            resource_count=len(inventory.resources) if inventory else 0,
            connect_seconds=self._connect_seconds,
            error=error.problem if error else "",
            next_step=error.next_step if error else "",
            stderr_tail=words or (error.stderr_tail if error else ()),
            notes=(*inventory.notes, *others) if inventory else (),
            instructions=self._shown_instructions(),
            tells_instructions=self._settings.instructions,
        )

    def _shown_instructions(self) -> str:
        text = self.usable.listings.instructions if self.usable else ""
        # Hidden before it is cut: half a secret is not recognised.
        return self._settings.redacted(text[: 2 * _SHOWN_INSTRUCTIONS])[:_SHOWN_INSTRUCTIONS]

    async def own(self, observer: Observer) -> None:
        """Connect, serve and heal until stopped. Run by exactly one task."""
        self.state, self._observer = "connecting", observer
        try:
            await self._heal_until_stopped()
        finally:
            self.state = "closed"
            self._verdict.settle(self._closed())

    def stop(self) -> None:
        """Ask the owner task to close and end."""
        self._stopping.set()
        self._verdict.wanted.set()
        self._start.end()
        if self._session:
            self._session.close()

    async def ready(self, caller: Caller = PROGRAM) -> Inventory:
        """Wait for the outcome of the current or next attempt; the inventory."""
        return await (await self._usable(caller)).listings.fresh(caller)

    async def refresh(self, caller: Caller = PROGRAM) -> Inventory:
        """List the tools again."""
        return await self.over_a_session(lambda session: session.listings.refresh(caller), caller)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one tool; see `Source.call`."""
        started = monotonic()
        return await self.over_a_session(
            lambda session: session.call(invocation, started),
            invocation.caller,
            invocation.timeout_seconds,
        )

    def features(self, caller: Caller) -> McpFeatures:
        """The features of the server beside its tools."""
        return McpFeatures(self, caller)

    @property
    def usable(self) -> McpSession | None:
        """The session, if there is one now."""
        return self._session if self.state == "ready" else None

    async def over_a_session(
        self,
        do: Callable[[McpSession], Awaitable[T]],
        caller: Caller = PROGRAM,
        seconds: float | None = None,
    ) -> T:
        """Use the session; try once more if the server cannot have seen the request.

        Raises:
            SourceFailed: there is no session within this time.
        """
        started, is_first = monotonic(), True
        while True:
            session = self._session
            if session is None or self.state != "ready" or session.health.is_suspect:
                session = await self._usable_within(seconds, started, caller)
            try:
                return await do(session)
            except NotSent as cause:
                if not is_first:
                    raise
                is_first = False
                logger.info("Asking again over a new connection: %s", cause.problem)

    async def _usable(self, caller: Caller) -> McpSession:
        """The session, once there is one.

        Raises:
            SourceFailed: the attempt failed.
        """
        if self.state == "closed":
            raise self._closed()
        if self.usable is not None:
            await self.usable.health.settled()
        if self.usable is not None:
            return self.usable
        asked = anyio.current_time()
        began_before = self.state == "connecting" and self._backoff.tries > 0
        if caller.host is not None:
            self._waiting.append(caller.host)
        try:
            return await self._verdict.wait()
        except SourceFailed:
            if not began_before or anyio.current_time() - asked > _SOON_SECONDS:
                raise
        # The attempt may have begun before a person repaired its cause.
        return await self._verdict.wait()

    async def _usable_within(
        self, seconds: float | None, started: float, caller: Caller
    ) -> McpSession:
        """The session, if there is one within so long after `started`."""
        left = seconds and seconds - (monotonic() - started)
        try:
            with anyio.fail_after(left):
                return await self._usable(caller)
        except TimeoutError as cause:
            raise SourceFailed(
                self.name,
                f"it was not ready within {seconds:g} s.",
                "Give the call more time, or connect the server before calling.",
                self.status().stderr_tail,
            ) from cause

    async def _heal_until_stopped(self) -> None:
        while await self._has_its_turn():
            self._ready_at = None
            error = await self._attempt()
            self._start.end()
            self._backoff.count(self._ready_at)
            await self._pause(gives_up=isinstance(error, LastingFailure))

    async def _has_its_turn(self) -> bool:
        """Wait for the turn of a stdio start; False if the source was stopped."""
        self._start = self._new_start()
        if self._settings.transport == "stdio" and not self._stopping.is_set():
            await self._start.turn()
        return not self._stopping.is_set()

    def _new_start(self) -> Start:
        return Start(self._starts, lambda: self._verdict.wanted.is_set())

    async def _attempt(self) -> SourceError | None:
        """One session from start to end; the error that ended it. Waiters get that of a start."""
        left = self._settings.start_timeout_seconds
        started = anyio.current_time()
        way = TransportOption(self._settings, _eras.mode_for(self._settings))
        error, other = await self._serve_once(way, left)
        if other is not None:
            seconds = other.seconds(left - (anyio.current_time() - started))
            again, _ = await self._serve_once(other, seconds)
            if not (other.is_guess and isinstance(again, SourceFailed)):
                error = again
        if self._stopping.is_set() or error is None:
            return None
        self._error = error
        logger.info("%s", error)  # callers get the exception
        if isinstance(error, SourceFailed):
            self._observer.notice(SourceUnreachable(self.name, error.problem))
            self.state = "retrying"
            self._tell(error)
        return error

    async def _serve_once(
        self, way: TransportOption, seconds: float
    ) -> tuple[SourceError | None, TransportOption | None]:
        """One process or connection; the error that ended it, and another option to try."""
        connection = Connection(way.settings, StderrLog(self._mask), self._access, self._hosts)
        failures = Failures(connection, self._mask)
        session = McpSession(connection, way.mode, failures, self, self._host, self.updates)
        self._session, self._began_at = session, anyio.current_time()
        self.state = "connecting"
        try:
            await connection.start()
            if not sdk.is_loaded.is_set():
                await sdk.load(self._stopping)  # the process gets going meanwhile
            if self._stopping.is_set():
                return None, None
            await session.serve(seconds)
        except Exception as cause:  # noqa: BLE001 - whatever it was, this server alone is affected
            if not session.was_ready:
                _eras.forget(self._settings)
                await connection.last_words()
                error = failures.at_start(cause, session.phase)
                return error, way.other(cause, connection)
            logger.debug("%s: the session ended with %r", self.name, cause)
        finally:
            await connection.end()
        on_purpose = self._stopping.is_set()
        error = None if on_purpose else failures.of_loss()
        self._observer.notice(SourceLost(self.name, error.problem if error else CLOSED, on_purpose))
        return error, None

    def _hosts(self) -> list[Host]:
        """The hosts to ask while it connects; the longest waiting one is the last."""
        return [self._host, *reversed(self._waiting)]

    # The methods of `Listener`.

    def session_ready(self, session: McpSession) -> None:
        """Use the session."""
        self._ready_at = anyio.current_time()
        self._connect_seconds = self._ready_at - self._began_at
        self._settings = session.connection.settings  # the transport may have been found out
        self._era, self._server = session.era, session.server
        if not is_modern(self._era) and self._settings.mode == "auto":
            _eras.remember_older(self._settings)
        self._error = None
        self.state = "ready"
        self._start.end()
        self._tell(session)

    def session_over(self) -> None:
        """Use the session no more."""
        if self.state == "ready":
            self.state = "retrying"

    def session_listed(self, session: McpSession) -> None:
        """Report a listing."""
        if not session.was_ready:
            transport = session.connection.settings.transport
            connected = SourceConnected(self.name, transport, session.era, title=session.server)
            self._observer.notice(connected)
        self._observer.notice(InventoryChanged(self.name, session.listings.inventory))

    def session_unlisted(self, session: McpSession, problem: str) -> None:
        """Report a failed listing."""
        if session.was_ready:
            self._observer.notice(SourceUnreachable(self.name, problem))

    def _tell(self, outcome: McpSession | SourceError) -> None:
        verdict, self._verdict, self._waiting = self._verdict, Shared[McpSession](), []
        verdict.settle(outcome)

    def _closed(self) -> SourceFailed:
        return SourceFailed(self.name, CLOSED, "Run the workflow again.")

    async def _pause(self, *, gives_up: bool) -> None:
        """Wait before the next attempt, until somebody uses the source."""
        if self._stopping.is_set():
            return
        # Who listens for changes waits for it, without asking.
        is_tired = self._backoff.tries >= _MAX_TRIES_IN_A_ROW and not self.updates.are_wanted
        gave_up = gives_up or is_tired
        self.state = "failed" if gave_up else "retrying"
        await anyio.sleep(_SHORTEST_PAUSE_SECONDS)
        with anyio.move_on_after(None if gave_up else self._backoff.seconds):
            await self._verdict.wanted.wait()


@dataclass(frozen=True)
class TransportOption:
    """Transport and mode of an attempt. `is_guess`: the error of the attempt before says more."""

    settings: ServerSettings
    mode: ProtocolMode
    is_guess: bool = False

    def seconds(self, left: float) -> float:
        """The timeout of the attempt, of what is left for the start."""
        return max(min(left, _GUESS_SECONDS) if self.is_guess else left, 1.0)

    def other(self, cause: BaseException, connection: Connection) -> TransportOption | None:
        """The option to try after this error, if any."""
        if self.mode == "auto" and hung_up(cause, connection):
            return replace(self, mode="legacy")
        if self.settings.transport_is_guess and connection.has_no_endpoint:
            # As the protocol wants it (transports, backwards compatibility): a POST refused with
            # 400, 404 or 405 may mean the older HTTP+SSE.
            older = replace(self.settings, transport="sse", transport_is_guess=False)
            return replace(self, settings=older, is_guess=True)
        was_remembered = self.settings.mode == "auto" and self.mode == "legacy"
        if was_remembered and isinstance(getattr(root_cause(cause), "code", None), int):
            return replace(self, mode="auto")  # it answers otherwise than the last time
        return None


class _Eras:
    """Servers that speak only the older era, for all bridges of this process."""

    def __init__(self) -> None:
        self._older: set[tuple[object, ...]] = set()

    def mode_for(self, settings: ServerSettings) -> ProtocolMode:
        """The mode to begin with."""
        is_known = settings.mode == "auto" and _identity(settings) in self._older
        return "legacy" if is_known else settings.mode

    def remember_older(self, settings: ServerSettings) -> None:
        """Remember a server of the older era."""
        self._older.add(_identity(settings))

    def forget(self, settings: ServerSettings) -> None:
        """Forget a server, which may be a newer one now."""
        self._older.discard(_identity(settings))


def _identity(settings: ServerSettings) -> tuple[object, ...]:
    """The identity of a server; hashed, for a command line may have secrets."""
    reached = (settings.transport, settings.command, settings.args, settings.cwd, settings.url)
    return (settings.name, hash(reached))


_eras = _Eras()
