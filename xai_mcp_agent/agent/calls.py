"""The calls of one turn: looked up, checked, made at the same time, and each of them answered."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from functools import partial

import anyio

from ..catalog.definitions import ToolDefinition
from ..core.approval import ApprovalAwaited, AwaitedCall
from ..core.calls import PROGRAM, Caller, ToolInvocation
from ..core.errors import UnknownTool, XaiMcpError
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..core.threads import beside_loop
from ..core.visible import own_names
from .arguments import parse_arguments
from .events import Emit, ToolFinished, ToolProgressed, ToolReturned, ToolStarted
from .messages import ToolCall
from .meta_tools import EXECUTE_TOOL, executed
from .results import ResultPages
from .state import RunState
from .toolsets import AgentTools, Available

logger = logging.getLogger(__name__)


_INTERRUPTED = (
    "The run was interrupted before this call had a result. It may have been carried out, whole "
    "or in part: look what came of it before you repeat it."
)
_AWAITED = "This call was not made yet: it waits for the approval of a person."
_NOT_BEGUN = "The run was interrupted before this call was made."


class CallNotMade(XaiMcpError):
    """A model wrote a call that it did not mean as one, or not yet; the message tells it so."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A call with its answer; `event` is what to tell of it."""

    call: ToolCall
    event: ToolFinished

    @property
    def is_error(self) -> bool:
        """Whether the call failed, wherever it did."""
        return self.event.result.is_error


class CallRunner:
    """Answers the calls of one run, which are known by their places: ids may be the same.

    Of the turn: `finished` have a result, `starting` may have had an effect, `awaiting` were not
    made, because somebody must approve them first.
    """

    def __init__(
        self, tools: AgentTools, pages: ResultPages, emit: Emit, caller: Caller = PROGRAM
    ) -> None:
        self._tools = tools
        self._pages = pages
        self._emit = emit
        self._caller = caller
        self._begun: set[int] = set()
        self.starting: set[int] = set()
        self.finished: dict[int, ToolFinished] = {}
        self.awaiting: dict[int, AwaitedCall] = {}

    @property
    def has_begun(self) -> bool:
        """Whether anything of this turn was done already."""
        return bool(self._begun or self.finished)

    async def answer_all(
        self, state: RunState, available: Available, thought: str
    ) -> list[Answered]:
        """Run all calls at once; the answers are in their order, the events not told yet.

        Those that were made before the run went on are not made again, nor those that may have
        been.

        Raises:
            XaiMcpError: what is about to be done could not be told, and was not.
        """
        self._begun, self.starting, self.awaiting = set(), set(), {}
        self.finished = dict(state.made)
        try:
            async with anyio.create_task_group() as tasks:
                for number, call in enumerate(state.pending):
                    if number not in state.made and number not in state.begun:
                        tasks.start_soon(self._answer, number, call, available, thought)
        except ExceptionGroup as several:
            if ours := several.subgroup(XaiMcpError):
                raise ours.exceptions[0] from None
            raise
        return self.answers_so_far(state, thought)

    def answers_so_far(self, state: RunState, thought: str) -> list[Answered]:
        """The calls of this turn in their order; those without a result as interrupted ones."""
        return [
            self._answer_to(number, call, state, thought)
            for number, call in enumerate(state.pending)
        ]

    def refused(self, call: ToolCall, why: str, thought: str) -> Answered:
        """A call that has no result, answered with the reason."""
        result = ToolResult.of_text(why, is_error=True)
        return self._answered(call, ToolFinished(call.id, call.name, None, result, 0.0, thought))

    def _answer_to(self, number: int, call: ToolCall, state: RunState, thought: str) -> Answered:
        if event := self.finished.get(number) or state.made.get(number):
            return self._answered(call, event)
        if number in self._begun or number in state.begun:
            return self.refused(call, _INTERRUPTED, thought)
        waits = number in self.awaiting or number in state.awaiting
        return self.refused(call, _AWAITED if waits else _NOT_BEGUN, thought)

    def _answered(self, call: ToolCall, event: ToolFinished) -> Answered:
        """A call with its answer as the model will read it."""
        return Answered(call, event)

    async def _answer(
        self, number: int, call: ToolCall, available: Available, thought: str
    ) -> None:
        started = time.monotonic()
        arguments: JsonObject | None = None
        name, source, key = call.name, None, None
        try:
            if call.not_made:
                raise CallNotMade(call.not_made)
            definition = available.find(call.name)
            if definition is None:
                raise UnknownTool(self._tools.why_not(call.name))
            name, source, key = definition.name, definition.tool.source, definition.tool.key
            schema = definition.tool.input_schema
            read = partial(_read_arguments, call.arguments, schema, name)
            arguments = await beside_loop(len(call.arguments), read)
            if key == EXECUTE_TOOL.key:  # from here on it is a call of the tool that it names
                definition, arguments = executed(arguments, available, self._tools.why_not)
                name, source, key = definition.name, definition.tool.source, definition.tool.key
        except XaiMcpError as problem:
            result = ToolResult.of_text(str(problem), is_error=True)
        else:
            self.starting.add(number)
            await self._emit(ToolStarted(call.id, name, arguments, source))
            self._begun.add(number)
            try:
                result = await self._result(call.id, definition, arguments)
            except ApprovalAwaited as waiting:
                await self._leave(number, call, waiting.call)
                return
        seconds = time.monotonic() - started
        self.finished[number] = ToolFinished(
            call.id, name, arguments, result, seconds, thought, source, key
        )
        if number in self._begun:
            await self._emit(ToolReturned(call.id))

    async def _leave(self, number: int, call: ToolCall, awaited: AwaitedCall) -> None:
        """Nothing was sent: the call waits for somebody."""
        self._begun.discard(number)
        self.starting.discard(number)
        self.awaiting[number] = awaited
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
        except ApprovalAwaited:
            raise
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
