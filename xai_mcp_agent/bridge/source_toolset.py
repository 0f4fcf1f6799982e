"""Tools of an agent's sources: connects them as its run begins, then reads the catalog."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from math import inf

import anyio
import anyio.to_thread

from ..agent.toolsets import Toolset
from ..catalog.groups import ToolChoice
from ..core.calls import ToolInvocation
from ..core.errors import SourceFailed, XaiMcpError
from ..core.names import join_names, may_be_of
from ..core.results import ToolResult
from ..core.tools import Tool
from .context import OperationContext

# A server that hung gets this long at the next run, instead of its whole limit again. One that
# failed at once may work by now, and is awaited as before.
_SECOND_CHANCE_SECONDS = 1.0
_SLOW_SECONDS = 2.0
_MOST_NAMES = 5
_LATE = "it is not ready yet; its tools come as soon as it is."
_OWN_TOOLS = "drawn and built-in tools"
_UNDECIDED = (
    "{}: left out, because the list of tools that a person has switched off cannot be read. {}"
)


@dataclass(frozen=True, slots=True)
class SourceFailure:
    """Why a source could not be used when an agent waited for it.

    `is_late`: the agent did not wait to the end.
    """

    reason: XaiMcpError
    was_slow: bool
    is_late: bool = False


class SourceToolset(Toolset):
    """Tools of an agent's sources, as far as its toolbelt has them. Used on the bridge's loop.

    `failures` are those of sources in earlier runs of the same workflow; they are kept up to date
    for the next run.
    """

    def __init__(
        self, context: OperationContext, choice: ToolChoice, failures: dict[str, SourceFailure]
    ) -> None:
        self._context = context
        self._engine = context.engine
        self._choice = choice
        self._sources = choice.all_sources
        self._failures = failures
        self._listings: list[tuple[Tool, ...]] = []
        self._tools: Sequence[Tool] = ()
        self._omitted: Sequence[Tool] = ()

    async def connect(
        self,
        show_waiting: Callable[[tuple[str, ...]], None],
        wait_seconds: float = inf,
        required: Collection[str] = (),
    ) -> tuple[str, ...]:
        """Wait for all sources at once, each up to its own limit; return a line for each failure.

        The rules and a person's decisions are read meanwhile, as a run begins.

        Once one can be used, and the `required` ones are ready or have failed, it waits no longer
        than `wait_seconds` for the others. Late ones, and those that were slow to fail in an
        earlier run, join when they are ready; a required one always gets its whole limit.
        `show_waiting` gets the names of the missing ones, whenever there are fewer.
        """
        missing = list(self._sources)

        async def wait_for(name: str) -> None:
            await self._connect(name, is_required=name in required)
            missing.remove(name)
            show_waiting(tuple(missing))
            is_usable = any(x not in missing and x not in self._failures for x in self._sources)
            if is_usable and not any(x in required for x in missing):
                enough.deadline = min(enough.deadline, anyio.current_time() + wait_seconds)

        show_waiting(tuple(missing))
        async with anyio.create_task_group() as reading:
            reading.start_soon(self._engine.rules.renew)
            reading.start_soon(self._engine.decisions.read)
            with anyio.CancelScope() as enough:
                async with anyio.create_task_group() as connecting:
                    for name in self._sources:
                        connecting.start_soon(wait_for, name)
        show_waiting(())
        for name in missing:
            self._failures[name] = SourceFailure(SourceFailed(name, _LATE), True, is_late=True)
        return self._describe_missing()

    async def tools(self) -> Sequence[Tool]:
        """Return the current tools. Sources with an expired cache are listed again first."""
        engine = self._engine
        running = engine.pool.running()
        ready = [x for x in self._sources if x in running and running[x].state == "ready"]
        await engine.pool.ready(ready, self._context.caller)
        await engine.decisions.read()
        await self._context.accept_first(ready)
        listings = [engine.catalog.tools(name) for name in self._sources]
        if list(map(id, listings)) != list(map(id, self._listings)):
            self._listings = listings
            await self._choose([x for tools in listings for x in tools])
        return self._tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Let the tool's source make the call."""
        return await self._engine.perform(invocation)

    def instructions(self) -> Mapping[str, str]:
        """Return the instructions of the sources that have a tool in it."""
        names: Collection[str] = self._sources
        if not self._choice.is_everything:
            names = dict.fromkeys(x.source for x in self._tools)
        texts = {x: self._engine.catalog.instructions(x) for x in self._sources if x in names}
        return {name: text for name, text in texts.items() if text}

    def source_names(self) -> Sequence[str]:
        """Return the sources of the agent."""
        return self._sources

    def why_none(self, source: str) -> str:
        """Return why the source has no tools for the agent, or ""."""
        if why := self._engine.decisions.why_unknown():
            return _UNDECIDED.format(source, why)
        failure = self._failure_of(source)
        return str(failure.reason) if failure else ""

    def why_not(self, name: str) -> str:
        """Return why a name is not a tool: left out, its source failed, or not this agent's."""
        if any(name in (x.name, f"{x.source}_{x.name}") for x in self._omitted):
            return f"The tool {name!r} is not among the tools of this agent. Use another one."
        names = dict.fromkeys((*self._sources, *self._context.settings.sources))
        # The longest first: `git_hub_search` is not a tool of `git`, if there is a `git_hub`.
        for source in sorted(names, key=len, reverse=True):
            if source in self._sources and may_be_of(name, source):
                failure = self._failure_of(source)
                return f"The tool {name!r} cannot be used now. {failure.reason}" if failure else ""
            if source not in self._sources and self._offers(source, name):
                return (
                    f"The tool {name!r} belongs to the server {source!r}, which is not enabled "
                    "for this agent. Use another tool."
                )
        return ""

    async def _connect(self, name: str, *, is_required: bool) -> None:
        before, started = self._failures.get(name), anyio.current_time()
        is_second = before is not None and before.was_slow and not is_required
        with anyio.move_on_after(_SECOND_CHANCE_SECONDS if is_second else None):
            reason = (await self._context.wait_for(name)).get(name)
            was_slow = anyio.current_time() - started > _SLOW_SECONDS
            self._failures.pop(name, None)
            if reason is not None:
                # Without its frames, which would live as long as the workflow.
                self._failures[name] = SourceFailure(reason.with_traceback(None), was_slow)

    async def _choose(self, tools: Sequence[Tool]) -> None:
        selected: Sequence[Tool] = tools
        if not self._choice.is_everything:  # in a thread: there may be thousands
            split = anyio.to_thread.run_sync(_split, self._choice, tools)
            selected, self._omitted = await split
        if selected != self._tools:  # otherwise the same object, which callers compare
            self._tools = selected

    def _describe_missing(self) -> tuple[str, ...]:
        """Return a line for each source that cannot be used, and one for all that may be soon."""
        failures = {x: self._failures[x] for x in self._sources if x in self._failures}
        for name in [x for x, failure in failures.items() if failure.is_late]:
            status = self._engine.pool.statuses().get(name)
            if status is not None and status.error:  # it has failed since
                reason = SourceFailed(name, status.error, status.next_step, status.stderr_tail)
                self._failures[name] = failures[name] = SourceFailure(reason, was_slow=True)
        lines = dict.fromkeys(str(x.reason) for x in failures.values() if not x.is_late)
        if why := self._engine.decisions.why_unknown():
            lines = {_UNDECIDED.format(", ".join((_OWN_TOOLS, *self._sources)), why): None}
        late_names = [x for x, failure in failures.items() if failure.is_late]
        if late_names:
            names = join_names(late_names, _MOST_NAMES)
            lines[f"not ready yet, used as soon as they are: {names}"] = None
        return tuple(lines)

    def _failure_of(self, source: str) -> SourceFailure | None:
        """Return why the source could not be used, if it still has no tools."""
        return None if self._engine.catalog.tools(source) else self._failures.get(source)

    def _offers(self, source: str, shown_name: str) -> bool:
        own_name = shown_name.removeprefix(f"{source}_")
        catalog = self._engine.catalog
        if any(catalog.tool(source, x) is not None for x in (own_name, shown_name)):
            return True
        return may_be_of(shown_name, source) and not catalog.tools(source)


def _split(choice: ToolChoice, tools: Sequence[Tool]) -> tuple[list[Tool], list[Tool]]:
    """Split tools into those that a toolbelt has, and the others."""
    parts: tuple[list[Tool], list[Tool]] = [], []
    for tool in tools:
        parts[not choice.has(tool)].append(tool)
    return parts
