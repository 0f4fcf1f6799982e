"""Composes the parts of one bridge and serves them; `operations` has the user's operations."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ..catalog.catalog import Catalog
from ..catalog.definitions import Definitions
from ..core.calls import Caller, DefinitionLock, Host, ToolInvocation, remaining_seconds
from ..core.errors import (
    ToolTimeout,
    UnknownServer,
    UnknownTool,
)
from ..core.events import Observer, SourceEvent
from ..core.names import nearest
from ..core.results import ToolResult
from ..core.tools import MCP, SourceKind, Tool, find_kind
from ..history.recording.recorder import HistoryRecorder
from ..planning.live import LivePlanner
from ..policy.approval_trust import ApprovalTrust
from ..policy.approvals import Approvals
from ..policy.breaker import CircuitBreakers
from ..policy.decisions import Decisions
from ..policy.lockfile import LockFile
from ..policy.rules import RuleGate
from ..search.embeddings import Embed, Embedder
from ..search.live import ToolSearch
from ..search.usage import UsageMemory
from ..search.vectors import StoredVectors
from ..secrets.masking import mask_logs, mask_result
from ..settings.entry import SourceSettings
from ..settings.models import Settings
from ..sources.base import Source, ready_within
from ..sources.digest import digest_of_source
from ..sources.mcp.auth.token_store import Access
from ..sources.mcp.subscriptions import UpdateListeners
from ..sources.pool import SourcePool, StartQueue
from ..sources.registry import make_source
from ..sources.warm import WarmRoute
from .pipeline import CallPipeline
from .sessions import Sessions
from .store import calls_of_today, stored_rules
from .streams import Feed

if TYPE_CHECKING:
    from ..policy.suspicion import Mark

logger = logging.getLogger(__name__)

_NO_TOOL = "{} has no tool {!r} now."
# Limit at the end, for events that are not yet in the history.
_WRITE_SECONDS = 3.0
_SETTLE_SECONDS = 2.0  # writing usually takes milliseconds


class Engine:
    """The parts of one bridge. Made and used on its event loop only.

    `host` answers questions of servers for callers without a host; `access` signs in to servers;
    `recorder` writes the history; `embed` makes the vectors of a search by meaning, instead of the
    settings' model. `lock` is the file of people's decisions, which otherwise stay in memory;
    `warn` gets what a person should know. `route` leads to servers that another process keeps.
    """

    def __init__(
        self,
        settings: Settings,
        host: Host,
        access: Access | None,
        recorder: HistoryRecorder,
        embed: Embed | None = None,
        lock: Path | None = None,
        warn: Callable[[str], None] = logger.warning,
        route: WarmRoute | None = None,
    ) -> None:
        self.settings = settings
        self.route = route
        self.recorder = recorder
        self.lock = lock
        self._host = host
        self.access = access
        self.signing_in: dict[str, Access] = {}  # by server, during a sign-in
        self.sign_in_locks = defaultdict[str, anyio.Lock](anyio.Lock)  # by server
        self.catalog = Catalog(recorder)
        kind_of = partial(_kind_of, settings)
        self.decisions = Decisions(
            LockFile(lock), recorder, self.catalog, kind_of, warn, ApprovalTrust(settings)
        )
        observers = _Observers(recorder, self.catalog, self.decisions)
        self.pool = SourcePool(self._make_source, observers)
        self.sessions = Sessions(self.pool, settings, self._source_of)
        self._starts = StartQueue()
        self.digests: dict[str, str] = {}  # of the sources' listings, when they were made
        self.definitions = Definitions()
        self._embed = embed
        self.search = ToolSearch(self.catalog, self._meaning)
        # Separate: words of prompts and resources must not weigh in a search for tools.
        self.wide_search = ToolSearch(self.catalog, self._meaning)
        learns = settings.search.learns and not recorder.place.is_off
        self.usage = UsageMemory(recorder, learns=learns)
        self.breakers = CircuitBreakers(settings.sources, recorder.mask)
        self.marks: tuple[int, list[Mark]] = -1, []  # of the catalog's version
        self.approvals = Approvals(settings, host, self.decisions, self.catalog, recorder)
        read_stored = stored_rules(settings, recorder)
        self.rules = RuleGate(
            settings.rules, recorder.mask, read_stored=read_stored,
            calls_of_today=calls_of_today(recorder, self.catalog.get),
        )  # fmt: skip
        self.calls = CallPipeline(
            self.decisions, recorder, self.breakers, self.current, self.lock_of,
            policy=(self.rules.judge, self.approvals.step, self.rules.count),
        )  # fmt: skip
        self.planner = LivePlanner()
        # By server: listeners stay when it is closed and used again.
        self.updates = defaultdict[str, UpdateListeners](UpdateListeners)
        self._late: Future[None] | None = None  # a flush that took too long
        self.feeds = set[Feed[str]]()  # of subscriptions

    async def serve(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        """Call `ready`, keep the sources until `stop` is set, then close them all."""
        try:
            with mask_logs(self.recorder.mask):
                async with anyio.create_task_group() as tasks:
                    await tasks.start(self.sessions.serve, stop)
                    await self.pool.serve(ready, stop)
        finally:
            for feed in self.feeds:
                feed.end()
            self.search.close()
            self.wide_search.close()
            self.planner.close()
            # The loop has no other work left, and Python may refuse new threads by now.
            self.recorder.close(_WRITE_SECONDS)

    async def flush(self) -> None:
        """Wait until the history is written, so that a crash loses nothing that was shown.

        The wait is short, and skipped while an earlier flush is late: a slow store does not make a
        person wait. The writer reports trouble with the store.
        """
        is_late = self._late is not None and not self._late.done()
        if is_late or not self.recorder.place.is_lasting:
            return
        writing = self.recorder.flush()
        waiter = asyncio.wrap_future(writing)
        waiter.add_done_callback(_retrieve_error)
        # The timeout ends the wait, not the write: the next flush sees that it is late.
        await asyncio.wait([waiter], timeout=_SETTLE_SECONDS)
        if not writing.done():
            self._late = writing

    async def perform(self, invocation: ToolInvocation) -> ToolResult:
        """Let the source make an allowed call; secrets are masked in its result."""
        source = invocation.tool.key.source
        try:
            if invocation.caller.far is None:
                result = await self.pool.start(source).call(invocation)
            else:
                result = await self.sessions.call(invocation)
        except ToolTimeout as late:
            if invocation.timeout_seconds is None:
                raise
            raise late.of_call() from late
        entry = self.settings.sources.get(source)
        if entry is None or not entry.secrets.texts:
            return result
        return await mask_result(result, entry.secrets.redact)

    async def find_tool(
        self, server: str, name: str, timeout_seconds: float | None, caller: Caller
    ) -> Tool:
        """Return the current tool: connect first if needed, list again if it may be new.

        Raises:
            UnknownTool: the server does not offer it; the message names the nearest.
        """
        source = self.pool.start(server)
        find = partial(self._find, source, name, timeout_seconds, caller)
        return await self.breakers.guard(server, find, timeout_seconds, is_call=False)

    async def current(self, invocation: ToolInvocation, lock: DefinitionLock) -> ToolInvocation:
        """Return the call with the tool as listed now; a locked one is looked up again.

        Raises:
            UnknownTool: it no longer exists.
        """
        tool, limit = invocation.tool, invocation.timeout_seconds
        source, name = tool.key.source, tool.key.name
        is_ready = self.pool.start(source).state == "ready"
        current = self.catalog.tool(source, name) if is_ready else None
        if current is None or lock:
            started = anyio.current_time()
            try:
                current = await self.find_tool(source, name, limit, invocation.caller)
            except UnknownTool:
                if not lock:
                    raise
                # Without the names of other tools, which may not be accepted.
                raise UnknownTool(_NO_TOOL.format(source, name)) from None
            limit = remaining_seconds(limit, anyio.current_time() - started)
        if current is tool and limit == invocation.timeout_seconds:
            return invocation
        return replace(invocation, tool=current, timeout_seconds=limit)

    def lock_of(self, source: str, caller: Caller) -> DefinitionLock:
        """Return whether the settings or the caller lock the source to its accepted definitions."""
        if not source:
            return False  # drawn, or our own
        entry = self.settings.sources.get(source)
        own: DefinitionLock = False if entry is None else entry.lock
        return True if True in (caller.locks, own) else caller.locks or own

    async def close_source(self, name: str) -> None:
        """Close one source; the next use opens it again, also if its circuit breaker was open.

        A person asks for it, or has changed its settings.
        """
        await self.pool.stop(name)
        self.breakers.reset(name)  # afterwards: closing it fails the calls under way

    def record_static(self, tools: Iterable[Tool]) -> None:
        """Record that these tools exist from the start."""
        kind_of = attrgetter("key.kind")
        for kind, group in groupby(sorted(tools, key=kind_of), key=kind_of):
            self.recorder.record_seeded(find_kind(kind), group)

    async def _find(
        self, source: Source, tool: str, timeout_seconds: float | None, caller: Caller
    ) -> Tool:
        with ready_within(source, timeout_seconds):
            await source.ready(caller)
            if self.catalog.tool(source.name, tool) is None:
                await source.refresh(caller)
            return self.catalog.require(source.name, tool)

    def _meaning(self) -> tuple[Embedder, StoredVectors | None] | None:
        """Return the model for a search by meaning, if any. In a thread: it may load the model.

        Raises:
            NoEmbeddings: the model of the settings cannot be used.
        """
        if self._embed is not None:
            return Embedder(self._embed, "", "the function passed as `embed`"), None
        embeddings = self.settings.search.embeddings
        if embeddings is None:
            return None
        # Imported here, because few settings name one.
        from ..agent.models.embeddings import embedder_of

        embedder = embedder_of(embeddings)
        return embedder, StoredVectors(self.recorder, embedder.model)

    def _make_source(self, name: str) -> Source:
        settings = self.settings.source(name)
        if settings.disabled:
            raise UnknownServer(
                f"{settings.kind.noun.capitalize()} {name!r} is disabled in {self.settings.file}. "
                'Remove `"disabled": true` there to use it.',
                name,
                nearest(name, self.settings.sources),
            )
        self.digests[name] = digest_of_source(settings)
        return self._source_of(settings, self.updates[name])

    def _source_of(self, settings: SourceSettings, updates: UpdateListeners) -> Source:
        access = self.signing_in.get(settings.name, self.access)
        return make_source(
            self.route(settings) if self.route else settings,
            self.recorder.mask, self._host, updates, access, self._starts, self.settings.sources,
        )  # fmt: skip


class _Observers:
    """Passes events on to several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def notice(self, event: SourceEvent) -> None:
        for observer in self._observers:
            observer.notice(event)


def _retrieve_error(future: asyncio.Future[None]) -> None:
    """Keep asyncio from logging an error that was never retrieved."""
    if not future.cancelled():
        future.exception()


def _kind_of(settings: Settings, source: str) -> SourceKind:
    return settings.kind_of(source) or MCP
