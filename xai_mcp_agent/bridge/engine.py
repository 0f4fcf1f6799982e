"""Puts the parts of one bridge together and serves them. What a user can do: `operations`."""

from __future__ import annotations

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import anyio

from ..catalog.catalog import Catalog
from ..catalog.definitions import Definitions
from ..core.approval import ApprovalAnswer
from ..core.calls import Caller, DefinitionLock, Host, ToolInvocation, left_of
from ..core.errors import (
    SourceFailed,
    ToolTimeout,
    UnknownServer,
    UnknownTool,
)
from ..core.events import Observer, SourceEvent
from ..core.names import nearest
from ..core.results import ToolResult
from ..core.tools import MCP, SourceKind, Tool, ToolKey, kind_named
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.vector_cache import StoredVectors
from ..planning.live import LivePlanners
from ..policy.approval_trust import ApprovalTrust
from ..policy.approvals import Approvals
from ..policy.breaker import CircuitBreakers
from ..policy.decisions import Decisions
from ..policy.lockfile import LockFile
from ..policy.rules import RuleGate
from ..search.embeddings import Embed, Embedder, VectorCache
from ..search.live import ToolSearch
from ..search.usage import UsageMemory
from ..secrets.masking import masked_logs, masked_result
from ..settings.models import Settings
from ..sources.base import Source
from ..sources.mcp.auth.token_store import Access
from ..sources.mcp.subscriptions import UpdateListeners
from ..sources.pool import SourcePool
from ..sources.registry import SourceContext, make_source
from ..sources.starts import StartQueue
from .flows import FlowFinder
from .pipeline import CallPipeline
from .rules import Rulings, stored_rules
from .run_memory import RunMemory
from .streams import Feed

if TYPE_CHECKING:
    from ..policy.suspicion import Mark

logger = logging.getLogger(__name__)

_GONE = "{} has no tool {!r} now."
# At the end, for what is not yet in the history.
_WRITE_SECONDS = 3.0
_SETTLE_SECONDS = 2.0  # writing takes milliseconds


class Engine:
    """Made and used on the bridge's event loop only.

    `host` answers what servers ask where whoever makes the call does not; `access` is how we get
    access where servers want authorization; `recorder` is told of all that happens; `embed` makes
    the vectors to search by meaning, in place of what the settings name. `lock` is the file of what
    people decided, without which that is kept in memory; `warn` is given what a person should know.
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
    ) -> None:
        self.settings = settings
        self.recorder = recorder
        self._host = host
        self.access = access
        self.signing_in: dict[str, Access] = {}  # while somebody does, by server
        self.one_sign_in = defaultdict[str, anyio.Lock](anyio.Lock)  # at a time, by server
        self.catalog = Catalog(recorder)
        kind_of = partial(_kind_of, settings)
        self.decisions = Decisions(
            LockFile(lock), recorder, self.catalog, kind_of, warn, ApprovalTrust(settings)
        )
        observers = _Observers(recorder, self.catalog, self.decisions)
        self.pool = SourcePool(self._make_source, observers)
        self._starts = StartQueue()
        self.definitions = Definitions()
        self._embed = embed
        self.search = ToolSearch(self.catalog, self._meaning)
        self.usage = UsageMemory(recorder, learns=settings.search.learns)
        self.learned = RunMemory(recorder, settings)
        self.breakers = CircuitBreakers(settings.sources, recorder.mask)
        self.marks: tuple[int, list[Mark]] = -1, []  # of the catalog's version
        self.flow_finder = FlowFinder()
        self.calls = CallPipeline(
            self.decisions, recorder, self.breakers, self.current, self.lock_of
        )
        self.approvals = Approvals(
            settings, host, self.decisions, self.catalog.digest, self.catalog.get, recorder.mask,
            self._note_answer,
        )  # fmt: skip
        read_stored = stored_rules(settings, recorder)
        self.rules = RuleGate(settings.rules, recorder.mask, read_stored=read_stored)
        self.rulings = Rulings(self.rules)
        self.planners = LivePlanners()
        self.calls.policy += [self.rules.judge, self.approvals.step, self.rules.count]
        # By server: who listens for changes goes on doing so when it was closed and is used again.
        self.updates = defaultdict[str, UpdateListeners](UpdateListeners)
        self._late: Future[None] | None = None  # a flush that took too long
        self.feeds = set[Feed[str]]()  # of subscriptions

    async def serve(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        """Say `ready`, keep the sources until `stop` is set, then close them all."""
        try:
            with masked_logs(self.recorder.mask):
                await self.pool.serve(ready, stop)
        finally:
            for feed in self.feeds:
                feed.end()
            self.search.close()
            self.planners.close()
            # Nobody else is on the loop any more, and Python may refuse new threads by now.
            self.recorder.close(_WRITE_SECONDS)

    async def flush(self) -> None:
        """Wait until the history has written what it was told: so a crash loses nothing shown.

        A moment at most, and not at all for a store that was too slow just now: that is no reason
        to let a person wait. Trouble with the store is told by whoever writes there.
        """
        is_late = self._late is not None and not self._late.done()
        if is_late or not self.recorder.place.is_lasting:
            return
        asked = self.recorder.settled()
        written = asyncio.wrap_future(asked)
        written.add_done_callback(_ignore_trouble)
        # It ends the waiting, not what is waited for: the next one sees that it is late.
        await asyncio.wait([written], timeout=_SETTLE_SECONDS)
        if not asked.done():
            self._late = asked

    async def perform(self, invocation: ToolInvocation) -> ToolResult:
        """Have its source make a call that may be made; see `Source.call`.

        Its result is without the secrets of the settings, whatever kind of source it is.
        """
        source = invocation.tool.key.source
        try:
            result = await self.pool.start(source).call(invocation)
        except ToolTimeout as late:
            if invocation.timeout_seconds is None:
                raise
            raise late.of_call() from late
        entry = self.settings.sources.get(source)
        if entry is None or not entry.secrets.texts:
            return result
        return await masked_result(result, entry.secrets.redact)

    async def find_tool(
        self, server: str, name: str, timeout_seconds: float | None, caller: Caller
    ) -> Tool:
        """The tool as it is now: connected first if needed, listed again if it may be new.

        Raises:
            UnknownTool: the server does not offer it; the message names the nearest it does.
        """
        source = self.pool.start(server)
        find = partial(self._find, source, name, timeout_seconds, caller)
        return await self.breakers.guard(server, find, timeout_seconds, is_call=False)

    async def current(self, invocation: ToolInvocation) -> ToolInvocation:
        """With the tool as its source lists it now; of a locked one no older listing will do."""
        tool, limit = invocation.tool, invocation.timeout_seconds
        source, name = tool.key.source, tool.key.name
        if not source:
            return invocation
        listed = self.listed(source, name)
        is_locked = bool(self.lock_of(source, invocation.caller))
        if listed is None or is_locked:
            started = anyio.current_time()
            try:
                listed = await self.find_tool(source, name, limit, invocation.caller)
            except UnknownTool:
                if not is_locked:
                    raise
                # Without the names of other tools, which nobody may have accepted.
                raise UnknownTool(_GONE.format(source, name)) from None
            limit = left_of(limit, anyio.current_time() - started)
        if listed is tool and limit == invocation.timeout_seconds:
            return invocation
        return replace(invocation, tool=listed, timeout_seconds=limit)

    def listed(self, server: str, name: str) -> Tool | None:
        """One tool of a server that is ready, as it listed it last; the server is started."""
        is_ready = self.pool.start(server).state == "ready"
        return self.catalog.named(server, name) if is_ready else None

    def lock_of(self, source: str, caller: Caller) -> DefinitionLock:
        """Whether the settings, or the caller, want the source held to what was accepted of it."""
        if not source:
            return False  # drawn, or our own
        entry = self.settings.sources.get(source)
        own: DefinitionLock = False if entry is None else entry.lock
        return True if True in (caller.locks, own) else caller.locks or own

    def _note_answer(
        self, key: ToolKey, digest: str, answer: ApprovalAnswer, of: ToolInvocation
    ) -> None:
        self.recorder.answered(key, answer, digest, of.caller.name, of.call_id)

    def record_static(self, tools: Iterable[Tool]) -> None:
        """Write down that these tools are there from the start."""
        for kind, found in groupby(sorted(tools, key=_kind), key=_kind):
            self.recorder.seeded(kind_named(kind), found)

    async def _find(
        self, source: Source, tool: str, timeout_seconds: float | None, caller: Caller
    ) -> Tool:
        try:
            with anyio.fail_after(timeout_seconds):
                await source.ready(caller)
                if self.catalog.named(source.name, tool) is None:
                    await source.refresh(caller)
                return self.catalog.require(source.name, tool)
        except TimeoutError as cause:
            raise SourceFailed(
                source.name,
                f"it was not ready within {timeout_seconds:g} s.",
                "Give the call more time, or connect the server before calling.",
                source.status().stderr_tail,
            ) from cause

    def _meaning(self) -> tuple[Embedder, VectorCache | None] | None:
        """What is there to search by meaning. In a thread: it may load a model.

        Raises:
            BadModelFolder: the model of the settings cannot be used.
        """
        if self._embed is not None:
            return Embedder(self._embed, "", "the function given as `embed`"), None
        wanted = self.settings.search.embeddings
        if wanted is None:
            return None
        # Here, because few name one.
        from ..agent.models.embeddings import embedder_of

        embedder = embedder_of(wanted)
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
        access = self.signing_in.get(name, self.access)
        context = SourceContext(
            self.recorder.mask, self._host, self.updates[name], access, self._starts,
            self.settings.sources,
        )  # fmt: skip
        return make_source(settings, context)


class _Observers:
    """Tells several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def notice(self, event: SourceEvent) -> None:
        for observer in self._observers:
            observer.notice(event)


def _ignore_trouble(written: asyncio.Future[None]) -> None:
    """Have asyncio know that nobody is interested in what went wrong."""
    if not written.cancelled():
        written.exception()


def _kind_of(settings: Settings, source: str) -> SourceKind:
    return settings.kind_of(source) or MCP


def _kind(tool: Tool) -> str:
    return tool.key.kind
