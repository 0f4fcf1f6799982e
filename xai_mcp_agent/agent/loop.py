"""The agent loop: ask the model, run the tools it calls, ask again, until it answers.

Every call of a model gets an answer in the conversation: an unknown name, broken arguments, a
failed server. Nothing a tool does ends the run.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from ..core.calls import PROGRAM, Caller
from ..core.errors import (
    ModelAnswerMissing,
    ModelContentFiltered,
    ModelContextOverflow,
    NoTools,
)
from ..core.json import JsonObject
from ..core.threads import beside_loop
from ..core.util import tokens_in
from ..search.meta_tools import TOOL_SEARCH
from ..search.selector import Selection
from .calls import PendingCalls
from .context import RunContext
from .conversation import Conversation, call_message, messages_to_send, result_messages
from .events import (
    Emit,
    ModelAsked,
    ModelAskedAgain,
    RunFailed,
    RunFinished,
    RunStarted,
    Stopped,
    TextArrived,
    ThoughtFinished,
    ToolFinished,
    ToolsChanged,
    ToolsSelected,
)
from .messages import ADDED, Message, as_text, join_paragraphs
from .models.base import AskedAgain, Model, ModelReply, ModelRequest, TokenUsage, ignore_text
from .prompt import HiddenTools, build_system_prompt, uses
from .results import ResultPages
from .state import RunLimits, RunState
from .structured import OutputSchema
from .text_protocol import ProtocolChoice, ToolCallingModel
from .tool_discovery import IntentLearner, discovered_by, discovered_in
from .toolsets import AgentTools, Available
from .window import ContextWindow

# As in xai-agent: each failure in a row makes the model a little less predictable.
_STRESS_PER_FAILURE = 0.1
_MAX_STRESS = 1.5
_OUT_OF_THOUGHTS = (
    "The limit of thoughts is reached and no tool can be used any more. "
    "Answer now from what you know."
)
_NO_ANSWER = {
    "answered": "ended its turn without an answer, even when asked again. Ask in other words, "
    "or use another model.",
    "length": "reached the limit of its output before it said anything. Raise `max_output_tokens` "
    "of AgentModelLimits, or lower its `reasoning_effort`.",
    "max_thoughts": "called tools until its last turn and gave no answer. Raise `max_thoughts` of "
    "AgentInit, or tell it in `system_prompt` when to answer.",
    "limit": "gave no answer before the limit of the run. Raise `max_run_tokens` or `max_run_cost` "
    "of AgentModelLimits.",
}


@dataclass(frozen=True)
class AgentSpec:
    """An agent, ready to run. `max_thoughts` limits the turns of the model in one run.

    `output` is the schema of its answer, if there is one. `window` is the model's context window,
    `limits` are the limits on tokens and money in one run.
    """

    name: str
    model: Model
    system_prompt: str = ""
    max_thoughts: int = 10
    protocol: ProtocolChoice = "auto"
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    output: OutputSchema | None = None
    window: ContextWindow = field(default_factory=ContextWindow)
    limits: RunLimits = field(default_factory=RunLimits)


class AgentRun:
    """One run of one agent, as steps from one `state` to the next.

    `state` can be read at any time, also after a failure; a resumed run starts from the state of
    the earlier one. Calls that an interrupted run had made are answered in its state, and not made
    again. A waiting run has the calls that need approval in its state, with the results of that
    turn's other calls.
    """

    _tools: AgentTools
    _pages: ResultPages
    _calls: PendingCalls
    _learner: IntentLearner
    _context: RunContext
    _started: float | None = None

    def __init__(
        self,
        spec: AgentSpec,
        start: RunState | Conversation,
        emit: Emit,
        caller: Caller = PROGRAM,
    ) -> None:
        self._spec = spec
        self._emit = emit
        self._caller = caller
        self._model = ToolCallingModel(spec.model, spec.protocol, emit, self.count)
        self._selection = Selection(())
        self._available = Available()
        self.state = start if isinstance(start, RunState) else RunState(start)

    @property
    def conversation(self) -> Conversation:
        """The conversation so far, readable at any time and from any thread.

        It includes pending calls, with their results if there are any, or else as interrupted.
        """
        return self._interrupted().conversation

    @property
    def progress(self) -> RunState:
        """The state with the progress of pending calls, for a process that resumes the run."""
        return self._calls.progress(self.state) if self._has_open_calls else self.state

    @property
    def seconds(self) -> float:
        """Seconds since the run began."""
        return 0.0 if self._started is None else time.monotonic() - self._started

    def count(self, usage: TokenUsage) -> None:
        """Add the tokens of a request outside the run's own turns."""
        self.state = replace(self.state, usage=self.state.usage + usage)

    async def go(
        self,
        tools: AgentTools,
        pages: ResultPages,
        left_out: tuple[str, ...] = (),
        no_tools: NoTools | None = None,
    ) -> RunFinished:
        """Run to the answer, once. `left_out` lists sources that could not be used, for the record.

        `pages` is the one toolset of `tools` that the run itself fills. `no_tools` ends the run
        before its first request to the model.

        Raises:
            ModelError: one of its subclasses; `state` holds the conversation so far.
            NoTools: the error given as `no_tools`.
        """
        self._tools, self._pages = tools, pages
        self._learner = IntentLearner(self.state.conversation.question, tools.learn)
        self._calls = PendingCalls(tools, self._emit, self._caller)
        window, folding = self._spec.window, self.state.folding
        self._context = RunContext(window, folding, pages, self._ask_aside, self._emit)
        self._started = time.monotonic()
        try:
            await self._begin(() if no_tools else left_out)  # the error's message has them
            if no_tools is not None:
                raise no_tools
            while (outcome := await self._step()) is None:
                pass
        except BaseException as error:
            if self._calls.has_begun:
                self.state = self._interrupted()
            if isinstance(error, Exception):
                stopped = "no_tools" if isinstance(error, NoTools) else "error"
                await self._emit(RunFailed(str(error) or type(error).__name__, stopped))
            raise
        await self._emit(outcome)
        return outcome

    async def _begin(self, left_out: tuple[str, ...]) -> None:
        conversation, spec = self.state.conversation, self._spec
        self._available = available = await self._tools.available()
        keys = await beside_loop(
            conversation.chars, lambda: discovered_in(conversation.turns(), available)
        )
        state = replace(self.state, names=self._tools.names, discovered=())
        self.state = state.with_discovered([*keys, *self.state.discovered])
        await self._emit(
            RunStarted(
                spec.name, spec.model.name, self._model.protocol, available.names, left_out,
                conversation.question,
            )
        )  # fmt: skip

    async def _step(self) -> RunFinished | None:
        """Make one step of the run; return the outcome if it was the last."""
        if self.state.pending:
            return await self._answer_calls()
        step, max_steps = self.state.step + 1, max(self._spec.max_thoughts, 1)
        if step > 1:
            await self._notice_changes()
        usage, last_turn = self.state.usage + self.state.uncounted, self.state.last_turn
        is_limited = self._spec.limits.ends_with_next(usage, last_turn)
        is_last = is_limited or step >= max_steps
        self.state = replace(self.state, step=step)
        reply = await self._think(is_last=is_last)
        if reply.calls and not is_last:
            self.state = self.state.with_calls(reply)
            return None
        return await self._conclude(reply, is_last=is_last, is_limited=is_limited)

    async def _think(self, *, is_last: bool) -> ModelReply:
        """Ask the model for one turn; if it is empty, ask once more."""
        reply = await self._ask(is_last=is_last)
        if not reply.text and not reply.calls and not reply.refusal and reply.finish == "stop":
            self.state = replace(self.state, failures=self.state.failures + 1)
            reply = await self._ask(is_last=is_last)
        if is_last and reply.calls and not reply.text:
            # It called tools although it may not; without functions it can only answer.
            reply = replace(await self._in_words(_OUT_OF_THOUGHTS), calls=reply.calls)
        return await self._announce(reply)

    async def _announce(self, reply: ModelReply) -> ModelReply:
        """Report the turn, and return the reply.

        Raises:
            ModelContentFiltered: a filter of the service cut the reply off.
        """
        if reply.finish == "content_filter":
            raise ModelContentFiltered(
                f"{self._spec.model.name} was stopped by its service's content filter. "
                "Change the request or the tool results that led to it."
            )
        step, calls = self.state.step, len(reply.calls)
        text = join_paragraphs(reply.thinking, reply.text)
        await self._emit(ThoughtFinished(step, text, calls, reply.usage))
        return reply

    async def _ask(self, *, is_last: bool) -> ModelReply:
        return await self._reply_in_window(partial(self._request, is_last=is_last))

    async def _in_words(self, limit: str = "") -> ModelReply:
        """Ask for a turn without functions, in which the model can only answer."""

        async def build() -> ModelRequest:
            messages = as_text(await self._messages(Selection(()), limit))
            return ModelRequest(tuple(messages), may_call=False, output_schema=self._output_schema)

        return await self._reply_in_window(build)

    async def _reply_in_window(self, build: Callable[[], Awaitable[ModelRequest]]) -> ModelReply:
        """Return the reply to a request, shrinking the request as long as it does not fit."""
        while True:
            request = await build()
            try:
                await self._emit(ModelAsked(self.state.step, request))
                reply = await self._model.reply(request, self._on_text, self._on_again)
            except ModelContextOverflow as overflow:
                if not await self._context.shrink(overflow, self.state.conversation):
                    raise
            else:
                self._count_turn(reply)
                return reply

    def _count_turn(self, reply: ModelReply) -> None:
        self._context.learn(reply.usage)
        self.count(turn := reply.usage)
        if not turn.input_tokens:
            output = "".join((reply.text, *(x.arguments for x in reply.calls)))
            turn = TokenUsage(self._context.request_tokens, tokens_in(output))
            self.state = replace(self.state, uncounted=self.state.uncounted + turn)
        self.state = replace(self.state, last_turn=turn, folding=self._context.folding)

    async def _ask_aside(self, request: ModelRequest) -> ModelReply:
        """Return the reply to a request outside the run's turns, which no person sees."""
        await self._emit(ModelAsked(self.state.step, request))
        reply = await self._model.reply(request, ignore_text, self._on_again)
        self.count(reply.usage)
        return reply

    async def _select(self) -> Selection:
        """Select the tools that the next request shows."""
        last = self._selection
        available, keys = self._available, self.state.discovered
        select = partial(self._tools.selector.select, available.definitions, keys)
        selection = self._selection = await beside_loop(available.tokens, select)
        if selection.shown != last.shown or selection.is_whole != last.is_whole:
            await self._emit(ToolsSelected(self.state.step, selection))
        return selection

    async def _request(self, *, is_last: bool) -> ModelRequest:
        selection = await self._select()
        functions = tuple(x.definition.function for x in selection.shown)
        limit = _OUT_OF_THOUGHTS if is_last and (functions or self.state.calls) else ""
        had_pages = bool(self._pages.texts)
        messages = await self._messages(selection, limit)
        if self._pages.texts and not had_pages:
            # The tool that reads long results is available from now on.
            await self._notice_changes()
            return await self._request(is_last=is_last)
        stress = min(self.state.failures * _STRESS_PER_FAILURE, _MAX_STRESS)
        # With several services, a model held to a schema calls no tools.
        form = None if functions else self._output_schema
        may_call = not (is_last and functions)
        return ModelRequest(messages, functions, may_call, stress, form)

    async def _messages(self, selection: Selection, limit: str) -> tuple[Message, ...]:
        """Return the messages of a request, with `limit` as the last one if it is not empty."""
        template, conversation = self._spec.system_prompt, self.state.conversation
        prompt = build_system_prompt(
            template,
            tuple(x.definition.function for x in selection.shown),
            server_instructions=self._available.instructions,
            hidden=self._hidden_tools(selection),
            metadata=dict(self._spec.metadata),
            provided_system=conversation.provided_system,
        )
        instruction = self._spec.output.instruction if self._spec.output else ""
        provided = "" if uses(template, "provided_system") else conversation.provided_system
        system = join_paragraphs(prompt, instruction, provided)
        fixed_tokens = tokens_in(system + limit) + selection.tokens
        turns = await self._context.turns(conversation, self.state.step, fixed_tokens)
        self.state = replace(
            self.state, folding=self._context.folding, long_results=self._pages.texts
        )
        messages = messages_to_send(system, turns)
        return (*messages, {"role": "user", "content": limit}) if limit else messages

    def _hidden_tools(self, selection: Selection) -> HiddenTools | None:
        """Return how the model finds the tools outside this request, if there are any."""
        shown = (x.definition for x in selection.shown)
        search = next((x.name for x in shown if x.tool.key == TOOL_SEARCH.key), "")
        if not search or selection.is_whole:
            return None
        return HiddenTools(search, self._available.sources)

    async def _answer_calls(self) -> RunFinished | None:
        """Answer every pending call; return the outcome if one waits for a person.

        Calls that were made before the run resumed produce no events.
        """
        before = self.state.made
        await self._calls.make(self.state)
        results, state = self._calls.results(self.state), self._calls.progress(self.state)
        if state.awaiting:
            self.state = state
        else:
            self.state = self._with_results(results)
            self._learner.learn(results, self._tools.current)
        for number, event in enumerate(results):
            if number not in state.awaiting and number not in before:
                await self._emit(event)
        return self._outcome("", "waiting") if state.awaiting else None

    def _with_results(self, events: Sequence[ToolFinished]) -> RunState:
        """Return the state with these results of the pending calls in the conversation."""
        state, results = self.state, [x.result for x in events]
        texts = self._pages.show(results)
        # A search also finds tools that arrived since the model was asked.
        keys = discovered_by(events, self._tools.current)
        return state.with_discovered(keys).with_answers(
            call_message(state.thought, state.pending, added=state.added),
            *result_messages(zip(state.pending, texts, results, strict=True)),
            all_failed=all(x.is_error for x in results),
            long_results=self._pages.texts,
        )

    @property
    def _has_open_calls(self) -> bool:
        return bool(self.state.pending) and self._started is not None

    def _interrupted(self) -> RunState:
        """Return the state as if the run ended here."""
        if not self._has_open_calls:
            return self.state
        return self._with_results(self._calls.results(self.state))

    def _outcome(self, answer: str, stopped: Stopped, structured: Any = None) -> RunFinished:
        steps, calls, usage = self.state.step, self.state.calls, self.state.usage
        return RunFinished(answer, stopped, steps, calls, self.seconds, usage, structured)

    async def _conclude(self, reply: ModelReply, *, is_last: bool, is_limited: bool) -> RunFinished:
        self._say(reply)
        structured = None
        if self._spec.output and not reply.refusal:
            reply, structured = await self._spec.output.fit_reply(reply, self._ask_again)
        stopped: Stopped = "max_thoughts" if is_last and reply.calls else "answered"
        if is_limited:
            stopped = "limit"
        if reply.finish == "length":
            stopped = "length"
        if reply.refusal:
            stopped = "refused"
        answer = reply.refusal or reply.text
        if not answer:
            raise ModelAnswerMissing(f"{self._spec.model.name} {_NO_ANSWER[stopped]}")
        return self._outcome(answer, stopped, structured)

    async def _ask_again(self, reply: ModelReply, reason: str, correction: str) -> ModelReply:
        """Tell the model what is wrong with its answer, and return its new one."""
        await self._emit(ModelAskedAgain(self.state.step, reason, 0.0))
        self._add({"role": "user", "content": correction})
        again = await self._announce(replace(await self._in_words(), calls=reply.calls))
        self._say(again)
        return again

    def _say(self, reply: ModelReply) -> None:
        """Add an answer to the conversation, unless it is empty."""
        if answer := reply.refusal or reply.text:
            message: Message = {"role": "assistant", "content": answer}
            if reply.added:
                message[ADDED] = dict(reply.added)
            self._add(message)

    def _add(self, message: Message) -> None:
        self.state = replace(
            self.state, conversation=self.state.conversation.with_messages(message)
        )

    async def _notice_changes(self) -> None:
        before = self._available
        self._available = await self._tools.available()
        if self._available is not before:
            self.state = replace(self.state, names=self._tools.names)
            added, removed = self._available.changes_since(before)
            if added or removed:
                await self._emit(ToolsChanged(added, removed))

    async def _on_text(self, text: str) -> None:
        await self._emit(TextArrived(text))

    async def _on_again(self, again: AskedAgain) -> None:
        await self._emit(ModelAskedAgain(self.state.step, again.reason, again.pause_seconds))

    @property
    def _output_schema(self) -> JsonObject | None:
        return self._spec.output.schema if self._spec.output else None
