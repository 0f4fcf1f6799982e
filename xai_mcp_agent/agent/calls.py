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
from ..core.visible import own_names
from .events import Emit, ToolFinished, ToolProgressed, ToolReturned, ToolStarted
from .messages import ToolCall
from .protocols.arguments import parse_arguments
from .protocols.reading import beside_loop
from .results import ResultPages
from .toolsets import AgentTools, Available

logger = logging.getLogger(__name__)


_INTERRUPTED = (
    "The run was interrupted before this call had a result. It may have been carried out, whole "
    "or in part: look what came of it before you repeat it."
)
_NOT_BEGUN = "The run was interrupted before this call was made."


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
    """Answers the calls of one run. `has_begun`: a call of the turn may have had an effect."""

    def __init__(
        self, tools: AgentTools, pages: ResultPages, emit: Emit, caller: Caller = PROGRAM
    ) -> None:
        self._tools = tools
        self._pages = pages
        self._emit = emit
        self._caller = caller
        self._begun: set[int] = set()  # of this turn, by their places: ids may be the same
        self._finished: dict[int, ToolFinished] = {}

    @property
    def has_begun(self) -> bool:
        """Whether anything of this turn was done already."""
        return bool(self._begun or self._finished)

    async def answer_all(
        self, calls: Sequence[ToolCall], available: Available, thought: str
    ) -> list[Answered]:
        """Run all calls at once; the answers are in their order, the events not told yet."""
        self._begun, self._finished = set(), {}
        async with anyio.create_task_group() as tasks:
            for number, call in enumerate(calls):
                tasks.start_soon(self._answer, number, call, available, thought)
        return self.answers_so_far(calls, thought)

    def answers_so_far(self, calls: Sequence[ToolCall], thought: str) -> list[Answered]:
        """The calls of this turn in their order; those without a result as interrupted ones."""
        return [self._finished_or_not(number, call, thought) for number, call in enumerate(calls)]

    def refused(self, call: ToolCall, why: str, thought: str) -> Answered:
        """A call that has no result, answered with the reason."""
        result = ToolResult.of_text(why, is_error=True)
        return self._answered(call, ToolFinished(call.id, call.name, None, result, 0.0, thought))

    def _finished_or_not(self, number: int, call: ToolCall, thought: str) -> Answered:
        if (event := self._finished.get(number)) is not None:
            return self._answered(call, event)
        return self.refused(call, _INTERRUPTED if number in self._begun else _NOT_BEGUN, thought)

    def _answered(self, call: ToolCall, event: ToolFinished) -> Answered:
        """A call with its answer as the model will read it."""
        return Answered(call, self._pages.shown(call.id, event.result), event)

    async def _answer(
        self, number: int, call: ToolCall, available: Available, thought: str
    ) -> None:
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
            read = partial(_read_arguments, call.arguments, schema, name)
            arguments = await beside_loop(len(call.arguments), read)
        except XaiMcpError as problem:
            result = ToolResult.of_text(str(problem), is_error=True)
        else:
            await self._emit(ToolStarted(call.id, name, arguments, source))
            self._begun.add(number)
            result = await self._result(call.id, definition, arguments)
        if call.note:
            result = replace(result, notes=(*result.notes, call.note))
        seconds = time.monotonic() - started
        self._finished[number] = ToolFinished(
            call.id, name, arguments, result, seconds, thought, source
        )
        if number in self._begun:
            await self._emit(ToolReturned(call.id))

    async def _result(
        self, call_id: str, definition: ToolDefinition, arguments: JsonObject
    ) -> ToolResult:
        """What the tool gives; whatever goes wrong is a result too, for the model to read."""
        name = definition.name

        async def on_progress(done: float, total: float | None, message: str) -> None:
            await self._emit(ToolProgressed(call_id, name, done, total, message))

        invocation = ToolInvocation(
            definition.tool, arguments, self._caller, name, on_progress=on_progress, call_id=call_id
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


def _read_arguments(text: str, schema: JsonObject, tool: str) -> JsonObject:
    """The arguments of a call under the names that the tool has for them."""
    return own_names(parse_arguments(text, schema, tool=tool), schema)
