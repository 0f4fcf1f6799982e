"""The agent loop: ask the model, run the tools it wants, ask again, until it answers."""

from __future__ import annotations

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, TypeAlias

from ..catalog.toolbelt import Offer, OfferedTool
from ..core.errors import ModelCannotCallFunctions, ModelContentFiltered
from ..core.offered import function_description, function_parameters
from ..core.results import ToolResult
from .calls import Answered, CallRunner, Toolbox
from .conversation import Conversation, call_message, result_messages
from .events import (
    Emit,
    ModelAsked,
    ProtocolChanged,
    RunFailed,
    RunFinished,
    RunStarted,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolProtocol,
    ToolsChanged,
)
from .models.base import FunctionSpec, Message, Model, ModelReply, ModelRequest, ToolCall, Usage
from .prompt import build_system_prompt, uses
from .results import READ_RESULT
from .text_protocol import parse_reply

ProtocolChoice: TypeAlias = Literal["auto", "native", "text"]
Stopped: TypeAlias = Literal["answered", "max_thoughts", "length", "refused"]

# As in xai-agent: each failure in a row makes the model a little less predictable.
_STRESS_PER_FAILURE = 0.1
_MAX_STRESS = 1.5
_OUT_OF_THOUGHTS = (
    "The limit of thoughts is reached and no tool can be used any more. "
    "Answer now from what you know."
)
# The name of READ_RESULT where a tool of a person or a server is called that already.
_OTHER_READ_RESULT = "read_whole_result"
_NO_ANSWER = "(The model ended without an answer.)"
_CUT_OFF = (
    "Your reply was cut off at the limit of its length, so this call is incomplete and was not "
    "made. Call again with shorter arguments, or one tool at a time."
)


@dataclass(frozen=True)
class AgentSpec:
    """An agent, ready to run. `max_thoughts` is the most turns of the model in one run."""

    name: str
    model: Model
    system_prompt: str = ""
    max_thoughts: int = 10
    protocol: ProtocolChoice = "auto"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])


class AgentRun:
    """One run of one agent. `conversation` can be read at any time, also after a failure.

    Raises:
        BadConversation: what was given is no conversation.
    """

    _toolbox: Toolbox
    _calls: CallRunner

    def __init__(self, spec: AgentSpec, given: Any, emit: Emit) -> None:
        self.conversation = Conversation(given)
        self._spec = spec
        self._emit = emit
        self._usage = Usage()
        self._failures = 0
        self._offer = Offer(())
        self._read_result_at = sys.maxsize
        native = spec.protocol == "native" or (
            spec.protocol == "auto" and spec.model.calls_functions
        )
        self._protocol: ToolProtocol = "native" if native else "text"

    def count(self, usage: Usage) -> None:
        """Tokens that were used because of this run, beside those of its own turns."""
        self._usage += usage

    async def go(self, toolbox: Toolbox, left_out: tuple[str, ...] = ()) -> RunFinished:
        """Run to the answer, once. `left_out` tells what could not be used, for the record.

        Raises:
            ModelError: one of its kinds; `conversation` holds what was said so far.
        """
        started = time.monotonic()
        self._toolbox, self._calls = toolbox, CallRunner(toolbox, self._emit)
        try:
            await self._begin(left_out)
            answer, stopped, steps = await self._steps()
        except Exception as error:
            await self._emit(RunFailed(str(error) or type(error).__name__))
            raise
        seconds = time.monotonic() - started
        finished = RunFinished(answer, stopped, steps, self._calls.count, seconds, self._usage)
        await self._emit(finished)
        return finished

    async def _begin(self, left_out: tuple[str, ...]) -> None:
        await self._ask_for_offer()
        names = tuple(self._offer.names())
        if self._calls.kept.tool_name in names:
            self._calls.kept.tool_name = _OTHER_READ_RESULT
        model, asked = self._spec.model.name, self.conversation.last_text
        await self._emit(RunStarted(self._spec.name, model, self._protocol, names, left_out, asked))

    async def _steps(self) -> tuple[str, Stopped, int]:
        for step in range(1, max(self._spec.max_thoughts, 1) + 1):
            is_last = step == max(self._spec.max_thoughts, 1)
            if step > 1:
                await self._notice_changes()
            reply = await self._think(step, is_last=is_last)
            if reply.calls and not is_last:
                await self._use_tools(reply)
            else:
                return (*self._conclude(reply, is_last=is_last), step)
        raise AssertionError("the last step always concludes")

    async def _think(self, step: int, *, is_last: bool) -> ModelReply:
        """One turn of the model; an empty one is asked for once more."""
        reply = await self._ask(step, is_last=is_last)
        if not reply.text and not reply.calls and not reply.refusal and reply.finish == "stop":
            self._failures += 1
            reply = await self._ask(step, is_last=is_last)
        if is_last and reply.calls and not reply.text and not self._in_text:
            # It was told to call nothing and did; without functions it can only answer.
            answer = await self._reply(step, self._request_for_words())
            self._usage += answer.usage
            reply = replace(answer, calls=reply.calls)
        if reply.finish == "content_filter":
            raise ModelContentFiltered(
                f"{self._spec.model.name} was stopped by its service's content filter. "
                "Change the request or the tool results that led to it."
            )
        await self._emit(ThoughtFinished(step, reply.text, len(reply.calls), reply.usage))
        return reply

    async def _ask(self, step: int, *, is_last: bool) -> ModelReply:
        try:
            reply = await self._reply(step, self._request(is_last))
        except ModelCannotCallFunctions:
            if self._spec.protocol != "auto" or self._protocol == "text":
                raise
            self._protocol = "text"
            await self._emit(ProtocolChanged("text"))
            reply = await self._reply(step, self._request(is_last))
        self._usage += reply.usage
        speaks_of_tools = bool(self._offer.tools or self._calls.count)
        return self._read(reply) if self._in_text and speaks_of_tools else reply

    async def _reply(self, step: int, request: ModelRequest) -> ModelReply:
        await self._emit(ModelAsked(step, request))
        return await self._spec.model.reply(request, self._on_text)

    def _request(self, is_last: bool) -> ModelRequest:
        functions = self._functions()
        limit = _OUT_OF_THOUGHTS if is_last and (functions or self._calls.count) else ""
        messages = self._messages(functions, self._protocol, limit)
        stress = min(self._failures * _STRESS_PER_FAILURE, _MAX_STRESS)
        offered = () if self._in_text else functions
        return ModelRequest(messages, offered, may_call=not is_last, extra_temperature=stress)

    def _request_for_words(self) -> ModelRequest:
        return ModelRequest(self._messages((), "text", _OUT_OF_THOUGHTS), may_call=False)

    def _messages(
        self, functions: Sequence[FunctionSpec], protocol: ToolProtocol, limit: str
    ) -> tuple[Message, ...]:
        """All that the model is sent; `limit` is said last, or, in text, in the system message."""
        template, in_text = self._spec.system_prompt, protocol == "text"
        prompt = build_system_prompt(
            template,
            functions,
            protocol,
            server_instructions=self._offer.instructions,
            metadata=dict(self._spec.metadata) or None,
            provided_system=self.conversation.provided_system,
        )
        if limit and in_text:
            # Not a message of its own: strict chat templates want roles in turn.
            prompt = f"{prompt}\n\n{limit}".strip()
        keep_provided = not uses(template, "provided_system")
        messages = self.conversation.for_model(prompt, in_text=in_text, keep_provided=keep_provided)
        return (
            (*messages, {"role": "user", "content": limit}) if limit and not in_text else messages
        )

    def _functions(self) -> tuple[FunctionSpec, ...]:
        tools = list(self._offer)
        if self._calls.kept:
            # Where it stood first: tools that come later are added at the end.
            self._read_result_at = min(self._read_result_at, len(tools))
            name = self._calls.kept.tool_name
            tools.insert(self._read_result_at, OfferedTool(name, READ_RESULT))
        return tuple(
            FunctionSpec(
                x.shown_name,
                function_description(x.tool.description),
                function_parameters(x.tool.input_schema),
            )
            for x in tools
        )

    def _read(self, reply: ModelReply) -> ModelReply:
        """A reply of the text protocol with its calls taken out of the text."""
        read = parse_reply(reply.text)
        first = self._calls.count + 1
        calls = tuple(
            ToolCall(f"call_{n}", x.name, x.arguments) for n, x in enumerate(read.calls, first)
        )
        return ModelReply(read.thought, calls, reply.finish, reply.refusal, reply.usage)

    async def _use_tools(self, reply: ModelReply) -> None:
        """Answer every call of a turn; the conversation never holds a call without its answer."""
        if reply.finish == "length":
            answers = [self._cut_off(call, reply.text) for call in reply.calls]
        else:
            answers = await self._calls.answer_all(reply.calls, self._offer, reply.text)
        self._failures = self._failures + 1 if all(x.is_error for x in answers) else 0
        self.conversation.add(
            call_message(reply.text, reply.calls, in_text=self._in_text),
            *result_messages(
                [(x.call, x.text, x.is_error) for x in answers], in_text=self._in_text
            ),
        )
        for answer in answers:
            await self._emit(answer.event)

    def _cut_off(self, call: ToolCall, thought: str) -> Answered:
        result = ToolResult.of_text(_CUT_OFF, is_error=True)
        return self._calls.answered(
            call, ToolFinished(call.id, call.name, None, result, 0.0, thought)
        )

    def _conclude(self, reply: ModelReply, *, is_last: bool) -> tuple[str, Stopped]:
        if reply.refusal:
            answer, stopped = reply.refusal, "refused"
        elif reply.finish == "length":
            answer, stopped = reply.text or _NO_ANSWER, "length"
        else:
            answer = reply.text or _NO_ANSWER
            stopped = "max_thoughts" if is_last and reply.calls else "answered"
        self.conversation.add({"role": "assistant", "content": answer})
        return answer, stopped

    async def _notice_changes(self) -> None:
        before = set(self._offer.names())
        await self._ask_for_offer()
        now = set(self._offer.names())
        if before != now:
            added, removed = tuple(sorted(now - before)), tuple(sorted(before - now))
            await self._emit(ToolsChanged(added, removed))

    async def _ask_for_offer(self) -> None:
        self._offer = await self._toolbox.offer()
        self._calls.kept.is_offered = self._offer.reads_results

    async def _on_text(self, text: str) -> None:
        await self._emit(TextArrived(text))

    @property
    def _in_text(self) -> bool:
        return self._protocol == "text"
