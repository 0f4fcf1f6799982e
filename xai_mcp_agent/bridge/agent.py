"""An agent from Python, without a canvas: `Agent`, and the same as coroutines.

See docs/python.md. Kept stable.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any, TypeAlias, TypeVar, cast, get_args

from anyio import Lock, to_thread

from ..agent.conversation import BadConversation, Conversation
from ..agent.events import RunEvent, Stopped, ToolFinished
from ..agent.limits import RunLimits
from ..agent.loop import AgentRun, AgentSpec, ProtocolChoice
from ..agent.memory.notes import Memory, memory_for
from ..agent.memory.tools import MemoryToolset
from ..agent.messages import Message
from ..agent.models.base import counts
from ..agent.models.choice import OFFLINE, AgentModel
from ..agent.protocols.reading import beside_loop
from ..agent.structured import OutputSchema
from ..agent.toolsets import Toolset
from ..core.calls import Caller, Host
from ..core.errors import BadSetting
from ..core.json import JsonObject
from ..search.preferences import Preferences
from ..settings.approval import ApprovalWords, read_words
from .agent_tools import FunctionToolset, Listener, ToolSpec, ready_tools
from .faces import Bridge
from .operations import Operations
from .source_toolset import Failure
from .streams import AgentStream, AioAgentStream, Tell
from .transcript import Recorder, new_run_id, transcript_file, workflow_name

T = TypeVar("T")

ToolGiven: TypeAlias = str | Callable[..., Any]
"""The name of a source or of a group of the settings, or a function."""

Asked: TypeAlias = str | Iterable[Mapping[str, Any]]
"""A question, or messages as a former run gave them back, with the next question at their end."""


@dataclass(frozen=True)
class AgentResult:
    """What a run came to. `stopped` says why it ended: `answered`, or at which limit.

    `conversation` is all that was said, to go on with. `calls` are those of tools, in their order;
    `usage` counts tokens, turns, calls and seconds; `structured` is the value of an answer of a
    certain form; `left_out` has a line for each source that could not be used, `notes` what else a
    person must know.
    """

    answer: str
    stopped: Stopped
    conversation: list[Message]
    calls: tuple[ToolFinished, ...]
    usage: Mapping[str, float]
    structured: Any = None
    left_out: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Setup:
    """What an agent is, checked. A run gets a model of its own, which it closes."""

    name: str
    model: AgentModel
    sources: tuple[str, ...]
    required: tuple[str, ...]
    wait_seconds: float
    functions: FunctionToolset | None
    system_prompt: str
    max_thoughts: int
    protocol: ProtocolChoice
    output: OutputSchema | None
    memory: Memory | None
    limits: RunLimits
    budget_tokens: int | None
    preferences: Preferences
    approval: ApprovalWords
    failed: dict[str, Failure] = field(default_factory=dict[str, Failure])

    def spec(self) -> AgentSpec:
        return AgentSpec(
            self.name, self.model.open(), self.system_prompt, self.max_thoughts, self.protocol,
            output=self.output, window=self.model.window, limits=self.limits,
        )  # fmt: skip

    def tools(self, operations: Operations) -> ToolSpec:
        own: list[Toolset] = [] if self.memory is None else [MemoryToolset(self.memory)]
        own += [self.functions] if self.functions else []
        choice = operations.choice(self.sources)
        return ToolSpec(
            choice, own, self.preferences, self.budget_tokens, self.failed, required=self.required
        )


class Agent:
    """Answers questions with the tools of a bridge, as AgentRun does on the canvas.

    `toolbelt` names what it may use: servers and other sources of the settings, and groups of
    them; functions in it become tools, too. Without it, it may use all that can be used.
    `required` names sources and groups of which it must have a tool; they belong to the toolbelt,
    too. What is named is waited for, each source to its own limit. Without a toolbelt, once one
    source is ready, the next is waited for `wait_seconds`; None: as long as the settings say.
    `model` is `offline`, `provider:name` such as `openai:gpt-5-mini`, or an `AgentModel`. The
    others are those of the nodes AgentInit, AgentMakeToolbelt and AgentPreferTools. What servers
    ask, and calls that wait for approval, go to `answer` and `approve` of the bridge.

    It can be used by several threads and tasks at once; each run is one of its own.

    Raises:
        UnknownServer, SettingsError: a name that cannot be used.
        UnknownProvider: no such provider of models, or it wants a model's name.
        BadSetting: a value that cannot be.
    """

    def __init__(
        self,
        bridge: Bridge,
        toolbelt: Iterable[ToolGiven] | ToolGiven | None = None,
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
        if max_thoughts < 1:
            raise BadSetting(f"`max_thoughts` of Agent is {max_thoughts}. Give 1 or more.")
        if tool_protocol not in get_args(ProtocolChoice):
            words = ", ".join(get_args(ProtocolChoice))
            raise BadSetting(f"`tool_protocol` of Agent is {tool_protocol!r}. Use one of: {words}.")
        needed = _several(required)
        parts = () if toolbelt is None else _several(toolbelt)
        functions = tuple(x for x in parts if not isinstance(x, str))
        named = tuple(dict.fromkeys((*(x for x in parts if isinstance(x, str)), *needed)))
        for source in named:
            if bridge.settings.group(source) is None:
                bridge.settings.source(source)
        every = bridge.settings.switched_on if toolbelt is None else ()
        patience = bridge.settings.wait_seconds if wait_seconds is None else wait_seconds
        chosen = AgentModel.of(model)
        setup = _Setup(
            name=name,
            model=chosen,
            sources=tuple(dict.fromkeys((*every, *named))),
            required=needed,
            wait_seconds=patience if toolbelt is None else inf,
            # One for all runs: it counts the functions that were left and still run.
            functions=_functions(bridge, functions) if functions else None,
            system_prompt=system_prompt,
            max_thoughts=max_thoughts,
            protocol=tool_protocol,
            output=OutputSchema(output_schema) if output_schema else None,
            memory=memory_for(memory, name),
            limits=RunLimits(max_run_tokens),
            budget_tokens=tool_token_budget,
            preferences=Preferences(
                _several(always_shown_tools), _several(blocked_tools), _several(trusted_tools)
            ),
            approval=_approval(approval),
        )
        setup.spec()  # refuses what no run could begin with
        bridge.settings.secrets.update(chosen.secrets)
        self._bridge = bridge
        self.aio = AioAgent(bridge, setup)
        """The same methods for callers that own an asyncio loop."""

    def run(self, question: Asked) -> AgentResult:
        """Run to the answer. An interrupt stops it, and cancels its calls.

        Raises:
            BadConversation: `question` is none.
            ModelError: the model's service; of what tools do, nothing ends a run.
            NoTools: none of its sources gives it a tool, or a required one does not. The model was
                not asked.
            RuntimeError: the bridge is closed.
        """
        return self._bridge.aio.portal.call(self.aio.play, question, _unheard)

    def stream(self, question: Asked) -> AgentStream[AgentResult]:
        """Begin to run, and go through what happens: `for event in agent.stream(...)`.

        Raises:
            RuntimeError: the bridge is closed. What `run` raises comes at the end of the events.
        """
        portal = self._bridge.aio.portal
        return AgentStream(portal, lambda tell: self.aio.play(question, tell))


class AioAgent:
    """The methods of `Agent` as coroutines. The agent still runs on the bridge's own loop."""

    def __init__(self, bridge: Bridge, setup: _Setup) -> None:
        self._bridge = bridge
        self._setup = setup

    async def run(self, question: Asked) -> AgentResult:
        """See `Agent.run`. Cancelling it stops the run."""
        return await self._bridge.aio.portal.awaited(self.play, question, _unheard)

    def stream(self, question: Asked) -> AioAgentStream[AgentResult]:
        """See `Agent.stream`: `async for event in agent.aio.stream(...)`."""
        portal = self._bridge.aio.portal
        return AioAgentStream(portal, lambda tell: self.play(question, tell))

    async def play(
        self,
        question: Asked,
        tell: Tell,
        host: Host | None = None,
        watch: Callable[[tuple[str, ...]], None] | None = None,
    ) -> AgentResult:
        """Run on the bridge's loop; `tell` hears every event there, `watch` who is waited for.

        `host` is asked what servers want to know, and for approval; None: the bridge's own.
        """
        _check_question(question)
        setup, calls = self._setup, list[ToolFinished]()
        caller = _caller(setup, host)
        operations, notes = Operations(self._bridge.aio.engine, caller), list[str]()
        who = {"run": caller.run, "run_id": caller.run, "agent": setup.name}
        transcript = Recorder(transcript_file(), who, [self._bridge.settings.secrets])
        in_turn = Lock()

        async def emit(event: RunEvent) -> None:
            if isinstance(event, ToolFinished):
                calls.append(event)
            tell(event)
            if transcript.is_on:
                async with in_turn:
                    await to_thread.run_sync(transcript.event, event, time.time())

        # Beside the loop: a long one takes a while to copy.
        start, spec = await to_thread.run_sync(Conversation, question), setup.spec()
        run = AgentRun(spec, start, emit, caller)
        listener = Listener(notes.append, watch or _unwatched)
        try:
            ready = await ready_tools(
                operations, setup.tools(operations), listener, wait_seconds=setup.wait_seconds
            )
            ended = await run.go(ready.tools, ready.pages, ready.left_out, ready.no_tools)
        finally:
            await spec.model.aclose()
        conversation = run.conversation
        messages = await beside_loop(conversation.chars, lambda: conversation.messages)
        return AgentResult(
            ended.answer,
            ended.stopped,
            messages,
            tuple(calls),
            counts(ended.usage, ended.steps, ended.tool_calls, ended.seconds),
            ended.structured,
            ready.left_out,
            tuple(notes),
        )  # fmt: skip


def _caller(setup: _Setup, host: Host | None) -> Caller:
    return Caller(
        "agent", setup.name, run=new_run_id(), host=host, approval=setup.approval,
        workflow=workflow_name(),
    )  # fmt: skip


def _check_question(question: Any) -> None:
    """Refuse what is neither a text nor messages, in words of whoever writes Python."""
    if not isinstance(question, Iterable) or isinstance(question, bytes | bytearray):
        raise BadConversation(
            f"The question to the agent is of the type {type(question).__name__}. Give it a text, "
            "or a list of messages, such as the `conversation` of a result with a question at its "
            "end."
        )


def _functions(bridge: Bridge, functions: Sequence[Callable[..., Any]]) -> FunctionToolset:
    return FunctionToolset(functions, bridge.aio.engine.recorder.mask)


def _several(values: T | Iterable[T]) -> tuple[T, ...]:
    """What somebody lists; a name alone is one, and not its letters."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return (cast(T, values),)
    return tuple(cast("Iterable[T]", values))


def _approval(words: str | Mapping[str, str] | None) -> ApprovalWords:
    try:
        return {} if words is None else read_words(words)
    except ValueError as reason:
        raise BadSetting(f"`approval` of Agent: {reason}") from reason


def _unheard(_: RunEvent) -> None:
    """Nobody listens."""


def _unwatched(_: tuple[str, ...]) -> None:
    """Nobody looks at what is waited for."""
