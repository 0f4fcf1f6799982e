"""Makes the calls of a turn at once. Every call gets a result: an error, if nothing else."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial

import anyio

from ..catalog.definitions import ToolDefinition
from ..core.approval import ApprovalAwaited, AwaitedCall
from ..core.calls import PROGRAM, Caller, ToolInvocation
from ..core.errors import UnknownTool, XaiMcpError
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..core.threads import beside_loop
from .arguments import parse_arguments
from .events import Emit, ToolFinished, ToolProgressed, ToolReturned, ToolStarted
from .messages import ToolCall
from .meta_tools import EXECUTE_TOOL, resolve_execution
from .state import RunState
from .toolsets import AgentTools

logger = logging.getLogger(__name__)

_INTERRUPTED = (
    "The run was interrupted before this call had a result. It may have been carried out, whole "
    "or in part: check what came of it before you repeat it."
)
_AWAITS_APPROVAL = "This call was not made yet: it waits for the approval of a person."
_NEVER_STARTED = "The run was interrupted before this call was made."


class PendingCalls:
    """Makes the pending calls of a run, those of a turn all at once.

    Calls are identified by position, because ids may repeat. Of the turn's calls, `_finished` have
    a result, `_begun` may have had an effect, and `_awaiting` were not made, because a person must
    approve them first.
    """

    def __init__(self, tools: AgentTools, emit: Emit, caller: Caller = PROGRAM) -> None:
        self._tools, self._emit, self._caller = tools, emit, caller
        self._begun: set[int] = set()
        self._finished: dict[int, ToolFinished] = {}
        self._awaiting: dict[int, AwaitedCall] = {}

    @property
    def has_begun(self) -> bool:
        """Whether any call of this turn has begun."""
        return bool(self._begun or self._finished)

    async def make(self, state: RunState) -> None:
        """Make all pending calls at once, except those that were or may have been made before.

        Raises:
            XaiMcpError: a call could not be announced, and was not made.
        """
        self._begun, self._finished, self._awaiting = set(), dict(state.made), {}
        try:
            async with anyio.create_task_group() as tasks:
                for number, call in enumerate(state.pending):
                    if number not in state.made and number not in state.begun:
                        tasks.start_soon(self._make, number, call, state.whole_thought)
        except ExceptionGroup as group:
            if ours := group.subgroup(XaiMcpError):
                raise ours.exceptions[0] from None
            raise

    def progress(self, state: RunState) -> RunState:
        """Return the state with the calls' progress, for a process that resumes the run."""
        made = {**state.made, **self._finished}
        begun = {*state.begun, *self._begun} - made.keys()
        awaiting = {**state.awaiting, **self._awaiting}
        # The answer to a call that was made, or may have been, is used up.
        awaiting = {n: x for n, x in awaiting.items() if n not in made and n not in begun}
        return replace(state, made=made, begun=tuple(sorted(begun)), awaiting=awaiting)

    def results(self, state: RunState) -> list[ToolFinished]:
        """Return the result of each call, in order; calls without a result count as interrupted."""
        state = self.progress(state)
        results: list[ToolFinished] = []
        for number, call in enumerate(state.pending):
            why = _AWAITS_APPROVAL if number in state.awaiting else _NEVER_STARTED
            why = _INTERRUPTED if number in state.begun else why
            results.append(state.made.get(number) or _failed(call, why, state.whole_thought))
        return results

    async def _make(self, number: int, call: ToolCall, thought: str) -> None:
        start, available = time.monotonic(), self._tools.current
        definition = None if call.not_made else available.find(call.name)
        arguments: JsonObject | None = None
        try:
            if definition is None:
                raise UnknownTool(call.not_made or self._tools.why_not(call.name))
            name, schema = definition.name, definition.tool.input_schema
            parse = partial(parse_arguments, call.arguments, schema, tool=name)
            arguments = await beside_loop(len(call.arguments), parse)
            if definition.tool.key == EXECUTE_TOOL.key:  # from here on a call of the named tool
                definition, arguments = resolve_execution(arguments, available, self._tools.why_not)
        except XaiMcpError as problem:
            result = ToolResult.of_text(str(problem), is_error=True)
        else:
            await self._begin(number, call.id, definition, arguments)
            try:
                result = await self._result(call.id, definition, arguments)
            except ApprovalAwaited as waiting:  # nothing was sent
                self._begun.discard(number)
                self._awaiting[number] = waiting.call
                await self._emit(ToolReturned(call.id))
                return
        name, tool = (definition.name, definition.tool) if definition else (call.name, None)
        seconds, source, key = time.monotonic() - start, tool and tool.source, tool and tool.key
        self._finished[number] = ToolFinished(
            call.id, name, arguments, result, seconds, thought, source, key
        )
        if number in self._begun:
            await self._emit(ToolReturned(call.id))

    async def _begin(
        self, number: int, call_id: str, definition: ToolDefinition, arguments: JsonObject
    ) -> None:
        """Announce a call, which counts as begun from now on, unless that fails."""
        self._begun.add(number)
        started = ToolStarted(call_id, definition.name, arguments, definition.tool.source)
        try:
            await self._emit(started)
        except BaseException:
            self._begun.discard(number)
            raise

    async def _result(
        self, call_id: str, definition: ToolDefinition, arguments: JsonObject
    ) -> ToolResult:
        """Return the tool's result; any error is a result too, for the model to read."""
        name = definition.name

        async def on_progress(progress: float, total: float | None, message: str) -> None:
            await self._emit(ToolProgressed(call_id, name, progress, total, message))

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
            # A bug of ours or of a library must not cost the person their conversation.
            logger.exception("The tool %r failed unexpectedly", name)
            text = f"{name} failed: {type(fault).__name__}: {fault}"
            return ToolResult.of_text(text, is_error=True)


def _failed(call: ToolCall, why: str, thought: str) -> ToolFinished:
    """Return the event of a call whose result is this error."""
    result = ToolResult.of_text(why, is_error=True)
    return ToolFinished(call.id, call.name, None, result, 0.0, thought)
