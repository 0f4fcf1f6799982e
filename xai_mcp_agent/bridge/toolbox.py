"""One agent's tools during one run: its memory, those drawn on the canvas, those of servers."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

import anyio
import anyio.to_thread

from ..agent.calls import Answer
from ..agent.memory import MEMORY_TOOLS, Memory, answer_memory_call
from ..agent.results import READ_RESULT
from ..catalog.toolbelt import Offer, OfferedTool, Toolbelt
from ..core.errors import DefinitionChanged, ToolDisabled, XaiMcpError
from ..core.kinds import META, STATIC
from ..core.names import did_you_mean
from ..core.results import OnProgress, ToolResult
from ..core.tools import JsonObject, Tool
from ..sources.canvas import CANVAS, DrawnTool
from .engine import Engine
from .remembered import remembered
from .seeding import seed_agent

logger = logging.getLogger(__name__)

RunDrawn = Callable[[DrawnTool, JsonObject], Awaitable[ToolResult]]
"""Runs a drawn tool in the thread of its workflow."""

Tell = Callable[[str], None]
"""Tells something to the person in front of the run."""

# A server that took longer than the first to fail gets only the second at each later run: one that
# hangs does not cost its whole limit again. One that failed at once may have been mended since, and
# is waited for as at first.
_SLOW_SECONDS, _SECOND_CHANCE_SECONDS = 2.0, 1.0
_SWITCHED_OFF = "The tool {!r} cannot be used: a person has switched it off. Do without it."
_CHANGED = (
    "The tool {!r} was not called: the server {!r} has changed its definition, and a person has to "
    "accept that first. Go on without it, or say that you need it."
)


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a server could not be used when an agent waited for it, and whether that took long."""

    reason: XaiMcpError
    was_slow: bool


class AgentToolbox:
    """The loop's `Toolbox` over an engine. Used on the bridge's loop.

    `failed_before` has the servers that failed when they were waited for earlier in the same
    workflow, and why; it is kept up to date for the next run. With `pin_tools` the tools of all its
    servers are pinned, else those whose server is pinned in the settings. `tell` is given what the
    person in front of the run must know.
    """

    def __init__(
        self,
        engine: Engine,
        drawn: Mapping[str, DrawnTool],
        servers: tuple[str, ...],
        run_drawn: RunDrawn,
        failed_before: dict[str, Failure],
        memory: Memory | None = None,
        *,
        pin_tools: bool = False,
        tell: Callable[[str], None] = logger.warning,
    ) -> None:
        self._engine = engine
        self._drawn = drawn
        self._servers = servers
        self._run_drawn = run_drawn
        self._failed = failed_before
        self._memory = memory
        self._pin_tools = pin_tools
        self._tell = tell
        self._told: set[str] = set()
        remembering = MEMORY_TOOLS if memory is not None else ()
        taken = {x.key for x in remembering}
        own = [tool for x in drawn.values() if (tool := x.tool()).key not in taken]
        seed_agent(engine.memory, own, remembers=memory is not None)
        self._toolbelt = Toolbelt((*remembering, *own), servers)
        self._shown: tuple[OfferedTool, ...] = ()

    async def wait_until_usable(
        self, tell: Callable[[tuple[str, ...]], None]
    ) -> dict[str, XaiMcpError]:
        """Wait for all servers at once, each to its own limit; the failed ones with the reason.

        One that took long to fail before gets a moment only, and joins when it is ready. `tell` is
        given the names of those still missing, at first and whenever there are fewer.
        """
        waiting = list(self._servers)

        async def connect(name: str) -> None:
            await self._connect(name)
            waiting.remove(name)
            tell(tuple(waiting))

        tell(tuple(waiting))
        async with anyio.create_task_group() as connecting:
            connecting.start_soon(self._engine.choices.read, (CANVAS, *self._servers))
            for name in self._servers:
                connecting.start_soon(connect, name)
        return self._left_out()

    async def offer(self) -> Offer:
        """The tools that exist now. Listings whose time is over are made anew first.

        Whatever is new in it is in the store before anybody is shown it.
        """
        running = self._engine.pool.running()
        known = [name for name in self._servers if name in running]
        await self._engine.pool.ready(name for name in known if running[name].state == "ready")
        offer = self._toolbelt.offer(self._engine.catalog, self._as_offered)
        if offer.tools != self._shown:
            self._shown = offer.tools
            await self._engine.settling.wait()
        return replace(offer, reads_results=self._engine.choices.is_enabled(READ_RESULT.key))

    async def call(self, tool: Tool, arguments: JsonObject, on_progress: OnProgress) -> ToolResult:
        """Check the arguments and call the tool wherever it lives."""
        shown_name = self._toolbelt.shown_name(tool)
        if not self._engine.choices.is_enabled(tool.key):
            raise ToolDisabled(_SWITCHED_OFF.format(shown_name))
        if tool.source != CANVAS:
            return await self._call_server(tool, arguments, on_progress, shown_name)
        arguments = self._engine.fitting_arguments(tool, arguments, shown_name)
        memory = self._memory if tool in MEMORY_TOOLS else None
        kind = STATIC if memory is None else META
        with remembered(self._engine.memory, tool.key, arguments, kind) as call:
            if memory is not None:
                # In a thread: a memory may ask a service, and the loop has others to serve.
                ask = partial(answer_memory_call, memory, tool, arguments)
                call.result = result = await anyio.to_thread.run_sync(ask)
            else:
                call.result = result = await self._call_drawn(tool.name, arguments)
        return result

    def answered_here(self, tool: Tool, arguments: JsonObject, answer: Answer) -> ToolResult:
        """Have a tool of the loop's own answered, and remember that as a call of it."""
        with remembered(self._engine.memory, tool.key, arguments, META) as call:
            call.result = result = answer(arguments)
        return result

    def why_unknown(self, shown_name: str, offer: Offer) -> str:
        """Why there is no such tool for this agent, and what is nearest."""
        if self._is_switched_off(shown_name):
            return _SWITCHED_OFF.format(shown_name)
        for name, reason in self._left_out().items():
            if shown_name.startswith(f"{name}_") and not self._engine.catalog.tools(name):
                return f"The tool {shown_name!r} cannot be used now. {reason}"
        for name in self._engine.settings.servers:
            if name not in self._servers and self._offers(name, shown_name):
                return (
                    f"The tool {shown_name!r} belongs to the server {name!r}, which is not enabled "
                    "for this agent. Use another tool."
                )
        known = offer.names()
        hint = did_you_mean(shown_name, known)
        listed = f"The tools are: {', '.join(known)}." if known else "There are no tools."
        return f"There is no tool {shown_name!r}. {hint or listed}"

    async def _call_drawn(self, name: str, arguments: JsonObject) -> ToolResult:
        try:
            return await self._run_drawn(self._drawn[name], arguments)
        except DefinitionChanged as changed:  # of a tool that its nodes call
            raise self._told_apart(changed, f"{changed.server}.{changed.tool}") from None
        except Exception as cause:
            # Whatever a person's nodes raise, the model should read it and the run go on.
            raise XaiMcpError(_drawn_failure(name, cause)) from cause

    async def _call_server(
        self, tool: Tool, arguments: JsonObject, on_progress: OnProgress, shown_name: str
    ) -> ToolResult:
        pinned_as = tool if self._is_pinned(tool.source) else None
        try:
            return await self._engine.call_tool(
                tool.source, tool.name, arguments, on_progress=on_progress,
                shown_name=shown_name, pinned_as=pinned_as,
            )  # fmt: skip
        except DefinitionChanged as changed:
            raise self._told_apart(changed, shown_name) from None

    def _told_apart(self, changed: DefinitionChanged, shown_name: str) -> XaiMcpError:
        """What the model reads of it, while the person reads the changes, once.

        It has nothing of what the server says of the tool now: that may be meant to mislead.
        """
        if (told := str(changed)) not in self._told:
            self._told.add(told)
            self._tell(told)
        return XaiMcpError(_CHANGED.format(shown_name, changed.server))

    def _as_offered(self, tool: Tool) -> Tool | None:
        choices = self._engine.choices
        if not choices.is_enabled(tool.key):
            return None
        return choices.as_accepted(tool) if self._is_pinned(tool.source) else tool

    def _is_pinned(self, source: str) -> bool:
        return source != CANVAS and (self._pin_tools or self._engine.is_pinned(source))

    def _is_switched_off(self, name: str) -> bool:
        mine = (READ_RESULT, *self._toolbelt.tools(self._engine.catalog))
        off = (x for x in mine if not self._engine.choices.is_enabled(x.key))
        return any(name in (x.name, self._toolbelt.shown_name(x)) for x in off)

    def _left_out(self) -> dict[str, XaiMcpError]:
        return {x: self._failed[x].reason for x in self._servers if x in self._failed}

    async def _connect(self, name: str) -> None:
        before, started = self._failed.get(name), anyio.current_time()
        with anyio.move_on_after(_SECOND_CHANCE_SECONDS if before and before.was_slow else None):
            reason = (await self._engine.connect([name])).get(name)
            was_slow = anyio.current_time() - started > _SLOW_SECONDS
            self._failed.pop(name, None)
            if reason is not None:
                # Without the frames it came through, which must not live as long as the workflow.
                self._failed[name] = Failure(reason.with_traceback(None), was_slow)

    def _offers(self, server: str, shown_name: str) -> bool:
        own_name = shown_name.removeprefix(f"{server}_")
        tools = self._engine.catalog.tools(server)
        is_prefixed = shown_name.startswith(f"{server}_")
        return any(x.name in (own_name, shown_name) for x in tools) or (is_prefixed and not tools)


def _drawn_failure(name: str, cause: Exception) -> str:
    frames = traceback.extract_tb(cause.__traceback__)
    where = f" (in {frames[-1].name}, line {frames[-1].lineno})" if frames else ""
    return f"The drawn tool {name!r} failed: {type(cause).__name__}: {cause}{where}"
