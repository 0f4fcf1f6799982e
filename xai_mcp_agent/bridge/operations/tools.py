"""Servers and their tools: connect, list, call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

import anyio
import anyio.to_thread

from ...catalog.entry import CatalogEntry
from ...core.calls import ToolInvocation, check_limit, remaining_seconds
from ...core.errors import UnknownTool, XaiMcpError
from ...core.events import SourceStatus
from ...core.json import JsonObject
from ...core.names import did_you_mean
from ...core.results import OnProgress, ToolResult
from ...core.tools import MCP, Tool, ToolKey
from ...settings.entry import SourceSettings
from ..context import OperationContext

if TYPE_CHECKING:
    from ...catalog.groups import ToolChoice
    from ...policy.suspicion import Mark

_MOST_NAMES = 5

Progress: TypeAlias = Callable[[float, float | None, str], None]
"""`done`, `total` and a message. Called on the bridge's own thread: it should return at once."""


class ToolOperations(OperationContext):
    """Servers, and the tools that they offer."""

    async def servers(self) -> list[SourceStatus]:
        """Return the status of every configured server; disabled ones say why. Connects nothing."""
        engine, settings = self.engine, self.engine.settings
        live = engine.pool.statuses()
        configured = [
            live.get(name)
            or SourceStatus(
                name=name,
                kind=source.kind.name,
                state="disabled" if source.disabled else "idle",
                transport=source.transport,
            )
            for name, source in settings.sources.items()
        ]
        broken = [
            SourceStatus(
                name=name,
                kind=settings.problem_kinds.get(name, MCP).name,
                state="disabled",
                error=f"{problem.file}, at {problem.key_path}: {problem.problem}",
                next_step=problem.fix,
            )
            for name, problem in settings.problems.items()
        ]
        servers, access = settings.servers.values(), engine.access
        signed_in = await access.store.where_signed_in(servers) if access else {}
        statuses = [
            replace(
                x,
                signed_in=signed_in.get(x.name, ""),
                breaker=engine.breakers.state(x.name),
                sessions=(x.name in live) + engine.sessions.count(x.name),
            )
            for x in configured
        ]
        return [*statuses, *broken]

    async def connect(self, *names: str, wait: bool = False) -> None:
        """Start these servers in the background, or all usable ones if none is named.

        With `wait`, return when each is ready or has failed within its own limit; `servers()` then
        says which. Calling a tool connects what it needs by itself.

        Raises:
            UnknownServer, SettingsError: a name cannot be used; the others are started.
        """
        names = names or self.settings.usable
        _raise_first(self.start_sources(names, is_anew=True))
        if wait:
            await self.wait_for(*names)

    async def start(self, *names: str) -> dict[str, XaiMcpError]:
        """Start to connect these servers, without waiting; return the errors of unusable names.

        Unlike `connect`, it leaves open circuit breakers open.
        """
        return self.start_sources(names)

    async def disconnect(self, server: str) -> None:
        """Close one server; the next use connects it again.

        Raises:
            UnknownServer, SettingsError: a name cannot be used.
        """
        if server not in self.engine.pool.running():
            self.settings.source(server)
        await self.engine.close_source(server)

    async def reset_breaker(self, server: str) -> bool:
        """Allow calls of a server that failed too often; return whether they were refused.

        `connect`, `refresh` and `disconnect` do so too.

        Raises:
            UnknownServer, SettingsError: a name cannot be used.
        """
        self.settings.source(server)
        return self.engine.breakers.reset(server)

    async def add_source(self, source: SourceSettings, in_use: Collection[str] = ()) -> str:
        """Add a source that no settings file has; return its name.

        It is started on first use, like those of the file. It replaces one of its name, which is
        closed unless it is the same; sources `in_use` are not replaced.
        """
        settings = self.engine.settings
        before = dict(settings.sources)
        name = settings.add(source, in_use)
        if name not in before:
            self.engine.breakers.reset(name)  # an earlier run may have had another source
        elif before[name] != settings.sources[name]:
            await self.engine.close_source(name)
        return name

    async def instructions(self, server: str) -> str:
        """Return the server's instructions, or "".

        Raises:
            UnknownServer, SettingsError, SourceFailed: it cannot be used; the message says why.
        """
        return (await self.engine.pool.start(server).ready(self.caller)).instructions

    async def marks(self, *servers: str) -> list[Mark]:
        """Return suspicious texts of these servers, or all listed ones, for a person to read.

        They are orders to a model, hidden characters, names of other servers' tools. A mark blocks
        nothing. Connects nothing.
        """
        # Imported here: it compiles dozens of patterns, and most programs never ask.
        from ...policy.suspicion import marks_of

        version, marks = self.engine.marks
        if version != self.catalog.version:
            version = self.catalog.version
            # In a thread: thousands of tools take a second.
            marks = await anyio.to_thread.run_sync(marks_of, self.catalog.inventories())
            self.engine.marks = version, marks
        return [x for x in marks if not servers or x.source in servers]

    async def list_entries(
        self, choice: ToolChoice | None
    ) -> tuple[dict[ToolKey, CatalogEntry], dict[str, str]]:
        """Return the entries of a choice, or of all tools; and why sources failed to connect."""
        tools, failed = await self.tools_by_source(choice)
        return await self.entries(tools), failed

    async def entries(self, tools: Mapping[str, Sequence[Tool]]) -> dict[ToolKey, CatalogEntry]:
        """Return the tools of some sources with the decisions about each."""
        await self.engine.decisions.read()
        for source_tools in tools.values():
            await self.catalog.digest_all(source_tools)
        return {x.key: self.entry(x) for source_tools in tools.values() for x in source_tools}

    async def tools_by_source(
        self, choice: ToolChoice | None
    ) -> tuple[dict[str, Sequence[Tool]], dict[str, str]]:
        """Return the tools of a choice, or of all, by source; and why sources failed to connect."""
        names = list(self.settings.usable if choice is None else choice.all_sources)
        problems = self.settings.problems if choice is None else {}
        failed = {name: str(reason) for name, reason in problems.items()}
        failed |= {name: str(why) for name, why in (await self.wait_for(*names)).items()}
        tools: dict[str, Sequence[Tool]] = {}
        for name in (x for x in names if x not in failed):
            try:
                listed = await self.tools_of(name)
            except XaiMcpError as reason:
                failed[name] = str(reason)
                continue
            tools[name] = listed if choice is None else choice.select(listed)
        return tools, failed

    async def find_server(self, tool: str, servers: Iterable[str]) -> str | None:
        """Return the first of these servers that offers a tool of that name, or None.

        Servers that cannot be used offer nothing, and are not an error here.
        """
        names = list(servers)
        await self.wait_for(*(name for name in names if not self.catalog.tools(name)))
        return next((name for name in names if self.catalog.tool(name, tool)), None)

    async def call_tool(
        self,
        server: str,
        tool: str,
        arguments: JsonObject | None = None,
        *,
        timeout_seconds: float | None = None,
        on_progress: Progress | None = None,
        meta: JsonObject | None = None,
    ) -> ToolResult:
        """Call a tool and wait for its result. `timeout_seconds` covers connecting too.

        `on_progress(done, total, message)` is called on the bridge's own thread: it should return
        at once. `meta` goes along for programs at the far side. A result with `is_error` is
        returned, not raised.

        Raises:
            UnknownServer, SettingsError, UnknownTool, InvalidArguments: nothing was sent.
            BadSetting: the limit is invalid; nothing was sent.
            NotAccepted, DefinitionChanged: the tool is locked and differs from what was accepted;
                nothing was sent.
            AcceptanceUnknown: it is locked, and the accepted definition cannot be read; nothing was
                sent.
            SourceFailed, SourceClosed, ToolTimeout, ServerError: the far side failed.
        """
        engine, limit = self.engine, timeout_seconds
        if limit is not None:
            limit = check_limit(limit)
        arguments = {} if arguments is None else arguments
        listed = self.catalog.tool(server, tool)  # the pipeline checks that it still exists
        if listed is None:
            started = anyio.current_time()
            listed = await engine.find_tool(server, tool, limit, self.caller)
            limit = remaining_seconds(limit, anyio.current_time() - started)
        progress = None if on_progress is None else _as_async(on_progress)
        invocation = ToolInvocation(listed, arguments, self.caller, "", limit, progress, meta)
        return await engine.calls.run(invocation, engine.perform)

    async def execute_tool(
        self,
        tool: str | ToolKey | Tool,
        arguments: JsonObject | None = None,
        *,
        timeout_seconds: float | None = None,
        on_progress: Progress | None = None,
        meta: JsonObject | None = None,
    ) -> ToolResult:
        """Call a tool by a key, `server/tool`, or a name that only one server has.

        Raises:
            UnknownTool: there is no tool of that name, or several. Also raises as `call_tool`.
        """
        server, name = await self.server_and_name(tool)
        return await self.call_tool(
            server, name, arguments,
            timeout_seconds=timeout_seconds, on_progress=on_progress, meta=meta,
        )  # fmt: skip

    async def server_and_name(self, tool: str | ToolKey | Tool) -> tuple[str, str]:
        """Return server and name of a tool as `execute_tool` takes it; raises as that does."""
        if not isinstance(tool, str):
            key = tool.key if isinstance(tool, Tool) else tool
            return key.source, key.name
        for server, name in _splits_of(tool):
            if server in self.settings.sources or server in self.settings.problems:
                return server, name
        entries, _ = await self.list_entries(None)
        return ToolNames(entries).key(tool).source, tool


class ToolNames:
    """Tools by the names that people write."""

    def __init__(self, tools: Iterable[ToolKey]) -> None:
        self._by_names = {(x.source, x.name): x for x in tools}

    def named(self, source: str, tool: str) -> ToolKey | None:
        """Return the tool of a source."""
        return self._by_names.get((source, tool))

    def key(self, name: str) -> ToolKey:
        """Return the tool of this name, with or without its server.

        Raises:
            UnknownTool: there is none, or there are several.
        """
        for source, tool in _splits_of(name):
            if key := self.named(source, tool):
                return key
        keys = [x for x in self._by_names.values() if x.name == name]
        if len(keys) == 1:
            return keys[0]
        if keys:
            names = " or ".join(f"'{x.source}/{x.name}'" for x in keys[:_MOST_NAMES])
            raise UnknownTool(f"Several servers have a tool {name!r}. Write one of {names}.")
        raise UnknownTool(self.why_not(name))

    def why_not(self, name: str) -> str:
        """Return the error for a name that no tool has."""
        names = (f"{source}/{tool}" for source, tool in self._by_names)
        return f"No tool {name!r} can be used. {did_you_mean(name, names)}".rstrip()


def _splits_of(name: str) -> Iterator[tuple[str, str]]:
    """Yield splits of a name into server and tool, longest server first: both may have slashes."""
    parts = name.split("/")
    for count in range(len(parts) - 1, 0, -1):
        yield "/".join(parts[:count]), "/".join(parts[count:])


def _raise_first(errors: Mapping[str, XaiMcpError]) -> None:
    """Raise the first error, if there is one."""
    first = next(iter(errors.values()), None)
    try:
        if first is not None:
            raise first
    finally:
        del first, errors  # as in `Portal.call`: an error must not hold itself


def _as_async(on_progress: Progress) -> OnProgress:
    async def progress(done: float, total: float | None, message: str) -> None:
        on_progress(done, total, message)

    return progress
