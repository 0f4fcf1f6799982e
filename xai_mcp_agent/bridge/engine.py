"""What the bridge does, as coroutines on its own event loop: the sources and the catalog joined."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import anyio

from ..catalog.catalog import Catalog
from ..catalog.definitions import Definitions
from ..catalog.groups import ToolChoice, ToolFilter, ToolGroup
from ..core.approval import ApprovalAnswer
from ..core.errors import (
    SettingsError,
    SourceFailed,
    ToolTimeout,
    UnknownServer,
    UnknownTool,
    XaiMcpError,
)
from ..core.events import Observer, SourceEvent, SourceStatus
from ..core.host import Host
from ..core.invocation import PROGRAM, Caller, Pin, ToolInvocation
from ..core.kinds import MCP, SourceKind, kind_named
from ..core.limits import checked_limit, left_of
from ..core.names import nearest
from ..core.resources import Completion, Prompt, PromptMessage, Resource
from ..core.results import OnProgress, ResourcePart, ToolResult
from ..core.steps import CANVAS_SOURCE
from ..core.templates import fill_template
from ..core.tools import JsonObject, Tool, ToolKey
from ..history.recording.recorder import HistoryRecorder
from ..history.recording.vector_cache import StoredVectors
from ..planning.live import LivePlanners
from ..policy.approval_trust import ApprovalTrust
from ..policy.approvals import Approvals
from ..policy.breaker import CircuitBreakers
from ..policy.decisions import Decisions
from ..policy.lockfile import LockFile
from ..policy.rules.gate import RuleGate
from ..search.embeddings import Embed, Embedder, VectorCache
from ..search.live import ToolSearch
from ..search.usage import UsageMemory
from ..secrets.logs import masked_logs
from ..secrets.results import masked_result
from ..settings.entry import SourceSettings
from ..settings.models import Settings
from ..sources.base import Completed, OnUpdate, Source, SourceFeatures
from ..sources.mcp.auth.token_store import Access
from ..sources.mcp.server_features.subscriptions import UpdateListeners
from ..sources.pool import SourcePool
from ..sources.registry import SourceContext, make_source
from ..sources.starts import StartQueue
from .calls import CallPipeline
from .flows import FlowFinder
from .flush import HistoryFlush
from .marks import KeptMarks
from .own_tools import OwnTools, settings_with, without_own
from .ruled import KeptRulings
from .run_memory import RunMemory
from .stored_rules import stored_rules

if TYPE_CHECKING:
    from ..policy.suspicion import Mark

logger = logging.getLogger(__name__)

_GONE = "{} has no tool {!r} now."
# At the end, for what is not yet in the history.
_WRITE_SECONDS = 3.0


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
        self.caller = PROGRAM
        self.own: OwnTools | None = None  # tools that the caller brings along
        self.settings = settings
        self.recorder = recorder
        self.flush = HistoryFlush(recorder)
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
        self._marks = KeptMarks()
        self.flow_finder = FlowFinder()
        self.calls = CallPipeline(
            self.decisions, recorder, self.breakers, self._current, self.pin_of
        )
        self.approvals = Approvals(
            settings, host, self.decisions, self.catalog.digest, self.catalog.get, recorder.mask,
            self._note_answer,
        )  # fmt: skip
        stored = stored_rules(settings, recorder)
        self.rules = RuleGate(settings.rules, recorder.mask, stored=stored)
        self.rulings = KeptRulings(self.rules)
        self.planners = LivePlanners()
        self.calls.policy += [self.rules.judge, self.approvals.step, self.rules.count]
        # By server: who listens for changes goes on doing so when it was closed and is used again.
        self._updates: dict[str, UpdateListeners] = {}
        self.at_end: dict[int, Callable[[], None]] = {}  # told that nothing more will happen

    def for_caller(self, caller: Caller) -> Engine:
        """The same engine, for what this caller does."""
        engine = copy(self)
        engine.caller = caller
        return engine

    def with_own(self, own: OwnTools) -> Engine:
        """The same engine, for a caller that brings tools along; a source `canvas` goes before."""
        engine = copy(self)
        if CANVAS_SOURCE not in self.settings.names:
            engine.own, engine.settings = own, settings_with(self.settings)
        return engine

    async def serve(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        """Say `ready`, keep the sources until `stop` is set, then close them all."""
        try:
            with masked_logs(self.recorder.mask):
                await self.pool.serve(ready, stop)
        finally:
            for tell in tuple(self.at_end.values()):
                tell()
            self.search.close()
            self.planners.close()
            # Nobody else is on the loop any more, and Python may refuse new threads by now.
            self.recorder.close(_WRITE_SECONDS)

    async def servers(self) -> list[SourceStatus]:
        """How every source in the settings is doing, the disabled and the broken included."""
        live = self.pool.statuses()
        configured = {
            name: live.get(name)
            or SourceStatus(
                name=name,
                kind=source.kind.name,
                state="disabled" if source.disabled else "idle",
                transport=source.transport,
            )
            for name, source in self.settings.sources.items()
        }
        broken = [
            SourceStatus(
                name=name,
                kind=self.settings.problem_kinds.get(name, MCP).name,
                state="disabled",
                error=f"{problem.file}, at {problem.key_path}: {problem.problem}",
                next_step=problem.fix,
            )
            for name, problem in self.settings.problems.items()
        ]
        known = self.settings.servers.values()
        signed_in = await self.access.store.where_signed_in(known) if self.access else {}
        found = [
            replace(x, signed_in=signed_in.get(x.name, ""), breaker=self.breakers.state(x.name))
            for x in configured.values()
        ]
        return [*found, *broken]

    async def add_source(self, source: SourceSettings, kept: Collection[str] = ()) -> str:
        """Take in a source that no settings file has, and say under which name; see `Settings.add`.

        It is started when it is asked for, as those of the file are. One that it takes the place of
        is closed, unless it is the same.
        """
        before = dict(self.settings.sources)
        name = self.settings.add(source, kept)
        if name in before and before[name] != self.settings.sources[name]:
            self.breakers.reset(name)
            await self.pool.stop(name)
        return name

    def choice(
        self, names: Iterable[str], filters: Mapping[str, ToolFilter] | None = None
    ) -> ToolChoice:
        """The tools of these sources and groups, as far as the filters of each take them.

        Groups have nothing of sources that a run brought along: those are for the toolbelt that
        they were added to.

        Raises:
            SettingsError: something is wrong in a group that is named.
        """
        given = list(dict.fromkeys(names))
        found = {name: self.settings.group(name) for name in given}
        of_file = self.settings.of_file.items()
        kinds = {name: x.kind.name for name, x in of_file if not x.disabled}
        groups = [ToolGroup(x, kinds) for x in found.values() if x is not None]
        sources = tuple(name for name, group in found.items() if group is None)
        return ToolChoice(sources, tuple(groups), filters or {})

    async def start(self, names: Iterable[str], *, is_anew: bool = False) -> dict[str, XaiMcpError]:
        """Begin to connect these, without waiting; those that cannot be, with the reason.

        `is_anew`: they may be called again, however often they failed.
        """
        refused: dict[str, XaiMcpError] = {}
        for name in names:
            if is_anew:
                self.breakers.reset(name)
            try:
                self.pool.start(name)
            except (UnknownServer, SettingsError) as reason:
                # Without the frames it came through, which hold this dict, and that the run.
                refused[name] = reason.with_traceback(None)
        return refused

    async def connect(self, names: Iterable[str]) -> dict[str, XaiMcpError]:
        """Wait for all of these at once, each to its own limit; the failed ones with the reason."""
        wanted = list(names) if self.own is None else without_own(names)
        refused = await self.start(wanted)
        verdicts = await self.pool.ready((x for x in wanted if x not in refused), self.caller)
        await self.take_first(name for name, error in verdicts.items() if error is None)
        return refused | {name: error for name, error in verdicts.items() if error}

    async def list_tools(self, server: str) -> list[Tool]:
        """The server's tools, connecting it first if needed."""
        inventory = await self.pool.start(server).ready(self.caller)
        await self.take_first([server])
        return list(inventory.tools)

    async def take_first(self, names: Iterable[str]) -> None:
        """Accept what these listed first, where that is what their pins say."""
        for name in names:
            if self.pin_of(name, self.caller) == "first":
                await self.decisions.take_first(name)

    async def find_server(self, tool: str, servers: Iterable[str]) -> str | None:
        """The first of these servers that offers a tool of that name; failed ones offer nothing."""
        names = list(servers)
        await self.connect(name for name in names if not self.catalog.tools(name))
        key = self.catalog.find(tool, names)
        return key.source if key else None

    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: JsonObject | None = None,
        *,
        timeout_seconds: float | None = None,
        on_progress: OnProgress | None = None,
        meta: JsonObject | None = None,
    ) -> ToolResult:
        """Call a tool by its name; see `CallPipeline`.

        Raises:
            UnknownTool: the server does not offer it.
            BadSetting: the limit is none.
        """
        timeout_seconds = checked_limit(timeout_seconds)
        arguments = {} if arguments is None else arguments
        source, started = self.pool.start(server), anyio.current_time()
        listed = self.catalog.named(server, tool) if source.state == "ready" else None
        if listed is None:
            listed = await self._listed(source, tool, timeout_seconds, self.caller)
            timeout_seconds = left_of(timeout_seconds, anyio.current_time() - started)
        call = ToolInvocation(
            listed, arguments, self.caller, "", timeout_seconds, on_progress, meta
        )
        return await self.call(call)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Make a call of a source's tool, or of the caller's own; see `CallPipeline`."""
        own = None if invocation.tool.source else self.own
        return await self.calls.run(invocation, self.perform if own is None else own.perform)

    async def perform(self, invocation: ToolInvocation) -> ToolResult:
        """Have its source make a call that may be made; see `Source.call`.

        Its result is without the secrets of the settings, whatever kind of source it is.
        """
        source = invocation.tool.source
        try:
            result = await self.pool.start(source).call(invocation)
        except ToolTimeout as late:
            if invocation.timeout_seconds is None:
                raise
            raise late.of_call() from late
        entry = self.settings.sources.get(source)
        return result if entry is None else await masked_result(result, entry.secrets.redact)

    def pin_of(self, source: str, caller: Caller) -> Pin:
        """Whether the settings, or the caller, want the source held to what was accepted of it."""
        if not source:
            return False  # drawn, or our own
        entry = self.settings.sources.get(source)
        own: Pin = False if entry is None else entry.pin
        return True if True in (caller.pins, own) else caller.pins or own

    async def _current(self, invocation: ToolInvocation) -> ToolInvocation:
        """With the tool as its source lists it now; of a pinned one no older listing will do."""
        tool = invocation.tool
        if not tool.source:
            return invocation
        source, limit = self.pool.start(tool.source), invocation.timeout_seconds
        listed = self.catalog.named(tool.source, tool.name) if source.state == "ready" else None
        is_pinned = bool(self.pin_of(tool.source, invocation.caller))
        if listed is None or is_pinned:
            started = anyio.current_time()
            try:
                listed = await self._listed(source, tool.name, limit, invocation.caller)
            except UnknownTool:
                if not is_pinned:
                    raise
                # Without the names of other tools, which nobody may have accepted.
                raise UnknownTool(_GONE.format(tool.source, tool.name)) from None
            limit = left_of(limit, anyio.current_time() - started)
        if listed is tool and limit == invocation.timeout_seconds:
            return invocation
        return replace(invocation, tool=listed, timeout_seconds=limit)

    def _note_answer(
        self, key: ToolKey, digest: str, answer: ApprovalAnswer, of: ToolInvocation
    ) -> None:
        self.recorder.answered(key, answer, digest, of.caller.name, of.call_id)

    def record_static(self, tools: Iterable[Tool]) -> None:
        """Write down that these tools are there from the start."""
        for kind, found in groupby(sorted(tools, key=_kind), key=_kind):
            self.recorder.seeded(kind_named(kind), found)

    async def tool(self, server: str, name: str) -> Tool:
        """One tool of one server, connecting it first if needed.

        Raises:
            UnknownTool: the server does not offer it; the message names the nearest it does.
        """
        if self.own is not None and server == CANVAS_SOURCE:
            return self.own.tool(name)
        return await self._listed(self.pool.start(server), name, None, self.caller)

    async def refresh(self, server: str) -> list[Tool]:
        """List the server's tools anew. It may be called again, however often it has failed."""
        self.breakers.reset(server)
        inventory = await self.pool.start(server).refresh(self.caller)
        return list(inventory.tools)

    async def disconnect(self, server: str) -> None:
        """Close one server; the next use connects it again, and calls it. It need not be open.

        Raises:
            UnknownServer: a name the settings do not have.
        """
        if server not in self.pool.running():
            self.settings.source(server)
        self.breakers.reset(server)
        await self.pool.stop(server)

    async def reset_breaker(self, server: str) -> bool:
        """Have a source called again that failed too often; whether its calls were refused.

        Raises:
            UnknownServer, SettingsError: a name that cannot be used.
        """
        self.settings.source(server)
        return self.breakers.reset(server)

    async def list_resources(self, server: str) -> list[Resource]:
        """Every resource and resource template of the server."""
        return await self._resources(server).list_resources()

    async def read_resource(
        self, server: str, uri: str, values: Mapping[str, Any] | None = None
    ) -> list[ResourcePart]:
        """The contents of one resource; with `values`, of what they make of a template."""
        if values is not None:
            uri = fill_template(uri, values)
        return await self._resources(server).read_resource(uri)

    async def list_prompts(self, server: str) -> list[Prompt]:
        """Every prompt of the server."""
        return await self._resources(server).list_prompts()

    async def get_prompt(
        self, server: str, name: str, arguments: Mapping[str, str] | None = None
    ) -> list[PromptMessage]:
        """One prompt of the server, filled in."""
        return await self._resources(server).get_prompt(name, arguments or {})

    async def complete(
        self,
        server: str,
        kind: Completed,
        of: str,
        argument: str,
        value: str,
        given: Mapping[str, str] | None = None,
    ) -> Completion:
        """How an argument of a prompt or a template may go on; see `SourceFeatures.complete`."""
        return await self._resources(server).complete(kind, of, argument, value, given or {})

    async def subscribe(self, server: str, whats: Iterable[str], tell: OnUpdate) -> None:
        """Tell this listener when these resources or lists change."""
        for what in whats:
            await self._resources(server).subscribe(what, tell)

    async def unsubscribe(self, server: str, whats: Iterable[str], tell: OnUpdate) -> None:
        """Do not tell it any more. Connects nothing."""
        source = self.pool.running().get(server)
        features = None if source is None else source.features(self.caller)
        for what in whats:
            if features is not None:
                await features.unsubscribe(what, tell)
            else:
                self._updates[server].remove(what, tell)

    async def instructions(self, server: str) -> str:
        """How the server says it wants to be used; empty where it says nothing."""
        return (await self.pool.start(server).ready(self.caller)).instructions

    async def marks(self, sources: Sequence[str]) -> list[Mark]:
        """What these sources say that a person should read; connects nothing."""
        return await self._marks.of(self.catalog.inventories(), sources)

    async def ping(self, server: str) -> float:
        """How many seconds the server needs to answer anything at all."""
        return await self._resources(server).ping()

    async def _listed(
        self, source: Source, tool: str, timeout_seconds: float | None, caller: Caller
    ) -> Tool:
        """The tool as it is now: connected first if needed, listed again if it may be new."""
        find = partial(self._find, source, tool, timeout_seconds, caller)
        return await self.breakers.guard(source.name, find, timeout_seconds, is_call=False)

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

    def _resources(self, server: str) -> SourceFeatures:
        features = self.pool.start(server).features(self.caller)
        if features is None:
            raise UnknownTool(f"{server} is a source without resources and prompts.")
        return features

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
        updates = self._updates.setdefault(name, UpdateListeners())
        access = self.signing_in.get(name, self.access)
        context = SourceContext(self.recorder.mask, self._host, updates, access, self._starts)
        return make_source(settings, context)


class _Observers:
    """Tells several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def notice(self, event: SourceEvent) -> None:
        for observer in self._observers:
            observer.notice(event)


def _kind_of(settings: Settings, source: str) -> SourceKind:
    return settings.kind_of(source) or MCP


def _kind(tool: Tool) -> str:
    return tool.key.kind
