"""Runs of agents and tools for nodes: from the workflow's thread, over the bridge's loop."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any

from ..agent.calls import PendingCalls
from ..agent.conversation import Conversation, call_message, result_messages
from ..agent.events import RunEvent, RunFinished, RunStarted, ToolFinished
from ..agent.loop import AgentRun
from ..agent.memory.notes import MemoryFailed
from ..agent.memory.tools import MemoryToolset
from ..agent.messages import Message, ToolCall
from ..agent.models.base import TokenUsage, counts
from ..agent.results import text_of_result
from ..agent.sampling import LentModel, sample
from ..agent.state import RunState
from ..bridge.agent_tools import Listener, ReadyTools, ToolSpec, ready_tools
from ..bridge.operations import Operations
from ..bridge.transcript import Recorder, new_run_id
from ..console.console import Console
from ..console.text import short_arguments
from ..core.approval import ApprovalRequest, ApprovalScope, RunApprovals, RunFacts
from ..core.calls import Caller
from ..core.errors import BadSetting, NoTools
from ..core.results import ToolResult
from ..core.tools import ToolKey
from ..core.visible import visible
from ..sources.canvas import drawn_tools
from ..views.plans import plan_text
from ..views.tools import review_text
from .agents import agent_in, model_of, notes_on, resolve_agent_name, settings_of, spec_of
from .at_node import Stage, on_stage, recorder
from .conversations import conversation_with, is_nothing, long_results_in, store_long_results
from .lease import BridgeLease, busy
from .node_answers import as_dict, branch_answer, collect_approval
from .panel.chat import note_conversation, take_question
from .ports import as_text, inputs, outputs
from .run_state import resumable_run
from .toolbelts import PLANNING_TOOLS, REQUIRED, preferences_of, tool_choice

# Keys of `ctx`, for the length of the workflow's run.
_APPROVALS, _FACTS = "approved_calls", "facts_for_rules"

_ID_BYTES = 6  # of a call by hand: an id that no model's call has


@dataclass
class CanvasRun:
    """The outcome of a run. After an error it still holds the conversation so far.

    `stopped` says how the run ended, `error` why it has no answer. `usage` counts tokens, model
    turns, tool calls and seconds. `structured` is the value of a structured answer.
    """

    conversation: list[Message] = field(default_factory=list[Message])
    answer: str = ""
    stopped: str = "running"
    error: str = ""
    usage: dict[str, float] = field(default_factory=lambda: counts(TokenUsage()))
    structured: Any = None

    def follow(self, run: AgentRun) -> None:
        """Copy the conversation and the usage so far."""
        self.conversation, state = run.conversation.messages, run.state
        self.usage = counts(state.usage, state.step, state.calls, run.seconds)


def run_agent(
    ctx: Any,
    name: str,
    conversation: Any,
    *,
    question: str = "",
    metadata: Mapping[str, Any] | None = None,
    outcome: CanvasRun,
    on_thought: Callable[[ToolFinished], None] | None = None,
    show: str = "",
    output_schema: Mapping[str, Any] | None = None,
    on_approval: Callable[[ApprovalRequest], ApprovalScope | None] | None = None,
    run_state: str = "",
    wait_for_approval: bool = False,
    needs_sources: bool = True,
) -> None:
    """Run an agent to its answer; fill `outcome` along the way, up to an error too.

    Without a name, the agent that was set up last runs. `question` is added to the end of the
    conversation. `on_thought` is called in this thread after each tool use; by then `outcome` holds
    its result too. `show` says how much to print: see `Console`.
    `output_schema` is the schema of the answer. `on_approval` decides in this thread whether a call
    may be made, in place of the person. With the file `run_state`, a run in which no person can
    approve a call ends as waiting (with `wait_for_approval` even if a person could), and the next
    run with that file goes on from there. With `needs_sources`, a run fails if no source gives the
    agent a tool.

    Raises:
        UnknownAgent, BadConversation, UnknownProvider, BadSetting, SettingsError: a mistake here.
        RunFileError: the state in the file cannot be used.
        ModelError, RuntimeError: the model's service failed; the bridge was closed meanwhile.
        NoTools: the agent's sources, or a required one, gave it no tool.
        NestedTooDeep: a tool of the agent runs the agent itself, again and again.
    """
    start = _read_request(question, conversation, outcome)
    name = resolve_agent_name(ctx, name, "AgentRun", runs=True)
    granted, facts = granted_in(ctx), facts_in(ctx)
    with (
        resumable_run(run_state, wait_for_approval, name, start, granted, facts) as stored,
        _at_work(ctx, name, "AgentRun", show, stored.approvals) as work,
    ):
        spec = spec_of(work.agent, name, work.stage.bridge.settings.env, metadata, output_schema)

        def think(ctx: Any, do: Callable[[ToolFinished], None], event: ToolFinished) -> None:
            # Copy here: on the loop, a long conversation would hold up all others.
            outcome.follow(run)
            store_long_results(ctx, run.state.long_results)
            do(event)

        async def emit(event: RunEvent) -> None:
            await stored.note(event, lambda: run.progress)
            work.show(event)
            if isinstance(event, ToolFinished) and (do := work.on_thought):
                await work.stage.run_nodes(lambda ctx: think(ctx, do, event))

        async def go(operations: Operations) -> RunFinished:
            stored.mask = operations.mask
            try:
                ready = await work.tools(operations, run.state)
                no_tools = ready.no_tools if needs_sources else None
                result = await run.go(ready.tools, ready.pages, ready.left_out, no_tools)
                for line in await stored.end(result.stopped, run.state):
                    work.tell(line)
                return result
            finally:
                await spec.model.aclose()

        run = AgentRun(spec, stored.start, emit, work.stage.caller)
        work.notes = notes_on(ctx, name, work.agent)
        work.lend_model(run.count)
        work.on_thought = on_thought
        if on_approval:
            work.approve_by(on_approval)
        work.results = long_results_in(ctx, outcome.conversation)
        try:
            result = work.stage.perform(go)
            outcome.answer, outcome.stopped = result.answer, result.stopped
            outcome.structured = result.structured
        finally:
            outcome.follow(run)
            note_conversation(outcome.conversation)
            store_long_results(ctx, run.state.long_results)
            ctx["last_answer"] = outcome.answer or None


def _read_request(question: str, conversation: Any, outcome: CanvasRun) -> Conversation:
    """Return the conversation with the question; `outcome` has as much of it as can be read."""
    question, conversation = take_question(question, conversation)
    outcome.conversation = Conversation(conversation).messages
    request = conversation_with(conversation, question)
    if is_nothing(request):
        raise BadSetting(
            "AgentRun has nothing to answer: set `question` to a text, or wire a `conversation`."
        )
    start = Conversation(request)
    outcome.conversation = start.messages
    return start


def run_node(node: Any, ctx: Any) -> None:
    """Run the agent of an AgentRun or AgentLearn, and set its ports as far as the run got.

    An error sets them too, and is raised unless the node's error branch is wired.
    """
    outcome, options = CanvasRun(), dict[str, Any]()

    def run_branch(event: ToolFinished) -> None:
        node.thought.value = thought_of(event)
        outputs(node, _ports_of(outcome))
        node.on_thought.do(ctx)

    def ask_branch(request: ApprovalRequest) -> ApprovalScope | None:
        node.approval.value = as_dict(request)
        return collect_approval(lambda: node.on_approval.do(ctx))

    if getattr(node, "on_approval", None):
        options["on_approval"] = ask_branch
    if node.on_thought:
        options["on_thought"] = run_branch
    try:
        # Set this first, so that the conversation is not lost if something else is wrong.
        outcome.conversation = Conversation(node.conversation.value).messages
        ports = inputs(node)
        run = run_agent if "question" in ports else learn
        name, conversation = ports.pop("agent_name"), ports.pop("conversation")
        run(ctx, name, conversation, outcome=outcome, **ports, **options)
    except BaseException as error:
        outcome.stopped = error.stopped if isinstance(error, NoTools) else "error"
        outcome.error = str(error) or type(error).__name__
        if not node.on_error or not isinstance(error, Exception):
            raise
    finally:
        outputs(node, _ports_of(outcome))
        if hasattr(node, "structured"):
            node.structured.value = outcome.structured


def _ports_of(outcome: CanvasRun) -> dict[str, Any]:
    return {
        "out_conversation": outcome.conversation,
        "last_response": outcome.answer,
        "stopped": outcome.stopped,
        "error": outcome.error,
        "usage": outcome.usage,
    }


_LEARN = (
    "Review this conversation. Look up what you remember about it, note what is new and worth "
    "keeping with create_memory, and then say in a few sentences what you have learned and how "
    "it will help you next time."
)


def learn(ctx: Any, name: str, conversation: Any, **options: Any) -> None:
    """Have an agent save notes from a conversation; its answer says what it learned.

    `options` are passed to `run_agent`.

    Raises:
        MemoryFailed: the agent has no memory.
        UnknownAgent, BadConversation, ModelError: as in `run_agent`.
    """
    name = resolve_agent_name(ctx, name, "AgentLearn", runs=True)
    if agent_in(ctx, name, "AgentLearn").get("agent_memory") is None:
        raise MemoryFailed(
            f"Agent {name!r} has no memory to learn with. Wire a memory node to `agent_memory` "
            "of its AgentInit."
        )
    messages = Conversation(conversation).messages
    request: list[Message] = [*messages, {"role": "user", "content": _LEARN}]
    run_agent(ctx, name, request, needs_sources=False, **options)


def run_tool(
    ctx: Any, agent_name: str, tool_name: str, tool_args: Any, conversation: Any
) -> CanvasRun:
    """Call one tool of an agent's toolbelt, as if its model had called it.

    `answer` is the whole text of the result. If the call fails, the error is its result in the
    conversation.

    Raises:
        UnknownAgent, BadConversation, BadSetting: a person's mistake.
        SettingsError: the settings file cannot be read.
        RuntimeError: the bridge was closed meanwhile.
    """
    name, chat = resolve_agent_name(ctx, agent_name, "AgentRunTool"), Conversation(conversation)
    text = "" if tool_args is None else as_text(tool_args)
    call = ToolCall(f"call_{token_hex(_ID_BYTES)}", tool_name, text)
    with _at_work(ctx, name, "AgentRunTool") as work:

        async def emit(event: RunEvent) -> None:
            work.show(event)

        async def go(operations: Operations) -> tuple[ToolResult, str]:
            ready = await work.tools(operations)
            calls = PendingCalls(ready.tools, emit, operations.caller)
            state = RunState(chat, pending=(call,))
            await ready.tools.available()
            await calls.make(state)
            (event,) = calls.results(state)
            (excerpt,) = ready.pages.show([event.result])
            store_long_results(ctx, ready.pages.texts)
            await emit(event)
            return event.result, excerpt

        work.lend_model(lambda _: None)  # the node has no total to add the usage to
        work.results = long_results_in(ctx, chat.messages)
        result, excerpt = work.stage.perform(go)
    chat = chat.with_messages(call_message("", [call]), *result_messages([(call, excerpt, result)]))
    return CanvasRun(chat.messages, visible(text_of_result(result)))


def thought_of(event: ToolFinished) -> str:
    """Return what the model said when it used the tool, or else what it did."""
    if event.thought:
        return event.thought
    return f"Using {event.tool}({short_arguments(event.arguments)})."


@contextmanager
def _at_work(
    ctx: Any, name: str, node: str, show: str = "", approvals: RunApprovals | None = None
) -> Generator[_AgentWork]:
    """Yield an agent's work for a node, in the workflow's thread."""
    agent, run_id = agent_in(ctx, name, node), new_run_id()
    running = name if node == "AgentRun" else ""
    console = Console(name, show)
    with (
        busy(ctx) as lease,
        on_stage(lease.bridge, console, ctx=ctx, node=node, run_id=run_id, agent=running) as stage,
    ):
        stage.caller = Caller(
            "agent",
            name,
            agent.get("toolbelt_name") or "",
            run_id,
            stage.person,
            locks=agent.get("lock_tools") or False,
            approval=agent.get("tool_approval") or {},
            approvals=approvals or RunApprovals(granted_in(ctx)),
            facts=facts_in(ctx),
            workflow=stage.caller.workflow,
            node=node,
        )
        who = {"agent": name} if running else {"agent": name, "node": node}
        work = _AgentWork(lease, stage, recorder(ctx, lease.bridge, run_id=run_id, **who), agent)
        try:
            yield work
        finally:
            work.on_thought = stage.person.branch = None  # they hold the workflow: see `on_stage`


class _AgentWork:
    """Everything that an agent's run uses.

    `results` are long results of earlier nodes; `notes` are shown when the run starts.
    """

    def __init__(
        self, lease: BridgeLease, stage: Stage, transcript: Recorder, agent: Mapping[str, Any]
    ) -> None:
        self.stage = stage
        self.agent = agent
        self.results: Mapping[str, str] = {}
        self.notes: Sequence[tuple[str, str]] = ()
        self.on_thought: Callable[[ToolFinished], None] | None = None
        self._failures = lease.failures
        self._recorder = transcript

    def show(self, event: RunEvent) -> None:
        """Write an event to the screen, and to the transcript if there is one."""
        self.stage.show(event)
        self.stage.post(partial(self._recorder.event, event, time.time()))
        if isinstance(event, RunStarted):
            for mark, note in self.notes:
                self.tell(note, mark, in_card=True)

    def tell(self, text: str, mark: str = "!!", *, in_card: bool = False) -> None:
        """Tell a person this, however little of the run is shown."""
        self.stage.post(lambda: self.stage.console.tell(mark, text, in_card=in_card))

    def lend_model(self, count: Callable[[TokenUsage], None]) -> None:
        """Let servers use this agent's model, if the settings allow it."""
        stage, name = self.stage, self.stage.caller.name

        def tell(text: str) -> None:
            stage.post(lambda: stage.console.note("??", text))

        model, env = model_of(self.agent), stage.bridge.settings.env
        lent = LentModel(model, name, env, stage.console.mask, tell, count)
        stage.person.sampler = partial(sample, lent)

    def approve_by(self, branch: Callable[[ApprovalRequest], ApprovalScope | None]) -> None:
        """Have a branch approve calls, in the workflow's thread."""
        self.stage.person.branch = lambda request: branch_answer(
            request, lambda: self.stage.run_nodes(lambda _: branch(request))
        )

    async def tools(self, operations: Operations, state: RunState | None = None) -> ReadyTools:
        """Return the agent's tools, as far as its servers work; see `ready_tools`."""
        agent, memory = self.agent, self.agent.get("agent_memory")
        memory_tools = [] if memory is None else [MemoryToolset(memory)]
        spec = ToolSpec(
            tool_choice(agent, operations),
            [
                *memory_tools,
                self.stage.drawn_toolset(drawn_tools(agent.get("agent_toolbelt") or {})),
            ],
            preferences_of(agent),
            settings_of(agent).get("tool_token_budget"),
            self._failures,
            plan_text if agent.get(PLANNING_TOOLS) else None,
            agent.get(REQUIRED) or (),
        )
        listener = Listener(self.tell, self._show_waiting, review_text)
        return await ready_tools(
            operations, spec, listener, state=state, earlier_results=self.results
        )

    def _show_waiting(self, servers: tuple[str, ...]) -> None:
        self.stage.post(lambda: self.stage.console.wait_for_servers(servers))


def granted_in(ctx: Any) -> set[tuple[ToolKey, str]]:
    """Return the calls that a person approved for the workflow's run, for all its agents."""
    return ctx.setdefault(_APPROVALS, set())


def facts_in(ctx: Any) -> RunFacts:
    """Return the facts that rules ask for, from all agents of the workflow's run."""
    return ctx.setdefault(_FACTS, RunFacts())
