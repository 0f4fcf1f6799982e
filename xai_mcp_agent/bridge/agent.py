"""An agent from Python, without a canvas: `Agent`, and the same as coroutines.

See docs/python.md. This interface is kept stable.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import inf
from typing import Any, TypeAlias, TypeVar, cast, get_args

from anyio import Lock, to_thread

from ..agent.conversation import BadConversation, Conversation
from ..agent.events import RunEvent, Stopped, ToolFinished
from ..agent.loop import AgentRun, AgentSpec
from ..agent.memory.notes import Memory, memory_for
from ..agent.memory.tools import MemoryToolset
from ..agent.messages import Message
from ..agent.models.base import counts
from ..agent.models.choice import OFFLINE, AgentModel
from ..agent.sampling import LentModel, sample
from ..agent.state import RunLimits
from ..agent.structured import OutputSchema
from ..agent.text_protocol import ProtocolChoice
from ..agent.toolsets import FixedToolset, Toolset
from ..core.calls import Caller, Host, ToolInvocation
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..core.questions import SamplingReply, SamplingRequest
from ..core.results import ToolResult
from ..core.threads import beside_loop
from ..core.tools import STATIC, ToolKey
from ..search.preferences import Preferences
from ..settings.approval import ApprovalWords, read_words
from ..settings.models import Settings
from ..settings.sources import FunctionSettings
from ..sources.functions.function import Function, FunctionCalls
from .agent_tools import Listener, ToolSpec, ready_tools
from .faces import Bridge
from .operations import Operations
from .source_toolset import SourceFailure
from .streams import AgentStream, AioAgentStream, Tell
from .transcript import Recorder, new_run_id, transcript_file, workflow_name

T = TypeVar("T")

_FUNCTIONS = "functions of the program"

ToolbeltPart: TypeAlias = str | Callable[..., Any]
"""Name of a source or of a group of the settings, or a function."""

Parts: TypeAlias = tuple[ToolbeltPart, ...] | None

AgentInput: TypeAlias = str | Iterable[Mapping[str, Any]]
"""A question, or messages as an earlier run returned them, with the next question at the end."""


@dataclass(frozen=True)
class AgentResult:
    """Result of a run. `stopped` says why it ended: `answered`, or at which limit.

    `conversation` has all messages, to continue with. `calls` are the calls of tools, in order;
    `usage` counts tokens, turns, calls and seconds; `structured` is the answer as a value, with an
    `output_schema`; `left_out` has a line for each source that could not be used, and `notes` are
    other messages for a person.
    """

    answer: str
    stopped: Stopped
    conversation: list[Message]
    calls: tuple[ToolFinished, ...]
    usage: Mapping[str, float]
    structured: Any = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class Agent:
    """Answers questions with the tools of a bridge, as AgentRun does on the canvas.

    `toolbelt` names the sources and groups of the settings that it may use; functions in it become
    tools, too. Without a toolbelt it may use all of them. `required` names sources and groups of
    which it must have a tool; they belong to the toolbelt, too. The run waits for each source of a
    toolbelt up to its own limit; without a toolbelt, once one is ready, it waits for the others at
    most `wait_seconds`, by default as the settings say. `model` is `offline`, a name such as
    `gpt-5-mini` or `openai:gpt-5-mini`, or an `AgentModel`. The other arguments are those of the
    nodes AgentInit, AgentMakeToolbelt and AgentPreferTools. Questions of servers and calls that
    wait for approval go to `answer` and `approve` of the bridge.

    Several threads and tasks can use it at once; each run is independent.

    Raises:
        UnknownServer, SettingsError: a name cannot be used.
        UnknownProvider: there is no such provider of models, or it wants a model's name.
        BadSetting: a value is invalid.
    """

    def __init__(
        self,
        bridge: Bridge,
        toolbelt: Iterable[ToolbeltPart] | ToolbeltPart | None = None,
        *,
        required: Iterable[str] | str = (),
        wait_seconds: float | None = None,
        model: str | AgentModel = OFFLINE,
        name: str = "agent",
        system_prompt: str = "",
        max_thoughts: int = 10,
        tool_protocol: ProtocolChoice = "auto",
        output_schema: JsonObject | None = None,
        memory: Any = None,
        max_run_tokens: int | None = None,
        tool_token_budget: int | None = None,
        always_shown_tools: Iterable[str] = (),
        blocked_tools: Iterable[str] = (),
        trusted_tools: Iterable[str] = (),
        approval: str | Mapping[str, str] | None = None,
    ) -> None:
        _check(max_thoughts, tool_protocol)
        settings, required, model = bridge.settings, _as_tuple(required), AgentModel.of(model)
        parts = None if toolbelt is None else _as_tuple(toolbelt)
        sources = _sources(settings, parts, required)
        own = _own_tools(bridge, parts, memory_for(memory, name))
        output = OutputSchema(output_schema) if output_schema else None
        preferences = Preferences(
            _as_tuple(always_shown_tools), _as_tuple(blocked_tools), _as_tuple(trusted_tools)
        )
        failures = dict[str, SourceFailure]()

        def spec() -> AgentSpec:
            open_model = model.open(settings.env)
            return AgentSpec(
                name, open_model, system_prompt, max_thoughts, tool_protocol,
                output=output, window=model.window(open_model), limits=RunLimits(max_run_tokens),
            )  # fmt: skip

        def tools(operations: Operations) -> ToolSpec:
            choice = operations.choice(sources)
            return ToolSpec(
                choice, own, preferences, tool_token_budget, failures, required=required
            )

        spec()  # an unusable model is an error now, not at the first run
        settings.secrets.update(model.secrets)
        words = _approval(approval)
        if wait_seconds is None:
            wait_seconds = settings.wait_seconds

        def caller(host: Host | None) -> Caller:
            run, workflow = new_run_id(), workflow_name()
            return Caller("agent", name, run=run, host=host, approval=words, workflow=workflow)

        self._bridge = bridge
        seconds = wait_seconds if toolbelt is None else inf
        self.aio = AioAgent(bridge, caller, model, spec, tools, seconds)
        """The same methods for callers that own an asyncio loop."""

    def run(self, question: AgentInput) -> AgentResult:
        """Run until there is an answer. An interrupt stops the run, and cancels its calls.

        Raises:
            BadConversation: `question` is neither a question nor a conversation.
            ModelError: the model's service failed; failures of tools never end a run.
            NoTools: no source, or not a required one, gives it a tool. The model was not asked.
            RuntimeError: the bridge is closed.
        """
        return self._bridge.aio.portal.call(self.aio.play, question, _ignore)

    def stream(self, question: AgentInput) -> AgentStream[AgentResult]:
        """Start a run, and iterate over its events: `for event in agent.stream(...)`.

        Raises:
            RuntimeError: the bridge is closed. The errors of `run` are raised after the last event.
        """
        portal = self._bridge.aio.portal
        return AgentStream(portal, lambda tell: self.aio.play(question, tell))


class AioAgent:
    """Methods of `Agent` as coroutines. The agent still runs on the bridge's own loop."""

    def __init__(
        self,
        bridge: Bridge,
        caller: Callable[[Host | None], Caller],
        model: AgentModel,
        spec: Callable[[], AgentSpec],
        tools: Callable[[Operations], ToolSpec],
        wait_seconds: float,
    ) -> None:
        self._bridge = bridge
        # Each is called once per run; the run closes the model of its spec.
        self._caller = caller
        self._model = model
        self._spec = spec
        self._tools = tools
        self._wait_seconds = wait_seconds

    async def run(self, question: AgentInput) -> AgentResult:
        """See `Agent.run`. Cancelling it stops the run."""
        return await self._bridge.aio.portal.call_async(self.play, question, _ignore)

    def stream(self, question: AgentInput) -> AioAgentStream[AgentResult]:
        """See `Agent.stream`: `async for event in agent.aio.stream(...)`."""
        portal = self._bridge.aio.portal
        return AioAgentStream(portal, lambda tell: self.play(question, tell))

    async def play(
        self,
        question: AgentInput,
        tell: Tell,
        host: Host | None = None,
        show_waiting: Callable[[tuple[str, ...]], None] | None = None,
    ) -> AgentResult:
        """Run on the bridge's loop; `tell` gets every event there.

        `host` answers questions of servers and approvals; None stands for the bridge's own.
        `show_waiting` gets the names of the awaited sources.
        """
        _check_question(question)
        notes, calls = list[str](), list[ToolFinished]()
        caller = self._caller(host)
        operations, env = self._bridge.aio.operations, self._bridge.settings.env

        async def lend(request: SamplingRequest) -> SamplingReply:
            mask = operations.mask
            lent = LentModel(
                self._model,
                caller.name,
                env,
                mask,
                lambda text: notes.append(mask(text)),
                run.count,
            )
            return await sample(lent, request)

        caller = replace(caller, sampler=lend)
        operations = operations.for_caller(caller)
        record = self._recorder(caller)

        async def emit(event: RunEvent) -> None:
            if isinstance(event, ToolFinished):
                calls.append(event)
            tell(event)
            await record(event)

        # In a thread: a long conversation takes a while to copy.
        conversation, spec = await to_thread.run_sync(Conversation, question), self._spec()
        run = AgentRun(spec, conversation, emit, caller)
        listener = Listener(notes.append, show_waiting or _ignore)
        try:
            ready = await ready_tools(
                operations, self._tools(operations), listener, wait_seconds=self._wait_seconds
            )
            outcome = await run.go(ready.tools, ready.pages, ready.left_out, ready.no_tools)
        finally:
            await spec.model.aclose()
        conversation = run.conversation
        return AgentResult(
            answer=outcome.answer,
            stopped=outcome.stopped,
            conversation=await beside_loop(conversation.chars, lambda: conversation.messages),
            calls=tuple(calls),
            usage=counts(outcome.usage, outcome.steps, outcome.tool_calls, outcome.seconds),
            structured=outcome.structured,
            left_out=ready.left_out,
            notes=tuple(notes),
        )

    def _recorder(self, caller: Caller) -> Callable[[RunEvent], Awaitable[None]]:
        """Return a function that writes the events of a run into the transcript, in order."""
        who = {"run": caller.run, "run_id": caller.run, "agent": caller.name}
        transcript = Recorder(transcript_file(), who, [self._bridge.settings.secrets])
        lock = Lock()

        async def record(event: RunEvent) -> None:
            if transcript.is_on:
                async with lock:
                    await to_thread.run_sync(transcript.event, event, time.time())

        return record


def _check(max_thoughts: int, tool_protocol: str) -> None:
    if max_thoughts < 1:
        raise BadSetting(f"`max_thoughts` of Agent is {max_thoughts}. Give 1 or more.")
    if tool_protocol not in get_args(ProtocolChoice):
        words = ", ".join(get_args(ProtocolChoice))
        raise BadSetting(f"`tool_protocol` of Agent is {tool_protocol!r}. Use one of: {words}.")


def _sources(settings: Settings, parts: Parts, required: Iterable[str]) -> list[str]:
    """Return the sources and groups of the toolbelt; without one, those of the settings."""
    names = [x for x in parts or () if isinstance(x, str)]
    names = list(dict.fromkeys((*names, *required)))
    for name in names:
        if settings.group(name) is None:
            settings.source(name)
    return list(dict.fromkeys((*(settings.switched_on if parts is None else ()), *names)))


def _own_tools(bridge: Bridge, parts: Parts, memory: Memory | None) -> list[Toolset]:
    """Return the toolsets of the memory and of functions, for all runs of the agent."""
    own: list[Toolset] = [] if memory is None else [MemoryToolset(memory)]
    functions = [x for x in parts or () if not isinstance(x, str)]
    if functions:
        own.append(FunctionToolset(functions, bridge.aio.operations.mask))
    return own


def _check_question(question: Any) -> None:
    """Refuse a question that is neither a text nor messages."""
    if not isinstance(question, Iterable) or isinstance(question, bytes | bytearray):
        raise BadConversation(
            f"The question to the agent is of the type {type(question).__name__}. Give it a text, "
            "or a list of messages, such as the `conversation` of a result with a question at its "
            "end."
        )


def _as_tuple(values: T | Iterable[T]) -> tuple[T, ...]:
    """Return the values of a list; a single name is one value, not its letters."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (cast(T, values),)
    return tuple(cast("Iterable[T]", values))


def _approval(words: str | Mapping[str, str] | None) -> ApprovalWords:
    try:
        return {} if words is None else read_words(words)
    except ValueError as reason:
        raise BadSetting(f"`approval` of Agent: {reason}") from reason


def _ignore(_: object) -> None:
    """Ignore the event."""


class FunctionToolset(FixedToolset):
    """Functions as tools: each call in a thread of its own, with the usual time limit.

    Raises:
        BadSetting: a function cannot be a tool, or two have the same name.
    """

    def __init__(self, functions: Sequence[Callable[..., Any]], mask: Callable[[str], str]) -> None:
        self._functions = _by_name(functions)
        self._tools = tuple(x.tool for x in self._functions.values())
        self._calls = FunctionCalls(FunctionSettings(name=_FUNCTIONS), mask)

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call one of them; see `FunctionCalls.call`."""

        async def ready(_: float) -> Mapping[str, Function]:
            return self._functions

        return await self._calls.call(invocation, ready)


def _by_name(functions: Sequence[Callable[..., Any]]) -> dict[str, Function]:
    by_name: dict[str, Function] = {}
    for run in functions:
        function = _function(run)
        if function.tool.name in by_name:
            raise BadSetting(
                f"Two functions of the agent are called {function.tool.name!r}. Rename one."
            )
        by_name[function.tool.name] = function
    return by_name


def _function(run: Callable[..., Any]) -> Function:
    name = getattr(run, "__name__", "")
    if not name.isidentifier():
        raise BadSetting(f"{run!r} has no name to call it by. Write it with `def`.")
    try:
        file = inspect.getsourcefile(inspect.unwrap(run)) or ""
        return Function.of(ToolKey(STATIC.name, "", name), file, run)
    except Exception as cause:
        # Pydantic and Python raise errors of every kind for annotations that a person wrote.
        raise BadSetting(f"The function {name!r} cannot be a tool: {cause}") from cause
