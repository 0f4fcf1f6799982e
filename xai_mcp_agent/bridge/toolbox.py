"""All tools of one agent during one run: its own, and those of its sources.

Four toolsets deep: the parts, all of them combined under the names that models read, what of them
the agent may see, and the call pipeline.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from typing import TypeAlias

from ..agent.discovery import DiscoveryToolset
from ..agent.results import ResultPages
from ..agent.state import RunState
from ..agent.toolsets import (
    AgentTools,
    Available,
    CombinedToolset,
    FilteredToolset,
    Toolset,
    Wrapper,
)
from ..core.calls import ToolInvocation
from ..core.errors import DefinitionChanged, NotAccepted, NotApproved, XaiMcpError
from ..core.results import ToolResult
from ..core.tools import Tool, ToolKey
from ..policy.breaker import BreakerNews
from ..search.budget import BudgetSelector
from ..search.preferences import Preferences
from ..settings.sections import BUDGET_VARIABLE
from .agent_filter import AgentFilter, AskToAccept
from .context import Context
from .engine import Engine

logger = logging.getLogger(__name__)

AskAvailable: TypeAlias = Callable[[], Awaitable[Available]]
"""Gives the tools that an agent may call now."""

_CHANGED = (
    "The tool {!r} was not called: the server {!r} has changed its definition, and a person has to "
    "accept that first. Go on without it, or say that you need it."
)
_NOT_ACCEPTED = (
    "The tool {!r} was not called: a person has to accept first what the server {!r} says of it. "
    "Go on without it, or say that you need it."
)


class CheckedToolset(Wrapper):
    """Sends every call through the call pipeline, and writes new tools down before any is shown.

    So a crash loses nothing that was shown. `tell` gets what the person in front of the run must
    know: what changed in a locked tool, and that a source is not called any more, or again. The
    model reads nothing of a changed definition: that may be meant to mislead.
    """

    def __init__(self, inner: FilteredToolset, engine: Engine, tell: Callable[[str], None]) -> None:
        super().__init__(inner)
        self._engine = engine
        self._tell = tell
        self._shown: Sequence[Tool] = ()
        self._reported: set[str] = set()
        self._breaker_news = BreakerNews(engine.breakers)

    async def tools(self) -> Sequence[Tool]:
        """The tools of the inner one, once they are in the history."""
        tools = await self._inner.tools()
        if tools is not self._shown:
            self._shown = tools
            await self._engine.flush()
        return tools

    async def call(self, invocation: ToolInvocation) -> ToolResult:
        """Call a tool, if every step of the pipeline lets it through."""
        try:
            return await self._engine.calls.run(invocation, self._inner.call)
        except NotAccepted as refused:
            tool = invocation.tool
            is_itself = (tool.source, tool.name) == (refused.server, refused.tool)
            name = invocation.name if is_itself else f"{refused.server}.{refused.tool}"
            self._tell_once(str(refused))
            message = _CHANGED if isinstance(refused, DefinitionChanged) else _NOT_ACCEPTED
            raise XaiMcpError(message.format(name, refused.server)) from None
        except NotApproved as refused:
            self._tell_once(str(refused))
            raise XaiMcpError(refused.for_model) from None
        finally:
            if news := self._breaker_news.of(invocation.tool.source):
                self._tell(news)

    def _tell_once(self, text: str) -> None:
        if text and text not in self._reported:
            self._reported.add(text)
            self._tell(text)


def agent_tools(
    context: Context,
    parts: Sequence[Toolset],
    *,
    tell: Callable[[str], None] = logger.warning,
    state: RunState | None = None,
    earlier_results: Mapping[str, str] | None = None,
    preferences: Preferences | None = None,
    budget_tokens: int | None = None,
    ask_to_accept: AskToAccept | None = None,
    planning: Callable[[AskAvailable], Toolset] | None = None,
    called_with: str = "",
) -> tuple[AgentTools, ResultPages]:
    """The tools of an agent, and the pages of long results in its run.

    `state` is that of a run that goes on; `earlier_results` are long ones of its conversation, by
    id. A request shows what fits `budget_tokens`, or the budget of the settings. `planning` makes
    the tools to plan with from what is available; `called_with` is one of them that calls what is
    found, where that is not called itself. See `AgentFilter` for `ask_to_accept`.
    """
    engine, preferences = context.engine, context.preferences(preferences)
    filter_ = AgentFilter(context, preferences, tell, ask_to_accept)

    def usable_name(key: ToolKey) -> str:
        return "" if filter_.why_off(key) else tools.shown_name(key)

    def wrap(combined: CombinedToolset) -> Toolset:
        return CheckedToolset(FilteredToolset(combined, filter_), engine, tell)

    names = state.names if state else ()
    pages = ResultPages(usable_name, {**(earlier_results or {}), **(state.kept if state else {})})
    search = context.search_for(preferences)
    discovery = DiscoveryToolset(search, lambda: tools.available(), called_with)
    own = [planning(lambda: tools.available())] if planning else []
    combined = CombinedToolset(*parts, pages, discovery, *own, names=names)
    engine.record_static(combined.known())

    budget = budget_tokens or context.settings.search.budget_tokens
    for note in () if budget_tokens else context.settings.notes:
        if note.startswith(BUDGET_VARIABLE):
            tell(note)
    toolbelt = context.caller.toolbelt
    tools = AgentTools(
        combined, engine.definitions, wrap, names,
        selector=BudgetSelector(budget, preferences.is_always_shown),
        learn=partial(engine.usage.learn, toolbelt),
        learn_run=partial(engine.learned.learn_run, toolbelt),
    )  # fmt: skip
    return tools, pages
