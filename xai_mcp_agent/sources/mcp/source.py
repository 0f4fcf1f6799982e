"""One configured MCP server as a source: started when asked for, kept, healed, closed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import anyio
import anyio.to_thread

from ...core.errors import SourceError, SourceFailed
from ...core.events import (
    Inventory,
    InventoryChanged,
    Observer,
    SourceConnected,
    SourceLost,
    SourceState,
    SourceStatus,
)
from ...core.resources import Prompt, PromptMessage, Resource
from ...core.results import ResourcePart, ToolResult
from ...core.tools import JsonObject
from ...settings.models import ServerSettings
from ..base import OnProgress
from .failures import Failures, hung_up
from .session import McpSession
from .stderr import StderrLog
from .transport import Connection

logger = logging.getLogger(__name__)

_FIRST_PAUSE_SECONDS = 0.5
_LONGEST_PAUSE_SECONDS = 30.0
# Even when somebody is waiting: a server that dies at once must not be started in a busy loop.
_SHORTEST_PAUSE_SECONDS = 0.1
# Then it is left alone until somebody asks for it.
_MAX_TRIES_IN_A_ROW = 6
# A connection that held this long is no part of a crash loop.
_STABLE_SECONDS = 30.0


class McpSource:
    """A `Source` over one MCP server. Made on the event loop that will run it."""

    kind = "mcp"

    def __init__(self, settings: ServerSettings, mask: Callable[[str], str] = str) -> None:
        self._settings = settings
        self._stderr = StderrLog(mask)
        self._failures = Failures(settings.name, mask)
        self._mode = settings.mode
        self._state: SourceState = "idle"
        self._error: SourceError | None = None
        self._session: McpSession | None = None
        self._connect_seconds: float | None = None
        self._era = self._server = ""
        self._older_era_may_help = False
        self._stopping = anyio.Event()
        self._wake = anyio.Event()
        # The next outcome of an attempt, ready or failed; replaced as soon as it is told.
        self._verdict = anyio.Event()

    @property
    def name(self) -> str:
        """The server's name in the settings."""
        return self._settings.name

    def status(self) -> SourceStatus:
        """How it is doing now."""
        inventory = self._session.inventory if self._session and self._state == "ready" else None
        return SourceStatus(
            name=self.name,
            kind=self.kind,
            state=self._state,
            transport=self._settings.transport,
            era=self._era,
            server=self._server,
            tool_count=len(inventory.tools) if inventory else None,
            connect_seconds=self._connect_seconds,
            error=self._error.problem if self._error else "",
            next_step=self._error.next_step if self._error else "",
            stderr_tail=self._stderr.tail(),
            notes=inventory.notes if inventory else (),
        )

    async def own(self, observer: Observer) -> None:
        """Connect, serve and heal until stopped. Run by exactly one task."""
        # In a thread: importing the SDK takes over a second, and other servers are being served.
        await anyio.to_thread.run_sync(_import_sdk)
        tries = 0
        while not self._stopping.is_set():
            started = anyio.current_time()
            await self._attempt(observer)
            held = anyio.current_time() - started > _STABLE_SECONDS
            tries = 1 if held else tries + 1
            if not self._stopping.is_set():
                await self._pause(tries)
        self._state = "closed"
        self._announce()

    def stop(self) -> None:
        """Ask the owner task to close and end."""
        self._stopping.set()
        self._wake.set()
        if self._session:
            self._session.close()

    async def ready(self) -> Inventory:
        """Wait for the verdict of the current or next attempt, and say what the server offers."""
        return await (await self._usable()).fresh_inventory()

    async def refresh(self) -> Inventory:
        """List anew."""
        return await (await self._usable()).refresh()

    async def call(
        self,
        tool: str,
        arguments: JsonObject,
        *,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
    ) -> ToolResult:
        """Call one tool; see `Source.call`."""
        limit = timeout_seconds or self._settings.call_timeout_seconds
        if self._state == "ready" and self._session:
            return await self._session.call(tool, arguments, limit, on_progress)
        started = anyio.current_time()
        with anyio.move_on_after(timeout_seconds) as patience:
            session = await self._usable()
        if patience.cancelled_caught:
            raise self._too_slow(limit)
        left = limit - (anyio.current_time() - started) if timeout_seconds else limit
        return await session.call(tool, arguments, max(left, 0.1), on_progress)

    async def list_resources(self) -> list[Resource]:
        """Every resource and template."""
        return await (await self._usable()).list_resources()

    async def read_resource(self, uri: str) -> list[ResourcePart]:
        """The contents of one resource."""
        return await (await self._usable()).read_resource(uri)

    async def list_prompts(self) -> list[Prompt]:
        """Every prompt."""
        return await (await self._usable()).list_prompts()

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> list[PromptMessage]:
        """One prompt, filled in."""
        return await (await self._usable()).get_prompt(name, arguments)

    async def _usable(self) -> McpSession:
        if self._state != "ready":
            self._wake.set()
            await self._verdict.wait()
        if self._state == "ready" and self._session:
            return self._session
        raise self._error or SourceFailed(self.name, "it was closed.", "Run the workflow again.")

    def _too_slow(self, seconds: float) -> SourceFailed:
        return SourceFailed(
            self.name,
            f"it was not ready within {seconds:g} s.",
            "Give the call more time, or connect the server before calling.",
            self._stderr.tail(),
        )

    async def _attempt(self, observer: Observer) -> None:
        """One session from start to end; a failed start is announced to those who wait."""
        session, error = await self._serve_once(observer)
        if error and not session.was_ready and self._older_era_may_help:
            self._mode = "legacy"
            session, error = await self._serve_once(observer)
        if error is None or self._stopping.is_set():
            return
        self._error = error
        logger.info("%s", error)  # whoever needs the server is told by an exception
        if not session.was_ready:
            self._state = "retrying"
            self._announce()

    async def _serve_once(self, observer: Observer) -> tuple[McpSession, SourceError | None]:
        self._state, self._wake = "connecting", anyio.Event()
        self._stderr.clear()
        link = Connection(self._settings, self._stderr)
        session = self._session = McpSession(link, self._mode, self._failures)
        sitting = _Sitting(self, session, observer)
        if self._stopping.is_set():
            return session, None
        try:
            await session.serve(sitting)
        except Exception as cause:  # noqa: BLE001 - whatever it was, this server alone is affected
            if not session.was_ready:
                self._older_era_may_help = self._mode == "auto" and hung_up(cause, link)
                return session, self._failures.at_start(cause, link, session.phase)
            logger.debug("%s: the session ended with %r", self.name, cause)
        error = None if self._stopping.is_set() else self._failures.of_loss(link)
        reason = error.problem if error else "closed"
        observer.notice(SourceLost(self.name, reason, on_purpose=error is None))
        return session, error

    def became_ready(self, session: McpSession, seconds: float) -> None:
        """Told by the session once it has listed its tools."""
        self._connect_seconds = seconds
        self._era, self._server = session.era, session.server
        if self._mode == "auto" and self._era < "2026":
            self._mode = "legacy"  # so that a reconnect does not probe again
        self._error = None
        self._state = "ready"
        self._announce()

    def became_unusable(self) -> None:
        """Told by the session as soon as it is over, before it has closed."""
        if self._state == "ready":
            self._state = "retrying"

    def _announce(self) -> None:
        told, self._verdict = self._verdict, anyio.Event()
        told.set()

    async def _pause(self, tries: int) -> None:
        """Wait before the next attempt; somebody who asks cuts it short."""
        seconds = min(_FIRST_PAUSE_SECONDS * 2 ** (tries - 1), _LONGEST_PAUSE_SECONDS)
        gave_up = tries >= _MAX_TRIES_IN_A_ROW
        self._state = "failed" if gave_up else "retrying"
        await anyio.sleep(_SHORTEST_PAUSE_SECONDS)
        with anyio.move_on_after(None if gave_up else seconds):
            await self._wake.wait()


class _Sitting:
    """What one session tells its source and the observer."""

    def __init__(self, source: McpSource, session: McpSession, observer: Observer) -> None:
        self._source = source
        self._session = session
        self._observer = observer
        self._started = anyio.current_time()

    def ready(self) -> None:
        self._source.became_ready(self._session, anyio.current_time() - self._started)

    def over(self) -> None:
        self._source.became_unusable()

    def listed(self, inventory: Inventory) -> None:
        name = inventory.source
        if not self._session.was_ready:
            transport = self._session.link.settings.transport
            self._observer.notice(SourceConnected(name, transport, self._session.era))
        self._observer.notice(InventoryChanged(name, inventory))


def _import_sdk() -> None:
    import mcp  # noqa: F401  # pyright: ignore[reportUnusedImport]
