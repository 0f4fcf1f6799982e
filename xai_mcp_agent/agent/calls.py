"""The calls of one turn: looked up, checked, made at the same time, and each of them answered."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

import anyio

from ..catalog.definitions import ToolDefinition
from ..core.errors import UnknownTool, XaiMcpError
from ..core.invocation import PROGRAM, Caller, ToolInvocation
from ..core.results import ToolResult
from ..core.tools import JsonObject
from .events import Emit, ToolFinished, ToolProgressed, ToolReturned, ToolStarted
from .messages import ToolCall
from .protocols.arguments import parse_arguments
from .protocols.reading import beside_loop
from .results import ResultPages
from .toolsets import AgentTools, Available

logger = logging.getLogger(__name__)


class CallNotMade(XaiMcpError):
    """A model wrote a call that it did not mean as one, or not yet; the message tells it so."""


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

    def __init__(
        self, tools: AgentTools, pages: ResultPages, emit: Emit, caller: Caller = PROGRAM
    ) -> None:
        self._tools = tools
        self._pages = pages
        self._emit = emit
        self._caller = caller

    async def answer_all(
        self, calls: Sequence[ToolCall], available: Available, thought: str
    ) -> list[Answered]:
        """Run all calls at once; the answers are in their order, the events not told yet."""
        finished: dict[int, ToolFinished] = {}

        async def run(number: int, call: ToolCall) -> None:
            finished[number] = await self._answer(call, available, thought)

        async with anyio.create_task_group() as tasks:
            for number, call in enumerate(calls):
                tasks.start_soon(run, number, call)
        return [self.answered(call, finished[number]) for number, call in enumerate(calls)]

    def answered(self, call: ToolCall, event: ToolFinished) -> Answered:
        """A call with its answer as the model will read it."""
        return Answered(call, self._pages.shown(call.id, event.result), event)

    async def _answer(self, call: ToolCall, available: Available, thought: str) -> ToolFinished:
        started = time.monotonic()
        arguments: JsonObject | None = None
        name, source = call.name, None
        try:
            if call.not_made:
                raise CallNotMade(call.not_made)
            definition = available.find(call.name)
            if definition is None:
                raise UnknownTool(self._tools.why_not(call.name))
            name, source = definition.name, definition.tool.source
            schema = definition.tool.input_schema
            read = partial(parse_arguments, call.arguments, schema, tool=name)
            arguments = await beside_loop(len(call.arguments), read)
        except XaiMcpError as problem:
            result = ToolResult.of_text(str(problem), is_error=True)
        else:
            await self._emit(ToolStarted(call.id, name, arguments, source))
            result = await self._result(call.id, definition, arguments)
            await self._emit(ToolReturned(call.id))
        if call.note:
            result = replace(result, notes=(*result.notes, call.note))
        seconds = time.monotonic() - started
        return ToolFinished(call.id, name, arguments, result, seconds, thought, source)

    async def _result(
        self, call_id: str, definition: ToolDefinition, arguments: JsonObject
    ) -> ToolResult:
        """What the tool gives; whatever goes wrong is a result too, for the model to read."""
        name = definition.name

        async def on_progress(done: float, total: float | None, message: str) -> None:
            await self._emit(ToolProgressed(call_id, name, done, total, message))

        invocation = ToolInvocation(
            definition.tool, arguments, self._caller, name, on_progress=on_progress
        )
        try:
            return await self._tools.call(invocation)
        except XaiMcpError as problem:
            return ToolResult.of_text(str(problem), is_error=True)
        except Exception as fault:
            # A fault of ours or of a library must not cost the person their conversation.
            logger.exception("The tool %r failed in a way that nobody foresaw", name)
            text = f"{name} failed: {type(fault).__name__}: {fault}"
            return ToolResult.of_text(text, is_error=True)
