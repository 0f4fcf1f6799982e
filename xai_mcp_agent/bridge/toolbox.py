"""All tools of one agent during one run: its own, its sources', and those that find others.

`AgentFilter` decides which of them the agent may see; every call goes through the call pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..agent.meta_tools import MetaToolset, Planning
from ..agent.results import ResultPages
from ..agent.state import RunState
from ..agent.toolsets import AgentTools, Call, CombinedToolset, Toolset
from ..core.calls import ToolInvocation
from ..core.errors import DefinitionChanged, NotAccepted, NotApproved, XaiMcpError
from ..core.results import ToolResult
from ..core.tools import ToolKey
from ..search.preferences import Preferences
from ..search.selector import BudgetSelector
from ..settings.sections import BUDGET_VARIABLE
from .agent_filter import AgentFilter, AskToAccept
from .context import OperationContext
from .engine import Engine

logger = logging.getLogger(__name__)

_CHANGED = (
    "The tool {!r} was not called: the server {!r} has changed its definition, and a person has to "
    "accept that first. Go on without it, or say that you need it."
)
_NOT_ACCEPTED = (
    "The tool {!r} was not called: a person has to accept its definition by the server {!r} "
    "first. Go on without it, or say that you need it."
)


class CheckedCalls:
    """Calls of one agent, which go through the call pipeline.

    `tell` gets messages for the person in front of the run: changes of a locked tool, and sources
    whose calls are refused or allowed again. The model never reads a changed definition, which may
    be meant to mislead it.
    """

    def __init__(self, engine: Engine, tell: Callable[[str], None]) -> None:
        self._engine = engine
        self._tell = tell
        self._reported: set[str] = set()
        self._breaker_news: dict[str, str] = {}  # the last of each source

    async def call(self, invocation: ToolInvocation, perform: Call) -> ToolResult:
        """Call a tool, if every step of the pipeline lets it through."""
        try:
            return await self._engine.calls.run(invocation, perform)
        except NotAccepted as refusal:
            tool = invocation.tool
            is_itself = (tool.source, tool.name) == (refusal.server, refusal.tool)
            name = invocation.name if is_itself else f"{refusal.server}.{refusal.tool}"
            self._tell_once(str(refusal))
            message = _CHANGED if isinstance(refusal, DefinitionChanged) else _NOT_ACCEPTED
            raise XaiMcpError(message.format(name, refusal.server)) from None
        except NotApproved as refusal:
            self._tell_once(str(refusal))
            raise XaiMcpError(refusal.for_model) from None
        finally:
            self._tell_breaker_news(invocation.tool.source)

    def _tell_breaker_news(self, source: str) -> None:
        breaker, before = self._engine.breakers.of(source), self._breaker_news.get(source, "")
        if breaker is None or breaker.news == before:
            return
        self._breaker_news[source] = breaker.news
        # Only an agent that saw the breaker open is informed that it has closed.
        if before or breaker.until is not None:
            self._tell(breaker.news)

    def _tell_once(self, text: str) -> None:
        if text and text not in self._reported:
            self._reported.add(text)
            self._tell(text)


def agent_tools(
    context: OperationContext,
    parts: Sequence[Toolset],
    *,
    tell: Callable[[str], None] = logger.warning,
    state: RunState | None = None,
    earlier_results: Mapping[str, str] | None = None,
    preferences: Preferences | None = None,
    budget_tokens: int | None = None,
    ask_to_accept: AskToAccept | None = None,
    planning: Planning | None = None,
    executor: str = "",
) -> tuple[AgentTools, ResultPages]:
    """Tools of an agent, and the pages of long results in its run.

    `state` is the state of a resumed run; `earlier_results` are long results of its conversation,
    by id. A request shows the tools that fit `budget_tokens`, or the budget of the settings. With
    `planning` there are the planning tools; `executor` is the tool that calls the results of a
    search, if the model cannot. See `AgentFilter` for `ask_to_accept`.
    """
    engine, preferences = context.engine, context.preferences(preferences)
    filter_ = AgentFilter(context, preferences, tell, ask_to_accept)

    def usable_name(key: ToolKey) -> str:
        return "" if filter_.why_off(key) else tools.shown_name(key)

    names = state.names if state else ()
    pages = ResultPages(
        usable_name, {**(earlier_results or {}), **(state.long_results if state else {})}
    )
    search = context.search_for(preferences)
    meta = MetaToolset(search, lambda: tools.available(), planning, executor)
    parts = (*parts, pages, meta)
    engine.record_static(CombinedToolset(*parts).initial_tools())

    budget = budget_tokens or context.settings.search.budget_tokens
    for note in () if budget_tokens else context.settings.notes:
        if note.startswith(BUDGET_VARIABLE):
            tell(note)
    toolbelt = context.caller.toolbelt
    tools = AgentTools(
        parts, engine.definitions, names,
        filters=[filter_],
        selector=BudgetSelector(budget, preferences.is_always_shown),
        record=engine.flush,  # a crash loses nothing that was shown
        call=CheckedCalls(engine, tell).call,
        learn=partial(engine.usage.learn, toolbelt),
    )  # fmt: skip
    return tools, pages
