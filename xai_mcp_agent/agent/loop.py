"""The agent loop: ask the model, run the tools it wants, ask again, until it answers.

Whatever a model asks for is answered into the conversation: an unknown name, broken arguments, a
failed server. Nothing a tool does ends the run.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Literal, TypeAlias

from ..core.errors import ModelCannotCallFunctions, ModelContentFiltered
from ..core.invocation import PROGRAM, Caller
from ..core.provider_schema import FunctionSpec
from ..core.results import ToolResult
from ..search.selector import Selector, ShowEverything
from .calls import Answered, CallRunner
from .conversation import Conversation, call_message, result_messages
from .events import (
    Emit,
    ModelAsked,
    ModelAskedAgain,
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
from .messages import ADDED, Message, ToolCall
from .models.base import AskedAgain, Model, ModelReply, ModelRequest, Usage
from .prompt import build_system_prompt, uses
from .protocols.reading import ReadReply, beside_loop, read_reply
from .protocols.text import text_of
from .results import ResultPages
from .state import RunState
from .toolsets import AgentTools, Available

ProtocolChoice: TypeAlias = Literal["auto", "native", "text"]
Stopped: TypeAlias = Literal["answered", "max_thoughts", "length", "refused"]

# As in xai-agent: each failure in a row makes the model a little less predictable.
_STRESS_PER_FAILURE = 0.1
_MAX_STRESS = 1.5
_OUT_OF_THOUGHTS = (
    "The limit of thoughts is reached and no tool can be used any more. "
    "Answer now from what you know."
)
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
    """One run of one agent, as steps from one `state` to the next.

    `state` can be read at any time, also after a failure; a run that goes on is made with the state
    of the former one.
    """

    _tools: AgentTools
    _calls: CallRunner

    def __init__(
        self,
        spec: AgentSpec,
        start: RunState | Conversation,
        emit: Emit,
        caller: Caller = PROGRAM,
        selector: Selector | None = None,
    ) -> None:
        self._spec = spec
        self._emit = emit
        self._caller = caller
        self._selector = selector or ShowEverything()
        self._available = Available()
        self.state = start if isinstance(start, RunState) else self._first_state(start)

    def count(self, usage: Usage) -> None:
        """Tokens that were used because of this run, beside those of its own turns."""
        self.state = replace(self.state, usage=self.state.usage + usage)

    async def go(
        self, tools: AgentTools, pages: ResultPages, left_out: tuple[str, ...] = ()
    ) -> RunFinished:
        """Run to the answer, once. `left_out` tells what could not be used, for the record.

        `pages` is the one toolset of `tools` that the run itself fills.

        Raises:
            ModelError: one of its kinds; `state` holds what was said so far.
        """
        started = time.monotonic()
        self._tools, self._pages = tools, pages
        pages.begin(self.state.conversation.messages)
        self._calls = CallRunner(tools, pages, self._emit, self._caller)
        try:
            await self._begin(left_out)
            while (ended := await self._step()) is None:
                pass
        except Exception as error:
            await self._emit(RunFailed(str(error) or type(error).__name__))
            raise
        (answer, stopped), state = ended, self.state
        seconds = time.monotonic() - started
        finished = RunFinished(answer, stopped, state.step, state.calls, seconds, state.usage)
        await self._emit(finished)
        return finished

    async def _begin(self, left_out: tuple[str, ...]) -> None:
        self._available = await self._tools.available()
        self.state = replace(self.state, names=self._tools.names)
        model, asked = self._spec.model.name, self.state.conversation.last_text
        names, protocol = self._available.names, self.state.protocol
        await self._emit(RunStarted(self._spec.name, model, protocol, names, left_out, asked))

    async def _step(self) -> tuple[str, Stopped] | None:
        """One step of the run; what it came to, if that was the last."""
        if self.state.pending:
            await self._answer_calls()
            return None
        step, most = self.state.step + 1, max(self._spec.max_thoughts, 1)
        if step > 1:
            await self._notice_changes()
        self.state = replace(self.state, step=step)
        reply = await self._think(is_last=step >= most)
        if reply.calls and step < most:
            self.state = self.state.asking(reply)
            return None
        return self._conclude(reply, is_last=step >= most)

    async def _think(self, *, is_last: bool) -> ModelReply:
        """One turn of the model; an empty one is asked for once more."""
        reply = await self._ask(is_last=is_last)
        if not reply.text and not reply.calls and not reply.refusal and reply.finish == "stop":
            self.state = replace(self.state, failures=self.state.failures + 1)
            reply = await self._ask(is_last=is_last)
        if is_last and reply.calls and not reply.text and not self._in_text:
            # It was told to call nothing and did; without functions it can only answer.
            answer = await self._reply(self._request_for_words())
            self.count(answer.usage)
            answer = await self._read(answer, is_last=True)
            reply = replace(answer, calls=reply.calls)
        if reply.finish == "content_filter":
            raise ModelContentFiltered(
                f"{self._spec.model.name} was stopped by its service's content filter. "
                "Change the request or the tool results that led to it."
            )
        step, calls = self.state.step, len(reply.calls)
        thought = _thought(reply.thinking, reply.text)
        await self._emit(ThoughtFinished(step, thought, calls, reply.usage))
        return reply

    async def _ask(self, *, is_last: bool) -> ModelReply:
        try:
            reply = await self._reply(self._request(is_last))
        except ModelCannotCallFunctions:
            if self._spec.protocol != "auto" or self._in_text:
                raise
            self.state = replace(self.state, protocol="text")
            await self._emit(ProtocolChanged("text"))
            reply = await self._reply(self._request(is_last))
        self.count(reply.usage)
        return await self._read(reply, is_last=is_last)

    async def _reply(self, request: ModelRequest) -> ModelReply:
        await self._emit(ModelAsked(self.state.step, request))
        return await self._spec.model.reply(request, self._on_text, self._on_again)

    def _request(self, is_last: bool) -> ModelRequest:
        shown = self._selector.select(self._available.definitions).shown
        functions = tuple(x.function for x in shown)
        limit = _OUT_OF_THOUGHTS if is_last and (functions or self.state.calls) else ""
        messages = self._messages(functions, self.state.protocol, limit)
        stress = min(self.state.failures * _STRESS_PER_FAILURE, _MAX_STRESS)
        offered = () if self._in_text else functions
        return ModelRequest(messages, offered, may_call=not is_last, extra_temperature=stress)

    def _request_for_words(self) -> ModelRequest:
        return ModelRequest(self._messages((), "text", _OUT_OF_THOUGHTS), may_call=False)

    def _messages(
        self, functions: Sequence[FunctionSpec], protocol: ToolProtocol, limit: str
    ) -> tuple[Message, ...]:
        """All that the model is sent; `limit` is said last, or, in text, in the system message."""
        template, in_text = self._spec.system_prompt, protocol == "text"
        conversation = self.state.conversation
        prompt = build_system_prompt(
            template,
            functions,
            protocol,
            server_instructions=self._available.instructions,
            metadata=dict(self._spec.metadata) or None,
            provided_system=conversation.provided_system,
        )
        if limit and in_text:
            # Not a message of its own: strict chat templates want roles in turn.
            prompt = f"{prompt}\n\n{limit}".strip()
        keep_provided = not uses(template, "provided_system")
        messages = conversation.for_model(prompt, in_text=in_text, keep_provided=keep_provided)
        return (
            (*messages, {"role": "user", "content": limit}) if limit and not in_text else messages
        )

    async def _read(self, reply: ModelReply, *, is_last: bool) -> ModelReply:
        """A reply with what was thought, and the calls that were written, taken out of its text."""
        if not reply.text or (reply.calls and not is_last):
            # Beside native calls no other is meant; the service may want its words as they are.
            return reply
        read = await self._parts_of(reply, is_last=is_last)
        first, mark = self.state.calls + 1, "call" if self._in_text else "text_call"
        calls = tuple(
            ToolCall(f"{mark}_{n}", x.call.name, x.call.arguments, x.not_made, x.note)
            for n, x in enumerate(read.calls, first)
        )
        return replace(reply, text=read.said, calls=reply.calls or calls, thinking=read.thinking)

    async def _parts_of(self, reply: ModelReply, *, is_last: bool) -> ReadReply:
        state, find = self.state, self._available.find
        messages = state.conversation.for_model("", in_text=self._in_text, keep_provided=False)
        has_tools = bool(self._available.definitions or state.calls)
        read = partial(
            read_reply,
            reply.text,
            messages,
            lambda name: find(name) is not None,
            taught=self._in_text and has_tools,
            may_call=not is_last,
            asked_before=state.hinted,
        )
        return await beside_loop(len(reply.text) + sum(len(text_of(x)) for x in messages), read)

    async def _answer_calls(self) -> None:
        """Answer every pending call; the conversation never holds a call without its answer."""
        state = self.state
        thought = _thought(state.thinking, state.thought)
        if state.cut_off:
            answers = [self._cut_off(call, thought) for call in state.pending]
        else:
            answers = await self._calls.answer_all(state.pending, self._available, thought)
        answered = [(x.call, x.text, x.is_error) for x in answers]
        self.state = self.state.answered(
            call_message(state.thought, state.pending, in_text=self._in_text, added=state.added),
            *result_messages(answered, in_text=self._in_text),
            failed=all(x.is_error for x in answers),
            kept=self._pages.texts,
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
        message: Message = {"role": "assistant", "content": answer}
        if reply.added and not self._in_text:
            message[ADDED] = dict(reply.added)
        said = self.state.conversation.with_said(message)
        self.state = replace(self.state, conversation=said)
        return answer, stopped

    async def _notice_changes(self) -> None:
        before = self._available
        self._available = await self._tools.available()
        if self._available is not before:
            self.state = replace(self.state, names=self._tools.names)
            added, removed = self._available.changed_since(before)
            if added or removed:
                await self._emit(ToolsChanged(added, removed))

    async def _on_text(self, text: str) -> None:
        await self._emit(TextArrived(text))

    async def _on_again(self, again: AskedAgain) -> None:
        await self._emit(ModelAskedAgain(self.state.step, again.reason, again.pause_seconds))

    def _first_state(self, conversation: Conversation) -> RunState:
        wanted = self._spec.protocol
        native = wanted == "native" or (wanted == "auto" and self._spec.model.calls_functions)
        return RunState(conversation, "native" if native else "text")

    @property
    def _in_text(self) -> bool:
        return self.state.protocol == "text"


def _thought(*parts: str) -> str:
    return "\n\n".join(x for x in parts if x)
