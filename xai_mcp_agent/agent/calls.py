"""Makes the calls of one turn concurrently, and answers each of them."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
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
from ..core.visible import own_names
from .arguments import parse_arguments
from .conversation import call_message, result_messages
from .events import Emit, ToolFinished, ToolProgressed, ToolReturned, ToolStarted
from .messages import ToolCall, join_paragraphs
from .meta_tools import EXECUTE_TOOL, resolve_execution
from .results import ResultPages
from .state import RunState
from .tool_discovery import ToolDiscovery
from .toolsets import AgentTools

logger = logging.getLogger(__name__)


_INTERRUPTED = (
    "The run was interrupted before this call had a result. It may have been carried out, whole "
    "or in part: check what came of it before you repeat it."
)
_AWAITS_APPROVAL = "This call was not made yet: it waits for the approval of a person."
_NEVER_STARTED = "The run was interrupted before this call was made."
_INCOMPLETE_REPLY = (
    "Your reply was cut off at the limit of its length, so this call is incomplete and was not "
    "made. Call again with shorter arguments, or one tool at a time."
)


class CallNotMade(XaiMcpError):
    """A model wrote a call by mistake, or too early; the message tells it so."""


class PendingCalls:
    """Answers the pending calls of one run; the conversation gets them together with all answers.

    Calls are identified by position, because ids may repeat. Of the turn's calls, `_finished` have
    a result, `_starting` may have had an effect, and `_awaiting` were not made, because a person
    must approve them first.
    """

    def __init__(
        self,
        tools: AgentTools,
        pages: ResultPages,
        discovery: ToolDiscovery,
        emit: Emit,
        caller: Caller = PROGRAM,
    ) -> None:
        self._tools, self._pages, self._discovery = tools, pages, discovery
        self._emit, self._caller = emit, caller
        self._begun: set[int] = set()
        self._starting: set[int] = set()
        self._finished: dict[int, ToolFinished] = {}
        self._awaiting: dict[int, AwaitedCall] = {}

    @property
    def has_begun(self) -> bool:
        """Whether any call of this turn has begun."""
        return bool(self._begun or self._finished)

    async def answer(self, state: RunState) -> tuple[RunState, list[ToolFinished]]:
        """Return the state with all calls answered, or with waiting ones, and the finished events.

        All calls run concurrently. Calls that were made, or may have been, before the run resumed
        are not made again, and produce no events.

        Raises:
            XaiMcpError: a call could not be announced, and was not made.
        """
        thought = join_paragraphs(state.thinking, state.thought)
        if state.cut_off:
            events = [_error_event(x, _INCOMPLETE_REPLY, thought) for x in state.pending]
            return self._with_answers(state, events), events
        await self.make(state, thought)
        events = self.answers(state, thought)
        new = [x for n, x in enumerate(events) if n not in self._awaiting and n not in state.made]
        if self._awaiting:
            return replace(self.with_progress(state), awaiting=self._awaiting), new
        state = self._with_answers(state, events)
        self._discovery.learn(events, self._tools.current)
        return state, new

    def with_progress(self, state: RunState) -> RunState:
        """Return the state with the calls' progress, for a process that resumes it."""
        finished = {**state.made, **self._finished}
        begun = {*state.begun, *self._starting}
        begun -= finished.keys()
        return replace(state, made=finished, begun=tuple(sorted(begun)))

    def with_interruption(self, state: RunState) -> RunState:
        """Return the state as if the run ended here."""
        return self._with_answers(state, self.answers(state, ""))

    def _with_answers(self, state: RunState, events: Sequence[ToolFinished]) -> RunState:
        """Return the state after the pending calls, with these answers."""
        results = [x.result for x in events]
        texts = self._pages.show(results)
        # A search also finds tools that arrived since the model was asked.
        keys = self._discovery.of(events, self._tools.current)
        return state.with_discovered(keys).with_answers(
            call_message(state.thought, state.pending, added=state.added),
            *result_messages(zip(state.pending, texts, results, strict=True)),
            all_failed=all(x.is_error for x in results),
            long_results=self._pages.texts,
        )

    def answers(self, state: RunState, thought: str) -> list[ToolFinished]:
        """Return the result of each call, in order; calls without a result count as interrupted."""
        finished = {**state.made, **self._finished}
        begun = {*state.begun, *self._begun}
        awaiting = {*state.awaiting, *self._awaiting}
        events: list[ToolFinished] = []
        for number, call in enumerate(state.pending):
            why = _AWAITS_APPROVAL if number in awaiting else _NEVER_STARTED
            why = _INTERRUPTED if number in begun else why
            events.append(finished.get(number) or _error_event(call, why, thought))
        return events

    async def make(self, state: RunState, thought: str) -> None:
        """Make all pending calls at once, except those that were or may have been made before."""
        self._begun, self._starting, self._awaiting = set(), set(), {}
        self._finished = dict(state.made)
        try:
            async with anyio.create_task_group() as tasks:
                for number, call in enumerate(state.pending):
                    if number not in state.made and number not in state.begun:
                        tasks.start_soon(self._make, number, call, thought)
        except ExceptionGroup as several:
            if ours := several.subgroup(XaiMcpError):
                raise ours.exceptions[0] from None
            raise

    async def _make(self, number: int, call: ToolCall, thought: str) -> None:
        start, available = time.monotonic(), self._tools.current
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
            parse = partial(_parse, call.arguments, schema, name)
            arguments = await beside_loop(len(call.arguments), parse)
            if key == EXECUTE_TOOL.key:  # from here on it is a call of the named tool
                definition, arguments = resolve_execution(arguments, available, self._tools.why_not)
                name, source, key = definition.name, definition.tool.source, definition.tool.key
        except XaiMcpError as problem:
            result = ToolResult.of_text(str(problem), is_error=True)
        else:
            self._starting.add(number)
            await self._emit(ToolStarted(call.id, name, arguments, source))
            self._begun.add(number)
            try:
                result = await self._result(call.id, definition, arguments)
            except ApprovalAwaited as waiting:  # nothing was sent
                self._begun.discard(number)
                self._starting.discard(number)
                self._awaiting[number] = waiting.call
                await self._emit(ToolReturned(call.id))
                return
        seconds = time.monotonic() - start
        self._finished[number] = ToolFinished(
            call.id, name, arguments, result, seconds, thought, source, key
        )
        if number in self._begun:
            await self._emit(ToolReturned(call.id))

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


def _parse(text: str, schema: JsonObject, tool: str) -> JsonObject:
    """Return a call's arguments under the tool's own names."""
    return own_names(parse_arguments(text, schema, tool=tool), schema)


def _error_event(call: ToolCall, why: str, thought: str) -> ToolFinished:
    """Return the event of a call whose result is this error."""
    result = ToolResult.of_text(why, is_error=True)
    return ToolFinished(call.id, call.name, None, result, 0.0, thought)
