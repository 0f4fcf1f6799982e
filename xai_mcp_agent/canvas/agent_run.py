"""Running agents and tools for nodes: from the thread of a workflow, over the bridge's loop."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from typing import Any, TypeVar

from anyio import to_thread

from ..agent.calls import PendingCalls
from ..agent.conversation import Conversation, call_message, result_messages
from ..agent.events import RunEvent, RunFinished, RunStarted, ToolFinished
from ..agent.found_tools import Finds
from ..agent.loop import AgentRun
from ..agent.memory.notes import MemoryFailed
from ..agent.memory.tools import MemoryToolset
from ..agent.messages import Message, ToolCall
from ..agent.models.base import Model, Usage, counts
from ..agent.results import text_of_result
from ..agent.state import RunState
from ..bridge.agent_tools import Listener, ReadyTools, ToolSpec, ready_tools
from ..bridge.operations import Operations
from ..bridge.source_toolset import Failure
from ..bridge.transcript import new_run_id, workflow_name
from ..console.console import Console
from ..console.text import short_arguments
from ..core.approval import ApprovalRequest, ApprovalScope, RunApprovals, RunFacts
from ..core.calls import Caller
from ..core.errors import BadSetting, NoTools
from ..core.json import JsonObject
from ..core.results import ToolResult
from ..core.tools import ToolKey
from ..core.visible import visible
from ..planning.plan import Plan
from ..secrets.redactor import Redactor
from ..sources.canvas import DrawnTool, drawn_tools
from ..views.plans import plan_text
from ..views.tools import review_text
from .agents import (
    agent_in,
    agent_named,
    learn_keys,
    notes_on,
    own_agents,
    settings_of,
    spec_of,
)
from .approving import BranchHost, as_dict, collect_approval
from .conversations import conversation_with, is_nothing
from .drawn_tools import DrawnToolset
from .interactive_host import InteractiveHost
from .kept_results import keep, kept_for
from .lease import bridge_of, busy
from .nesting import nested
from .panel.chat import note_conversation, take_question
from .ports import as_text, inputs, outputs
from .preferences import preferences_of
from .run_state import KeptRun, kept_run
from .sampling import AgentSampler
from .toolbelts import PLANNING_TOOLS, REQUIRED, tools_chosen
from .transcript import recorder
from .workflow_thread import WorkflowThread

T = TypeVar("T")

# In `ctx`: for the length of the workflow's run.
_APPROVED, _FACTS = "approved_calls", "facts_for_rules"

_MODEL_WIDTH = 1_000  # columns: a model needs no line to be broken
_ID_BYTES = 6  # of a call by hand: a name that no model's call has


@dataclass
class CanvasRun:
    """What a run came to. After an error it still holds the conversation so far.

    `stopped` says how it ended, `error` why it has no answer. `usage` counts tokens, turns of the
    model, calls of tools and seconds. `structured` is the value of an answer of a certain form.
    """

    conversation: list[Message] = field(default_factory=list[Message])
    answer: str = ""
    stopped: str = "running"
    error: str = ""
    usage: dict[str, float] = field(default_factory=lambda: counts(Usage()))
    structured: Any = None

    def follow(self, run: AgentRun) -> None:
        """Take over what was said and used so far."""
        self.conversation, state = run.conversation.messages, run.state
        self.usage = counts(state.usage, state.step, state.calls, run.seconds)


def run_agent(
    ctx: Any,
    name: Any,
    conversation: Any,
    *,
    question: Any = None,
    metadata: Mapping[str, Any] | None = None,
    outcome: CanvasRun,
    on_thought: Callable[[ToolFinished], None] | None = None,
    show: Any = None,
    output_schema: Mapping[str, Any] | None = None,
    on_approval: Callable[[ApprovalRequest], ApprovalScope | None] | None = None,
    run_state: Any = None,
    wait_for_approval: Any = None,
    needs_sources: bool = True,
) -> None:
    """Run an agent to its answer; `outcome` is filled as it goes, up to an error too.

    Without a name it is the agent set up last. `question` is asked after the conversation.
    `on_thought` is called in this thread after each tool use; `outcome` then holds its result too.
    `show` is how much is printed, as a person may have written it: see `Console`.
    `output_schema` is the form that the answer must have. `on_approval` is asked in this thread
    whether a call may be made, in place of the person. With the file `run_state` a run in which
    nobody can approve a call ends as waiting, with `wait_for_approval` also where somebody could;
    run again with that file it goes on. One that `needs_sources` fails where none of them gives the
    agent a tool.

    Raises:
        UnknownAgent, BadConversation, UnknownProvider, BadSetting, SettingsError: a mistake here.
        RunFileError: what waits in the file cannot be used.
        ModelError, RuntimeError: the model's service; the bridge was closed meanwhile.
        NoTools: the agent's sources, or a required one, gave it no tool.
        NestedTooDeep: a tool of the agent runs the agent itself, again and again.
    """
    question, conversation = take_question(question, conversation)
    outcome.conversation = Conversation(conversation).messages
    asked = conversation_with(conversation, question, "AgentRun")
    if is_nothing(asked):
        raise BadSetting(
            "AgentRun has nothing to answer: set `question` to a text, or wire a `conversation`."
        )
    outcome.conversation = Conversation(asked).messages
    name = agent_named(ctx, name, "AgentRun", runs=True)
    agent, granted = agent_in(ctx, name, "AgentRun"), granted_in(ctx)
    given = Conversation(outcome.conversation)
    facts = facts_in(ctx)
    with kept_run(run_state, wait_for_approval, name, given, granted, facts) as waiting:
        workflow = _Workflow(ctx, {"agent": name}, Console(name, show), on_thought)
        workflow.call_for(agent, name, waiting and waiting.approvals, on_approval)
        env = bridge_of(ctx).settings.env
        spec = spec_of(agent, name, env, metadata, output_schema)

        notes = notes_on(ctx, name, agent)

        async def emit(event: RunEvent) -> None:
            if waiting is not None:
                await waiting.note(event, lambda: run.progress)
            workflow.show(event)
            if isinstance(event, RunStarted):
                for mark, note in notes:
                    workflow.tell_in_card(note, mark)
            if isinstance(event, ToolFinished) and workflow.on_thought:
                await workflow.run_nodes(partial(branch, workflow.on_thought, event))

        def branch(do: Callable[[ToolFinished], None], event: ToolFinished) -> None:
            # Copied here: on the loop a long conversation would hold up all others.
            outcome.follow(run)
            keep(workflow.ctx, run.state.kept)
            do(event)

        start = waiting.start if waiting else given
        run = AgentRun(spec, start, emit, workflow.thread.caller)
        workflow.lend_model(agent, name, run.count)
        workflow.kept = kept_for(ctx, outcome.conversation)
        go = partial(_go, workflow, agent, run, spec.model, waiting, needs_sources)
        try:
            with nested(name):
                finished = workflow.perform(go)
            outcome.answer, outcome.stopped = finished.answer, finished.stopped
            outcome.structured = finished.structured
        finally:
            outcome.follow(run)
            note_conversation(outcome.conversation)
            keep(ctx, run.state.kept)
            ctx["last_answer"] = outcome.answer or None


def run_node(node: Any, ctx: Any) -> None:
    """Run the agent of an AgentRun or AgentLearn, and set its ports as far as the run came.

    That is done also when it ends with an error, which is raised unless something is wired to the
    node's branch for it.
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
        # First of all: the conversation is not lost, whatever is wrong with the rest.
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


def learn(ctx: Any, name: Any, conversation: Any, **options: Any) -> None:
    """Have an agent note what is worth keeping of a conversation; its answer says what it learned.

    `options` are those of `run_agent`.

    Raises:
        MemoryFailed: the agent has no memory.
        UnknownAgent, BadConversation, ModelError: as `run_agent`.
    """
    name = agent_named(ctx, name, "AgentLearn", runs=True)
    if agent_in(ctx, name, "AgentLearn").get("agent_memory") is None:
        raise MemoryFailed(
            f"Agent {name!r} has no memory to learn with. Wire a memory node to `agent_memory` "
            "of its AgentInit."
        )
    messages = Conversation(conversation).messages
    asked: list[Message] = [*messages, {"role": "user", "content": _LEARN}]
    run_agent(ctx, name, asked, needs_sources=False, **options)


def run_tool(
    ctx: Any, agent_name: Any, tool_name: str, tool_args: Any, conversation: Any
) -> CanvasRun:
    """Call one tool of an agent's toolbelt, as if its model had asked; `answer` is all its text.

    Whatever goes wrong with the call is answered into the conversation.

    Raises:
        UnknownAgent, BadConversation, BadSetting: a person's mistake.
        SettingsError: the settings file cannot be read.
        RuntimeError: the bridge was closed meanwhile.
    """
    name = agent_named(ctx, agent_name, "AgentRunTool")
    agent, said = agent_in(ctx, name, "AgentRunTool"), Conversation(conversation)
    workflow = _Workflow(ctx, {"agent": name, "node": "AgentRunTool"}, Console(name))
    workflow.call_for(agent, name)
    workflow.lend_model(agent, name, _uncounted)

    async def emit(event: RunEvent) -> None:
        workflow.show(event)

    async def go(operations: Operations) -> tuple[ToolResult, str]:
        ready = await _usable_tools(workflow, agent, operations)
        finds = Finds(said.asked, ready.tools.learn)
        calls = PendingCalls(ready.tools, ready.pages, finds, emit, operations.caller)
        asked = RunState(said, pending=(call,))
        await ready.tools.available()
        await calls.make(asked, "")
        (event,) = calls.answers(asked, "")
        (shown,) = ready.pages.shown([event.result])
        keep(ctx, ready.pages.texts)
        await emit(event)
        return event.result, shown

    text = "" if tool_args is None else as_text(tool_args)
    call = ToolCall(f"call_{token_hex(_ID_BYTES)}", tool_name, text)
    workflow.kept = kept_for(ctx, said.messages)
    result, shown = workflow.perform(go)
    said = said.with_said(call_message("", [call]), *result_messages([(call, shown, result)]))
    return CanvasRun(said.messages, visible(text_of_result(result)))


def thought_of(event: ToolFinished) -> str:
    """What the model said when it used the tool; if it said nothing, what it did."""
    if event.thought:
        return event.thought
    shown = short_arguments(event.arguments)
    return f"Using {event.tool}({shown})."


class _Workflow:
    """What belongs to the workflow's thread, for the time of one run; the loop has only this.

    An error of some library may hold every frame it came through, for as long as it likes.
    Through those it must not hold the workflow, whose servers close when its `ctx` is gone.
    """

    def __init__(
        self,
        ctx: Any,
        who: Mapping[str, str],
        console: Console,
        on_thought: Callable[[ToolFinished], None] | None = None,
    ) -> None:
        self.ctx: Any = ctx
        self.on_thought = on_thought
        self.on_approval: Callable[[ApprovalRequest], ApprovalScope | None] | None = None
        self.thread = WorkflowThread(console.tick)
        self._person = InteractiveHost(self.thread, console)
        self.failed: dict[str, Failure] = {}
        self.kept: Mapping[str, str] = {}  # long results of nodes before
        self._run_id = new_run_id()
        self._console = console
        self._who = who

    def perform(self, do: Callable[[Operations], Awaitable[T]]) -> T:
        """Run `do` on the bridge's loop and work for it in this thread; then let go of it all."""
        try:
            with busy(self.ctx) as hold, self._console:
                self.failed = hold.failed
                secrets = hold.bridge.settings.secrets
                learn_keys(self.ctx, secrets)
                self._console.hide(Redactor([secrets]))
                who = {"run_id": self._run_id, **self._who}
                self._recorder = recorder(self.ctx, hold.bridge, **who)
                return self.thread.perform(hold.bridge, do)
        finally:
            self.ctx = self.on_thought = self.on_approval = None

    def call_for(
        self,
        agent: Mapping[str, Any],
        name: str,
        approvals: RunApprovals | None = None,
        on_approval: Callable[[ApprovalRequest], ApprovalScope | None] | None = None,
    ) -> None:
        """Make the calls of this run in the name of an agent; a branch may approve them."""
        locks, toolbelt = agent.get("lock_tools") or False, agent.get("toolbelt_name") or ""
        self.on_approval = on_approval
        self.thread.caller = Caller(
            "agent",
            name,
            toolbelt,
            self._run_id,
            BranchHost(self._person, self._ask_branch) if on_approval else self._person,
            locks=locks,
            approval=agent.get("tool_approval") or {},
            approvals=approvals or RunApprovals(granted_in(self.ctx)),
            facts=facts_in(self.ctx),
            workflow=workflow_name(),
            node=self._who.get("node", "AgentRun"),
        )

    def lend_model(
        self, agent: Mapping[str, Any], name: str, count: Callable[[Usage], None]
    ) -> None:
        """Let servers ask the model of this agent, where the settings allow it."""
        console = self._console

        def tell(mark: str, text: str) -> None:
            self.thread.post(lambda: console.note(mark, text))

        self._person.sampler = AgentSampler(
            agent,
            name,
            bridge_of(self.ctx).settings.env,
            tell=tell,
            count=count,
            mask=lambda text: console.masked(text),
        )

    def show(self, event: RunEvent) -> None:
        """Have an event written on the screen, and in the transcript if there is one."""
        self.thread.post(lambda: self._console.show(event))
        self.thread.post(partial(self._recorder.event, event, time.time()))

    def tell(self, text: str) -> None:
        """Have a person know this, however little is shown of the run."""
        self.thread.post(lambda: self._console.tell("!!", text))

    def tell_in_card(self, text: str, mark: str) -> None:
        """The same, in the card of the run where there is one."""
        self.thread.post(lambda: self._console.tell(mark, text, in_card=True))

    def show_waiting(self, servers: tuple[str, ...]) -> None:
        """Have it known that these servers are waited for."""
        self.thread.post(lambda: self._console.servers_awaited(servers))

    async def run_nodes(self, do: Callable[[], T]) -> T:
        """Run a person's nodes in the workflow's thread, and wait for them."""
        ctx = self.ctx

        def run() -> T:
            with own_agents(ctx):
                return self._console.aside(do)

        return await self.thread.run(run)

    async def _ask_branch(self, request: ApprovalRequest) -> ApprovalScope | None:
        ask = self.on_approval
        return None if ask is None else await self.run_nodes(lambda: ask(request))


def granted_in(ctx: Any) -> set[tuple[ToolKey, str]]:
    """What a person approved for the length of the workflow's run, for all its agents."""
    return ctx.setdefault(_APPROVED, set())


def facts_in(ctx: Any) -> RunFacts:
    """What happened in the workflow's run, as far as rules ask for it, by all its agents."""
    return ctx.setdefault(_FACTS, RunFacts())


def _uncounted(_: Usage) -> None:
    """The node has no total to add it to."""


async def _go(
    workflow: _Workflow,
    agent: Mapping[str, Any],
    run: AgentRun,
    model: Model,
    waiting: KeptRun | None,
    needs_sources: bool,
    operations: Operations,
) -> RunFinished:
    if waiting is not None:
        waiting.mask = operations.engine.recorder.mask
    try:
        ready = await _usable_tools(workflow, agent, operations, run.state)
        no_tools = ready.no_tools if needs_sources else None
        finished = await run.go(ready.tools, ready.pages, ready.left_out, no_tools)
        if waiting is not None and finished.stopped == "waiting":
            for line in await waiting.wait(run.state):
                workflow.tell(line)
        elif waiting is not None:
            await to_thread.run_sync(waiting.end)
        return finished
    finally:
        await model.aclose()


async def _usable_tools(
    workflow: _Workflow,
    agent: Mapping[str, Any],
    operations: Operations,
    state: RunState | None = None,
) -> ReadyTools:
    """The agent's tools, as far as its servers can be used; see `ready_tools`."""

    async def run_drawn(tool: DrawnTool, arguments: JsonObject) -> ToolResult:
        return await workflow.run_nodes(lambda: tool.call(workflow.ctx, arguments))

    memory = agent.get("agent_memory")
    remembering = [] if memory is None else [MemoryToolset(memory)]
    drawn = DrawnToolset(drawn_tools(agent.get("agent_toolbelt") or {}), run_drawn)
    wanted = ToolSpec(
        tools_chosen(agent, operations),
        [*remembering, drawn],
        preferences_of(agent),
        settings_of(agent).get("tool_token_budget"),
        workflow.failed,
        _plan_for_model if agent.get(PLANNING_TOOLS) else None,
        agent.get(REQUIRED) or (),
    )
    listener = Listener(workflow.tell, workflow.show_waiting, review_text)
    return await ready_tools(
        operations, wanted, listener, state=state, earlier_results=workflow.kept
    )


def _plan_for_model(plan: Plan) -> str:
    return plan_text(plan, _MODEL_WIDTH)
