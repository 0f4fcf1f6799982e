"""What the bridge does, as coroutines on its own event loop: the sources and the catalog joined."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

import anyio

from ..catalog.catalog import Catalog
from ..catalog.keeping.memory import Memory
from ..core.errors import (
    InvalidArguments,
    SettingsError,
    SourceFailed,
    UnknownServer,
    UnknownTool,
    XaiMcpError,
)
from ..core.events import Observer, SourceEvent, SourceStatus
from ..core.kinds import STATIC
from ..core.names import nearest
from ..core.resources import Completion, Prompt, PromptMessage, Resource
from ..core.results import OnProgress, ResourcePart, ToolResult
from ..core.schemas import ArgumentChecks, signature, without_idle_nulls
from ..core.templates import fill_template
from ..core.tools import JsonObject, Tool, ToolKey
from ..settings.models import Settings
from ..sources.base import Completed, OnUpdate, ResourceSource, Source, unchecked
from ..sources.host import Host
from ..sources.mcp.auth.store import Access
from ..sources.mcp.offers.updates import Updates
from ..sources.mcp.source import McpSource
from ..sources.pool import SourcePool
from .deciding.choices import Choices
from .remembered import remembered
from .settling import Settling

# At the end, for what is not yet in the history.
_WRITE_SECONDS = 3.0
# What is left of a call's limit after connecting; at least enough to ask at all.
_SHORTEST_CALL_SECONDS = 0.1


class Engine:
    """Made and used on the bridge's event loop only.

    `host` answers what servers ask where whoever makes the call does not; `access` is how we get
    access where servers want authorization; `memory` is told of all that happens.
    """

    def __init__(
        self, settings: Settings, host: Host, access: Access | None, memory: Memory
    ) -> None:
        self.settings = settings
        self.memory = memory
        self.settling = Settling(memory)
        self._host = host
        self.access = access
        self.signing_in: dict[str, Access] = {}  # while somebody does, by server
        self.one_sign_in = defaultdict[str, anyio.Lock](anyio.Lock)  # at a time, by server
        self.catalog = Catalog()
        self.choices = Choices(memory, self.catalog, settings.secrets.mask)
        self.pool = SourcePool(self._make_source, _Observers(self.catalog, memory, self.choices))
        self._checks = ArgumentChecks()
        # By server: who listens for changes goes on doing so when it was closed and is used again.
        self._updates: dict[str, Updates] = {}

    async def serve(self, ready: Callable[[], None], stop: anyio.Event) -> None:
        """Say `ready`, keep the sources until `stop` is set, then close them all."""
        try:
            await self.pool.serve(ready, stop)
        finally:
            # Nobody else is on the loop any more, and Python may refuse new threads by now.
            self.memory.close(_WRITE_SECONDS)

    async def servers(self) -> list[SourceStatus]:
        """How every server in the settings is doing, the disabled and the broken included."""
        live = self.pool.statuses()
        configured = {
            name: live.get(name)
            or SourceStatus(
                name=name,
                kind="mcp",
                state="disabled" if server.disabled else "idle",
                transport=server.transport,
            )
            for name, server in self.settings.servers.items()
        }
        broken = {
            name: SourceStatus(
                name=name,
                kind="mcp",
                state="disabled",
                error=f"{problem.file}, at {problem.key_path}: {problem.problem}",
                next_step=problem.fix,
            )
            for name, problem in self.settings.problems.items()
        }
        known = self.settings.servers.values()
        signed_in = await self.access.store.where_signed_in(known) if self.access else {}
        found = [replace(x, signed_in=signed_in.get(x.name, "")) for x in configured.values()]
        return [*found, *broken.values()]

    async def start(self, names: Iterable[str]) -> dict[str, XaiMcpError]:
        """Begin to connect these, without waiting; those that cannot be, with the reason."""
        refused: dict[str, XaiMcpError] = {}
        for name in names:
            try:
                self.pool.start(name)
            except (UnknownServer, SettingsError) as reason:
                # Without the frames it came through, which hold this dict, and that the run.
                refused[name] = reason.with_traceback(None)
        return refused

    async def connect(self, names: Iterable[str]) -> dict[str, XaiMcpError]:
        """Wait for all of these at once, each to its own limit; the failed ones with the reason."""
        wanted = list(names)
        refused = await self.start(wanted)
        verdicts = await self.pool.ready(x for x in wanted if x not in refused)
        return refused | {name: error for name, error in verdicts.items() if error}

    async def list_tools(self, server: str) -> list[Tool]:
        """The server's tools, connecting it first if needed."""
        inventory = await self.pool.start(server).ready()
        return list(inventory.tools)

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
        shown_name: str = "",
        pinned_as: Tool | None = None,
    ) -> ToolResult:
        """Check the arguments against the tool's schema, then call it; see `Source.call`.

        `shown_name` is what the caller calls the tool, if it is not `tool`. `pinned_as` is the tool
        as an agent knows it that wants its tools pinned.

        Raises:
            UnknownTool: the server does not offer it.
            DefinitionChanged: it is pinned, and not what was accepted; nothing was sent.
            InvalidArguments: they do not fit; nothing was sent.
        """
        source, arguments = self.pool.start(server), arguments or {}
        listed = self.catalog.get(ToolKey(server, tool)) if source.state == "ready" else None
        is_pinned = pinned_as is not None or self.is_pinned(server)
        if listed is None or is_pinned:  # of a pinned one no older listing will do
            started = anyio.current_time()
            listed = await self._listed(source, tool, timeout_seconds)
            if timeout_seconds is not None:
                left = timeout_seconds - (anyio.current_time() - started)
                timeout_seconds = max(left, _SHORTEST_CALL_SECONDS)
        if is_pinned:
            await self.choices.hold(listed, pinned_as)
        arguments = self.fitting_arguments(listed, arguments, shown_name)
        if meta and (problems := _not_json(meta)):
            raise InvalidArguments("meta", problems, "values that JSON can hold")
        with remembered(self.memory, listed.key, arguments) as call:
            call.result = result = await source.call(
                tool, arguments, timeout_seconds=timeout_seconds, on_progress=on_progress,
                meta=meta, check=partial(self.choices.check, listed) if is_pinned else unchecked,
            )  # fmt: skip
        return result

    def is_pinned(self, server: str) -> bool:
        """Whether the settings want the server's tools held to what was accepted."""
        entry = self.settings.servers.get(server)
        return entry is not None and entry.pin

    def fitting_arguments(
        self, tool: Tool, arguments: JsonObject, shown_name: str = ""
    ) -> JsonObject:
        """The arguments as they are sent: as given, or without nulls that mean "not given".

        Raises:
            InvalidArguments: they do not fit; this saves a round trip to the server.
        """
        problems = _not_json(arguments) or self._problems(tool, arguments)
        if problems and None in arguments.values():
            given = without_idle_nulls(arguments, tool.input_schema)
            if not self._problems(tool, given):
                return given
        if problems:
            name = shown_name or tool.name
            raise InvalidArguments(name, problems, signature(tool.input_schema))
        return arguments

    async def seed(self, drawn: Iterable[Tool]) -> None:
        """Write down that these tools are drawn on the canvas."""
        self.memory.seeded(STATIC, drawn)

    async def tool(self, server: str, name: str) -> Tool:
        """One tool of one server, connecting it first if needed.

        Raises:
            UnknownTool: the server does not offer it; the message names the nearest it does.
        """
        return await self._listed(self.pool.start(server), name, None)

    async def refresh(self, server: str) -> list[Tool]:
        """List the server's tools anew."""
        inventory = await self.pool.start(server).refresh()
        return list(inventory.tools)

    async def disconnect(self, server: str) -> None:
        """Close one server; the next use connects it again. Nothing happens if it is not open.

        Raises:
            UnknownServer: a name the settings do not have.
        """
        if server not in self.pool.running():
            self.settings.server(server)
        await self.pool.stop(server)

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
        """How an argument of a prompt or a template may go on; see `ResourceSource.complete`."""
        return await self._resources(server).complete(kind, of, argument, value, given or {})

    async def subscribe(self, server: str, whats: Iterable[str], tell: OnUpdate) -> None:
        """Tell this listener when these resources or lists change."""
        for what in whats:
            await self._resources(server).subscribe(what, tell)

    async def unsubscribe(self, server: str, whats: Iterable[str], tell: OnUpdate) -> None:
        """Do not tell it any more. Connects nothing."""
        source = self.pool.running().get(server)
        for what in whats:
            if isinstance(source, ResourceSource):
                await source.unsubscribe(what, tell)
            else:
                self._updates[server].remove(what, tell)

    async def instructions(self, server: str) -> str:
        """How the server says it wants to be used; empty where it says nothing."""
        return (await self.pool.start(server).ready()).instructions

    async def ping(self, server: str) -> float:
        """How many seconds the server needs to answer anything at all."""
        return await self._resources(server).ping()

    async def _listed(self, source: Source, tool: str, timeout_seconds: float | None) -> Tool:
        """The tool as it is now: connected first if needed, listed again if it may be new."""
        try:
            with anyio.fail_after(timeout_seconds):
                await source.ready()
                key = ToolKey(source.name, tool)
                if self.catalog.get(key) is None:
                    await source.refresh()
                return self.catalog.require(key)
        except TimeoutError as cause:
            raise SourceFailed(
                source.name,
                f"it was not ready within {timeout_seconds:g} s.",
                "Give the call more time, or connect the server before calling.",
                source.status().stderr_tail,
            ) from cause

    def _problems(self, tool: Tool, arguments: JsonObject) -> list[str]:
        return self._checks.problems(tool.key, tool.input_schema, arguments)

    def _resources(self, server: str) -> ResourceSource:
        source = self.pool.start(server)
        if not isinstance(source, ResourceSource):
            raise UnknownTool(f"{server} is a source without resources and prompts.")
        return source

    def _make_source(self, name: str) -> Source:
        server = self.settings.server(name)
        if server.disabled:
            raise UnknownServer(
                f"Server {name!r} is disabled in {self.settings.file}. "
                'Remove `"disabled": true` there to use it.',
                name,
                nearest(name, self.settings.servers),
            )
        updates = self._updates.setdefault(name, Updates())
        access = self.signing_in.get(name, self.access)
        return McpSource(server, self.settings.secrets.mask, self._host, updates, access)


class _Observers:
    """Tells several observers, in their order."""

    def __init__(self, *observers: Observer) -> None:
        self._observers = observers

    def notice(self, event: SourceEvent) -> None:
        for observer in self._observers:
            observer.notice(event)


def _not_json(arguments: JsonObject) -> list[str]:
    """Why they cannot be sent at all. The checks look only at what a schema mentions."""
    try:
        json.dumps(arguments, ensure_ascii=False, allow_nan=False).encode()
    except (TypeError, ValueError, RecursionError) as cause:
        return [f"not JSON: {cause}"]
    return []
