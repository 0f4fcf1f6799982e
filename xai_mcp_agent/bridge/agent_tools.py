"""The tools of one agent, connected and ready for its run: the same on the canvas and in Python."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from math import inf

from anyio import to_thread

from ..agent.meta_tools import Planning
from ..agent.results import ResultPages
from ..agent.state import RunState
from ..agent.toolsets import AgentTools, Toolset
from ..catalog.definitions import ToolDefinition
from ..catalog.groups import ToolChoice
from ..core.errors import LockFailed, NoTools, XaiMcpError
from ..core.names import did_you_mean, join_names
from ..core.results import TextPart, ToolResult
from ..core.shell import shell_command
from ..core.tools import STATIC, Tool, ToolKey
from ..planning.plan import Plan, plan_as_json
from ..policy.review import Review
from ..search.preferences import Preferences
from ..search.results import SelectedTool
from .operations import Operations
from .source_toolset import SourceFailure, SourceToolset
from .toolbox import agent_tools

_SUGGESTED_OF = 1_000  # with more names a search for the nearest takes too long
_MOST_NAMES = 5
_ASKER = "a locked server"


@dataclass(frozen=True)
class ToolSpec:
    """Tools of an agent: of sources and groups, and `own` ones, such as drawn tools.

    `failures` are those of sources in earlier runs; it is kept up to date. Without `budget_tokens`
    the settings decide. `describe_plan` puts a plan into words for a model; with it the agent has
    the planning tools, too. It must have a tool of each source and group in `required`, and of
    those that the settings require.
    """

    choice: ToolChoice
    own: Sequence[Toolset] = ()
    preferences: Preferences = field(default_factory=Preferences)
    budget_tokens: int | None = None
    failures: dict[str, SourceFailure] = field(default_factory=dict[str, SourceFailure])
    describe_plan: Callable[[Plan], str] | None = None
    required: Collection[str] = ()


@dataclass(frozen=True)
class ReadyTools:
    """Tools of a run, the pages of its long results, and lines about unusable sources.

    `no_tools` is the error of a run that lacks a tool it needs.
    """

    tools: AgentTools
    pages: ResultPages
    left_out: tuple[str, ...]
    no_tools: NoTools | None


@dataclass(frozen=True)
class Listener:
    """Callbacks of a run that gets its tools. `tell` gets what a person must know.

    `show_waiting` gets the names of the awaited sources. With `describe_review`, which puts it into
    words, the person in front of the run may accept new definitions of locked sources.
    """

    tell: Callable[[str], None]
    show_waiting: Callable[[tuple[str, ...]], None]
    describe_review: Callable[[Review], str] | None = None


async def ready_tools(
    operations: Operations,
    spec: ToolSpec,
    listener: Listener,
    *,
    wait_seconds: float = inf,
    state: RunState | None = None,
    earlier_results: Mapping[str, str] | None = None,
) -> ReadyTools:
    """Connect an agent's sources and return its tools; for the wait see `SourceToolset.connect`.

    `state` is the state of a resumed run, `earlier_results` are long results of its conversation.
    """
    choice = spec.choice
    sources = SourceToolset(operations, choice, spec.failures)
    parts = [*spec.own, sources]
    describe_plan, describe = spec.describe_plan, listener.describe_review
    tools, pages = agent_tools(
        operations,
        parts,
        tell=listener.tell,
        state=state,
        earlier_results=earlier_results,
        preferences=spec.preferences,
        budget_tokens=spec.budget_tokens,
        ask_to_accept=describe and partial(_ask_to_accept, operations, describe),
        planning=describe_plan and planning_of(operations, describe_plan, spec.preferences),
    )
    required = _required(operations, spec)
    required_sources = {x for name in required for x in choice.sources_of(name)}
    left_out = await sources.connect(listener.show_waiting, wait_seconds, required_sources)
    if not left_out:  # otherwise a missing source may have the names
        async for line in _describe_unmatched(operations, spec, parts):
            listener.tell(line)
    usable_now = [x.tool for x in (await tools.available()).definitions]

    def has_usable(test: Callable[[Tool], bool]) -> bool:
        return any(test(x) and not operations.is_denied(x) for x in usable_now)

    lacking = [x for x in required if not has_usable(choice.part(x))]
    if not lacking and not has_usable(_is_of_person):
        lacking = [*choice.sources, *(x.name for x in choice.groups)]
    why = _no_tools(operations, spec, sources, required, lacking) if lacking else None
    return ReadyTools(tools, pages, left_out, why)


def planning_of(
    operations: Operations, describe: Callable[[Plan], str], preferences: Preferences | None
) -> Planning:
    """Tool selection and planning of one agent, without tools that rules or settings deny.

    `describe` puts a plan into words.
    """

    async def select(request: str, tools: Mapping[ToolKey, Tool]) -> SelectedTool | None:
        usable = await operations.usable_among([*tools.values()], preferences)
        return await operations.select_among(usable, request, preferences)

    async def make_plan(request: str, tools: Mapping[ToolKey, ToolDefinition]) -> ToolResult:
        usable = await operations.usable_among([x.tool for x in tools.values()], preferences)
        by_key = await operations.plan_among(usable, request)
        # Under the names that the model reads.
        calls = tuple(replace(x, tool=tools[x.tool].name) for x in by_key.calls)
        plan = replace(by_key, calls=calls)
        names = [{"name": x} for x in dict.fromkeys(str(call.tool) for call in calls)]
        structured = {"tools": names, "plan": plan_as_json(plan)}
        return ToolResult((TextPart(describe(plan)),), structured=structured)

    return Planning(select, make_plan)


def _required(operations: Operations, spec: ToolSpec) -> list[str]:
    of_settings = (x for x in spec.choice.all_sources if x in operations.settings.required)
    return list(dict.fromkeys((*spec.required, *of_settings)))


def _is_of_person(tool: Tool) -> bool:
    """Return whether a tool is a person's: of a source, the canvas or a function, not built in."""
    return bool(tool.source) or tool.key.kind == STATIC.name


async def _ask_to_accept(
    operations: Operations, describe: Callable[[Review], str], source: str
) -> str:
    """See `AskToAccept`."""
    try:
        _, why = await operations.ask_to_accept(_ASKER, source, (), describe)
    except LockFailed as reason:  # the acceptance holds for this run
        return str(reason)
    except XaiMcpError as reason:  # its tools cannot be listed, so they are held back
        why = str(reason)
    return f"{source}: nothing was accepted: {why}." if why else ""


def _no_tools(
    operations: Operations,
    spec: ToolSpec,
    sources: SourceToolset,
    required: Collection[str],
    names: Sequence[str],
) -> NoTools:
    lacking = join_names(names, _MOST_NAMES)
    problem = "No tool of this agent can be used, so its model was not asked."
    if any(x in required for x in names):
        problem = f"Required, but without a tool that can be used: {lacking}. No model was asked."
    affected = dict.fromkeys(x for name in names for x in spec.choice.sources_of(name))
    reasons = [sources.why_none(x) or _why_unusable(operations, spec, x) for x in affected]
    empty = (x for x in spec.choice.groups if x.name in names and not x.sources)
    for group in empty:
        reasons += [*group.describe_unknown(), *group.describe_unmatched(())]
    return NoTools(problem, tuple(dict.fromkeys(reasons)))


def _why_unusable(operations: Operations, spec: ToolSpec, source: str) -> str:
    """Return why the agent can use none of the source's tools."""
    preferences = operations.preferences(spec.preferences)
    counts = Counter(
        next((y.words for y in operations.obstacles(x, preferences)), "usable")
        if spec.choice.has(x)
        else "not in the toolbelt"
        for x in operations.catalog.tools(source)
    )
    reasons = ", ".join(f"{number:,} {words}" for words, number in counts.items())
    command = shell_command("xai-mcp-agent", "tools", "list", source)
    step = f"\n  Next step: `{command}` shows each of them." if reasons else ""
    return f"{source}: none of its tools can be used: {reasons or 'it has none'}.{step}"


async def _describe_unmatched(
    operations: Operations, spec: ToolSpec, parts: Sequence[Toolset]
) -> AsyncIterator[str]:
    """Yield lines about names and patterns that match no tool: they may be misspelled.

    In a thread: each pattern may have to be compared with thousands of names.
    """
    own, choice = spec.preferences, spec.choice
    if own != Preferences():
        keys = [x.key for part in parts for x in await part.tools()]
        groups = operations.settings.search.groups
        with_groups = replace(own, groups=groups, sets=operations.preferences().sets)
        if patterns := await to_thread.run_sync(with_groups.unmatched, keys, choice.all_sources):
            names = [*choice.all_sources, *(x.name for x in keys)][:_SUGGESTED_OF]
            hint = did_you_mean(patterns[0], names) if len(patterns) == 1 else ""
            listing = ", ".join(map(repr, patterns))
            yield (
                "Always shown, trusted or blocked, but no tool or server of this agent: "
                f"{listing}. {hint}"
            ).rstrip()
    if not choice.is_everything:
        listed_tools = [x for name in choice.all_sources for x in operations.catalog.tools(name)]
        for line in await to_thread.run_sync(choice.describe_unmatched, listed_tools):
            yield line
