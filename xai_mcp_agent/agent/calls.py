"""From what a model asked for to answered calls: found, read, checked, run, timed.

Everything is answered into the conversation: an unknown name, broken
arguments, a failed server. Nothing a tool does ends the run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import anyio

from ..catalog.toolbelt import Offer, OfferedTool
from ..core.errors import UnknownTool, XaiMcpError
from ..core.results import OnProgress, ToolResult
from ..core.tools import JsonObject, Tool
from .events import Emit, ToolFinished, ToolProgressed, ToolReturned, ToolStarted
from .models.base import ToolCall
from .results import READ_RESULT, KeptResults
from .text_protocol import parse_arguments

logger = logging.getLogger(__name__)


Answer = Callable[[JsonObject], ToolResult]
"""Answers a call with these arguments."""


class Toolbox(Protocol):
    """What the loop is handed by the bridge: the tools of one agent, whatever their source."""

    async def offer(self) -> Offer:
        """The tools that may be used at this step."""
        ...

    async def call(self, tool: Tool, arguments: JsonObject, on_progress: OnProgress) -> ToolResult:
        """Check the arguments and call a tool. Raises `XaiMcpError` kinds."""
        ...

    def answered_here(self, tool: Tool, arguments: JsonObject, answer: Answer) -> ToolResult:
        """Have a tool of the loop's own answered, as a call of that tool."""
        ...

    def why_unknown(self, shown_name: str, offer: Offer) -> str:
        """Tell a model why there is no such tool for it, and what is nearest."""
        ...


@dataclass(frozen=True, slots=True)
class Answered:
    """A call with its answer; `text` is what the model reads, `event` what to tell of it."""

    call: ToolCall
    text: str
    event: ToolFinished

    @property
    def is_error(self) -> bool:
        """Whether the call failed, wherever it did."""
        return self.event.result.is_error


class CallRunner:
    """Answers the calls of one run."""

    def __init__(self, toolbox: Toolbox, emit: Emit) -> None:
        self._toolbox = toolbox
        self._emit = emit
        self.kept = KeptResults()
        self.count = 0

    async def answer_all(
        self, calls: Sequence[ToolCall], offer: Offer, thought: str
    ) -> list[Answered]:
        """Run all calls at once; the answers are in their order, the events not told yet."""
        self.count += len(calls)
        finished: dict[int, ToolFinished] = {}

        async def run(number: int, call: ToolCall) -> None:
            finished[number] = await self._answer(call, offer, thought)

        async with anyio.create_task_group() as tasks:
            for number, call in enumerate(calls):
                tasks.start_soon(run, number, call)
        return [self.answered(call, finished[number]) for number, call in enumerate(calls)]

    def answered(self, call: ToolCall, event: ToolFinished) -> Answered:
        """A call with its answer as the model will read it."""
        return Answered(call, self.kept.shown(call.id, event.result), event)

    async def _answer(self, call: ToolCall, offer: Offer, thought: str) -> ToolFinished:
        started = time.monotonic()
        arguments: JsonObject | None = None
        name, source = call.name, None
        try:
            tool, name = self._find(call.name, offer)
            source = tool.source
            arguments = parse_arguments(call.arguments, tool.input_schema, tool=name)
        except XaiMcpError as problem:
            result = ToolResult.of_text(str(problem), is_error=True)
        else:
            await self._emit(ToolStarted(call.id, name, arguments, source))
            result = await self._result(call.id, tool, name, arguments)
            await self._emit(ToolReturned(call.id))
        seconds = time.monotonic() - started
        return ToolFinished(call.id, name, arguments, result, seconds, thought, source)

    def _find(self, name: str, offer: Offer) -> tuple[Tool, str]:
        """The tool meant; a model may write the tool's own name where that is clear."""
        if self.kept and name == self.kept.tool_name:
            return READ_RESULT, name
        by_own_name = [x for x in offer if x.tool.name == name]
        exact = [x for x in offer if x.shown_name == name]
        found: list[OfferedTool] = exact or (by_own_name if len(by_own_name) == 1 else [])
        if not found:
            raise UnknownTool(self._toolbox.why_unknown(name, offer))
        return found[0].tool, found[0].shown_name

    async def _result(
        self, call_id: str, tool: Tool, name: str, arguments: JsonObject
    ) -> ToolResult:
        """What the tool gives; whatever goes wrong is a result too, for the model to read."""
        try:
            return await self._run(call_id, tool, name, arguments)
        except XaiMcpError as problem:
            return ToolResult.of_text(str(problem), is_error=True)
        except Exception as fault:
            # A fault of ours or of a library must not cost the person their conversation.
            logger.exception("The tool %r failed in a way that nobody foresaw", name)
            text = f"{name} failed: {type(fault).__name__}: {fault}"
            return ToolResult.of_text(text, is_error=True)

    async def _run(self, call_id: str, tool: Tool, name: str, arguments: JsonObject) -> ToolResult:
        if tool is READ_RESULT:
            return self._toolbox.answered_here(tool, arguments, self.kept.read)

        async def on_progress(done: float, total: float | None, message: str) -> None:
            await self._emit(ToolProgressed(call_id, name, done, total, message))

        return await self._toolbox.call(tool, arguments, on_progress)
